package check

import (
	"testing"
	"time"
)

// a leads g with the token 5 and says x, then y.
const sayings = `
	1s a command g tenure=1 why=announce says=x
	1s a view g to=a term=5 tenure=1 value=5.1:x
	2s a command g tenure=1 why=announce says=y
	2s a view g to=a term=5 tenure=1 value=5.2:y`

func TestValues(t *testing.T) {
	checkCases(t, func(tr Truth) Checker { return NewValues(tr, time.Second) }, []traceCase{
		{"what was announced", sayings + `
			3s b view g to=a term=5 value=5.1:x
			4s b view g to=a term=5 value=5.2:y`, ""},
		{"what nobody said", `
			1s a view g to=a term=5 tenure=1 value=5.1:x`, "no program of it said so"},
		{"another text", sayings + `
			3s b view g to=a term=5 value=5.1:z`, "announced no such value"},
		{"a version to come", sayings + `
			3s b view g to=a term=5 value=5.3:y`, "announced no such value"},
		{"the value of the leader before", sayings + `
			3s b view g to=c term=6 value=5.2:y`, "a value of token 5"},
		{"another leader's text under one's own token", sayings + `
			3s b view g to=c term=6 value=6.2:y`, "announced no such value"},
		{"the same text in another group", sayings + `
			3s b view h to=a term=5 value=5.2:y`, "announced no such value"},
		{"back to an earlier version", sayings + `
			3s b view g to=a term=5 value=5.2:y
			4s b view g to=a term=5 value=5.1:x`, "after version 2"},
		{"back beyond a time without a leader", sayings + `
			3s b view g to=a term=5 value=5.2:y
			4s b view g value=none
			5s b view g to=a term=5 value=5.1:x`, "after version 2"},
		{"forgotten by a restart", sayings + `
			3s b view g to=a term=5 value=5.2:y
			4s b crash
			5s b/2 restart
			6s b/2 view g to=a term=5 value=5.1:x`, ""},
		{"learnt in the end", sayings + `
			3s - phase why=liveness members=ab
			4s b view g to=a term=5 value=5.2:y
			9s c phase why=other`, ""},
		{"never learnt", sayings + `
			3s b view g to=a term=5 value=none
			4s - phase why=liveness members=ab
			9s c act`, "which announced version 2 at 2s"},
		{"the last one never learnt", sayings + `
			3s b view g to=a term=5 value=5.1:x
			4s - phase why=liveness members=ab
			9s c act`, "which announced version 2 at 2s"},
		{"not in good time yet", sayings + `
			3s b view g to=a term=5 value=none
			8500ms - phase why=liveness members=ab
			9s c act`, ""},
		{"a member that need not converge", sayings + `
			3s b view g to=a term=5 value=none
			4s - phase why=liveness members=ac
			9s c act`, ""},
	})
}
