package agent

import (
	"strings"
	"testing"
	"time"
)

func TestClockBeyondItsBoundIsSaidWithWhatToDo(t *testing.T) {
	h := open(t, 1, "")
	a := h.agents[0]
	if status, body := a.get(t, "/readyz"); status != 200 {
		t.Fatalf("before: %d %v", status, body)
	}
	// What the member would say. That it finds out, and leads nothing then, the library's own tests show.
	g := &a.agent.statusCache
	g.mu.Lock()
	g.status.ClockFault, g.at = true, time.Now().Add(time.Hour)
	g.mu.Unlock()
	status, body := a.get(t, "/readyz")
	if why, _ := body["why"].(string); status != 503 || !strings.Contains(why, "leads nothing until it is right") || !strings.Contains(why, "chronyc tracking") {
		t.Errorf("readyz: %d %v", status, body)
	}
	if status, body := a.get(t, "/v1/status"); status != 200 || body["clock_fault"] != true {
		t.Errorf("status: %d %v", status, body)
	}
	if status, _ := a.get(t, "/healthz"); status != 200 {
		t.Errorf("healthz: %d: a restart would not help", status)
	}
}
