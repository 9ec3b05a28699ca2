package enginetest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A Subject is an engine under test, with the server that it uses.
type Subject struct {
	// Address is where the server is, host:port, or several with commas in between. Contenders get those of proxies in front of them.
	Address string
	// Link makes the way of a contender to the system, in place of proxies in front of Address; nil: there are proxies.
	Link func(t *testing.T, contender string) Link
	// Lease is that of the contenders. It must be longer than the pauses of a busy host.
	Lease time.Duration
	// Slow is how long answers take when they are slow: so long that a holder cannot keep its leases. Zero: half of Lease.
	Slow time.Duration
	// Groups is how many groups there are, and Rounds how often a holder of about half of them is paused; zero: 50 and 4.
	Groups, Rounds int
	// Crash kills the server without a warning, and starts it again on the same data; nil: it is not tested.
	Crash func(t *testing.T)
	// Delete deletes the entry of a group; nil: it is not tested.
	Delete func(t *testing.T, group string)
	// Time sets how far the time of day of the server is ahead of the host's; nil: it is not tested.
	Time func(t *testing.T, ahead time.Duration)
}

// A trial is a run of the test.
type trial struct {
	*testing.T
	subject Subject
	links   map[string][]Link // by contender, one for each address
	journal *journal
	procs   map[string]*process
	groups  []string
}

// A process is a contender.
type process struct {
	name  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan struct{} // closed when its output has ended
}

// Run tests an engine. It takes some minutes: with many groups while holders are paused, and with few on a link and a server that fail.
func Run(t *testing.T, s Subject) {
	if s.Groups == 0 {
		s.Groups, s.Rounds = 50, 4
	}
	if s.Slow == 0 {
		s.Slow = s.Lease / 2
	}
	t.Run("pauses", func(t *testing.T) {
		r := begin(t, s, "g", s.Groups)
		r.part("first", r.first)
		r.part("paused", r.paused)
		r.part("releases", r.releases)
		r.part("cancelled", r.cancelled)
		r.finish()
	})
	t.Run("faults", func(t *testing.T) {
		r := begin(t, s, "f", 5)
		r.part("first", r.first)
		r.part("slow answers", r.slow)
		r.part("lost answers", r.lost)
		r.part("cut connections", r.cut)
		if s.Delete != nil {
			r.part("deleted", r.deleted)
		}
		if s.Time != nil {
			r.part("time of day", r.shifted)
		}
		if s.Crash != nil {
			r.part("crash of the server", r.crashed)
		}
		r.finish()
	})
}

// begin starts two contenders for groups whose names begin alike.
func begin(t *testing.T, s Subject, prefix string, groups int) *trial {
	t.Helper()
	r := &trial{T: t, subject: s, links: make(map[string][]Link), journal: newJournal(), procs: make(map[string]*process)}
	for i := range groups {
		r.groups = append(r.groups, prefix+strconv.Itoa(i))
	}
	r.start("a")
	r.start("b")
	return r
}

// part does one part, if those before have not failed.
func (r *trial) part(name string, f func()) {
	if r.Failed() {
		return
	}
	begun := time.Now()
	f()
	r.Logf("%s: %.1fs, %d leaderships so far", name, time.Since(begun).Seconds(), r.journal.count())
}

// finish ends the contenders, and looks at what they have written.
func (r *trial) finish() {
	for _, p := range r.procs {
		r.stop(p)
	}
	for _, problem := range r.journal.problems() {
		r.Error(problem)
	}
}

// start starts a contender, and has it campaign for all groups.
func (r *trial) start(name string) {
	r.Helper()
	self, err := os.Executable()
	if err != nil {
		r.Fatal(err)
	}
	var addresses []string
	for _, l := range r.connect(name) {
		r.Cleanup(l.Close)
		r.links[name] = append(r.links[name], l)
		addresses = append(addresses, l.Address())
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), contenderName+"="+name, contenderWhere+"="+strings.Join(addresses, ","), fmt.Sprintf("%s=%d", contenderLease, r.subject.Lease.Milliseconds()))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		r.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	c := &process{name: name, cmd: cmd, in: in, lines: make(chan struct{})}
	r.procs[name] = c
	r.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-c.lines
		_ = cmd.Wait()
	})
	go func() {
		defer close(c.lines)
		s := bufio.NewScanner(out)
		for s.Scan() {
			r.journal.take(name, s.Text())
		}
	}()
	r.eventually("contender "+name+" is ready", func() bool {
		r.journal.mu.Lock()
		defer r.journal.mu.Unlock()
		return r.journal.ready[name]
	})
	for _, g := range r.groups {
		r.order(name, "campaign", g)
	}
}

