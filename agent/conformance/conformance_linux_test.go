package conformance

import (
	"math"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/view"
)

// modesConfig has groups of all modes. The profile has deadlines in those that hosts lead, and in consistent ones, that a busy host meets.
const modesConfig = "profile: wan\ngroups: [{name: cache, mode: local}, {name: ops, mode: eventual}, {name: shards, mode: consistent}]\nconsistent: true\n" +
	"rights:\n  - {groups: [closed], lead: [\"uid:1\"], read: [anyone]}\n"

// Every client leads, shows what it announces, proves, stamps, hands over, resigns and is stopped by an operator. Its tokens grow.
func TestClientsOfEveryLanguageDoWhatTheyAreAsked(t *testing.T) {
	t.Parallel()
	b := start(t, "", "a", "b", "c")
	other := b.dial("b")
	var clients []*client
	for _, k := range kinds() {
		clients = append(clients, b.start(k, k.name, nil))
	}
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() { c.leadsAndResigns(other) })
	}
	all.Wait()
}

// Every client leads groups of all modes, and is refused what it may not do. There is one host, so that it leads what hosts lead.
func TestClientsOfEveryLanguageLeadInAllModes(t *testing.T) {
	t.Parallel()
	b := start(t, modesConfig, "a")
	for _, k := range kinds() {
		if !k.campaignsOnly {
			b.start(k, k.name, nil).leadsInAllModes()
		}
	}
	b.refusals()
}

func (c *client) leadsAndResigns(other *session.Conn) {
	t, group := c.b.t, c.name
	shown := func(what string, is func(v view.View) bool) {
		cluster.Eventually(t, c.name+": another agent shows "+what, func() bool {
			v, err := other.View(t.Context(), group)
			return err == nil && is(v)
		})
	}
	first := c.lead(group, "quorum", "here:1")
	c.becomesValid()
	if left, err := strconv.ParseFloat(c.ask("confirmed", "confirm")[0], 64); err != nil || left <= 0 || left > 3 {
		t.Errorf("%s: the agent confirms %v s, %v", c.name, left, err)
	}
	shown("the leader and its value", func(v view.View) bool { return v.Leader == "a" && v.Token == first && v.Value == "here:1" })
	c.ask("announced", "announce", "here:2")
	shown("the new value", func(v view.View) bool { return v.Value == "here:2" })
	token := strconv.FormatUint(first, 10)
	if got := strings.Join(c.ask("view", "view", group), " "); got != "a "+token+" here:2" {
		t.Errorf("%s sees %s", c.name, got)
	}
	if got := strings.Join(c.ask("proof", "verify", group)[:3], " "); got != "a "+token+" here:2" {
		t.Errorf("%s has the proof %s", c.name, got)
	}
	if stamp := c.ask("edict", "edict"); len(stamp) != 1 || !strings.HasPrefix(stamp[0], "0.") {
		t.Errorf("%s stamps %v", c.name, stamp)
	}
	c.ask("resigned", "resign")
	if c.isValid() {
		t.Errorf("%s has resigned, and is valid", c.name)
	}
	shown("that nobody leads", func(v view.View) bool { return v.Leader == "" })

	second := c.lead(group, "quorum", "-")
	if second <= first {
		t.Errorf("%s leads with token %d after %d", c.name, second, first)
	}
	address, err := c.b.HTTP("a")
	c.b.must(err)
	ordered := make(chan error, 1)
	go func() { // an operator
		answer, err := http.Post("http://"+address+"/v1/groups/"+group+"/resign", "application/json", strings.NewReader("{}"))
		if err == nil {
			err = answer.Body.Close()
		}
		ordered <- err
	}()
	if why := c.next("lost"); why[0] != "resigned" {
		t.Errorf("%s was told to stop: %v", c.name, why)
	}
	if !c.campaignsOnly { // there the body has ended, and with it the leadership
		c.ask("resigned", "resign")
	}
	c.b.must(<-ordered)
	if c.isValid() {
		t.Errorf("%s has stopped, and is valid", c.name)
	}
	if !c.campaignsOnly {
		c.handsOver(other)
	}
}

