// Package web is the dashboard: one page, embedded in the program, that shows a council in the browser, and the stream of
// changes that keeps it up to date. The page is plain HTML, CSS and modules of JavaScript, with nothing to build and
// nothing loaded from elsewhere; it knows one data model. Its sources are the demonstration with its processes, an
// agent with what its member knows, or a recorded run of the simulator.
//
//	model.go    what the page shows
//	council.go  the members and a change of them, as a member knows it
//	incident.go a line of the log for what happened to one or many groups
//	pauses.go   a member's pauses in rows, against what its leases survive
//	store.go    the state that sources fill, and what changed since when
//	paging.go   parts of the groups, where they are many
//	rowset.go   one kind of things in it
//	handler.go  HTTP: the page, the stream, and commands
//	serve.go    a listener on loopback, and a browser to look at it
//	page/       the page itself
//	watch/      a source that asks an agent
//	replay/     a source that plays a trace forwards and backwards
//
// Updates flow one way, as server-sent events. Everything has a serial number, so that a page which was away asks for what
// is newer than what it has, and a slow one skips what is out of date instead of falling behind.
package web

import (
	"time"

	"github.com/regentproject/regent/view"
)

// State is everything that a page shows at one instant. All times are lengths since the source began.
type State struct {
	About About
	// Playback is where a recorded run stands; nil if this is life.
	Playback *Playback
	Members  []Member
	Links    []Link
	Groups   []Group
	Tenures  []Tenure
	Log      []Entry
}

// About is what there is only one of.
type About struct {
	// Kind is demo, agent or replay, and Title what is shown in words.
	Kind  string `json:"kind"`
	Title string `json:"title"`
	// Began is when the source began by the time of day, in milliseconds since 1970; zero: it has none, as a recorded run.
	Began int64 `json:"began,omitempty"`
	// Self is the member that speaks; empty if the source knows all members from the inside.
	Self string `json:"self,omitempty"`
	// Polls says that the source asks all members what they know: it knows only Self from the inside.
	Polls bool `json:"polls,omitempty"`
	// Fast is the delay up to which a packet counts as fast.
	Fast time.Duration `json:"fast,omitempty"`
	// Actions is what can be done, by those who may. An api.PageSession says whether a user may.
	Actions []Action `json:"actions,omitempty"`
	// Alarm says what must not happen, and has: empty as long as all is well.
	Alarm string `json:"alarm,omitempty"`
	// Paged counts the groups of each mode, if there are so many that a page asks for those that it shows. The store fills it in.
	Paged map[Mode]int `json:"paged,omitempty"`
	// Marks are instants of a recorded run that are worth going to.
	Marks []Mark `json:"marks,omitempty"`
	// Council is what the members agree on about themselves; nil if the source does not know it.
	Council *Council `json:"council,omitempty"`
}

// Council is what the members agree on about themselves.
type Council struct {
	Number  uint64 `json:"number"`
	Settled bool   `json:"settled"`
	// Since is when the source saw the number first.
	Since time.Duration `json:"since"`
	// Change says in words what the running change does, how far it has got and what it waits for; empty if none is running. By is the member at which it was asked for.
	Change string   `json:"change,omitempty"`
	By     string   `json:"by,omitempty"`
	Waits  []string `json:"waits,omitempty"`
	// Blocked says that too few members are heard to go on.
	Blocked bool `json:"blocked,omitempty"`
	// Fixed says why the council cannot change, and FileDiffers in what the list in a file differs from it.
	Fixed       string `json:"fixed,omitempty"`
	FileDiffers string `json:"fileDiffers,omitempty"`
	// GivenUp warns of what can no longer be promised, because a council was given up before this one; empty once an operator has acknowledged it.
	GivenUp string `json:"givenUp,omitempty"`
}

// An Action is something that a person may do.
type Action struct {
	Verb string `json:"verb"`
	// On is what it is done to: member, link or group.
	On    string `json:"on"`
	Label string `json:"label"`
	Help  string `json:"help,omitempty"`
	// Key is the key that does it to what is chosen.
	Key string `json:"key,omitempty"`
	// If is in which state the member or the link must be for it to make sense; empty: in any. A member is also drained or undrained.
	If []string `json:"if,omitempty"`
	// Grave marks what somebody may regret.
	Grave bool `json:"grave,omitempty"`
	// Confirm is the question that has to be answered first; empty: none. {what} stands for what it is done to, and {to} for the member that is named.
	Confirm string `json:"confirm,omitempty"`
}

