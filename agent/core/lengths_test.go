package core

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/processes"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/session"
)

// Leases that an ordinary pause would end are lengthened where there is no real-time scheduling, and the log says why.
func TestShortLeasesNeedRealtimeScheduling(t *testing.T) {
	denied := errors.New("operation not permitted")
	for _, c := range []struct {
		file       config.File
		timing     regent.Timing
		noRealtime error
		want       time.Duration
		warns      bool
	}{
		{config.File{Profile: "fast"}, regent.Fast, nil, 0, false},
		{config.File{Profile: "fast"}, regent.Fast, denied, regent.LAN.Lease, true},
		{config.File{Profile: "fast", Lease: time.Second}, regent.Fast, denied, time.Second, false},
		{config.File{Profile: "lan"}, regent.LAN, denied, config.DefaultLease, false},
		{config.File{Profile: "lan", Timing: config.Timing{Lease: 200 * time.Millisecond}}, regent.LAN, denied, 0, false},
	} {
		var logged strings.Builder
		a := &Agent{Timing: c.timing, noRealtime: c.noRealtime, Log: slog.New(slog.NewTextHandler(&logged, nil))}
		a.File.Store(&c.file)
		a.warnOfShortLeases(&c.file)
		if got := a.leaseOf("g"); got != c.want {
			t.Errorf("%+v, %v: %v, want %v", c.file, c.noRealtime, got, c.want)
		}
		if warns := strings.Contains(logged.String(), "operation not permitted"); warns != c.warns {
			t.Errorf("%+v: logged %q", c.file, logged.String())
		}
		if info := a.timingInfo(); info.Lease != max(c.want, c.timing.Lease) && c.want == 0 || info.CouncilLease != c.timing.Lease {
			t.Errorf("%+v: shows %+v", c.file, info)
		}
	}
}

// What pauses cost no lease follows from the shortest lease of a program here, if that is shorter than those by default.
func TestShortestLeaseOfAProgramDecidesWhichPausesItSurvives(t *testing.T) {
	a := &Agent{Timing: regent.LAN, books: make(map[uint64]*Candidate)}
	a.File.Store(&config.File{Profile: "lan"})
	long := regent.LAN.ForLease(config.DefaultLease)
	add := func(id uint64, mode regent.Mode, lease time.Duration) {
		c := &Candidate{agent: a}
		c.Mode, c.Lease = mode, lease
		a.books[id] = c
	}
	for i, c := range []struct {
		mode            regent.Mode
		lease, shortest time.Duration
		survives        time.Duration
	}{
		{regent.Quorum, 10 * time.Second, 0, long.Tolerates()},
		{regent.Local, 0, 0, long.Tolerates()},
		{"", 2 * time.Second, 2 * time.Second, shortened(2 * time.Second)},
		{regent.Quorum, 0, regent.LAN.Lease, regent.LAN.Tolerates()},
		{regent.Quorum, 5 * time.Second, regent.LAN.Lease, regent.LAN.Tolerates()},
	} {
		add(uint64(i), c.mode, c.lease)
		if info := a.timingInfo(); info.ShortestLease != c.shortest || info.Survives != c.survives || info.Tolerates != long.Tolerates() {
			t.Errorf("with %+v: %+v", c, info)
		}
	}
}

// shortened returns which pauses leases of a length survive with profile lan.
func shortened(lease time.Duration) time.Duration {
	t := regent.LAN.ForLease(lease)
	return t.Tolerates()
}

// A holder of addresses has nothing to lose by a pause but time: it is noticed after one lease, and other runners after two.
func TestAHolderOfAddressesMayBeSilentForOneLease(t *testing.T) {
	for _, c := range []struct {
		addresses        []string
		heartbeat, lease time.Duration
		want             time.Duration
	}{
		{nil, 10 * time.Second, 5 * time.Second, 10 * time.Second},
		{nil, 6 * time.Second, 20 * time.Second, 40 * time.Second},
		{[]string{"10.0.0.9/24@eth0"}, 10 * time.Second, 5 * time.Second, 5 * time.Second},
		{[]string{"10.0.0.9/24@eth0"}, 10 * time.Second, 20 * time.Second, 20 * time.Second},
		{[]string{"10.0.0.9/24@eth0"}, 0, 5 * time.Second, 0},
	} {
		held := (&processes.Trees{}).Watch("g", tree.Ref{Addresses: c.addresses}, 0)
		k := &Candidate{agent: &Agent{}, Candidacy: Candidacy{Candidate: session.Candidate{Heartbeat: c.heartbeat, Lease: c.lease}, Tree: held}}
		k.fixLease()
		if k.Heartbeat != c.want {
			t.Errorf("%v: a heartbeat of %v with leases of %v becomes %v, want %v", c.addresses, c.heartbeat, c.lease, k.Heartbeat, c.want)
		}
	}
}
