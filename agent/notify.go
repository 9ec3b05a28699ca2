package agent

import (
	"context"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// notify tells the service manager how things are, if there is one that listens.
func notify(lines ...string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	if path[0] == '@' { // not in the file system
		path = "\x00" + path[1:]
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return
	}
	defer c.Close()
	_, _ = c.Write([]byte(strings.Join(lines, "\n")))
}

// watchdogEvery returns how often the service manager wants to hear that all is well; zero: never.
func watchdogEvery() time.Duration {
	if pid := os.Getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	us, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || us <= 0 {
		return 0
	}
	return time.Duration(us) * time.Microsecond / 2
}

// watchdog says that all is well as long as the member's loop answers. An agent whose loop is stuck holds nothing that it
// could lose: its leases have run out, and a restart is best.
func (a *Agent) watchdog(ctx context.Context) {
	every := watchdogEvery()
	if every == 0 {
		return
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if a.answers(ctx, every) {
			notify("WATCHDOG=1")
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// answers says whether the member's loop answers in time. While there is no member yet, there is nothing that could be
// stuck but this.
func (a *Agent) answers(ctx context.Context, within time.Duration) bool {
	if !a.core.HasJoined() {
		return true
	}
	ok := make(chan bool, 1)
	go func() { ok <- a.core.Alive() || ctx.Err() != nil }()
	select {
	case yes := <-ok:
		return yes
	case <-time.After(within):
		return false
	}
}
