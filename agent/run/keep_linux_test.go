package run

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"testing"

	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/tenure"
)

// A keeper takes a late line about an earlier candidacy for none about this one.
func TestKeeperIgnoresLinesAboutAnotherCandidacy(t *testing.T) {
	for _, c := range []struct {
		key  string
		want tenure.State
	}{{"earlier", tenure.Waiting}, {"now", tenure.Over}} {
		mine, its := net.Pipe()
		n := &keeping{key: "now", party: party.New(party.Options{Clock: new(fakeClock), Do: func(tenure.Effect) {},
			Config: tenure.Config{Lower: tenure.Tree, Backup: true}})}
		go func() {
			_ = json.NewEncoder(mine).Encode(keeperOrder{Key: c.key, Ended: &protocol.Cause{Code: protocol.Resigned}})
			_ = mine.Close()
		}()
		(&keeperProcess{runner: its, now: n}).read()
		if got := n.party.State(); got != c.want {
			t.Errorf("after the end of %q: %v, want %v", c.key, got, c.want)
		}
	}
}

// What a search proved is void when another one has begun.
func TestAnEarlierSearchProvesNothing(t *testing.T) {
	found := make(chan func() bool, 2)
	k := killer{end: func(context.Context) tree.Result { return tree.Result{Search: tenure.Search{Adopter: true}} },
		found: func(valid func() bool, _ tenure.Event) { found <- valid }}
	k.begin()
	first := <-found
	if !first() {
		t.Error("the only search proves nothing")
	}
	k.begin()
	if first() {
		t.Error("an earlier search proves something")
	}
	<-found
}

// A correction that comes after the line about the end has a line of its own.
func TestLateCorrectionIsLogged(t *testing.T) {
	var lines []string
	a := newFake(0)
	l := &life{agent: a, how: &ending{why: stopRequested, cause: "asked to stop"},
		r: &runner{Options: Options{Group: "g", Log: func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }}}}
	l.close()
	l.log(tenure.Effect{Kind: tenure.Log, Line: tenure.Corrected, Cause: protocol.Cause{Code: protocol.LeaseExpired}})
	if len(lines) != 2 {
		t.Errorf("logged %q", lines)
	}
}