// connect makes the ways of a contender to the system.
func (r *trial) connect(name string) (links []Link) {
	r.Helper()
	if r.subject.Link != nil {
		return []Link{r.subject.Link(r.T, name)}
	}
	for server := range strings.SplitSeq(r.subject.Address, ",") {
		p, err := newProxy(server)
		if err != nil {
			r.Fatal(err)
		}
		links = append(links, p)
	}
	return links
}

// stop lets a contender end in good order, and reads the rest of its journal.
func (r *trial) stop(p *process) {
	_ = p.in.Close()
	select {
	case <-p.lines:
	case <-time.After(patience):
		r.Errorf("contender %s does not end", p.name)
	}
}

func (r *trial) order(contender, what, group string) {
	if _, err := fmt.Fprintln(r.procs[contender].in, what, group); err != nil {
		r.Errorf("contender %s: %v", contender, err)
	}
}

func (r *trial) signal(contender string, s os.Signal) {
	if err := r.procs[contender].cmd.Process.Signal(s); err != nil {
		r.Error(err)
	}
}

// patience bounds every wait.
const patience = 2 * time.Minute

func (r *trial) eventually(what string, ok func() bool) {
	r.Helper()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			r.Fatalf("not in %v: %s", patience, what)
		}
		time.Sleep(5 * time.Millisecond) // wall clock: processes and a real server
	}
}

func (r *trial) pause(d time.Duration) { time.Sleep(d) } // wall clock: processes and a real server

// led waits until all groups have a leader that the journal shows, and that began after since tokens.
func (r *trial) led(what string, ok func(group, leader string, token uint64) bool) {
	r.Helper()
	r.eventually(what, func() bool {
		for _, g := range r.groups {
			leader, token, _ := r.journal.leader(g)
			if leader == "" || !ok(g, leader, token) {
				return false
			}
		}
		return true
	})
}

func (r *trial) tokens() map[string]uint64 {
	all := make(map[string]uint64)
	for _, g := range r.groups {
		_, all[g], _ = r.journal.leader(g)
	}
	return all
}

func (r *trial) anybody(string, string, uint64) bool { return true }

// first waits for the first elections.
func (r *trial) first() { r.led("every group has a leader", r.anybody) }

// other returns the contender that is not this one.
func other(name string) string {
	if name == "a" {
		return "b"
	}
	return "a"
}

// rejoin has a contender campaign for the groups that it does not lead.
func (r *trial) rejoin(contender string) {
	for _, g := range r.groups {
		if leader, _, _ := r.journal.leader(g); leader != contender {
			r.order(contender, "campaign", g)
		}
	}
}

// paused pauses holders for three leases. The other contender leads all groups before the pause ends.
func (r *trial) paused() {
	name := "a"
	for range r.subject.Rounds {
		r.signal(name, syscall.SIGSTOP)
		begun := time.Now()
		r.led("the other leads all groups", func(_, leader string, _ uint64) bool { return leader == other(name) })
		r.pause(3*r.subject.Lease - time.Since(begun))
		r.signal(name, syscall.SIGCONT)
		r.pause(r.subject.Lease / 4) // it notices
		r.rejoin(name)
		name = other(name)
	}
}

// releases hands groups over by releases, each in less than half a lease.
func (r *trial) releases() {
	for i, g := range r.groups {
		if i >= 10 {
			return
		}
		from, token, _ := r.journal.leader(g)
		r.order(from, "release", g)
		r.eventually("the next leads after a release", func() bool {
			leader, now, _ := r.journal.leader(g)
			return leader != "" && now > token
		})
		r.journal.mu.Lock()
		before, after := r.journal.find(from, g, token), r.journal.reigns[len(r.journal.reigns)-1]
		if gap := after.from - before.until; after.group == g && gap >= r.subject.Lease/2 {
			r.Errorf("group %s: %v passed between release and next leader", g, gap)
		}
		r.journal.mu.Unlock()
		r.order(from, "campaign", g)
	}
}

