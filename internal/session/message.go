package session

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/regentproject/regent/internal/names"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/view"
	"github.com/regentproject/regent/why"
)

// The requests.
const (
	Greet      = "hello"
	Campaign   = "campaign"
	Resign     = "resign"
	Freeze     = "freeze"
	Started    = "started"
	Duplicates = "duplicates"
	Keep       = "keep"
	Hold       = "hold"
	Alive      = "alive"
	Page       = "page"
	Announce   = "announce"
	Edict      = "edict"
	Recovered  = "recovered"
	Transfer   = "transfer"
	View       = "view"
	Verify     = "verify"
	Watch      = "watch"
	Unwatch    = "unwatch"
	Bye        = "bye"
)

// A Request is a line that a program writes.
type Request struct {
	Do string `json:"do"`
	ID uint64 `json:"id,omitempty"`
	// Of is the number of the candidacy or watch that the request is about.
	Of    uint64 `json:"of,omitempty"`
	Group string `json:"group,omitempty"`
	// Mode, of a campaign, is that of the group; empty: quorum.
	Mode view.Mode `json:"mode,omitempty"`
	// To is a member. Ask, of a transfer, only asks whether it would be begun.
	To  string `json:"to,omitempty"`
	Ask bool   `json:"ask,omitempty"`
	// Name is what the program calls itself, for people.
	Name string `json:"name,omitempty"`
	// Lease, of a campaign, is the length of the leases that the program wants; zero: as the agent is configured.
	Lease time.Duration `json:"lease_ns,omitempty"`
	// Heartbeat, if it is not zero, is how long the program may be silent.
	Heartbeat time.Duration `json:"heartbeat_ns,omitempty"`
	// Page, of a campaign, says that the program has mapped the agent's page and will read its deadline there. It must give signs of
	// life: its heartbeat must not be zero.
	Page bool `json:"page,omitempty"`
	// Grace is how long it may take to stop when it is asked to; zero: as long as the agent allows.
	Grace time.Duration `json:"grace_ns,omitempty"`
	// Tree, of a runner's campaign, is what the agent kills when the runner does not, and Guard how long before the end
	// of a lease that was not renewed; zero, or less than the agent's own guard time: that.
	Tree  *Tree         `json:"tree,omitempty"`
	Guard time.Duration `json:"guard_ns,omitempty"`
	// Hooks, of a runner's campaign, is how long its lost hooks may take; zero: it has none.
	Hooks time.Duration `json:"hooks_ns,omitempty"`
	// Keeper is a secret that a runner shares with its keeper: the keeper announces it by keep, the runner names it in its campaign.
	Keeper string `json:"keeper,omitempty"`
	// First, of started, is the number of the first process of a runner's program.
	First int `json:"first,omitempty"`
	// Value, of campaign and announce, is what the leadership bears.
	Value string `json:"value,omitempty"`
	// Token and Number, of recovered, name the agreement that asked for it.
	Token  uint64 `json:"token,omitempty"`
	Number uint64 `json:"number,omitempty"`
	// Cause, of resign and freeze, is why the program has stopped, or stops, as far as it knows.
	Cause *why.Cause `json:"cause,omitempty"`
	// Addresses, of hold, are those that the agent adds to interfaces of the host while this host leads the group. Wait is how long it campaigns at
	// most; zero: without end. Once has it end after one leadership, and Quiet write no lines about elections. With Ask it only says whether it would begin.
	Addresses []string      `json:"addresses,omitempty"`
	Wait      time.Duration `json:"wait_ns,omitempty"`
	Once      bool          `json:"once,omitempty"`
	// Duplicates, of a request of that name, are the hardware addresses of other hosts that have addresses of a runner as well, by address.
	Duplicates map[string]string `json:"duplicates,omitempty"`
	Quiet      bool              `json:"quiet,omitempty"`
}

