package agent

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/wire"
)

// record writes every datagram that it sees, until it is killed.
func record() {
	err := cluster.Record(cluster.Patience, func(r cluster.Recorded) bool {
		b, _ := json.Marshal(r)
		say(word{What: "packet", Text: string(b)})
		return true
	})
	say(word{What: "ends", Text: err.Error()})
	os.Exit(1)
}

// A floodTask is what a flood consists of.
type floodTask struct {
	To, Packet string
	// Starts has each datagram claim another start, and Numbers another number of the start that was copied.
	Starts, Numbers bool
	For             time.Duration
}

// flood sends a datagram as fast as it can.
func flood() {
	var o floodTask
	if err := json.Unmarshal([]byte(os.Getenv(taskVar)), &o); err != nil {
		panic(err)
	}
	packet, err := hex.DecodeString(o.Packet)
	if err != nil {
		panic(err)
	}
	c, err := net.Dial("udp", o.To)
	if err != nil {
		panic(err)
	}
	n := uint64(0)
	for begin := time.Now(); time.Since(begin) < o.For; n++ {
		if o.Starts {
			binary.BigEndian.PutUint64(packet[wire.StartOffset:], n*0x9e3779b97f4a7c15)
		}
		if o.Numbers {
			binary.BigEndian.PutUint64(packet[wire.NumberOffset:], 1<<40+n)
		}
		_, _ = c.Write(packet)
	}
	say(word{What: "sent", Token: n})
	os.Exit(0)
}

// recordSome records packets of members, with a host's eyes.
func (v *agentProcesses) recordSome(host string, n int, of ...string) []cluster.Recorded {
	v.t.Helper()
	members := make(map[string]bool)
	for _, name := range of {
		members[v.Bind(name)] = true
	}
	p := v.spawn("recorder", host, part(partRecord))
	defer func() { v.must(v.Crash("recorder")) }()
	var out []cluster.Recorded
	for len(out) < n {
		w, ok := p.hears("packet", cluster.Patience)
		if !ok {
			v.t.Fatalf("%d packets were recorded, want %d", len(out), n)
		}
		var r cluster.Recorded
		v.must(json.Unmarshal([]byte(w.Text), &r))
		if members[r.From.String()] && members[r.To.String()] {
			out = append(out, r)
		}
	}
	return out
}

// dropped returns how many packets an agent's member has dropped for a reason.
func (v *agentProcesses) dropped(agent, reason string) float64 {
	_, status := v.ask(agent, "/v1/status")
	all, _ := status["dropped"].(map[string]any)
	n, _ := all[reason].(float64)
	return n
}

// What was recorded on the network and is sent again, in another order, to its receiver, back to its sender and to third members,
// before and after restarts, changes nothing: the leader leads on, and no member is told that it is not itself.
func TestRecordedPacketsChangeNothing(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // nothing can be recorded
	}
	v := start(t, cluster.Options{Names: hosts(3), Config: calm("timing: {lease: 3s}\n")})
	p := v.startProgram("p", "a", task{})
	v.await(p, "leads")
	out, err := net.ListenUDP("udp", nil)
	v.must(err)
	defer out.Close()
	send := func(data []byte, to netip.AddrPort) { _, _ = out.WriteToUDPAddrPort(data, to) }
	attack := func(recorded []cluster.Recorded) {
		for range 3 {
			mathrand.Shuffle(len(recorded), func(i, j int) { recorded[i], recorded[j] = recorded[j], recorded[i] })
			for i, r := range recorded {
				send(r.Data, r.To)
				send(r.Data, r.From)
				send(r.Data, recorded[(i+1)%len(recorded)].To)
				if i%32 == 31 {
					time.Sleep(time.Millisecond) // wall clock: real sockets, whose buffers end
				}
			}
		}
	}
	all := v.recordSome("a", 200, v.Names...)
	attack(all)
	for _, reason := range []string{"replayed", "misdirected", "stranger"} {
		cluster.Eventually(t, "a drops packets that are "+reason, func() bool { return v.dropped("a", reason) > 0 })
	}
	// c restarts in good order, b does not; then all comes again.
	v.Stop("c", cluster.Patience)
	v.startAgent("c")
	v.must(v.AwaitAgents("c"))
	cluster.Eventually(t, "c votes again: what it promised before has lapsed", func() bool {
		status, members := v.ask("c", "/v1/members")
		return status == http.StatusOK && members["waiting"] == nil
	})
	v.must(v.Crash("b"))
	v.startAgent("b")
	v.must(v.AwaitAgents("b"))
	attack(all)
	cluster.Eventually(t, "a drops packets of earlier starts", func() bool { return v.dropped("a", "stale") > 0 })
	attack(append(all, v.recordSome("a", 100, v.Names...)...))
	if w, again := p.hears("stops", 2*time.Second); again {
		t.Errorf("the leader was disturbed: %v", w)
	}
	if logs := v.Logs(); strings.Contains(logs, "old copy") || strings.Contains(logs, "two processes") {
		t.Errorf("a member was told that it is not itself:\n%s", logs)
	}
	v.judge(1)
}

