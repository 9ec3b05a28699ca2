package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/record"
)

// The phases of a change that replaces a host, as the record of a member tells them. The first step has the newcomer observe and learn, the second gives it
// its vote, the third takes that of the host that leaves, and the fourth ends the change.
const (
	inLearning  = "learning"     // the newcomer learns
	inAccepted  = "accepted"     // the member has accepted a configuration, and does not know that it was chosen
	inAdopted   = "adopted"      // the second step has been taken, and has not settled
	inSettling  = "settling"     // nor has the third
	inLeaving   = "leaving"      // the host that leaves hands over
	inElsewhere = "another step" // of the change
)

// replacement is a council of agents a, b and another one, which is replaced again and again.
type replacement struct {
	*runCluster
	third string // beside a and b
	spare []string
	from  uint64         // the number before the change that runs
	kills map[string]int // how often the agent of a host was killed
}

// recordConfig has leases that bear the pauses of a busy host, and a step that waits for them.
const recordConfig = "timing: {lease: 3s, longest_lease: 3s}\n"

// openReplacement starts a, b and c, and a program of its own on a and on b.
func openReplacement(t *testing.T, spare int) *replacement {
	t.Helper()
	names := []string{"a", "b", "c"}
	for i := range spare {
		names = append(names, fmt.Sprintf("n%d", i))
	}
	r := &replacement{third: "c", spare: names[3:], kills: make(map[string]int), runCluster: &runCluster{t: t, lost: make(map[uint64]bool), Cluster: cluster.OpenCrash(t, cluster.Options{
		Names: names, Founders: names[:3], Relay: true, Regent: command, Config: recordConfig})}}
	for _, x := range names { // so that it takes a while until what was accepted is known to be chosen
		for _, y := range names {
			if x != y {
				r.check(r.Link("link " + x + " " + y + " delay=3ms"))
			}
		}
	}
	for _, name := range r.Founders {
		r.startAgent(name)
	}
	r.check(r.AwaitAgents(r.Founders...))
	for _, name := range []string{"a", "b"} {
		r.lead(name, "of-"+name)
	}
	return r
}

// lead starts a program that campaigns on a host, and waits until it leads.
func (r *replacement) lead(host, group string) {
	r.t.Helper()
	_, err := r.Run(group+"-"+host, host, group, []string{"--quiet", "--restart", "--delay", "10ms"}, "leader", r.JournalDir())
	r.check(err)
	r.leads(host, group)
}

func (r *replacement) leads(host, group string) {
	r.t.Helper()
	cluster.Eventually(r.t, host+" leads "+group, func() bool {
		return slices.ContainsFunc(r.spans(0), func(s cluster.Span) bool { return s.Group == group && s.Holder == host && r.Alive(s) })
	})
}

// phase reads the record of a host: how far the change is for it. It is empty if there is none that can be read.
func (r *replacement) phase(host string) string {
	b, err := os.ReadFile(filepath.Join(r.Dir, host, "record"))
	if err != nil {
		return ""
	}
	_, body, _ := bytes.Cut(b, []byte("\n"))
	whole, err := record.Decode(body)
	if err != nil || len(whole.Wedge) == 0 {
		return ""
	}
	part, err := council.DecodeRecord(whole.Wedge)
	switch {
	case err != nil:
		return ""
	case part.Accepted.Conf != nil && part.Conf.Number > r.from:
		return inAccepted
	case part.Conf.Number == r.from+1 && part.Settled:
		return inLearning
	case part.Conf.Number == r.from+2 && !part.Settled:
		return inAdopted
	case part.Conf.Number == r.from+2:
		return inLeaving
	case part.Conf.Number == r.from+3 && !part.Settled:
		return inSettling
	}
	return inElsewhere
}

// kill kills an agent as soon as the change is in a phase for its member, and takes its disk if it was in time. Keys are brought back, as by a tool that distributes files.
func (r *replacement) kill(host, phase string) (lost bool) {
	r.t.Helper()
	seen := host
	if phase == inLearning && host != "b" {
		seen = "b" // a newcomer that learns may have no record yet
	}
	look := time.NewTicker(300 * time.Microsecond)
	defer look.Stop()
	for late := time.After(cluster.Patience); ; {
		now := r.phase(seen)
		if now == phase {
			break
		}
		select {
		case <-look.C: // wall clock: a process is killed within the milliseconds of a phase
		case <-late:
			r.t.Fatalf("the record of %s does not become that of a change which is %s, but is %q", seen, phase, now)
		}
	}
	p := r.Process(host)
	r.check(p.Signal(syscall.SIGKILL))
	<-p.Gone()
	r.kills[host]++
	last := r.phase(host)
	lost = last == phase || phase == inLearning && last == ""
	if lost {
		r.check(os.RemoveAll(filepath.Join(r.Dir, host)), r.WriteKeys(host))
	}
	r.startAgent(host)
	r.t.Logf("%s was killed while its record was %q; the disk was lost: %v", host, last, lost)
	return lost
}

