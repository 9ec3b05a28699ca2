package checkpoint

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/regentproject/regent/checkpoint/core"
)

const (
	messagePath = "/checkpoint/message"
	// StatusPath is where a node shows its [Status].
	StatusPath = "/checkpoint/status"
	fromHeader = "Checkpoint-From"
	codeHeader = "Checkpoint-Code"
	// patience is for how long a peer may take to answer.
	patience = 3 * time.Second
	// maxMessage is the most bytes that a message may have.
	maxMessage = 256 << 20
)

// code authenticates a message, with its sender and its receiver.
func code(secret []byte, from, to int, body []byte) string {
	h := hmac.New(sha256.New, secret)
	fmt.Fprintf(h, "%d %d ", from, to)
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// post sends a message, and returns the answer of the vault if there is one.
func (c *Config) post(ctx context.Context, from, to int, m *core.Message) (*core.Message, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.Council[to].Addr+messagePath, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set(fromHeader, strconv.Itoa(from))
	r.Header.Set(codeHeader, code(c.Secret, from, to, body))
	answer, err := c.Client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusNoContent:
		return nil, nil
	case http.StatusOK:
	default:
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 200))
		return nil, fmt.Errorf("checkpoint: %s: %s: %s", c.Council[to].Name, answer.Status, bytes.TrimSpace(text))
	}
	var reply core.Message
	err = json.NewDecoder(io.LimitReader(answer.Body, maxMessage)).Decode(&reply)
	return &reply, err
}

// ServeHTTP takes messages of the other members, and shows the status.
func (n *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == StatusPath && r.Method == http.MethodGet:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(n.Status())
		return
	case r.URL.Path != messagePath || r.Method != http.MethodPost:
		http.NotFound(w, r)
		return
	}
	from, err := strconv.Atoi(r.Header.Get(fromHeader))
	if err != nil || from < 0 || from >= len(n.config.Council) {
		http.Error(w, "unknown sender", http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !hmac.Equal([]byte(r.Header.Get(codeHeader)), []byte(code(n.config.Secret, from, n.self, body))) {
		http.Error(w, "wrong authentication code", http.StatusForbidden)
		return
	}
	var m core.Message
	if err := json.Unmarshal(body, &m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	reply, err := n.take(from, &m)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case reply == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		_ = json.NewEncoder(w).Encode(reply)
	}
}

// A sender sends messages to one member, in order, each kind about each key once at a time.
type sender struct {
	mu      sync.Mutex
	waiting map[string]bool
	queue   chan core.Message
}

const queueSize = 1024

func newSender() *sender {
	return &sender{waiting: make(map[string]bool), queue: make(chan core.Message, queueSize)}
}

func slot(m *core.Message) string {
	seq := m.Seq
	if m.Share != nil {
		seq = m.Share.Seq
	}
	return fmt.Sprint(m.Kind, m.Key, m.View, seq)
}

// put queues a message, unless the same one waits already. What does not fit is sent again later.
func (s *sender) put(m core.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := slot(&m); !s.waiting[k] {
		select {
		case s.queue <- m:
			s.waiting[k] = true
		default:
		}
	}
}

// done says that a message has left.
func (s *sender) done(m *core.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, slot(m))
}
