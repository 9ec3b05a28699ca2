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
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent"
)

// Serve is what a member process does. It reads an Order, joins, campaigns, and writes Events. Further lines on its
// input are commands:
//
//	resign [GROUP]        the program that leads the group gives it up, and campaigns again; without a name, the first
//	transfer TO [GROUP]   the same, in favour of TO
//	campaign              begin to, if the order was to hold
//	status                say how you are
//	verify                prove who leads the first group
//
// The end of its input is the word to leave. It returns the exit status.
func Serve(in io.Reader, out io.Writer, logs io.Writer) int {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	var o Order
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &o) != nil {
		fmt.Fprintln(os.Stderr, "this is the inside of regent demo: its first line of input says which member it is")
		return 2
	}
	s := &server{order: o, out: json.NewEncoder(out), moved: make(chan struct{}, 1), begin: make(chan struct{})}
	if !o.Hold {
		close(s.begin)
	}
	// The member's thread needs one of Go's processors to run, real-time or not. If all of them are with threads that the
	// kernel has put aside, it waits for those: with two to spare that hardly happens.
	runtime.GOMAXPROCS(runtime.NumCPU() + 2)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	commands := make(chan string)
	go func() {
		defer cancel()
		for lines.Scan() {
			commands <- lines.Text()
		}
	}()
	m, err := regent.Join(ctx, regent.Config{Name: o.Name, Dir: o.Dir, Bind: o.Bind, Council: o.Council, Key: o.Key,
		Bootstrap: o.Bootstrap, Timing: o.Timing, NoRealtime: o.NoRealtime, Consistent: consistent(o.Named), Logger: slog.New(slog.NewTextHandler(logs, nil))})
	if err != nil {
		s.say(Event{What: Failed, Text: err.Error()})
		return 1
	}
	s.member = m
	s.say(Event{What: Joined})
	s.run(ctx, commands)
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
	order  Order
	member *regent.Member
	mu     sync.Mutex
	out    *json.Encoder
	// lease is that of the first group, while its program leads.
	lease   atomic.Pointer[regent.Lease]
	leading atomic.Int64
	// programs are those of the named groups. They are all there before any command is.
	programs []*program
	// begin is closed when programs may campaign.
	begin chan struct{}
	// moved says that leading has changed.
	moved chan struct{}
}

func (s *server) say(e Event) {
	e.Member = s.order.Name
	if e.At == 0 {
		e.At = Reading()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.Encode(&e)
}

// groupName returns the name of the i-th of the groups that have no name of their own.
func groupName(i int) string { return fmt.Sprintf("g%d", i) }

// run does what a member process does until ctx ends.
func (s *server) run(ctx context.Context, commands <-chan string) {
	var all sync.WaitGroup
	for _, n := range s.order.Named {
		if err := s.serve(ctx, n, &all); err != nil {
			s.say(Event{What: Failed, Group: n.Name, Text: err.Error()})
		}
	}
	if s.order.Groups > 0 {
		all.Go(func() { s.watch(ctx) })
	}
	all.Go(func() { s.count(ctx) })
	if !s.order.Watch {
		for i := range s.order.Groups {
			g := s.member.Group(groupName(i))
			all.Go(func() { s.campaign(ctx, g, i == 0) })
		}
	}
	if s.order.Status > 0 {
		all.Go(func() { s.tell(ctx) })
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

// move counts groups that are led.
func (s *server) move(by int64) {
	s.leading.Add(by)
	select {
	case s.moved <- struct{}{}:
	default:
	}
}

// campaign leads a group whenever it can.
func (s *server) campaign(ctx context.Context, g *regent.Group, first bool) {
	select {
	case <-s.begin:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		err := g.Lead(ctx, func(ctx context.Context, l *regent.Lease) error {
			s.move(1)
			defer s.move(-1)
			if !first {
				<-ctx.Done()
				return nil
			}
			s.lease.Store(l)
			defer s.lease.Store(nil)
			s.lead(ctx, l)
			return nil
		})
		if errors.Is(err, regent.ErrClosed) {
			return
		}
	}
}

// lead is the program that leads the first group.
func (s *server) lead(ctx context.Context, l *regent.Lease) {
	s.say(Event{What: Leads, Token: l.Token()})
	if s.order.Poll > 0 {
		r := s.poll(ctx, l, s.order.Diary)
		s.say(Event{What: Held, Token: r.Token, Since: r.Since, Until: r.Until})
	}
	<-ctx.Done()
	s.say(Event{What: Stops, Token: l.Token(), Text: context.Cause(ctx).Error()})
}

// poll asks the lease again and again whether the program leads, and writes down between which readings of the program's
// own clock the answer was yes.
func (s *server) poll(ctx context.Context, l lease, path string) Reign {
	r := Reign{Token: tokenOf(l)}
	diary := openDiary(path)
	defer diary.close()
	ticker := time.NewTicker(s.order.Poll)
	defer ticker.Stop()
	for {
		before := Reading()
		valid := l.Valid()
		after := Reading()
		if valid {
			// Between two readings that say yes of one lease it is yes throughout.
			if r.Since == 0 {
				r.Since = after
			}
			r.Until = max(r.Until, before)
			diary.write(r)
		}
		if !valid || ctx.Err() != nil {
			return r
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

func (s *server) watch(ctx context.Context) {
	for v := range s.member.Group(groupName(0)).Watch(ctx) {
		s.say(Event{What: Saw, View: &v})
	}
}

// count says when the number of groups that are led has changed.
func (s *server) count(ctx context.Context) {
	if s.order.Groups < 2 {
		return
	}
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

// tell says from time to time how the member is.
func (s *server) tell(ctx context.Context) {
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
	e := Event{What: Said, Status: &st, Members: s.member.Members(), Leading: int(s.leading.Load())}
	if l := s.lease.Load(); l != nil {
		e.Remaining, e.Token = l.Remaining(), l.Token()
	}
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
	begin := time.Now()
	e := Event{What: Did, Text: command}
	err := s.do(ctx, words)
	if e.Took = time.Since(begin); err != nil {
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
		_, err := s.member.Group(groupName(0)).Verify(ctx)
		return err
	case "resign", "transfer":
		return s.handOver(ctx, words[0], words[1:])
	}
	return errors.New("no such command")
}

// handOver makes the program that leads a group give it up, or hand it over.
func (s *server) handOver(ctx context.Context, verb string, words []string) error {
	to, group := "", ""
	if verb == "transfer" {
		if len(words) == 0 {
			return errors.New("transfer to whom?")
		}
		to, words = words[0], words[1:]
	}
	if len(words) > 0 {
		group = words[0]
	}
	l := s.namedLease(group)
	switch {
	case l == nil:
		return errors.New("does not lead")
	case to == "":
		return l.Resign(ctx)
	}
	return l.Transfer(ctx, to)
}
