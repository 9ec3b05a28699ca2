package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/agent/api"
)

//go:embed page
var files embed.FS

// Files returns the page: index.html and what it loads.
func Files() fs.FS {
	sub, err := fs.Sub(files, "page")
	if err != nil {
		panic("web: the page is not embedded: " + err.Error())
	}
	return sub
}

// Options says who may do what.
type Options struct {
	// Do carries a command out and says what was done. Nil: there is nothing to do here.
	Do func(ctx context.Context, c Command) (string, error)
	// May says whether a request may give commands; nil: all may that come from the page itself.
	May func(*http.Request) bool
	// Load takes a file that somebody opened in the page; nil: none can be.
	Load func(name string, file io.Reader) error
	// Beside are further pages, by their paths.
	Beside map[string]http.Handler
	// Streams is how many pages may watch at once; zero: DefaultStreams.
	Streams int
}

// DefaultStreams is how many pages may watch at once unless another number is given.
const DefaultStreams = 100

const (
	// batchInterval is for how long changes are collected before they are sent, so that a thousand groups that change at once are one
	// update.
	batchInterval = 50 * time.Millisecond
	// keepAliveInterval is how often the time is sent, so that a page knows that the connection lives.
	keepAliveInterval = time.Second
	// writeTimeout is for how long a page may take to read an update before it is dropped.
	writeTimeout = 10 * time.Second
	// maxCommand and maxFile bound what a page may send.
	maxCommand = 1 << 16
	maxFile    = 1 << 28
)

type handler struct {
	Options
	source Source
	// life tells this handler's serial numbers from those of another process on the same port.
	life    string
	streams atomic.Int64
}

// Handler serves the page and what it asks for, all by relative paths: mount it where you like, with a slash at the end.
//
//	GET  ./             the page
//	GET  ./api/session  an api.PageSession: what the page may do
//	GET  ./api/events   the stream of updates
//	GET  ./api/groups   a GroupPage, if there are too many groups for the stream
//	POST ./api/do       a Command
//	POST ./api/load     a file
func Handler(s Source, o Options) http.Handler {
	if o.Streams == 0 {
		o.Streams = DefaultStreams
	}
	h := &handler{Options: o, source: s, life: rand.Text()}
	mux := http.NewServeMux()
	page := http.FileServerFS(Files())
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		page.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /api/session", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(api.PageSession{MayLook: true, MayOrder: h.may(r)})
	})
	mux.HandleFunc("GET /api/events", h.events)
	mux.HandleFunc("GET /api/groups", h.groupPage)
	mux.HandleFunc("POST /api/do", h.do)
	mux.HandleFunc("POST /api/load", h.load)
	for path, page := range o.Beside {
		mux.Handle("GET "+path, page)
	}
	return secure(http.NewCrossOriginProtection().Handler(mux))
}

// secure forbids the page everything that it does not need, and everybody else to frame it.
func secure(next http.Handler) http.Handler {
	policy := strings.Join([]string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'",
		"connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"}, "; ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

// may says whether a request may give commands.
func (h *handler) may(r *http.Request) bool { return h.Do != nil && (h.May == nil || h.May(r)) }

// events streams updates until the page goes away.
func (h *handler) events(w http.ResponseWriter, r *http.Request) {
	if h.streams.Add(1) > int64(h.Streams) {
		h.streams.Add(-1)
		w.Header().Set("Retry-After", "5")
		http.Error(w, fmt.Sprintf("%d pages watch already: close one, or try again later", h.Streams), http.StatusServiceUnavailable)
		return
	}
	defer h.streams.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := &stream{w: w, control: http.NewResponseController(w), life: h.life}
	serial := h.resume(r)
	beat := time.NewTicker(keepAliveInterval)
	defer beat.Stop()
	for alive := true; ; {
		changed := h.source.Changed()
		u := h.source.Since(serial)
		if alive || !u.empty() {
			if out.send(u) != nil {
				return
			}
			serial, alive = u.Serial, false
		}
		select {
		case <-changed:
			select {
			case <-time.After(batchInterval):
			case <-r.Context().Done():
				return
			}
		case <-beat.C:
			alive = true
		case <-r.Context().Done():
			return
		}
	}
}

// resume returns the serial number of the last update that a page saw, zero if it is not one of ours.
func (h *handler) resume(r *http.Request) uint64 {
	id := r.Header.Get("Last-Event-ID")
	if id == "" {
		id = r.URL.Query().Get("last")
	}
	life, number, _ := strings.Cut(id, "/")
	if life != h.life {
		return 0
	}
	serial, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return 0
	}
	return serial
}

// stream writes updates to one page.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	life    string
	buf     bytes.Buffer
}

func (s *stream) send(u *Update) error {
	s.buf.Reset()
	fmt.Fprintf(&s.buf, "id: %s/%d\ndata: ", s.life, u.Serial)
	if err := json.NewEncoder(&s.buf).Encode(u); err != nil {
		return err
	}
	s.buf.WriteByte('\n')
	// Not every writer knows deadlines; then a page that does not read holds up only itself.
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := s.w.Write(s.buf.Bytes()); err != nil {
		return err
	}
	return s.control.Flush()
}

// do carries out a command.
func (h *handler) do(w http.ResponseWriter, r *http.Request) {
	if !h.may(r) {
		answer(w, http.StatusForbidden, "", errors.New("you may look, but not do anything here"))
		return
	}
	var c Command
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCommand))
	in.DisallowUnknownFields()
	if err := in.Decode(&c); err != nil {
		answer(w, http.StatusBadRequest, "", fmt.Errorf("a command cannot be understood: %w", err))
		return
	}
	text, err := h.Do(r.Context(), c)
	if err != nil {
		answer(w, http.StatusConflict, "", err)
		return
	}
	answer(w, http.StatusOK, text, nil)
}

// load takes a file.
func (h *handler) load(w http.ResponseWriter, r *http.Request) {
	if h.Load == nil || !h.may(r) {
		answer(w, http.StatusForbidden, "", errors.New("no file can be opened here"))
		return
	}
	if err := h.Load(r.URL.Query().Get("name"), http.MaxBytesReader(w, r.Body, maxFile)); err != nil {
		answer(w, http.StatusUnprocessableEntity, "", err)
		return
	}
	answer(w, http.StatusOK, "loaded", nil)
}

// answer says what was done, or why not.
func answer(w http.ResponseWriter, status int, text string, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body := map[string]string{"text": text}
	if err != nil {
		body = map[string]string{"error": err.Error()}
	}
	_ = json.NewEncoder(w).Encode(body)
}
