package httpd

import (
	"net"
	"testing"

	"github.com/regentproject/regent/agent/config"
)

func TestSourcesAreJudgedByWhatTheirOwnersCannotChoose(t *testing.T) {
	of := func(ip string) string { return sourceOf(&net.TCPAddr{IP: net.ParseIP(ip), Port: 1}).String() }
	for _, same := range [][2]string{{"127.0.0.1", "127.9.9.9"}, {"2001:db8::1", "2001:db8::ffff:2"}, {"10.0.0.1", "::ffff:10.0.0.1"}} {
		if of(same[0]) != of(same[1]) {
			t.Errorf("%s and %s are one source", same[0], same[1])
		}
	}
	if of("10.0.0.1") == of("10.0.0.2") || of("2001:db8::1") == of("2001:db8:0:1::1") {
		t.Error("sources that differ are taken for one")
	}
}

func TestFullListenerTakesFromTheSourceThatHasMost(t *testing.T) {
	limits := &config.Limits{Connections: 4, PerSource: 4}
	b := NewAdmission(nil, func() *config.Limits { return limits })
	from := func(ip string) *addressed { return &addressed{at: &net.TCPAddr{IP: net.ParseIP(ip), Port: 1}} }
	small, _ := b.admit(from("10.0.0.1"))
	var first *admitted
	for i := range 3 {
		in, _ := b.admit(from("10.0.0.2"))
		if i == 0 {
			first = in
		}
	}
	if in, out := b.admit(from("10.0.0.3")); in == nil || out != first {
		t.Errorf("the oldest connection of the greatest source did not make room: %v", out)
	}
	if !small.begin() {
		t.Error("a request was refused among idle connections")
	}
	limits.Connections = 2 // a reload
	for range 3 {
		if _, out := b.admit(from("10.0.0.4")); out == small {
			t.Error("a connection that serves a request made room")
		}
	}
	small.end()
	if b.busy != 0 {
		t.Errorf("%d requests under way, want none", b.busy)
	}
}

// addressed is a connection that has an address and no more.
type addressed struct {
	net.Conn
	at net.Addr
}

func (a *addressed) RemoteAddr() net.Addr { return a.at }

func (a *addressed) Close() error { return nil }
