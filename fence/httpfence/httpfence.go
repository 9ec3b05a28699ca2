// Package httpfence carries the stamps of package fence over HTTP: a client stamps its requests, a server refuses the
// stale ones with 409 and the reason.
package httpfence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/regentproject/regent/fence"
)

// Header is the header that carries the stamp, full or a token.
const Header = "Regent-Edict"

// A Refusal is the JSON body of an answer to a request that was not let through.
type Refusal struct {
	// Error is one word: stale, inconsistent, missing, malformed, or busy.
	Error string `json:"error"`
	// Reason says the same to people.
	Reason string `json:"reason"`
	// Got and Seen are the request's stamp and the latest one admitted, where they count.
	Got  fence.Stamp `json:"got,omitzero"`
	Seen fence.Stamp `json:"seen,omitzero"`
}

// Handler lets a request through to next if the gate admits its stamp, and keeps requests of later leaderships waiting
// until next has returned. Others are answered here, with a Refusal: a stale or inconsistent stamp with 409, a missing
// one with 428, a malformed one with 400, and one that waited for earlier leaderships until its context ended with 503.
//
// Requests that change nothing need no stamp: do not put them behind a Handler. A mark in memory is forgotten when the
// server stops; where the effect is kept in a database, keep the mark there too, with the stamp from FromContext.
func Handler(gate *fence.Gate, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := fromHeader(r.Header)
		if err != nil {
			refuse(w, s, err)
			return
		}
		leave, err := gate.Enter(r.Context(), s)
		if err != nil {
			refuse(w, s, err)
			return
		}
		defer leave()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), key{}, s)))
	})
}

type key struct{}

// FromContext returns the stamp of the request that a Handler let through, zero elsewhere.
func FromContext(ctx context.Context) fence.Stamp {
	s, _ := ctx.Value(key{}).(fence.Stamp)
	return s
}

var errMalformed = errors.New("malformed")

func fromHeader(h http.Header) (fence.Stamp, error) {
	switch v := h.Values(Header); len(v) {
	case 0:
		return fence.Stamp{}, fmt.Errorf("%w; send it in the header %s", fence.ErrNoStamp, Header)
	case 1:
		s, err := fence.Parse(v[0])
		if err != nil {
			return fence.Stamp{}, fmt.Errorf("header %s is %w: %w", Header, errMalformed, err)
		}
		return s, nil
	default:
		return fence.Stamp{}, fmt.Errorf("header %s is %w: it must be given once, not %d times", Header, errMalformed, len(v))
	}
}

func refuse(w http.ResponseWriter, s fence.Stamp, err error) {
	status, body := http.StatusServiceUnavailable, Refusal{Error: "busy", Reason: err.Error(), Got: s}
	var stale *fence.StaleError
	switch {
	case errors.As(err, &stale):
		status, body.Error, body.Seen = http.StatusConflict, "stale", stale.Seen
	case errors.Is(err, fence.ErrInconsistent):
		status, body.Error = http.StatusConflict, "inconsistent"
	case errors.Is(err, fence.ErrNoStamp):
		status, body.Error = http.StatusPreconditionRequired, "missing"
	case errors.Is(err, errMalformed):
		status, body.Error = http.StatusBadRequest, "malformed"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

// Set puts the stamp on a request, or on anything else with headers.
func Set(h http.Header, s fence.Stamp) { h.Set(Header, s.String()) }

// A Transport stamps each request as it is sent, and does not send it if there is no stamp to be had: because the lease
// is over, the request would be refused, or worse, admitted.
type Transport struct {
	// Stamp returns the stamp of an order made now, such as the Edict method of a lease does.
	Stamp func() (fence.Stamp, error)
	// Base sends the request; http.DefaultTransport if nil.
	Base http.RoundTripper
}

// RoundTrip stamps a copy of the request and sends it.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	s, err := t.Stamp()
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, fmt.Errorf("httpfence: %s %s not sent: %w", r.Method, r.URL.Redacted(), err)
	}
	r = r.Clone(r.Context())
	Set(r.Header, s)
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	return base.RoundTrip(r)
}
