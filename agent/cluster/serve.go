package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster/journal"
	"github.com/regentproject/regent/internal/runtime/thread"
	"github.com/regentproject/regent/roster"
)

// Serve is what a member process does. It reads an Order, joins, campaigns, and writes Events. Further lines on its
// input are commands:
//
//	resign [GROUP]        the program that leads the group gives it up, and campaigns again; without a name, the first
//	transfer TO [GROUP]   the same, in favour of TO
//	campaign              begin to campaign, if the order was to hold
//	status                report how the member is
//	verify                prove who leads the first group
//	change JSON           change the council, as a roster.Change says; the commands that follow do not wait for it
//	unwell                the member is unhealthy from now on, and programs that lead are asked to stop
//
// The member leaves at the end of its input, and when the council has removed it. Serve returns the exit status. Further programs of the member run beside those of its groups, until their context ends.
func Serve(in io.Reader, out io.Writer, logs io.Writer, beside ...func(context.Context, *regent.Member, Order) error) int {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20) // an order with 100,000 groups is one line
	var o Order
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &o) != nil {
		fmt.Fprintln(os.Stderr, "missing order (this command is started by regent demo, which writes the order to its input)")
		return 2
	}
	s := &server{order: o, out: json.NewEncoder(out), moved: make(chan struct{}, 1), begin: make(chan struct{})}
	if !o.Hold {
		close(s.begin)
	}
	thread.Spare() // for the member
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	commands := make(chan string)
	go func() {
		defer cancel()
		for lines.Scan() {
			commands <- lines.Text()
		}
	}()
	config := regent.Config{Name: o.Name, Dir: o.Dir, Bind: o.Bind, Council: o.Council, Key: o.Key, OwnKeys: o.OwnKeys,
		CouncilID: CouncilID, Bootstrap: o.Bootstrap, Timing: o.Timing, NoRealtime: o.NoRealtime, Guardian: o.Guardian, StopWithin: o.Stubborn, Consistent: consistent(o.Groups), Logger: slog.New(slog.NewTextHandler(logs, nil))}
	config.OnCouncil = func(c roster.Council) {
		if c.Removed {
			cancel()
		}
	}
	if o.Joins {
		config.Council, config.Join = nil, o.Council
	}
	m, err := regent.Join(ctx, config)
	if err != nil {
		s.say(Event{What: Failed, Text: err.Error()})
		return 1
	}
	s.member = m
	if o.Poll > 0 && o.Journals != "" {
		s.journal, err = journal.Open(o.Journals, o.Name)
		if err != nil {
			s.say(Event{What: Failed, Text: err.Error()})
			return 1
		}
		defer s.journal.Close()
	}
	s.say(Event{What: Joined})
	var programs sync.WaitGroup
	for _, program := range beside {
		programs.Go(func() {
			if err := program(ctx, m, o); err != nil && ctx.Err() == nil {
				s.say(Event{What: Failed, Text: err.Error()})
			}
		})
	}
	s.run(ctx, commands)
	cancel()
	programs.Wait()
	last, stop := context.WithTimeout(context.Background(), 4*time.Second)
	defer stop()
	if err := m.Leave(last); err != nil {
		s.say(Event{What: Failed, Text: err.Error()})
		return 1
	}
	s.say(Event{What: Closed})
	return 0
}

// server is a member process at work.
type server struct {
	order   Order
	member  *regent.Member
	journal *journal.Journal // nil if there is none
	mu      sync.Mutex
	out     *json.Encoder
	// leading counts the quiet groups that are led.
	leading atomic.Int64
	// programs are those of the groups that are not quiet. They are all there before any command is.
	programs []*program
	// begin is closed when programs may campaign.
	begin chan struct{}
	// moved says that leading has changed.
	moved chan struct{}
}

