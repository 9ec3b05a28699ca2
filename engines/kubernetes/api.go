package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// An api sends requests to an API server.
type api struct {
	client *http.Client
	// base is the address before the path, and host what of it is shown.
	base, host string
	// tokenFile has the token that requests bear; empty: the client sees to that. It is read for every request, because the cluster replaces it.
	tokenFile string
}

// A request is one of an API server.
type request struct {
	method, path, query string
	body                any
}

// A refusal is an answer of the server that is not a success.
type refusal struct {
	code    int
	message string
}

func (r *refusal) Error() string { return fmt.Sprintf("the server answers %d: %s", r.code, r.message) }

// is says whether an error is a refusal with that status.
func is(err error, code int) bool {
	var r *refusal
	return errors.As(err, &r) && r.code == code
}

// maxAnswer bounds what is read of an answer. The server keeps no larger object.
const maxAnswer = 4 << 20

// do sends a request and decodes the answer.
func (a *api) do(ctx context.Context, r request, into any) error {
	h, err := a.prepare(ctx, r)
	if err != nil {
		return err
	}
	answer, err := a.client.Do(h)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return a.refused(answer.StatusCode, b)
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s does not answer as an API server of Kubernetes does: %w", a.host, err)
	}
	return nil
}

// prepare makes the request of HTTP.
func (a *api) prepare(ctx context.Context, r request) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		b, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	url := a.base + r.path
	if r.query != "" {
		url += "?" + r.query
	}
	h, err := http.NewRequestWithContext(ctx, r.method, url, body)
	if err != nil {
		return nil, err
	}
	h.Header.Set("Accept", "application/json")
	h.Header.Set("User-Agent", "regent")
	switch r.method {
	case http.MethodPatch:
		h.Header.Set("Content-Type", "application/merge-patch+json")
	case http.MethodPost:
		h.Header.Set("Content-Type", "application/json")
	}
	if a.tokenFile != "" {
		token, err := os.ReadFile(a.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("the token: %w", err)
		}
		h.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	return h, nil
}

// refused returns what the server says against a request.
func (a *api) refused(code int, body []byte) error {
	var status struct{ Message string }
	if err := json.Unmarshal(body, &status); err != nil || status.Message == "" {
		status.Message = http.StatusText(code)
	}
	if code == http.StatusUnauthorized {
		status.Message += " (it does not take the token or the certificate of this client: expired, or of another cluster)"
	}
	return &refusal{code, status.Message}
}
