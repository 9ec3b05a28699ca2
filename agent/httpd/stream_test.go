package httpd

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/agent/core/coretest"
	"github.com/regentproject/regent/internal/session"
)

// deaf is a client that has hung up before it is answered.
type deaf struct{ httptest.ResponseRecorder }

func (*deaf) FlushError() error { return errors.New("broken pipe") }

func TestStreamToAClientThatHasHungUpIsNotCounted(t *testing.T) {
	agent := new(core.Agent)
	agent.SetConfig(&config.File{Limits: config.Limits{Streams: 1}})
	a := New(agent, new(access.Gate))
	for range 3 {
		if _, err := a.open(&deaf{}); err == nil || !strings.Contains(err.Error(), "broken pipe") {
			t.Errorf("a stream to nobody: %v", err)
		}
	}
	if n := agent.OpenStreams(); n != 0 {
		t.Errorf("%d streams are counted, and none is open", n)
	}
}

// A candidate over HTTP gets the lease less the delay that the configuration calls fast.
func TestStreamOverHTTPGetsLessTheDelay(t *testing.T) {
	t.Parallel()
	a := coretest.Joined(t, "")
	v := &streamNotifier{agent: New(a, new(access.Gate)), out: make(chan queuedEvent, maxQueuedEvents)}
	k, err := a.AddCandidate(core.Candidacy{Candidate: session.Candidate{Group: "g"}, Notifier: v})
	if err != nil {
		t.Fatal(err)
	}
	go k.Run()
	defer k.Goodbye()
	<-v.out
	before := a.Now()
	told := v.newEvent(k).ValidFor
	if most := k.Announced().Sub(before) - a.Timing.Delay; told <= 0 || told > most {
		t.Errorf("told %v, and at most %v are left", told, most)
	}
}
