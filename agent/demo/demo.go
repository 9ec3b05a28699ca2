// Package demo shows an election at work: members as real processes on this host, with a relay between them, and a
// person, or a script, that crashes, pauses and cuts them off.
//
//	demo.go     the course of a demonstration
//	command.go  what can be done to members
//	keys.go     the same by single keys
//	council.go  members that come and go
//	model.go    what is known of the members, from what they say
//	table.go    the same as a table
//	tour.go     a guided tour below the table
//	show.go     the same as a page in the browser
//	incidents.go one entry for what several say at once
//	page.go     the page, and what it asks for
package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/terminal"
	"github.com/regentproject/regent/agent/web"
)

// Options is what a demonstration is made of.
type Options struct {
	Members int
	// For is how long it lasts; zero: until somebody quits.
	For    time.Duration
	Timing regent.Timing
	// Groups are those that programs lead; the first is the one that commands are about.
	Groups []cluster.Group
	// Addr is where the page is served, such as 127.0.0.1:0; empty: nowhere.
	Addr string
	// Page, if not nil, makes a further page at Path about the members, of which each has a directory in dir. It is the one that is opened.
	Page func(dir string, names []string) http.Handler
	Path string
	// Open is called with the address of the page when it is there; nil: nothing is.
	Open func(url string)
	// JSON writes an event per line instead of a table.
	JSON bool
	// In takes keys if it is a terminal, and commands line by line if it is not.
	In  io.Reader
	Out io.Writer
	// Command makes the command that runs cluster.Serve.
	Command func() *exec.Cmd
}

// Run runs a demonstration until it is over or ctx ends, and leaves nothing behind.
func Run(ctx context.Context, o Options) (err error) {
	if o.Members < 1 || o.Members > maxMembers {
		return fmt.Errorf("%d members: must be between 1 and %d", o.Members, maxMembers)
	}
	dir, err := os.MkdirTemp("", "regent-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var hosts []string
	for i := range maxMembers {
		hosts = append(hosts, string(rune('a'+i)))
	}
	names := hosts[:o.Members]
	if len(o.Groups) == 0 {
		o.Groups = slices.Clone(Groups)
	}
	// All members and a browser share this host, and wake up late now and then: that alone must not make links slow.
	o.Timing.Delay = max(o.Timing.Delay, min(hostDelay, o.Timing.Lease/5))
	// Nothing asks for longer leases, and a new member waits until those that it may have promised would be over.
	o.Timing.LongestLease = o.Timing.Lease
	t, err := cluster.New(cluster.Options{Names: hosts, Founders: names, Dir: dir, Timing: o.Timing, Command: o.Command, Relay: true, Groups: o.Groups,
		Poll: pollInterval, Status: statusInterval})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	s := &demonstration{Options: o, cluster: t, model: newModel(names, o.Groups...), begin: cluster.Now(), began: time.Now(), requests: make(chan pageRequest), joiners: make(map[string]bool)}
	s.model.now = func() time.Duration { return s.since(cluster.Now()) }
	stop, err := s.serve()
	if err != nil {
		return err
	}
	defer stop()
	for _, name := range names {
		if err := s.start(name); err != nil {
			return err
		}
	}
	if o.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.For)
		defer cancel()
	}
	return s.loop(ctx)
}

// Groups are what a demonstration shows by default: one of each mode, and some more.
var Groups = []cluster.Group{
	{Name: "billing", Mode: regent.Quorum, Beside: true},
	{Name: "mail", Mode: regent.Quorum},
	{Name: "reports", Mode: regent.Quorum},
	{Name: "cache", Mode: regent.Local},
	{Name: "search", Mode: regent.Eventual},
	{Name: "shards", Mode: regent.Consistent},
}

const (
	// maxMembers is how many can be chosen by a digit.
	maxMembers = 9
	// hostDelay is the delay up to which links count as fast: all members and a browser share this host.
	hostDelay = 40 * time.Millisecond
	// pollInterval and statusInterval are how often members look at their leases and report; drawInterval is how often
	// the table is drawn.
	pollInterval   = 5 * time.Millisecond
	statusInterval = 60 * time.Millisecond
	drawInterval   = 50 * time.Millisecond
)

// demonstration is a demonstration under way.
type demonstration struct {
	Options
	cluster *cluster.Cluster
	model   *model
	// joiners are members that did not begin the council.
	joiners map[string]bool
	begin   cluster.Time
	began   time.Time // the same, by the time of day
	// store is what the page shows, at url; nil if there is none. requests is what pages ask for.
	store    *web.Store
	url      string
	requests chan pageRequest
	// terminal is nil if there is no table to draw.
	terminal *terminal.Terminal
}

// loop goes on until ctx ends or somebody quits.
func (s *demonstration) loop(ctx context.Context) error {
	commands := make(chan command)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := s.open(); err != nil {
		return err
	}
	if s.terminal != nil {
		defer s.terminal.Close()
		s.model.tour.ended = s.Page != nil // that page is what the demonstration is about
	}
	go s.read(ctx, commands)
	s.announce()
	draw := time.NewTicker(drawInterval)
	defer draw.Stop()
	for {
		select {
		case e := <-s.cluster.Events():
			s.handleEvent(&e)
		case c := <-commands:
			if c.verb == "quit" {
				return s.summarize(true)
			}
			s.execute(c)
		case a := <-s.requests:
			a.reply <- s.answer(a.command)
		case <-draw.C:
			s.followCouncil()
			s.draw()
			s.publish()
		case <-ctx.Done():
			s.draw()
			return s.summarize(false)
		}
	}
}