// cancelled ends campaigns, which must leave nothing: the holder releases, and campaigns and leads again at once.
func (r *trial) cancelled() {
	for i, g := range r.groups {
		if i >= 10 {
			return
		}
		holder, token, _ := r.journal.leader(g)
		waiting := other(holder)
		r.order(waiting, "cancel", g)
		r.eventually("a campaign that was cancelled ends", func() bool {
			r.journal.mu.Lock()
			defer r.journal.mu.Unlock()
			return r.journal.ended[waiting+" "+g] > 0
		})
		begun := time.Now()
		r.order(holder, "release", g)
		r.order(holder, "campaign", g)
		r.eventually("the only candidate leads", func() bool {
			leader, now, _ := r.journal.leader(g)
			return leader == holder && now > token
		})
		if took := time.Since(begun); took >= r.subject.Lease {
			r.Errorf("group %s: the only candidate led after %v: a cancelled campaign has left something", g, took)
		}
		r.order(waiting, "campaign", g)
	}
}

// slow delays the answers to one contender. It cannot keep its leases then, and must not believe that it does: the other leads as soon as
// they have ended.
func (r *trial) slow() {
	for _, name := range []string{"a", "b"} {
		r.delay(name, r.subject.Slow)
		r.pause(4 * r.subject.Lease)
		r.led("the other leads all groups while answers are slow", func(_, leader string, _ uint64) bool { return leader == other(name) })
		r.delay(name, 0)
		r.settle(name)
	}
}

// settle waits until all groups are led on a link that works.
func (r *trial) settle(contender string) {
	r.pause(r.subject.Lease)
	r.rejoin(contender)
	r.rejoin(other(contender))
	r.led("every group has a leader again", r.anybody)
}

// delay sets how long answers to a contender take.
func (r *trial) delay(name string, d time.Duration) {
	for _, l := range r.links[name] {
		l.Set(d, false, false)
	}
}

// disturb sets what is disturbed on all links.
func (r *trial) disturb(mute, refuse bool) {
	for _, name := range []string{"a", "b"} {
		for _, l := range r.links[name] {
			l.Set(0, mute, refuse)
		}
	}
}

func (r *trial) cutAll() {
	for _, name := range []string{"a", "b"} {
		for _, l := range r.links[name] {
			l.Cut()
		}
	}
}

// lost loses all answers for two leases: requests still arrive.
func (r *trial) lost() {
	r.disturb(true, false)
	r.pause(2 * r.subject.Lease)
	r.disturb(false, false)
	r.cutAll() // streams with a gap are of no use
	r.settle("a")
}

// cut cuts connections, again and again for less than a lease, and then for longer.
func (r *trial) cut() {
	for range 5 {
		r.cutAll()
		r.pause(r.subject.Lease / 5)
	}
	r.settle("a")
	r.disturb(false, true)
	r.pause(2 * r.subject.Lease)
	r.disturb(false, false)
	r.settle("b")
}

// deleted deletes the entries of groups that are led.
func (r *trial) deleted() {
	before := r.tokens()
	for _, g := range r.groups {
		r.subject.Delete(r.T, g)
	}
	r.led("every group has another leader after its entry was deleted", func(g, _ string, token uint64) bool { return token > before[g] })
	r.settle("a")
}

// shifted moves the time of day of the server by an hour, ahead and back, while all groups are led. Leaders do not lose their leases by that. A few may
// lose them because the host is busy.
func (r *trial) shifted() {
	before := r.tokens()
	for _, ahead := range []time.Duration{time.Hour, -time.Hour, 0} {
		r.subject.Time(r.T, ahead)
		r.pause(2 * r.subject.Lease)
	}
	changed := 0
	for g, token := range r.tokens() {
		if token != before[g] {
			changed++
		}
	}
	if changed > len(r.groups)/2 {
		r.Errorf("%d of %d groups have another leader after the time of day of the server was moved", changed, len(r.groups))
	}
	r.settle("a")
}

// crashed kills the server and starts it again, twice.
func (r *trial) crashed() {
	for range 2 {
		r.subject.Crash(r.T)
		r.settle("a")
	}
}