// A Tree says how to find all processes that a runner will start. See agent/run/tree, which finds and kills them. Mark is secret, and
// is in their environment. Runner is the number of the runner in its pid namespace. Cgroup is the directory of their cgroup, if they have one.
// Addresses are those that the program adds to interfaces of the host, such as 10.0.0.9/24@eth0: the agent deletes them at the end.
type Tree struct {
	Mark      string   `json:"mark"`
	Runner    int      `json:"runner"`
	Cgroup    string   `json:"cgroup,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
}

// CheckMode says why a program cannot campaign in groups of a mode.
func CheckMode(mode view.Mode) error {
	switch mode {
	case "", view.Quorum, view.Local, view.Eventual, view.Consistent:
		return nil
	}
	return fmt.Errorf("mode %.40q: must be quorum, local, eventual or consistent", mode)
}

// CheckUnattended says why a program that cannot report a recovery, such as a command or a client over HTTP, cannot campaign in groups of a mode.
func CheckUnattended(mode view.Mode) error {
	if mode == view.Consistent {
		return errors.New("mode consistent: a member must report what it has recovered (take part with regent.Dial or on the unix socket)")
	}
	return CheckMode(mode)
}

// requestFields says what a request must have beside its number.
type requestFields struct{ group, of, to bool }

var requestFieldsOf = map[string]requestFields{
	Campaign: {group: true}, Hold: {group: true}, View: {group: true}, Verify: {group: true}, Watch: {group: true},
	Resign: {of: true}, Freeze: {of: true}, Started: {of: true}, Duplicates: {of: true}, Alive: {of: true}, Announce: {of: true}, Edict: {of: true}, Recovered: {of: true}, Unwatch: {of: true},
	Transfer: {of: true, to: true},
	Keep:     {}, Greet: {}, Bye: {}, Page: {},
}

// maxGroup is the length of the longest name of a group, so that a claim fits a packet with others, and maxName of that of a program or member.
const (
	maxGroup = 255
	maxName  = 64
)

// minMark keeps marks from being so short that others have them too, and maxPath bounds paths.
const (
	minMark = 8
	maxPath = 4 << 10
)

// CheckGroup says why a name cannot be that of a group.
func CheckGroup(name string) error {
	switch n := len(name); {
	case n == 0 || n > maxGroup:
		return fmt.Errorf("group %.40q: its name has %d bytes: must have 1 to %d", name, n, maxGroup)
	}
	if err := names.Check(name); err != nil {
		return fmt.Errorf("group %.40q: its name %w", name, err)
	}
	return nil
}

// CheckValue says why a text cannot be the value of a leadership.
func CheckValue(value string) error {
	switch n := len(value); {
	case n > protocol.MaxValue:
		return fmt.Errorf("value %.40q: %d bytes: must have at most %d", value, n, protocol.MaxValue)
	case !utf8.ValidString(value):
		return fmt.Errorf("value %.40q: must be UTF-8", value)
	}
	return nil
}

// check says what is wrong with a request.
func (r *Request) check() error {
	s, ok := requestFieldsOf[r.Do]
	if r.Do == Alive && r.ID == 0 { // a sign of life of the whole connection, which has no answer
		s.of = false
	}
	switch {
	case !ok:
		return fmt.Errorf("no such request: %.40q", r.Do)
	case r.ID == 0 && r.Do != Bye && r.Do != Greet && r.Do != Alive:
		return fmt.Errorf("%s without an id: give it a number that is not 0", r.Do)
	case s.group && CheckGroup(r.Group) != nil:
		return fmt.Errorf("%s: %w", r.Do, CheckGroup(r.Group))
	case CheckValue(r.Value) != nil:
		return fmt.Errorf("%s: %w", r.Do, CheckValue(r.Value))
	case CheckMode(r.Mode) != nil:
		return fmt.Errorf("%s: %w", r.Do, CheckMode(r.Mode))
	case r.Mode == view.Consistent && (r.Tree != nil || r.Keeper != ""):
		return fmt.Errorf("%s of a runner: %w", r.Do, CheckUnattended(r.Mode))
	case s.of && r.Of == 0:
		return fmt.Errorf("%s without of: say which candidacy it is about", r.Do)
	case s.to && r.To == "":
		return fmt.Errorf("%s without to: name a member", r.Do)
	case len(r.Name) > maxName || len(r.To) > maxName || r.Cause != nil && len(r.Cause.Member) > maxName:
		return fmt.Errorf("%s: a name has more than %d bytes", r.Do, maxName)
	case names.Check(r.Name) != nil:
		return fmt.Errorf("%s: the program's name %w", r.Do, names.Check(r.Name))
	case r.Tree != nil && (len(r.Tree.Mark) < minMark || len(r.Tree.Mark) > maxName || r.Tree.Runner <= 1 || len(r.Tree.Cgroup) > maxPath):
		return fmt.Errorf("%s: tree of runner %d: must have a mark of %d to %d bytes and a runner", r.Do, r.Tree.Runner, minMark, maxName)
	case r.Do == Keep && (len(r.Keeper) < minMark || len(r.Keeper) > maxName):
		return fmt.Errorf("%s: keeper must be a secret of %d to %d bytes", r.Do, minMark, maxName)
	case r.Do == Started && r.First <= 1:
		return fmt.Errorf("%s: first process %d: must be a process", r.Do, r.First)
	case (r.Do == Hold) != (len(r.Addresses) > 0) || len(r.Addresses) > maxAddresses:
		return fmt.Errorf("%s: %d addresses: hold has 1 to %d, and nothing else has any", r.Do, len(r.Addresses), maxAddresses)
	case len(r.Duplicates) > maxAddresses:
		return fmt.Errorf("%s: %d addresses: at most %d", r.Do, len(r.Duplicates), maxAddresses)
	case r.Wait < 0:
		return fmt.Errorf("%s: wait %v: must not be negative", r.Do, r.Wait)
	case r.Lease < 0 || r.Heartbeat < 0 || r.Grace < 0 || r.Guard < 0 || r.Hooks < 0:
		return fmt.Errorf("%s: a length of time is negative", r.Do)
	case r.Page && r.Do == Campaign && r.Heartbeat == 0:
		return fmt.Errorf("campaign: page without a heartbeat: a program that reads the page must give signs of life (set heartbeat)")
	case r.Heartbeat != 0 && r.Heartbeat < MinHeartbeat:
		return fmt.Errorf("campaign: heartbeat %v: must be at least %v", r.Heartbeat, MinHeartbeat)
	}
	return nil
}

// maxAddresses is how many addresses move together at most.
const maxAddresses = 64

// MinHeartbeat is the shortest silence that can be asked to be watched for.
const MinHeartbeat = 10 * time.Millisecond

// DefaultHeartbeat is how long a program that reads the page may be silent, at least, unless it asks for another length.
const DefaultHeartbeat = 6 * time.Second

// pulses is how many signs of life a program gives within its heartbeat.
const pulses = 2

// The events.
const (
	Hello   = "hello"
	Waiting = "waiting"
	Leads   = "leads"
	Until   = "until"
	Stop    = "stop"
	Healed  = "healed"
	// Agreed has what the members of a consistent group agree on; its view says whether the program has to recover what was lost.
	Agreed  = "agreed"
	Over    = "over"
	Done    = "done"
	Stamped = "edict"
	Proof   = "proof"
	Saw     = "view"
	Failed  = "error"
	Mapped  = "page"
	// Printed is of a hold: a line that the process prints that holds the addresses. Its over has the exit status.
	Printed = "printed"
	// Gone is never written: it stands for the loss of the connection.
	Gone = "gone"
)

// An Event is a line that the agent writes.
type Event struct {
	Event string `json:"event"`
	ID    uint64 `json:"id,omitempty"`
	// IDs are the candidacies that an until is about.
	IDs []uint64 `json:"ids,omitempty"`

	// Member is also of healed: who is back.
	// Version, Member, Priority, Now, Lease, Guard, Renew and RoundTrip are of hello.
	Version int           `json:"version,omitempty"`
	Member  string        `json:"member,omitempty"`
	Now     protocol.Time `json:"now_ns,omitempty"`
	Guard   time.Duration `json:"guard_ns,omitempty"`
	Renew   time.Duration `json:"renew_ns,omitempty"`
	// Lease is also of waiting, and of a keeper's leads: the length of the leases of that candidacy, which the configuration of the agent may set by group.
	Lease     time.Duration `json:"lease_ns,omitempty"`
	RoundTrip time.Duration `json:"round_trip_ns,omitempty"`
	Priority  int           `json:"priority,omitempty"`
	// Page, of hello, is the identity of the agent's page; zero: it has none.
	Page uint64 `json:"page,omitempty"`
	// Slot and Tenure, of leads, are where the deadline stands on the page. Tenure is zero if it does not, and renewals come as until.
	Slot   int    `json:"slot,omitempty"`
	Tenure uint64 `json:"tenure,omitempty"`
	// Ordinary, of hello, says that runners and keepers are to have no real-time threads.
	Ordinary bool `json:"ordinary,omitempty"`

	Group  string `json:"group,omitempty"`
	Leader string `json:"leader,omitempty"`
	Token  uint64 `json:"token,omitempty"`
	// Turn, of leads, numbers the leaderships of programs here in a group that hosts lead, or on an engine that offers no tokens. Such a group has no token.
	Turn uint64 `json:"turn,omitempty"`
	// Value, of proof, is what the leader announces.
	Value string `json:"value,omitempty"`
	// At, of leads, is when the lease was granted, at the latest, on the host's lease clock.
	At protocol.Time `json:"at_ns,omitempty"`
	// Until is an instant of the host's lease clock. Remaining is how far it was off when the line was written, less the allowance that
	// the package doc describes.
	Until     protocol.Time `json:"until_ns,omitempty"`
	Remaining time.Duration `json:"remaining_ns,omitempty"`
	Cause     *why.Cause    `json:"cause,omitempty"`
	View      *view.View    `json:"view,omitempty"`
	Stamp     string        `json:"stamp,omitempty"`
	Error     string        `json:"error,omitempty"`
	// Begun says, of the error of a transfer, that the group was given up all the same.
	Begun bool `json:"begun,omitempty"`
	// NoLeader says, of the error of a verify, that nobody could be proven to lead now. Without it the agent refuses, and would again.
	NoLeader bool `json:"no_leader,omitempty"`
	// Text, of printed, is a line, and Log says that it is one of the log. Other lines are events, each a JSON object. Status, of the over of a hold, is the exit
	// status of the process.
	Text   string `json:"text,omitempty"`
	Log    bool   `json:"log,omitempty"`
	Status int    `json:"status,omitempty"`
}

// Number returns what tells the leadership of a leads from others of the group at this agent: the token, or the turn.
func (e *Event) Number() uint64 { return max(e.Token, e.Turn) }