// A Command is an action that was asked for.
type Command struct {
	Verb string `json:"verb"`
	// Members are those that it is done to; of a link, both ends.
	Members []string `json:"members,omitempty"`
	Group   string   `json:"group,omitempty"`
	Mode    Mode     `json:"mode,omitempty"`
	// To is the member that a group is handed over to.
	To string `json:"to,omitempty"`
	// Token is that of the leadership that was seen; zero: of any.
	Token uint64 `json:"token,omitempty,string"`
	// Value is a number that some actions take, such as a step or a speed.
	Value float64 `json:"value,omitempty"`
}

// A Playback is where a recorded run stands.
type Playback struct {
	// Step is how many of all Steps have happened, At the time of the run, and End its last instant.
	Step  int           `json:"step"`
	Steps int           `json:"steps"`
	At    time.Duration `json:"at"`
	End   time.Duration `json:"end"`
	// Speed is how fast it plays: negative backwards, zero if it stands still.
	Speed float64 `json:"speed"`
	// Line is what happened last, as the trace has it.
	Line string `json:"line,omitempty"`
}

// A Mark is an instant of a recorded run that is worth going to.
type Mark struct {
	Step int           `json:"step"`
	At   time.Duration `json:"at"`
	Text string        `json:"text"`
}

// Mode is what a group promises.
type Mode string

// The modes of groups.
const (
	Quorum     Mode = "quorum"     // at most one leader anywhere
	Local      Mode = "local"      // one leader in every partition
	Eventual   Mode = "eventual"   // all agree in the end
	Consistent Mode = "consistent" // a leader once all agree on who failed
)

// A Member of the council.
type Member struct {
	Name  string      `json:"name"`
	State MemberState `json:"state"`
	// Problem is what is wrong with it, in words.
	Problem string `json:"problem,omitempty"`
	// Drained says that an operator keeps it from leading.
	Drained bool `json:"drained,omitempty"`
	// Role is witness or observer; empty for a member that votes and may lead.
	Role string `json:"role,omitempty"`
	// Number is that of the configuration that it has itself, where the source knows that.
	Number *uint64 `json:"number,omitempty"`
	// While a change of the council is running: it has accepted the next configuration, has the present one on its disk, and has settled in it.
	Accepted bool `json:"accepted,omitempty"`
	Adopted  bool `json:"adopted,omitempty"`
	Settled  bool `json:"settled,omitempty"`
	// Learning says that it has no vote before it knows the leaders of Learns groups, of which it knows those of Knows. Leaving says that it is to go.
	Learning bool `json:"learning,omitempty"`
	Knows    int  `json:"knows,omitempty"`
	Learns   int  `json:"learns,omitempty"`
	Leaving  bool `json:"leaving,omitempty"`
	// Key begins the fingerprint of the key that it used last, and KeyProblem says what is wrong with its keys.
	Key        string `json:"key,omitempty"`
	KeyProblem string `json:"keyProblem,omitempty"`
	// Tells says that what follows is by its own word. A source that knows all members from the inside leaves it out.
	Tells bool `json:"tells,omitempty"`
	// Incarnation numbers its starts.
	Incarnation uint64 `json:"incarnation,omitempty"`
	// Leading is how many groups its programs lead.
	Leading int `json:"leading,omitempty"`
	// Pauses says by how much it woke up too late; nil if it did not say.
	Pauses   *Pauses `json:"pauses,omitempty"`
	Realtime bool    `json:"realtime,omitempty"`
	// PacketsIn and PacketsOut are since its start.
	PacketsIn  uint64 `json:"packetsIn,omitempty"`
	PacketsOut uint64 `json:"packetsOut,omitempty"`
}

// MemberState is how a member is.
type MemberState string

// The states of members.
const (
	Up      MemberState = "up"
	Joining MemberState = "joining" // runs, and does not take part yet
	Paused  MemberState = "paused"
	Down    MemberState = "down"
	Silent  MemberState = "silent"  // not heard of; nothing else is known
	Removed MemberState = "removed" // it was a member until the council removed it
)

