package roster

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Recovery gives a council up that has lost a majority of its voters for good: the members that are left go on as another council.
type Recovery struct {
	// Council is the id of the council that is given up.
	Council string `json:"council"`
	// Lost names the members that are lost. All others must answer, and agree.
	Lost []string `json:"lost"`
	// Try only asks the others whether they would agree, and changes nothing.
	Try bool `json:"try,omitempty"`
}

// An Outlook says what a Recovery does, or has done.
type Outlook struct {
	// Council and Number are those of the council that is given up.
	Council string `json:"council"`
	Number  uint64 `json:"number"`
	// Survivors go on, and Lost are given up.
	Survivors []string  `json:"survivors"`
	Lost      []Silence `json:"lost"`
	// Wait is for how long the survivors grant no lease.
	Wait time.Duration `json:"wait_ns"`
	// Heir is the id of the council that the survivors go on as; empty if they do not yet.
	Heir string `json:"heir,omitempty"`
}

// A Silence says for how long nothing was heard of a member.
type Silence struct {
	Name string        `json:"name"`
	For  time.Duration `json:"silent_ns"`
}

// GivenUp is a council that its survivors have given up in favour of the one that has this.
type GivenUp struct {
	ID string `json:"id"`
	// Number is that of the last configuration that the survivors had.
	Number uint64 `json:"number"`
	// At is when that was asked for, at the member By, and Lost names the members that were lost.
	At   time.Time `json:"at"`
	By   string    `json:"by"`
	Lost []string  `json:"lost"`
	// Acknowledged says that a person has taken note of what can no longer be promised since then ([Unpromised]).
	Acknowledged bool `json:"acknowledged,omitempty"`
}

// Warning says in words that a council was given up before this one; empty if none was, or if that is acknowledged.
func (c *Council) Warning() string {
	g := c.GivenUp
	if g == nil || g.Acknowledged {
		return ""
	}
	return fmt.Sprintf("council %s was given up on %s at %s, without %s: these may lead beside this council if they are alive, and then only fences stop them; what else can no "+
		"longer be promised is in 'regent recover --help', and 'regent recover --acknowledge' ends this warning", g.ID, g.At.UTC().Format("2006-01-02 15:04 MST"), g.By, strings.Join(g.Lost, ", "))
}

// Unpromised says what can no longer be promised once a council is given up without a majority of its voters.
func Unpromised() []string {
	return []string{
		"A lost member that is alive elsewhere may lead beside the new council, if a majority of the old one can reach it. Only fences stop what it does. Make sure that the lost members are off.",
		"The tokens of the new council are above all that the survivors have seen, by more than a trillion. Fences that have seen one of these refuse the lost members. A fence that has not does not.",
		"What only lost members knew is gone: the last leaders, the values of leaders, and changes of the council that the survivors had not heard of.",
		"Consistent groups begin again from the last agreement that a survivor knows. What only lost members had agreed on is not known. So what they have recovered since may be recovered once more; and what a member left that joined the council without the survivors hearing of it is recovered by nobody.",
		"Lost members cannot come back as they are. Empty their directories, and add them to the new council.",
	}
}

// Reasons why a council is not given up, besides those of a [Change].
var (
	// ErrNotLost says that a member objects: the council is not lost, as far as it knows.
	ErrNotLost = errors.New("the council is not given up")
	// ErrGivenUp says that this member was named as lost when its council was given up. It is an ErrRemoved.
	ErrGivenUp = fmt.Errorf("%w: it was lost", ErrRemoved)
	// ErrNothing says that there is nothing to acknowledge.
	ErrNothing = errors.New("there is nothing to acknowledge")
)
