package runtime

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/wire"
)

var errSocketClosed = net.ErrClosed

// A diagnostics says in the log what is odd about packets, once for each oddity, and remembers it for the status.
type diagnostics struct {
	names []string
	log   *slog.Logger
	// logged holds what was logged already, and strangers about which hosts. Both are bounded: others decide what is put into them. Strangers must not
	// take the place of what is said of members.
	logged    map[string]bool
	strangers map[stranger]bool
	// foreign holds what was said of other configurations, and foreignFrom how much of each address: a host with the cluster key can send
	// any number of them, under any name.
	foreign     map[string]bool
	foreignFrom map[netip.Addr]int
	// problems is the last oddity of each member.
	problems []string
	incs     []protocol.Inc
	seen     []protocol.Time
	silent   []bool // as logged
	// listened is since when this member listens without a pause.
	listened protocol.Time
	// nameless is when a member last spoke without knowing its incarnation; zero: not since it last learnt it.
	nameless []protocol.Time
	// unproven is what a process said that does not know its incarnation, and that has answered nothing.
	unproven []unproven
	// drops are of packets that came from an address of a member and did not pass, since one of it did.
	drops []drop
	// confirmed is what each member has shown of the way to it, and unlisted are hosts that only their own configuration lists.
	confirmed []confirmation
	unlisted  []Unlisted
}

// A stranger is where packets come from that were dropped for one reason.
type stranger struct {
	why  datagram.Reason
	from netip.AddrPort
}

// A drop says how many packets were dropped, and why the last one was.
type drop struct {
	packets uint64
	why     datagram.Reason
	// uses and expects are the key of the member and the one of ours that the last one named.
	uses, expects identity.ID
}

// Unproven counts packets of one start of which each had a higher number than all before. A few may be late, or recorded; a
// process that goes on counting is there.
type unproven struct {
	start   datagram.Start
	highest uint64
	packets int
}

// enoughUnproven is how many such packets make a process.
const enoughUnproven = 20

const maxLogged = 1000

func newDiagnostics(names []string, log *slog.Logger) diagnostics {
	return diagnostics{names: names, log: log, logged: make(map[string]bool), strangers: make(map[stranger]bool), foreign: make(map[string]bool), foreignFrom: make(map[netip.Addr]int), problems: make([]string, len(names)),
		incs: make([]protocol.Inc, len(names)), seen: make([]protocol.Time, len(names)), silent: make([]bool, len(names)),
		nameless: make([]protocol.Time, len(names)), unproven: make([]unproven, len(names)), drops: make([]drop, len(names)), confirmed: make([]confirmation, len(names))}
}

// firstTime says whether the oddity was not spoken of yet.
func (n *diagnostics) firstTime(what string) bool {
	if n.logged[what] || len(n.logged) >= maxLogged {
		return false
	}
	n.logged[what] = true
	return true
}

// heard takes note that all is well with a peer.
func (n *diagnostics) heard(now protocol.Time, from protocol.Ident) {
	r := from.Rank
	n.seen[r], n.drops[r] = now, drop{}
	switch {
	case from.Inc == 0:
		n.nameless[r] = now
		return
	case from.Inc != n.incs[r]:
		n.log.Info("heard a member", "peer", n.names[r], "incarnation", from.Inc)
		n.incs[r], n.problems[r], n.nameless[r] = from.Inc, "", 0
	case n.nameless[r] == 0:
		n.problems[r] = ""
	case now.Sub(n.nameless[r]) > namelessFor:
		n.nameless[r] = 0
	case n.problems[r] == "":
		// A process that has no record speaks for the member while the one that was heard before lives on.
		n.rivals(r, netip.AddrPort{})
	}
}

// hint takes note of a packet without an incarnation that was not accepted.
func (n *diagnostics) hint(now protocol.Time, h *datagram.Header) {
	u := &n.unproven[h.From.Rank]
	if u.start != h.Start {
		*u = unproven{start: h.Start}
	}
	if h.Seq > u.highest {
		u.highest = h.Seq
		u.packets++
	}
	if u.packets >= enoughUnproven {
		n.nameless[h.From.Rank] = now
	}
}

// namelessFor is how long after the last word of a process without an incarnation it is remembered.
const namelessFor = 5 * time.Second

func (n *diagnostics) stranger(why datagram.Reason, from netip.AddrPort) {
	s := stranger{why, from}
	if !n.strangers[s] && len(n.strangers) < maxLogged {
		n.strangers[s] = true
		n.log.Warn("dropped a packet; further ones from there are only counted", "reason", why.String(), "from", from)
	}
}

// dropped takes note of a packet that came from the address of a member and did not pass. Anybody can send from there, so it says
// something only of a member that is not heard.
func (n *diagnostics) dropped(r protocol.Rank, why datagram.Reason, p *wire.Packet) {
	if why != datagram.Replayed { // which the network does by itself
		n.drops[r] = drop{n.drops[r].packets + 1, why, p.SenderKey, p.ReceiverKey}
	}
}

// newKeys forgets packets that other keys could not open.
func (n *diagnostics) newKeys() { clear(n.drops) }

// Quiet is how long a member that was heard says nothing before it counts as silent: members send something every few seconds. Then packets from its address
// that do not pass are taken for its own.
const Quiet = 5 * time.Second

// longPause is from when on a pause of this member has a line in the log.
const longPause = time.Second

