package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/web"
)

// pageRequest is a command from a page, which waits for the reply.
type pageRequest struct {
	command web.Command
	reply   chan pageReply
}

type pageReply struct {
	text string
	err  error
}

// serve serves the page, if there is to be one. The function that it returns ends that.
func (s *demonstration) serve() (stop func(), err error) {
	if s.Addr == "" {
		return func() {}, nil
	}
	s.store = web.NewStore(func() time.Duration { return s.since(cluster.Now()) })
	s.publish()
	over := make(chan struct{})
	var beside map[string]http.Handler
	if s.Page != nil {
		beside = map[string]http.Handler{s.Path: s.Page(s.cluster.Dir, s.model.names)}
	}
	server, err := web.Serve(s.Addr, web.Handler(s.store, web.Options{Beside: beside, Do: func(ctx context.Context, c web.Command) (string, error) {
		a := pageRequest{c, make(chan pageReply, 1)}
		select {
		case s.requests <- a:
		case <-over:
			return "", fmt.Errorf("the demonstration is over")
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		r := <-a.reply
		return r.text, r.err
	}}))
	if err != nil {
		return nil, fmt.Errorf("the page: %w", err)
	}
	s.url = server.URL
	if s.Page != nil {
		s.url = strings.TrimSuffix(s.url, "/") + s.Path
	}
	return func() { close(over); _ = server.Close() }, nil
}

// announce says where the page is.
func (s *demonstration) announce() {
	if s.url == "" {
		return
	}
	switch {
	case s.JSON:
		b, _ := json.Marshal(map[string]any{"event": "page", "t_ns": s.since(cluster.Now()), "url": s.url})
		fmt.Fprintf(s.Out, "%s\n", b)
	case s.terminal == nil:
		fmt.Fprintf(s.Out, "in a browser: %s\n", s.url)
	}
	if s.Open != nil {
		s.Open(s.url)
	}
}

// publish shows the page how everything stands.
func (s *demonstration) publish() {
	if s.store != nil {
		s.store.Replace(s.state())
	}
}

// answer does what a page asks for.
func (s *demonstration) answer(c web.Command) pageReply {
	text, err := s.perform(c)
	if err == nil {
		news := s.model.addEntry(web.Entry{At: s.since(cluster.Now()), Text: text, Tone: "you", Group: c.Group})
		switch {
		case s.JSON:
			s.write(&cluster.Event{Member: strings.Join(c.Members, " "), What: "command", At: cluster.Now(), Text: text})
		case s.terminal == nil:
			fmt.Fprintln(s.Out, news)
		}
	}
	s.publish()
	return pageReply{text, err}
}

// perform carries out a command of a page, and says what was done.
func (s *demonstration) perform(c web.Command) (string, error) {
	for _, n := range c.Members {
		if !slices.Contains(s.model.names, n) {
			return "", fmt.Errorf("%s: no member %q: there are %s", c.Verb, n, strings.Join(s.model.names, ", "))
		}
	}
	switch c.Verb {
	case "add":
		return s.add(c.To)
	case "remove":
		return s.remove(c.Members)
	case "cancel":
		return s.cancel()
	}
	verb, link := strings.CutPrefix(c.Verb, "link-")
	var err error
	switch {
	case link && len(c.Members) == 2:
		err = actOnLink(s.cluster, verb, c.Members[0], c.Members[1])
	case link:
		err = fmt.Errorf("a link has two ends, not %d", len(c.Members))
	case c.Verb == "transfer" && !slices.Contains(s.model.names, c.To):
		err = fmt.Errorf("no member %q: there are %s", c.To, strings.Join(s.model.names, ", "))
	default:
		err = s.act(c)
	}
	if err != nil {
		return "", err
	}
	what := strings.Join(c.Members, " ")
	if link {
		what = "the link " + strings.Join(c.Members, " – ")
	}
	if c.To != "" {
		what = "to " + c.To
	}
	return strings.TrimSpace(fmt.Sprintf("you: %s %s", verb, what)), nil
}

// recordCrashEnd reads from its journal when a program that died without a word led last.
func (s *demonstration) recordCrashEnd(e *cluster.Event) {
	if e.What != cluster.Gone {
		return
	}
	for _, g := range s.model.elections {
		r, err := s.cluster.LastSpan(e.Member, g.name)
		if err != nil {
			continue // it never led
		}
		if x := g.leadership(e.Member, r.Token, false); x != nil && !x.over {
			x.from, x.to, x.over, x.proven = s.since(r.Since), s.since(r.Seen), true, true
			x.cause = "its process ended"
			s.model.overlap += g.overlap(x)
			s.model.leaderGone(g, e.Member, s.since(e.At))
		}
	}
}