// Pauses are a member's own.
type Pauses struct {
	Median  time.Duration `json:"median"`
	P99     time.Duration `json:"p99"`
	Longest time.Duration `json:"longest"`
	// Survives is the longest pause that costs no lease; zero if it is not known. Day is the longest of the last 24 hours, and DayAt when it was over,
	// in milliseconds since 1970.
	Survives time.Duration `json:"survives,omitempty"`
	Day      time.Duration `json:"day,omitempty"`
	DayAt    int64         `json:"dayAt,omitempty"`
	// Rungs count the pauses by their length, the shortest first.
	Rungs []Rung `json:"rungs,omitempty"`
}

// A Rung is pauses that are at most Upper, and longer than those of the rung before.
type Rung struct {
	Upper time.Duration `json:"upper,omitempty"` // zero: no end
	Count uint64        `json:"count"`
	// Share is how long its bar is, of 1.
	Share float64 `json:"share"`
	// Costs says that they cost a lease.
	Costs bool `json:"costs,omitempty"`
}

// A Link is one direction between two members: how To hears From.
type Link struct {
	From  string    `json:"from"`
	To    string    `json:"to"`
	State LinkState `json:"state"`
	// Bound is the proven bound on the delay of the last packet; zero if nothing is proven.
	Bound time.Duration `json:"bound,omitempty"`
	// RoundTrip is measured by To.
	RoundTrip time.Duration `json:"roundTrip,omitempty"`
	// Made is what somebody did to it, in words: cut, or slowed down.
	Made string `json:"made,omitempty"`
}

// LinkState is how a link is.
type LinkState string

// The states of links.
const (
	Fast    LinkState = "fast"    // its packets are proven to be in time
	Slow    LinkState = "slow"    // not so proven
	Cut     LinkState = "cut"     // nothing comes through
	Unknown LinkState = "unknown" // nobody says
)

// A Group is an election.
type Group struct {
	Name string `json:"name"`
	Mode Mode   `json:"mode"`
	// Leaders are all that lead: in a quorum group at most one, or something is badly wrong.
	Leaders []Leader `json:"leaders,omitempty"`
	// Changed is when and Cause why its leader, or that there is none, last changed.
	Changed time.Duration `json:"changed"`
	Cause   string        `json:"cause,omitempty"`
	// Changes counts.
	Changes int `json:"changes,omitempty"`
	// Views is what members believe, where the source knows that without asking them.
	Views []view.MemberView `json:"views,omitempty"`
}

// A Leader leads a group, or a part of its members.
type Leader struct {
	Member string `json:"member"`
	// Term is the number of the leadership, and Token the same as stores see it; local leaders have none.
	Term  uint64 `json:"term,omitempty,string"`
	Token uint64 `json:"token,omitempty,string"`
	// Value is what it announces, as it can be shown to people.
	Value string `json:"value,omitempty"`
	// Since is when it began to lead, Until when its lease ends unless it is renewed, Lease how long it is when new.
	Since time.Duration `json:"since"`
	Until time.Duration `json:"until,omitempty"`
	Lease time.Duration `json:"lease,omitempty"`
	// Support is who supports it, itself included, where that is known.
	Support []string `json:"support,omitempty"`
	// Local marks a leader of a partition only. It may stand beside the one of a quorum group, and is not it.
	Local bool `json:"local,omitempty"`
	// Stopping says that its program was asked to stop.
	Stopping bool `json:"stopping,omitempty"`
}

// A Tenure is one leadership, as long as it lasted.
type Tenure struct {
	ID     string `json:"id"`
	Group  string `json:"group"`
	Mode   Mode   `json:"mode"`
	Member string `json:"member"`
	Token  uint64 `json:"token,omitempty,string"`
	Local  bool   `json:"local,omitempty"`
	// From is when it began. To is when it ended; zero while it lasts.
	From time.Duration `json:"from"`
	To   time.Duration `json:"to,omitempty"`
	// Evidence says how From and To are known, and Cause why it ended.
	Evidence string `json:"evidence,omitempty"`
	Cause    string `json:"cause,omitempty"`
}

// An Entry is a line of the log.
type Entry struct {
	ID     uint64        `json:"id"`
	At     time.Duration `json:"at"`
	Member string        `json:"member,omitempty"`
	Group  string        `json:"group,omitempty"`
	// Groups are those that it is about if there are several, as far as they are listed.
	Groups []string `json:"groups,omitempty"`
	Text   string   `json:"text"`
	// Tone is you (somebody did it), good, bad, or empty.
	Tone string `json:"tone,omitempty"`
}