// paused takes note of a pause of this member that is over. Peers were silent for it only from now on.
func (n *diagnostics) paused(now protocol.Time, by time.Duration) {
	if by >= longPause { // frequent short ones must not hide that peers are silent
		n.listened = now
		n.log.Warn("this member was paused: it neither sent nor received packets, and the others may have counted it as silent", "for", by.Round(time.Millisecond))
	}
}

// listen logs which members have fallen silent since the last call, and which are heard again: one line for all of them.
func (n *diagnostics) listen(now protocol.Time) {
	var gone, back []string
	for r, seen := range n.seen {
		silent := seen != 0 && now.Sub(max(seen, n.listened)) >= Quiet
		switch {
		case silent && !n.silent[r]:
			gone = append(gone, n.names[r])
		case !silent && n.silent[r]:
			back = append(back, n.names[r])
		}
		n.silent[r] = silent
	}
	if len(gone) > 0 {
		n.log.Info("members have fallen silent: their agents are stopped, or the network does not pass their packets", "peers", strings.Join(gone, ", "), "for", Quiet)
	}
	if len(back) > 0 {
		n.log.Info("members are heard again", "peers", strings.Join(back, ", "))
	}
}

// problem says what keeps a member from counting; nothing if that is not known.
func (n *diagnostics) problem(now protocol.Time, r protocol.Rank) string {
	d := n.drops[r]
	if n.problems[r] != "" || d.packets == 0 || n.seen[r] != 0 && now.Sub(n.seen[r]) < Quiet {
		return n.problems[r]
	}
	what, do := "sends what cannot be read", "look at what uses its address"
	switch d.why {
	case datagram.UnknownKey, datagram.Forged:
		what, do = "seems to have another key", "compare the key files of the two"
	case datagram.MemberKey, datagram.OtherCouncil, datagram.Older, datagram.Version:
		what, do = d.words()
	}
	return fmt.Sprintf("%s (packets from its address that were dropped: %d, the last for %q): %s", what, d.packets, d.why, do)
}

// words says what is wrong with the sender of a packet, and what to do.
func (d *drop) words() (what, do string) {
	switch {
	case d.why == datagram.OtherCouncil:
		return "belongs to another council", "compare council_id in the configurations of the two; a directory of another council must be emptied"
	case d.why == datagram.Older:
		return "runs another release", "install the same release on both"
	case d.why == datagram.Version:
		return "speaks another version", "compare the releases of the two"
	case d.expects == (identity.ID{}):
		return fmt.Sprintf("has the key %v, and the council lists another one for it", d.uses), "compare fingerprints with 'regent keys show' there, then add it with the right key"
	}
	return fmt.Sprintf("uses the key %v for the key %v of this member, and one of them is not the one that this member lists or has", d.uses, d.expects),
		"compare fingerprints with 'regent keys show' on both, then run 'regent keys exchange'"
}

const rivalry = "two processes use this name: neither counts"

func (n *diagnostics) rivals(r protocol.Rank, from netip.AddrPort) {
	n.problems[r] = rivalry
	if n.firstTime("rivals" + n.names[r]) {
		n.log.Error("two processes use one name: neither counts until one of them is stopped", "peer", n.names[r], "from", from)
	}
}

const (
	// maxForeign is how many other configurations are logged, and maxForeignEach how many from each address.
	maxForeign     = 64
	maxForeignEach = 4
)

// firstForeign says whether a configuration was not spoken of yet, and there is room for it.
func (n *diagnostics) firstForeign(from netip.Addr, what string) bool {
	if n.foreign[what] || len(n.foreign) >= maxForeign || n.foreignFrom[from] >= maxForeignEach {
		return false
	}
	n.foreign[what] = true
	n.foreignFrom[from]++
	return true
}

// mismatch names the fields in which a peer's configuration differs from ours, and says which peer it is, if it is one. Introductions have no
// replay window and bear no key of a member, so they say nothing of a member that is heard.
func (n *diagnostics) mismatch(now protocol.Time, mine *wire.Summary, p *wire.Packet, from netip.AddrPort) (rank protocol.Rank, ok bool) {
	who := "unknown"
	var differ []string
	if p.Summary != nil {
		who = p.Summary.Member
		for _, d := range mine.Diff(p.Summary) {
			differ = append(differ, d.String())
		}
	}
	text := strings.Join(differ, "; ")
	for r, name := range n.names {
		if name != who {
			continue
		}
		rank, ok = protocol.Rank(r), true
		if n.seen[r] == 0 || now.Sub(n.seen[r]) >= Quiet {
			n.problems[r] = "has another configuration: " + text
			if omits(p.Summary, mine.Member) {
				n.problems[r] = fmt.Sprintf("does not list this member, %s, in its council: add it to the file of %s, or remove it from the council here", mine.Member, who)
			}
		}
	}
	if p.Summary != nil && !ok {
		n.unlistedHost(now, who, from)
	}
	if p.Summary == nil {
		return rank, ok // one that says what differs will come
	}
	if n.firstForeign(from.Addr(), wire.Digest(p.Council.Digest).String()+who) {
		n.log.Error("dropped packets of a member with another configuration: give all members the same", "peer", who,
			"from", from, "differs", text)
	}
	return rank, ok
}

func (n *diagnostics) network(err error) {
	if err != nil && n.firstTime("network"+err.Error()) {
		n.log.Warn("the network refuses packets", "err", err)
	}
}
