package main

import (
	"syscall"
	"testing"
	"time"
)

// An agent exits as soon as its programs have stopped. Its next start waits for the promises that are left, and logs that. The bound
// is far above what a stop takes and below the end of its promises.
func TestAnAgentStopsLongBeforeItsPromisesEnd(t *testing.T) {
	t.Parallel()
	const lease = 12 * time.Second
	h := startDefaults(t, "lease: "+lease.String()+"\n")
	h.sleeper("a", "g")
	_, token := h.runs("g", 0)
	h.waits(h.sleeper("b", "g"))
	stop := func(name string) {
		t.Helper()
		begin := time.Now()
		h.check(h.Process(name).Signal(syscall.SIGTERM))
		<-h.Process(name).Gone()
		took := time.Since(begin)
		t.Logf("%s stopped after %v", name, took)
		if took > lease/2 {
			t.Errorf("%s stopped after %v", name, took)
		}
		h.startAgent(name)
		h.check(h.AwaitAgents(name))
	}
	stop("a") // which leads
	h.runs("g", token)
	h.check(h.regent("status", "--wait", "2m", "--socket", h.Socket("a")))
	stop("c") // which has promised b something
	if h.regent("status", "--wait", "1ms", "--socket", h.Socket("c")) == nil {
		t.Error("c votes before its promise is over")
	}
}