func (s *server) say(e Event) {
	e.Member = s.order.Name
	if e.At == 0 {
		e.At = Now()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.Encode(&e)
}

// run does what a member process does until ctx ends.
func (s *server) run(ctx context.Context, commands <-chan string) {
	var all sync.WaitGroup
	for _, g := range s.order.Groups {
		if err := s.serve(ctx, g, &all); err != nil {
			s.say(Event{What: Failed, Group: g.Name, Text: err.Error()})
		}
	}
	all.Go(func() { s.count(ctx) })
	if s.order.Status > 0 {
		all.Go(func() { s.reportStatus(ctx) })
	}
	for ctx.Err() == nil {
		select {
		case c := <-commands:
			s.obey(ctx, c)
		case <-ctx.Done():
		}
	}
	all.Wait()
}

// move counts quiet groups that are led.
func (s *server) move(by int64) {
	s.leading.Add(by)
	select {
	case s.moved <- struct{}{}:
	default:
	}
}

// leadQuietly leads a quiet group whenever it can.
func (s *server) leadQuietly(ctx context.Context, g *regent.Group) {
	for s.mayCampaign(ctx) {
		err := g.Lead(ctx, func(ctx context.Context, _ *regent.Lease) error {
			s.move(1)
			defer s.move(-1)
			<-ctx.Done()
			return nil
		})
		if errors.Is(err, regent.ErrClosed) {
			return
		}
	}
}

// mayCampaign waits until programs may campaign; false if the member leaves.
func (s *server) mayCampaign(ctx context.Context) bool {
	select {
	case <-s.begin:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// poll asks the lease again and again whether the program leads, and keeps a journal of it.
func (s *server) poll(ctx context.Context, l leadership, e *journal.Entry) {
	ticker := time.NewTicker(s.order.Poll)
	defer ticker.Stop()
	for e.Observe(l.Valid) && ctx.Err() == nil {
		if x, ok := l.(*regent.LocalLease); ok {
			if support, err := x.Support(ctx); err == nil {
				e.Supported(support)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	if err := e.Err(); err != nil {
		s.say(Event{What: Failed, Text: err.Error()})
	}
}

// count reports when the number of quiet groups that are led has changed.
func (s *server) count(ctx context.Context) {
	for {
		select {
		case <-s.moved:
		case <-ctx.Done():
			return
		}
		s.say(Event{What: Counted, Leading: int(s.leading.Load())})
		// Many move at once: what comes within a moment is counted together.
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// reportStatus reports from time to time how the member is.
func (s *server) reportStatus(ctx context.Context) {
	ticker := time.NewTicker(s.order.Status)
	defer ticker.Stop()
	for {
		s.status()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *server) status() {
	st := s.member.Status()
	council := s.member.Council()
	e := Event{What: Said, Status: &st, Council: &council, Members: s.member.Members(), Leading: int(s.leading.Load())}
	for _, p := range s.programs {
		if st, ok := p.standing(); ok {
			e.Standings = append(e.Standings, st)
		}
	}
	s.say(e)
}

// obey carries out a command.
func (s *server) obey(ctx context.Context, command string) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return
	}
	if change, ok := strings.CutPrefix(command, "change "); ok {
		go s.change(ctx, change)
		return
	}
	begin := time.Now()
	err := s.do(ctx, words)
	e := Event{What: Did, Text: command, Took: time.Since(begin)}
	if err != nil {
		e.What, e.Text = Failed, command+": "+err.Error()
	}
	s.say(e)
}

func (s *server) do(ctx context.Context, words []string) error {
	switch words[0] {
	case "campaign":
		select {
		case <-s.begin:
		default:
			close(s.begin)
		}
		return nil
	case "status":
		s.status()
		return nil
	case "verify":
		if len(s.order.Groups) == 0 {
			return errors.New("there is no group")
		}
		g, err := s.member.Group(s.order.Groups[0].Name)
		if err == nil {
			_, err = g.Verify(ctx)
		}
		return err
	case "unwell":
		s.member.SetHealth(errors.New("the test asked for it"))
		return nil
	case "resign", "transfer":
		return s.handOver(ctx, words[0], words[1:])
	}
	return errors.New("no such command")
}

// change changes the council, and reports when that is over.
func (s *server) change(ctx context.Context, command string) {
	begin := time.Now()
	var c roster.Change
	err := json.Unmarshal([]byte(command), &c)
	e := Event{What: Did, Text: "change"}
	if err == nil {
		var now roster.Council
		now, err = s.member.Change(ctx, c)
		e.Council = &now
	}
	if err != nil {
		e.What, e.Text = Failed, err.Error()
	}
	e.Took = time.Since(begin)
	s.say(e)
}

// handOver makes the program that leads a group give it up, or hand it over.
func (s *server) handOver(ctx context.Context, verb string, words []string) error {
	to, group := "", ""
	if verb == "transfer" {
		if len(words) == 0 {
			return errors.New("missing member (usage: transfer TO [GROUP])")
		}
		to, words = words[0], words[1:]
	}
	if len(words) > 0 {
		group = words[0]
	}
	l := s.held(group)
	switch {
	case l == nil:
		return errors.New("does not lead")
	case to == "":
		return l.Resign(ctx)
	}
	return l.Transfer(ctx, to)
}