// handsOver hands the group over to a program of another host.
func (c *client) handsOver(other *session.Conn) {
	t, b := c.b.t, c.b
	token := c.lead(c.name, "quorum", "-")
	if c.http { // programs over HTTP leave that to operators
		if refusal := strings.Join(c.ask("error", "transfer", "b"), " "); !strings.Contains(refusal, "unix socket") {
			t.Errorf("%s: a transfer is refused with %q", c.name, refusal)
		}
		c.becomesValid()
		c.ask("resigned", "resign")
		return
	}
	c.ask("error", "transfer", "nobody")
	c.becomesValid() // it leads on
	next := make(chan *session.Lease, 1)
	go func() {
		l, err := other.Campaign(b.patience(), session.Candidate{Group: c.name})
		if err != nil {
			t.Error(err)
		}
		next <- l
	}()
	cluster.Eventually(t, c.name+" can hand over to b", func() bool {
		c.send("can-transfer", "b")
		return c.nextOf("error", "can-transfer") == "can-transfer"
	})
	c.ask("transferred", "transfer", "b")
	if c.isValid() {
		t.Errorf("%s has handed over, and is valid", c.name)
	}
	if l := <-next; l != nil {
		if l.Token() <= token {
			t.Errorf("%s: b leads with token %d after %d", c.name, l.Token(), token)
		}
		b.must(l.Resign(b.patience()))
	}
}

// leadsInAllModes leads the groups that hosts lead, and takes part in a consistent one.
func (c *client) leadsInAllModes() {
	t := c.b.t
	for _, g := range [][2]string{{"cache", "local"}, {"ops", "eventual"}} {
		if token := c.lead(g[0], g[1], "-"); token != 0 {
			t.Errorf("%s leads a %s group with token %d", c.name, g[1], token)
		}
		c.becomesValid()
		c.ask("resigned", "resign")
	}
	if refusal := strings.Join(c.ask("error", "lead", "cache", "quorum", "-"), " "); !strings.Contains(refusal, "hosts lead it") {
		t.Errorf("%s: a campaign in the wrong mode is refused with %q", c.name, refusal)
	}
	if c.http {
		if refusal := strings.Join(c.ask("error", "lead", "shards", "consistent", "-"), " "); !strings.Contains(refusal, "recovered") {
			t.Errorf("%s: a campaign in a consistent group is refused with %q", c.name, refusal)
		}
		return
	}
	if token := c.lead("shards", "consistent", "-"); token == 0 {
		t.Errorf("%s takes part in a consistent group without a token", c.name)
	}
	if members := c.next("agreed"); len(members) != 2 || members[1] != "a" {
		t.Errorf("%s agrees on %v", c.name, members)
	}
	c.ask("resigned", "resign")
}

// refusals has clients without rights campaign.
func (b *bench) refusals() {
	b.must(os.Chmod(b.Dir, 0o755))
	for _, k := range kinds() {
		if !k.http && os.Getuid() != 0 { // the agent's own user may do everything
			continue
		}
		c := b.start(k, k.name+"-stranger", dialAsNobody)
		if refusal := strings.Join(c.ask("error", "lead", "closed", "quorum", "-"), " "); !strings.Contains(refusal, "may not lead") {
			b.t.Errorf("%s: a client without rights is refused with %q", k.name, refusal)
		}
		b.must(b.Process(c.process).Kill())
	}
}

// dialAsNobody connects as a user without rights, where that is possible.
func dialAsNobody(network, address string) (c net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if network == "unix" {
			runtime.LockOSThread() // and never unlocks it: the thread ends with its user
			const nobody = 65534
			for _, call := range []uintptr{syscall.SYS_SETGROUPS, syscall.SYS_SETRESGID, syscall.SYS_SETRESUID} {
				id := uintptr(nobody)
				if call == syscall.SYS_SETGROUPS {
					id = 0
				}
				if _, _, failed := syscall.RawSyscall(call, id, id, id); failed != 0 {
					err = failed
					return
				}
			}
		}
		c, err = net.Dial(network, address)
	}()
	<-done
	return c, err
}

// No client is valid after the end that the agent announced, nor while another host leads: not when lines come late, not when its process was paused past its
// deadline, and not when its agent was killed. The token of the next leader is higher.
func TestClientsOfEveryLanguageAreNeverValidTooLong(t *testing.T) {
	t.Parallel()
	b := start(t, "", "a", "b", "c")
	var clients []*client
	for _, k := range kinds() {
		clients = append(clients, b.start(k, k.name, nil))
	}
	tokens := make([]uint64, len(clients))
	lead := func() {
		for _, c := range clients {
			c.send("lead", c.name, "quorum", "-")
		}
		for i, c := range clients {
			token := c.leads(c.next("leads"))
			if token <= tokens[i] {
				t.Errorf("%s leads with token %d after %d", c.name, token, tokens[i])
			}
			tokens[i] = token
			c.becomesValid()
		}
	}
	// rivals lead at another host as soon as they can, and then give up.
	rivals := func(meanwhile func()) {
		other := b.dial("b")
		leases := make([]*session.Lease, len(clients))
		var all sync.WaitGroup
		for i, c := range clients {
			all.Go(func() {
				l, err := other.Campaign(b.patience(), session.Candidate{Group: c.name})
				if err != nil {
					t.Errorf("%s: no other host leads: %v", c.name, err)
					return
				}
				if l.Token() <= tokens[i] {
					t.Errorf("%s: b leads with token %d after %d", c.name, l.Token(), tokens[i])
				}
				leases[i], tokens[i] = l, l.Token()
			})
		}
		meanwhile()
		all.Wait()
		for _, c := range clients {
			if c.isValid() {
				t.Errorf("%s is valid while b leads", c.name)
			}
		}
		for _, l := range leases {
			if l != nil {
				b.must(l.Resign(b.patience()))
			}
		}
	}
	lead()
	b.lateLines(clients, rivals)
	b.settle(clients)
	lead()
	b.paused(clients, rivals)
	b.settle(clients)
	lead()
	b.killed(clients, rivals)
}