// A host of the network that is no member floods the leader: with noise, with the header of a member and other starts, with the start of a member and
// other numbers, and with a packet that it recorded. The leader leads on. If leases are lost, the same flood to a port on which nobody listens must cost as many: then the host
// is too busy, and not the member.
func TestFloodFromAnotherHostCostsNoLease(t *testing.T) {
	if err := cluster.CanNamespaces(); err != nil {
		if os.Geteuid() == 0 {
			t.Fatal(err)
		}
		return
	}
	v := newProcesses(t, cluster.Options{Names: []string{"a", "b", "c", "x"}, Hosts: cluster.Namespaces, Config: calm("")})
	members := v.Names[:3]
	for _, name := range members {
		v.must(v.WriteConfig(name))
		b, err := os.ReadFile(v.ConfigFile(name))
		v.must(err)
		without := regexp.MustCompile(`(?m)^  - \{name: x, .*\n`).ReplaceAll(b, nil)
		v.must(os.WriteFile(v.ConfigFile(name), without, 0o600))
		v.startAgent(name)
	}
	v.must(v.AwaitAgents(members...))
	p := v.startProgram("p", "a", task{})
	v.await(p, "leads")
	target := v.Bind("a")
	at := netip.MustParseAddrPort(target)
	closed := netip.AddrPortFrom(at.Addr(), at.Port()+1).String()
	packet := v.recordSome("a", 1, members...)[0]
	for packet.To.String() != target {
		packet = v.recordSome("a", 1, members...)[0]
	}
	noise := make([]byte, 200)
	_, _ = rand.Read(noise)
	for _, f := range []struct {
		name string
		floodTask
	}{
		{"noise", floodTask{Packet: hex.EncodeToString(noise)}},
		{"copied headers", floodTask{Packet: hex.EncodeToString(packet.Data), Starts: true}},
		{"copied starts", floodTask{Packet: hex.EncodeToString(packet.Data), Numbers: true}},
		{"a recorded packet", floodTask{Packet: hex.EncodeToString(packet.Data)}},
	} {
		f.For = 5 * time.Second // a member that is deaf for so long loses its lease
		if v.floodCostsMore(p, f.name, target, closed, f.floodTask) {
			t.Errorf("%s: the leader lost more leases than to the same flood of a closed port", f.name)
		}
	}
	if !strings.Contains(v.Process("a").Log(), "a flood of packets") {
		t.Errorf("a did not take it for a flood:\n%s", v.Process("a").Log())
	}
	v.judge(1)
}

// floodCostsMore returns whether a flood of the target costs more leases than the same flood of a closed port, twice in a row. A busy host loses
// leases to both.
func (v *agentProcesses) floodCostsMore(p *program, name, target, closed string, f floodTask) bool {
	v.t.Helper()
	for range 2 {
		lost := v.floodCosts(p, name, target, f)
		if lost == 0 || lost <= v.floodCosts(p, name+" to nobody", closed, f) {
			return false
		}
	}
	return true
}

// floodCosts floods an address, and returns how many times a program had to stop leading.
func (v *agentProcesses) floodCosts(p *program, name, to string, f floodTask) int {
	v.t.Helper()
	f.To = to
	b, err := json.Marshal(f)
	v.must(err)
	v.settle(p, 10*time.Millisecond) // what an earlier flood cost is not counted
	sent := v.await(v.spawn(name, "x", part(partFlood, taskVar+"="+string(b))), "sent").Token
	stops := v.settle(p, 2500*time.Millisecond) // longer than the lease
	v.t.Logf("%s: %d datagrams in %v, leases lost: %d", name, sent, f.For, stops)
	if sent == 0 {
		v.t.Errorf("%s: nothing was sent", name)
	}
	return stops
}

// settle waits until a program leads and has written nothing for a while, and returns how many times it had to stop.
func (v *agentProcesses) settle(p *program, quiet time.Duration) (stops int) {
	v.t.Helper()
	leads, limit := true, time.After(cluster.Patience)
	for {
		select {
		case w := <-p.words:
			switch w.What {
			case "stops":
				stops, leads = stops+1, false
			case "leads":
				leads = true
			}
		case <-time.After(quiet): // wall clock: real processes
			if leads {
				return stops
			}
		case <-limit:
			v.t.Fatalf("%s does not settle after %d stops", p.Name, stops)
		}
	}
}