// replace replaces the third host while another one, or itself, is killed in a phase. It returns whether that was in time.
func (r *replacement) replace(phase, victim string) (lost bool) {
	r.t.Helper()
	old, next := r.third, r.spare[0]
	r.spare = r.spare[1:]
	host := map[string]string{"the voter": "b", "the joiner": next, "the leaver": old}[victim]
	group := "of-" + old
	if phase == inLeaving {
		r.lead(old, group) // nobody else campaigns: the host is given time to hand over
	}
	r.from = r.number()
	r.startAgent(next)
	p, err := r.Peer(next)
	r.check(err)
	done := make(chan error, 1)
	go func() {
		done <- r.regent("members", "replace", old, next+"="+p.Addrs[0], "--keys", filepath.Join(r.Dir, next, next+".pub"), "--socket", r.Socket("a"), "--timeout", "5m")
	}()
	lost = r.kill(host, phase)
	r.check(<-done)
	r.third = next
	cluster.Eventually(r.t, "the agent of "+old+" ends", func() bool { return r.Process(old).Ended() })
	for _, name := range []string{"a", "b", next} {
		cluster.Eventually(r.t, name+" takes part", func() bool { return r.regent("members", "--socket", r.Socket(name)) == nil })
	}
	for _, name := range []string{"a", "b"} {
		r.leads(name, "of-"+name)
	}
	if phase == inLeaving {
		_ = r.Process(group + "-" + old).Kill()
		r.lead(next, group)
	}
	return lost
}

// number returns that of the council, as a knows it.
func (r *replacement) number() (n uint64) {
	r.t.Helper()
	for line := range strings.Lines(r.output("members", "--socket", r.Socket("a"))) {
		if _, err := fmt.Sscanf(line, "council number %d:", &n); err == nil {
			return n
		}
	}
	return 0
}

// Hosts are replaced one after the other, and in each change an agent is killed and loses its disk, in each phase of a step: one that stays, and the one that
// joins or leaves. Its record at the instant of its death shows that it was in the phase. Each change completes. A host whose agent was not killed loses no
// leadership, tokens grow, and no two lead at once.
func TestDiskIsLostInEachPhaseOfAStep(t *testing.T) {
	t.Parallel()
	type trial struct{ phase, victim string }
	trials := []trial{{inAdopted, "the voter"}}
	if os.Getenv("REGENT_TEST") == "long" {
		trials = nil
		for _, victim := range []string{"the voter", "the joiner"} {
			for _, phase := range []string{inLearning, inAccepted, inAdopted, inSettling, inLeaving} {
				trials = append(trials, trial{phase, victim})
			}
		}
		trials = append(trials, trial{inLeaving, "the leaver"})
	}
	const missed = 20 // a phase of milliseconds may be over when the signal arrives
	r := openReplacement(t, len(trials)+missed)
	for _, x := range trials {
		for begin := len(r.spare); ; {
			t.Logf("%s: %s is to lose its disk", x.phase, x.victim)
			if r.replace(x.phase, x.victim) {
				break
			}
			if begin-len(r.spare) > missed/2 || len(r.spare) == 0 {
				t.Fatalf("%s was never killed in time while it was %s", x.victim, x.phase)
			}
		}
	}
	led := make(map[string]map[uint64]bool)
	for _, s := range r.spans(0) {
		if led[s.Group] == nil {
			led[s.Group] = make(map[uint64]bool)
		}
		led[s.Group][s.Token] = true
	}
	for _, name := range []string{"a", "b"} {
		if n := len(led["of-"+name]); n < 1 || n > 1+r.kills[name] {
			t.Errorf("%s, whose agent was killed %d times, led %d times", name, r.kills[name], n)
		}
	}
	r.Judge(t, 2, cluster.Rules{})
	t.Logf("%d changes, %v killed; leaderships of a: %d, of b: %d", len(r.Names)-3-len(r.spare), r.kills, len(led["of-a"]), len(led["of-b"]))
}
