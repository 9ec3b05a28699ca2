package regent

import (
	"context"
	"log/slog"
)

// distrust is why a member does not go by its record: it stops, and asks the others.
type distrust struct {
	// status begins the sentence that the status shows meanwhile, and log is the line; empty: something else has logged it.
	status, log string
	level       slog.Level
}

// noRecord is the reason of a wait of a member that has lost its record, or keeps none.
const noRecord = "no record"

// distrusts are by the reason that the council's machine states for its wait.
var distrusts = map[string]*distrust{
	"stale record": {status: "its record is an old copy", level: slog.LevelError,
		log: "the durable record is an old copy: the member stops and asks the others what it has forgotten"},
	"void record": {status: "its record was found to be an old copy, before it was restarted", level: slog.LevelWarn,
		log: "the durable record was found to be an old copy before: the member asks the others what it has forgotten"},
	"copied record": {status: "its record was written on another machine, in another directory or to another file", level: slog.LevelWarn,
		log: "the durable record was written on another machine, in another directory or to another file: the member asks the others what it may have forgotten"},
	"disowned record": {status: "its record was written under another identity, with another tag key", level: slog.LevelWarn,
		log: "the durable record was written under another identity of this member: the member asks the others what it may have forgotten"},
	"restored snapshot": {status: "its machine was restored from a snapshot, or its wall clock was set forward"},
}

// distrust takes note that the member asks, if that is the reason of a wait.
func (m *Member) distrust(reason string) {
	switch {
	case reason == noRecord && m.dir == nil:
		m.log.Info("the member keeps no record: it waits for the longest lease, and asks the others before it votes", "wait", m.timing().LongestLease)
	case reason == noRecord:
		m.log.Info("the member has no record: unless the council begins now, it waits for the longest lease, and asks the others before it votes", "wait", m.timing().LongestLease)
	}
	d := distrusts[reason]
	if d == nil {
		return
	}
	m.distrusted.Store(d)
	if d.log != "" {
		m.log.Log(context.Background(), d.level, d.log, "wait", m.timing().LongestLease)
	}
}

// distrusts says why the member does not go by its record; empty if it does.
func (m *Member) distrusts() string {
	if d := m.distrusted.Load(); d != nil {
		return d.status
	}
	return ""
}
