package view

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/why"
)

// A Turnover is one change of leader of a group, with all that belongs to it: from the end of one leadership, or the lack of one, to the
// beginning of the next. A member sees it as several views: that the program is to stop, that there is no leader, and the next leader.
// A [Tracker] makes one of them, with one cause.
type Turnover struct {
	// Group is the name of the group, and Mode what it promises. Only quorum groups have tokens.
	Group string `json:"group"`
	Mode  Mode   `json:"mode"`
	// From led with FromToken until At; empty if no member did. To led next; empty if none does yet.
	From      string `json:"from,omitempty"`
	FromToken uint64 `json:"from_token,omitempty"`
	To        string `json:"to,omitempty"`
	ToToken   uint64 `json:"to_token,omitempty"`
	// At is when From stopped leading, as this member saw it. If no member led before, it is when To began.
	At time.Time `json:"at"`
	// Gap is how long there was no leader, as this member saw it; zero while there is none.
	Gap time.Duration `json:"gap_ns"`
	// Cause is why From stopped leading.
	Cause why.Cause `json:"cause"`
	// Ended is how it ended, if a program of the asked agent led: that one knows more than the cause says.
	Ended string `json:"ended,omitempty"`
	// Seen says that this member first saw To lead at At, and no leader before: To may have led for longer.
	Seen bool `json:"first_seen,omitempty"`
}

// A Tracker follows the views of one group, oldest first, and finds turnovers in them. The zero Tracker has seen nothing.
type Tracker struct {
	begun  bool
	leader string
	token  uint64
	open   *Turnover
	last   *Turnover
}

// Add takes the next view, and how a program of the asked agent ended what it replaced, if that is known. It returns the turnover that the
// view completes; nil if it completes none.
func (t *Tracker) Add(v *View, ended string) *Turnover {
	first := !t.begun
	t.begun = true
	if v.Leader == t.leader && v.Token == t.token {
		switch {
		case v.Leader == "" && (first || t.open != nil && t.open.vague()):
			t.open = t.end(v)
		case t.open == nil && v.Stopping: // the beginning of the end, and says why
			t.open = t.end(v)
		}
		return nil
	}
	switch {
	case t.open == nil:
		t.open = t.end(v)
	case t.open.vague():
		t.open.Cause = v.Cause
	}
	if v.Leader == "" && t.leader != "" {
		t.open.At = v.At
	}
	if ended != "" {
		t.open.Ended = ended
	}
	t.leader, t.token = v.Leader, v.Token
	if v.Leader == "" {
		return nil
	}
	done := t.open
	t.open = nil
	if done.From == v.Leader && done.FromToken == v.Token && v.Token != 0 {
		return nil // the same leadership: this member had only lost sight of it
	}
	done.Seen = !v.Mine && (first || done.From == "" && (done.vague() || done.Cause.Why == why.Elected))
	done.To, done.ToToken, done.Gap = v.Leader, v.Token, v.At.Sub(done.At)
	if done.From == "" && done.Cause.Why == v.Cause.Why || done.Cause.Why == why.Started {
		done.At, done.Gap = v.At, 0
	}
	t.last = done
	return done
}

// Last returns the turnover that was completed last; nil if none was.
func (t *Tracker) Last() *Turnover { return t.last }

// vague says that a better cause may come.
func (t *Turnover) vague() bool { return t.Cause.Why == why.Unexplained || t.Cause.Why == why.Started }

// end is a turnover that begins with v.
func (t *Tracker) end(v *View) *Turnover {
	return &Turnover{Group: v.Group, Mode: v.Mode, From: t.leader, FromToken: t.token, At: v.At, Cause: v.Cause}
}

// Open returns the turnover that no view has completed; nil if the group has a leader, or never had one. A group whose leader is only asked to
// stop has a leader.
func (t *Tracker) Open() *Turnover {
	if t.open == nil || t.leader != "" || t.open.From == "" && t.open.Cause.Why == why.Started {
		return nil
	}
	return t.open
}

// String says what happened in one line: the cause, who leads, and after which time: "host1 fell silent; host2 leads after 31 ms".
func (t *Turnover) String() string {
	next := t.To + " leads"
	if t.To == t.From {
		next += " again"
	}
	switch {
	case t.Seen:
		return t.To + " leads, as first seen here"
	case t.To == "" && t.From == "" && t.vague():
		return "no leader"
	case t.To == "":
		return t.ending() + "; no leader"
	case t.From == "" && t.Cause.Why == why.Unexplained:
		return next
	case t.From == "" && (t.Cause.Why == why.Elected || t.Cause.Why == why.Started):
		return t.To + " was elected"
	}
	return t.ending() + "; " + next + after(t.Gap)
}

// ending says why the leadership ended, or why there is no leader.
func (t *Turnover) ending() string { return t.Cause.Ending(t.From) }

// after says how much later something was, with two significant digits. What took less than a millisecond was at once.
func after(d time.Duration) string {
	if d < time.Millisecond {
		return " at once"
	}
	return " after " + Span(d)
}

// Span shows a length of time to people who want to know about how long: with two significant digits, and none of a second when there are minutes.
func Span(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "<1 ms"
	case d < 9950*time.Microsecond:
		return fmt.Sprintf("%.2g ms", float64(d)/float64(time.Millisecond))
	case d < 995*time.Millisecond:
		return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.2g s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}
