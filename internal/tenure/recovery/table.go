package recovery

// A class is an event as the table knows it: by how its agreement compares with the present one.
type class uint8

const (
	laterAsks class = iota
	laterRests
	sameAsks
	sameRests
	older
	showPresent
	showOther
	closeAsker
	closeOther
	reportPresent
	reportOlder
	reportLater
	leave
	classes = iota
)

var classNames = [classes]string{
	laterAsks:     "`Agree`: a later agreement, which asks",
	laterRests:    "`Agree`: a later agreement, which does not",
	sameAsks:      "`Agree`: the present agreement again, which asks",
	sameRests:     "`Agree`: the present agreement again, which does not",
	older:         "`Agree`: an older agreement",
	showPresent:   "`Show`: the present agreement",
	showOther:     "`Show`: another one",
	closeAsker:    "`Close`: the reader that asked",
	closeOther:    "`Close`: another one",
	reportPresent: "`Report`: the present agreement",
	reportOlder:   "`Report`: an older one",
	reportLater:   "`Report`: one that did not come",
	leave:         "`Leave`",
}

// classify returns the row of an event.
func (m *Machine) classify(ev Event) class {
	order := ev.Number.Compare(m.present)
	switch ev.Kind {
	case Agree:
		switch {
		case order < 0:
			return older
		case order == 0 && ev.Recover:
			return sameAsks
		case order == 0:
			return sameRests
		case ev.Recover:
			return laterAsks
		}
		return laterRests
	case Show:
		if order == 0 {
			return showPresent
		}
		return showOther
	case Close:
		if ev.Reader == m.asker {
			return closeAsker
		}
		return closeOther
	case Report:
		switch {
		case order < 0:
			return reportOlder
		case order > 0:
			return reportLater
		}
		return reportPresent
	}
	return leave
}

// A cell is what follows in one state from one class of events.
type cell struct {
	sets    next
	verdict Verdict
}

// next is the next state, or keeps.
type next int8

const (
	keeps    next = -1
	toIdle        = next(Idle)
	toDue         = next(Due)
	toAsked       = next(Asked)
	toUnread      = next(Unread)
	toDone        = next(Done)
	toOver        = next(Over)
)

var none = cell{keeps, Nothing}

// table says what each event leads to in each state. In Idle the present agreement asks for nothing, so that a report of it is unasked.
var table = [states][classes]cell{
	Idle: {
		laterAsks: {toDue, Nothing}, laterRests: none, sameAsks: {toDue, Nothing}, sameRests: none, older: none,
		showPresent: none, showOther: none, closeAsker: none, closeOther: none,
		reportPresent: {keeps, Unasked}, reportOlder: {keeps, Stale}, reportLater: {keeps, Unasked}, leave: {toOver, Nothing},
	},
	Due: {
		laterAsks: none, laterRests: {toIdle, Nothing}, sameAsks: none, sameRests: none, older: none,
		showPresent: {toAsked, Ask}, showOther: none, closeAsker: none, closeOther: none,
		reportPresent: {keeps, Unasked}, reportOlder: {keeps, Stale}, reportLater: {keeps, Unasked}, leave: {toOver, Nothing},
	},
	Asked: {
		laterAsks: {toDue, Nothing}, laterRests: {toIdle, Nothing}, sameAsks: none, sameRests: none, older: none,
		showPresent: none, showOther: none, closeAsker: {toUnread, Nothing}, closeOther: none,
		reportPresent: {toDone, Counts}, reportOlder: {keeps, Stale}, reportLater: {keeps, Unasked}, leave: {toOver, Nothing},
	},
	Unread: {
		laterAsks: {toDue, Nothing}, laterRests: {toIdle, Nothing}, sameAsks: none, sameRests: none, older: none,
		showPresent: {toAsked, Ask}, showOther: none, closeAsker: none, closeOther: none,
		reportPresent: {toDone, Counts}, reportOlder: {keeps, Stale}, reportLater: {keeps, Unasked}, leave: {toOver, Nothing},
	},
	Done: {
		laterAsks: {toDue, Nothing}, laterRests: {toIdle, Nothing}, sameAsks: none, sameRests: none, older: none,
		showPresent: none, showOther: none, closeAsker: none, closeOther: none,
		reportPresent: {keeps, Repeated}, reportOlder: {keeps, Stale}, reportLater: {keeps, Unasked}, leave: {toOver, Nothing},
	},
	Over: {
		laterAsks: none, laterRests: none, sameAsks: none, sameRests: none, older: none,
		showPresent: none, showOther: none, closeAsker: none, closeOther: none,
		reportPresent: {keeps, Late}, reportOlder: {keeps, Late}, reportLater: {keeps, Late}, leave: none,
	},
}
