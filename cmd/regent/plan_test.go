package main

import (
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
)

// Beside an agent, a plan takes its round trips and the number of members that may lead.
func TestAPlanAsksTheAgentForRoundTrips(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	list := api.MemberList{Members: []regent.PeerStatus{{Name: "a", Self: true, Heard: true}, {Name: "b", Heard: true, RoundTrip: 3 * time.Millisecond}, {Name: "c"},
		{Name: "w", Role: "witness", Heard: true, RoundTrip: time.Millisecond}}}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/members" {
			_ = json.NewEncoder(w).Encode(list)
		}
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	f := planFlags{socket: socket}
	ask := f.fromAgent(t.Context())
	if ask == nil || f.intent.Members != 3 {
		t.Fatalf("asks %v, %d members may lead", ask != nil, f.intent.Members)
	}
	if got := ask(t.Context()); len(got) != 2 || got["b"] != 3*time.Millisecond || got["w"] != time.Millisecond {
		t.Errorf("round trips %v", got)
	}
	none := planFlags{socket: filepath.Join(t.TempDir(), "none")}
	if none.fromAgent(t.Context()) != nil || none.intent.Members != 0 {
		t.Error("there is no agent, and it is asked")
	}
}

// Threads look as often as what is planned needs, and no more often than processors would wake up anyway.
func TestHowOftenThreadsLook(t *testing.T) {
	for target, want := range map[time.Duration]time.Duration{0: 5 * time.Millisecond, 10 * time.Millisecond: time.Millisecond, 50 * time.Millisecond: 2 * time.Millisecond,
		time.Second: 10 * time.Millisecond} {
		f := planFlags{}
		f.intent.FailOver = target
		if got := f.step(); got != want {
			t.Errorf("for %v every %v, want %v", target, got, want)
		}
	}
}
