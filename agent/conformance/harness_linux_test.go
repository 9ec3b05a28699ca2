package conformance

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/view"
)

// goHarness is the harness of the client in Go.
type goHarness struct {
	conn      *session.Conn
	lease     atomic.Pointer[session.Lease]
	resigning atomic.Bool
}

func say(words ...any) { _, _ = fmt.Fprintln(os.Stdout, words...) }

// serveGo drives the client in Go until its input ends.
func serveGo(address string) error {
	ctx := context.Background()
	conn, err := session.Dial(ctx, address)
	if err != nil {
		return err
	}
	h := &goHarness{conn: conn}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if err := h.do(ctx, strings.Fields(in.Text())); err != nil {
			say("error", err)
		}
	}
	return conn.Close()
}

func (h *goHarness) do(ctx context.Context, words []string) error {
	lease := h.lease.Load()
	switch words[0] {
	case "lead":
		go h.lead(ctx, words[1], view.Mode(words[2]), strings.TrimPrefix(words[3], "-"))
	case "valid":
		say("valid", lease.Valid())
	case "remaining":
		say("remaining", strconv.FormatFloat(lease.Remaining().Seconds(), 'f', -1, 64))
	case "confirm":
		left, err := lease.Alive(ctx)
		if err != nil {
			return err
		}
		say("confirmed", left.Seconds())
	case "announce":
		if err := lease.Announce(ctx, words[1]); err != nil {
			return err
		}
		say("announced")
	case "edict":
		e, err := lease.Edict(ctx)
		if err != nil {
			return err
		}
		say("edict", e)
	case "can-transfer":
		if err := lease.CanTransfer(ctx, words[1]); err != nil {
			return err
		}
		say("can-transfer")
	case "transfer":
		h.resigning.Store(true)
		if _, err := lease.Transfer(ctx, words[1]); err != nil {
			return err
		}
		say("transferred")
	case "view":
		v, err := h.conn.View(ctx, words[1])
		if err != nil {
			return err
		}
		say("view", dash(v.Leader), v.Token, dash(v.Value))
	case "verify":
		p, err := h.conn.Verify(ctx, words[1])
		if err != nil {
			return err
		}
		say("proof", p.Leader, p.Token, dash(p.Value), p.Until > h.conn.Now())
	case "resign":
		h.resigning.Store(true)
		if err := lease.Resign(ctx); err != nil {
			return err
		}
		say("resigned")
	}
	return nil
}

func (h *goHarness) lead(ctx context.Context, group string, mode view.Mode, value string) {
	l, err := h.conn.Campaign(ctx, session.Candidate{Group: group, Mode: mode, Value: value, Name: "harness"})
	if err != nil {
		say("error", err)
		return
	}
	h.lease.Store(l)
	h.resigning.Store(false)
	say("leads", l.Token(), l.Member())
	l.OnDone(func() {
		if !h.resigning.Load() {
			say("lost", l.Cause())
		}
	})
	if mode != view.Consistent {
		return
	}
	for v := range l.Views(ctx) {
		if v.Agreement == nil {
			continue
		}
		say("agreed", v.Agreement.Number, strings.Join(v.Agreement.Members, " "))
		if v.Agreement.Recover {
			say("recovers", strings.Join(v.Agreement.Failed, " "), strings.Join(v.Agreement.Unfinished, " "))
			if err := l.Recovered(ctx, v.Token, v.Agreement.Number); err != nil {
				say("error", err)
			}
		}
	}
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