// open takes the terminal over for keys and a table, if there is one.
func (s *demonstration) open() (err error) {
	if s.JSON || terminal.Usable(s.In, s.Out) != nil {
		return nil
	}
	s.terminal, err = terminal.Open(s.In, s.Out)
	return err
}

// read turns keys or lines into commands. When the terminal has gone, that is the end.
func (s *demonstration) read(ctx context.Context, commands chan<- command) {
	send := func(c command) bool {
		select {
		case commands <- c:
			return true
		case <-ctx.Done():
			return false
		}
	}
	if s.terminal != nil {
		for key := range s.terminal.Keys() {
			if c, ok := keyCommand(key); ok && !send(c) {
				return
			}
		}
		send(command{verb: "quit"})
		return
	}
	if s.In == nil {
		return
	}
	in := bufio.NewReader(s.In)
	for {
		line, err := in.ReadString('\n')
		if line != "" && !send(parse(line)) || err != nil {
			return
		}
	}
}

// handleEvent notes what a member said, and passes it on to all that watch.
func (s *demonstration) handleEvent(e *cluster.Event) {
	s.recordCrashEnd(e)
	news := s.model.apply(e, s.since)
	switch {
	case s.JSON && e.What != cluster.Said:
		s.write(e)
	case s.JSON || s.terminal != nil:
	case news != "":
		fmt.Fprintln(s.Out, news)
	}
}

// followCouncil notes a change of the council that is over, and passes it on.
func (s *demonstration) followCouncil() {
	at := s.since(cluster.Now())
	c := s.model.follow(at)
	s.tidy()
	if c == nil {
		return
	}
	text := "council: " + c.String()
	news := s.model.addEntry(web.Entry{At: at, Text: text, Tone: "good"})
	switch {
	case s.JSON:
		s.write(&cluster.Event{What: "council", At: cluster.Now(), Text: text, Took: c.Took, Council: s.model.council.now})
	case s.terminal == nil:
		fmt.Fprintln(s.Out, news)
	}
}

// since returns a reading as time since the beginning.
func (s *demonstration) since(at cluster.Time) time.Duration { return at.Sub(s.begin) }

// line is an event as scripts read it: with the time since the beginning.
type line struct {
	T time.Duration `json:"t_ns"`
	*cluster.Event
}

func (s *demonstration) write(e *cluster.Event) {
	b, err := json.Marshal(line{s.since(e.At), e})
	if err == nil {
		fmt.Fprintf(s.Out, "%s\n", b)
	}
}

// execute does to members what was asked for.
func (s *demonstration) execute(c command) {
	if s.terminal != nil {
		c.choose(s.model)
	}
	if s.turned(c) {
		s.draw()
		return
	}
	text, err := c.run(s)
	if err != nil {
		text = err.Error()
	} else {
		s.model.tour.note(c.verb)
	}
	if text == "" {
		return
	}
	news := s.model.addEntry(web.Entry{At: s.since(cluster.Now()), Text: text, Tone: "you"})
	switch {
	case s.JSON:
		s.write(&cluster.Event{Member: c.member, What: "command", At: cluster.Now(), Text: text})
	case s.terminal == nil:
		fmt.Fprintln(s.Out, news)
	}
	s.draw()
}

// turned says that a key is about what is shown, and not about members.
func (s *demonstration) turned(c command) bool {
	switch {
	case !c.key:
		return false
	case c.verb == "others":
		s.model.others = !s.model.others
		return true
	}
	return s.model.tour.take(c.verb)
}

func (s *demonstration) draw() {
	if s.terminal != nil {
		width, height := s.terminal.Size()
		s.terminal.Draw(s.model.table(s.cluster, s.since(cluster.Now()), s.url, width, height))
	}
}

// summarize is what a demonstration ends with: an error if two led at once or, unless a person ended it, if nobody ever led.
func (s *demonstration) summarize(quit bool) error {
	m := s.model
	if s.JSON {
		b, _ := json.Marshal(map[string]any{"event": "summary", "t_ns": s.since(cluster.Now()), "changes": m.changes,
			"leaders": m.leaderships, "both_ns": m.overlap})
		fmt.Fprintf(s.Out, "%s\n", b)
	} else {
		if s.terminal != nil { // what is printed stays on the screen
			if err := s.terminal.Close(); err != nil {
				return err
			}
		}
		both := "0 s"
		if m.overlap > 0 {
			both = m.overlap.String()
		}
		fmt.Fprintf(s.Out, "%d leaderships, two at once: %s\n", m.leaderships, both)
	}
	switch {
	case m.overlap > 0:
		return fmt.Errorf("two programs led at one instant, for %v", m.overlap)
	case m.leaderships == 0 && !quit:
		return errors.New("nobody ever led: " + m.firstFailure())
	}
	return nil
}