// A user of the host without rights reads neither key nor record, does not reach the socket, and cannot take the member's port.
func TestUsersWithoutRightsReachNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		return // there are no others to be
	}
	r := alone(t, "{}")
	dir := filepath.Dir(r.socket)
	key := filepath.Join(dir, "key")
	if err := errors.Join(config.WriteKey(key), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	replace(t, r.config, "bootstrap:", "key_file: "+key+"\nbootstrap:")
	r.begin(t)
	text, err := os.ReadFile(r.config)
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(`address: "([^"]+)"`).FindStringSubmatch(string(text))[1]
	as(t, nobody, nobody, func() {
		for what, try := range map[string]func() error{
			"reads the configuration": func() error { _, err := os.ReadFile(r.config); return err },
			"reads the key":           func() error { _, err := os.ReadFile(key); return err },
			"lists the record":        func() error { _, err := os.ReadDir(filepath.Join(dir, "d")); return err },
			"removes the socket":      func() error { return os.Remove(r.socket) },
			"replaces the key":        func() error { return os.Rename(key, key+".old") },
			"connects":                func() error { c, err := net.Dial("unix", r.socket); closeAny(c); return err },
		} {
			if err := try(); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("another user %s: %v", what, err)
			}
		}
		if c, err := net.ListenPacket("udp", at); err == nil {
			_ = c.Close()
			t.Error("another user takes the member's port")
		}
	})
}

// A user of the host knows everything about a council without a cluster key that is not in a file that only the agents' user can read: names,
// public keys, addresses, and even the id of the council. With a key of its own it speaks for no member, under its own key id or under that of the member.
func TestUserOfTheHostCannotSpeakForAMember(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // there are no others to be
	}
	v := start(t, cluster.Options{Names: hosts(3), Config: calm("timing: {lease: 3s}\n")})
	p := v.startProgram("p", "a", task{})
	v.await(p, "leads")
	seen := v.recordSome("a", 1, v.Names...)[0].Data
	force := datagram.Council{Epoch: binary.BigEndian.Uint64(seen[epochOffset:]), Digest: [8]byte(seen[epochOffset+8:])}
	of := func(reason string) func() bool { return func() bool { return v.dropped("a", reason) > 0 } }
	speak := func(private identity.Private, uid int) {
		packets := v.packetsAs("b", "a", private, force)
		as(t, uid, uid, func() {
			c, err := net.Dial("udp", v.Bind("a"))
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for _, packet := range packets {
				_, _ = c.Write(packet)
			}
		})
	}
	speak(identity.Draw(), nobody)
	for _, reason := range []string{"unknown member key", "forged"} {
		cluster.Eventually(t, "a drops packets: "+reason, of(reason))
	}
	if w, again := p.hears("stops", time.Second); again {
		t.Errorf("the leader was disturbed: %v", w)
	}
	taken := func() bool {
		logs := v.Logs()
		return strings.Contains(logs, "two processes") || strings.Contains(logs, "later incarnation") || strings.Contains(logs, fmt.Sprintf("incarnation=%d\n", protocol.MaxInc))
	}
	if taken() || of("mismatch")() {
		t.Errorf("a member was taken for another, or the packets are of another configuration:\n%s", v.Logs())
	}
	v.judge(1)
	// The same packets under the key of the member are noticed.
	o, err := v.Order("b")
	v.must(err)
	stolen, err := identity.ParsePrivate(o.OwnKeys.PrivateKeys[0])
	v.must(err)
	speak(stolen, 0)
	cluster.Eventually(t, "a takes the packets for the member's", taken)
}

// Where fields of the header stand: docs/wire.md.
const (
	senderKeyOffset = 18
	epochOffset     = 57
)

// packetsAs returns packets to a member in the name of another one: under a private key, and again with the id of that member's own key.
func (v *agentProcesses) packetsAs(from, to string, private identity.Private, force datagram.Council) (packets [][]byte) {
	v.t.Helper()
	rank := slices.Index(v.Names, from)
	council, err := v.Council()
	v.must(err)
	keys := wire.PairsConfig{Ring: wire.PublicKeyring(), Self: protocol.Rank(rank), Private: []identity.Private{private}}
	for _, m := range council {
		public, err := identity.ParsePublic(m.PublicKeys[0])
		v.must(err)
		keys.Members = append(keys.Members, wire.Identity{Name: m.Name, Keys: []identity.Public{public}})
	}
	pairs, err := wire.NewPairs(keys)
	v.must(err)
	id, err := protocol.ParseCouncilID(cluster.CouncilID)
	v.must(err)
	me := datagram.Config{Self: protocol.Ident{Rank: keys.Self, Inc: protocol.MaxInc}, Start: datagram.Start{1}, Members: len(council), Council: force,
		Rho: protocol.DefaultRho, Delta: time.Second}
	end, err := wire.NewEndpoint(0, wire.Config{Config: me, Pairs: pairs, ID: id})
	v.must(err)
	for i := range 100 {
		h := end.Stamp(protocol.Time(i), protocol.Time(i), protocol.Rank(slices.Index(v.Names, to)))
		packet, err := end.Seal(nil, &h, 0, nil)
		v.must(err)
		named, id := slices.Clone(packet), keys.Members[rank].Keys[0].ID()
		copy(named[senderKeyOffset:], id[:])
		packets = append(packets, packet, named)
	}
	return packets
}

func closeAny(c net.Conn) {
	if c != nil {
		_ = c.Close()
	}
}
