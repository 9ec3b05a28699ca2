package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// The measurements start members as "member" and busy processes as "burn" from their own executable: here, this one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "member" || os.Args[1] == "burn") {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestAShortRunMeasuresEverything(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, err := parse([]string{"-trials", "2", "-splits", "2", "-members", "3", "-scheduling", "realtime", "-idle", "300ms", "-groups", "1,50", "-values", "1",
		"-calm", "300ms", "-busy", "300ms", "-profile", "lan"}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out bytes.Buffer
	if err := run(ctx, s, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"floor: round trip", "floor: timer", "kill    3", "stop    3", "resign  3", "cut     3", "split   5", "merge   5", "idle,     1 groups",
		"idle,    50 groups", "all led again", "values, 50 groups", "calm for", "busy for", "no two programs led at one instant"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("it left %v behind", left)
	}
}

func TestAFailureLeavesTheOtherMeasurements(t *testing.T) {
	row := func(text string, err error) func(context.Context, settings, io.Writer) error {
		return func(_ context.Context, _ settings, out io.Writer) error { fmt.Fprintln(out, text); return err }
	}
	var out bytes.Buffer
	err := measure(t.Context(), settings{}, []measurement{{"kill", row("3 trials", errors.New("no leader"))}, {"cut", row("100 trials", nil)}}, &out)
	if err == nil || err.Error() != "1 of 2 measurements are not complete:\nkill: no leader" {
		t.Errorf("%v does not name what is missing", err)
	}
	if got, want := out.String(), "3 trials\nkill: not complete: no leader\n100 trials\n"; got != want {
		t.Errorf("it printed\n%s\nwant\n%s", got, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out.Reset()
	if err := measure(ctx, settings{}, []measurement{{"kill", row("1 trial", context.Canceled)}, {"cut", row("100 trials", nil)}}, &out); err == nil || strings.Contains(out.String(), "100") ||
		!strings.Contains(out.String(), "interrupted: 1 of 2 measurements did not run") {
		t.Errorf("%v; interrupted, it printed\n%s", err, out.String())
	}
}

func TestQuantiles(t *testing.T) {
	var s sample
	for i := range 100 {
		s = append(s, time.Duration(100-i))
	}
	if s.at(0.5) != 50 || s.at(0.99) != 99 || s.at(1) != 100 || (sample{}).at(0.5) != 0 {
		t.Errorf("p50 %d, p99 %d, max %d", s.at(0.5), s.at(0.99), s.at(1))
	}
}

// A flood may cost the leader its lease. The next one is aimed at who leads then, with packets to that member.
func TestFloodsAreAimedAtWhoLeads(t *testing.T) {
	if os.Geteuid() != 0 {
		return // nothing can be recorded
	}
	t.Setenv("TMPDIR", t.TempDir())
	s, err := parse([]string{"-profile", "wan"}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := open(ctx, s, cluster.Options{Poll: pollEvery, Groups: cluster.OneGroup}, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	}()
	aimed := func() (leader string, to int) {
		t.Helper()
		leader, target, err := c.aim(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if target != c.cluster.Bind(leader) {
			t.Errorf("%s leads, and the flood is aimed at %s", leader, target)
		}
		return leader, int(binary.BigEndian.Uint16(c.recorded[receiverOffset:]))
	}
	before, to := aimed()
	if _, err := c.remove(before, "resign"); err != nil {
		t.Fatal(err)
	}
	if err := c.await(ctx, time.Minute, func(*cluster.Event) bool { return c.leader.Member != before }); err != nil {
		t.Fatal(err)
	}
	if after, now := aimed(); after == before || now == to {
		t.Errorf("the flood is aimed at %s, with packets to rank %d, after %s and %d", after, now, before, to)
	}
}

// receiverOffset is where the rank of the receiver stands in a packet (docs/wire.md).
const receiverOffset = 8