// settle lets agent a go on, and has the clients take note of what they lost.
func (b *bench) settle(clients []*client) {
	b.must(b.Resume("a"))
	for _, c := range clients {
		c.next("lost")
		if !c.campaignsOnly {
			c.ask("resigned", "resign")
		}
	}
}

// claimed fails the test if a client claims to lead after the last end that the agent announced to it.
func (c *client) claimed(when string) (left time.Duration) {
	c.b.t.Helper()
	before, err := clock.HostLow()
	c.b.must(err)
	seconds, err := strconv.ParseFloat(c.ask("remaining", "remaining")[0], 64)
	c.b.must(err)
	left = time.Duration(seconds * float64(time.Second))
	if c.delay == nil {
		return left
	}
	if over := before.Add(left).Sub(c.delay.lastEnd()); left > 0 && over > session.Skew {
		c.b.t.Errorf("%s claims to lead until %v after the end that the agent announced, %s", c.name, over, when)
	}
	return left
}

// lateLines holds back what the agent sends, pauses the agent, and lets the lines through shortly before the lease ends: a client that counts from when it reads
// them goes on for too long.
func (b *bench) lateLines(clients []*client, rivals func(func())) {
	t := b.t
	rivals(func() {
		end := protocol.Time(math.MaxInt64)
		for _, c := range clients {
			cluster.Eventually(t, c.name+" claims to lead", func() bool { return c.claimed("in good order") > 0 })
			if c.delay != nil {
				c.delay.hold()
			}
		}
		for _, c := range clients {
			cluster.Eventually(t, "lines to "+c.name+" are held back", func() bool {
				if c.delay == nil {
					return true
				}
				pieces, answers := c.delay.isHolding()
				return answers > 0 || pieces > 0 && !c.counts
			})
		}
		b.must(b.Pause("a"))
		for _, c := range clients {
			if c.delay != nil {
				end = min(end, c.delay.lastEnd())
			}
		}
		b.await("the lease is about to end", end.Add(-1500*time.Millisecond))
		for _, c := range clients {
			if c.delay != nil {
				c.delay.release()
			}
		}
		for over := false; !over; over = b.past(end.Add(time.Second)) {
			for _, c := range clients {
				c.claimed("after lines that came late")
			}
		}
	})
}

// paused pauses the clients, and then the agent, until another host leads. When the clients go on, their last lines are there to be read.
func (b *bench) paused(clients []*client, rivals func(func())) {
	t := b.t
	rivals(func() {
		for _, c := range clients {
			b.must(b.Pause(c.process))
		}
		end := protocol.Time(0)
		now, err := clock.HostLow()
		b.must(err)
		for _, c := range clients {
			cluster.Eventually(t, "more lines for "+c.name, func() bool { return c.delay == nil || c.http || c.delay.lastEnd() > now.Add(2900*time.Millisecond) })
		}
		b.must(b.Pause("a"))
		for _, c := range clients {
			if c.delay != nil {
				end = max(end, c.delay.lastEnd())
			}
		}
		b.await("the leases are over", end.Add(10*time.Millisecond))
		for _, c := range clients {
			c.send("valid")
		}
		for _, c := range clients {
			b.must(b.Resume(c.process))
		}
		for range 10 {
			for _, c := range clients {
				if got := c.next("valid")[0]; got != "false" {
					t.Errorf("%s was paused past its deadline, and is valid", c.name)
				}
				c.send("valid")
			}
		}
		for _, c := range clients {
			c.next("valid")
		}
	})
}

// killed kills the agent without warning.
func (b *bench) killed(clients []*client, rivals func(func())) {
	rivals(func() {
		b.must(b.Crash("a"))
		for _, c := range clients {
			c.next("lost")
			c.claimed("after its agent was killed")
		}
	})
}

// past returns whether an instant of the clock of the host is past.
func (b *bench) past(at protocol.Time) bool {
	now, err := clock.HostLow()
	b.must(err)
	return now > at
}

func (b *bench) await(what string, at protocol.Time) {
	b.t.Helper()
	cluster.Eventually(b.t, what, func() bool { return b.past(at) })
}
