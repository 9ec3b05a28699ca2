// Package candidate is what the candidates of all systems that make bench-peers compares have in common: a process that tries to lead one group.
//
// A candidate prints lines of words, each with a reading of the host's clock (package journal) as its second word:
//
//	ready AT             it takes part
//	leads AT TOKEN       its system says that it leads
//	lost AT CAUSE        its system says that it leads no longer; CAUSE is the rest of the line
//	resigning AT         it begins to resign
//	woke AT LED          it did not run for a while; LED (true or false) is whether it believed then that it leads
//	ceased AT            it believed that it leads when it woke, and no longer does
//	price AT JSON        a Price
//	failed AT TEXT       something did not work
//
// It obeys lines: watch and rest begin and end looking every millisecond at whether it leads, which it writes into its journal; resign; price. It ends with its input.
package candidate

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/agent/cluster/journal"
)

// Group is what all candidates lead.
const Group = "peers"

// A Belief is what a candidate knows of its own leadership.
type Belief struct {
	// Leads says whether this process believes that it leads. It asks nobody, as a program before each of its actions would.
	Leads func() bool
	// Verify asks those that decide who leads whether this process does.
	Verify func(context.Context) error
	// Resign ends the leadership at the program's own wish.
	Resign func(context.Context) error
}

// A Process is a candidate.
type Process struct {
	journal  *journal.Journal
	belief   Belief
	watching atomic.Bool
	watchers sync.Mutex    // held by the goroutine that looks
	term     atomic.Uint64 // grows with every leadership
	token    atomic.Uint64 // of the latest
	writing  sync.Mutex
	out      io.Writer
}

// New returns the process. Its journal is in the directory, under a name; without a directory it keeps none.
func New(journals, name string) (*Process, error) {
	if journals == "" {
		return &Process{out: os.Stdout}, nil
	}
	j, err := journal.Open(journals, name)
	if err != nil {
		return nil, err
	}
	return &Process{journal: j, out: os.Stdout}, nil
}

// Say prints a line.
func (p *Process) Say(what string, words ...any) { p.sayAt(journal.Now(), what, words...) }

func (p *Process) sayAt(at journal.Time, what string, words ...any) {
	line := fmt.Sprintf("%s %d", what, at)
	for _, w := range words {
		line += " " + strings.ReplaceAll(fmt.Sprint(w), "\n", " ")
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	fmt.Fprintln(p.out, line)
}

// Ready says that the process takes part.
func (p *Process) Ready() { p.Say("ready") }

// Led says that a leadership has begun.
func (p *Process) Led(token uint64) {
	at := journal.Now()
	p.token.Store(token)
	p.term.Add(1)
	p.sayAt(at, "leads", token)
}

// Lost says that a leadership has ended.
func (p *Process) Lost(cause any) { p.Say("lost", cause) }

// Failed says that something did not work.
func (p *Process) Failed(err error) { p.Say("failed", err) }

// Serve obeys commands until the input ends. Then the process does, as if it had been killed.
func (p *Process) Serve(b Belief) {
	p.belief = b
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch lines.Text() {
		case "watch":
			if !p.watching.Swap(true) {
				go p.watch()
			}
		case "rest":
			p.watching.Store(false)
		case "resign":
			go p.resign()
		case "price":
			go p.price()
		}
	}
	os.Exit(0)
}

// patience is how long one operation may take.
const patience = 10 * time.Second

func (p *Process) resign() {
	p.Say("resigning")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.belief.Resign(ctx); err != nil {
		p.Failed(fmt.Errorf("resign: %w", err))
	}
}

const (
	// lookEvery is how often a candidate looks at whether it leads, and longPause what counts as not having run: far more than a busy host does to it between
	// two looks most of the time, and less than what candidates are stopped for.
	lookEvery = time.Millisecond
	longPause = 50 * time.Millisecond
)

// watch looks at whether the process leads, again and again.
func (p *Process) watch() {
	p.watchers.Lock()
	defer p.watchers.Unlock()
	var l look
	l.last = journal.Now()
	for p.watching.Load() {
		l.once(p)
		time.Sleep(lookEvery)
	}
}

// A look is what a candidate saw last.
type look struct {
	last  journal.Time
	entry *journal.Entry // of the leadership that it believes in
	term  uint64
	stale bool // it woke, and believed that it leads
}

func (l *look) once(p *Process) {
	paused := journal.Now().Sub(l.last) > longPause
	if term := p.term.Load(); term != l.term || l.entry == nil {
		l.term, l.entry = term, p.journal.Begin(Group, p.token.Load())
	}
	led := l.entry.Observe(p.belief.Leads)
	l.last = journal.Now()
	if !led {
		if l.entry.Span().Since != 0 {
			l.entry.End("it believes so no longer")
			l.entry = nil // the next leadership has an entry of its own
		}
		if l.stale {
			p.sayAt(l.last, "ceased")
		}
		l.stale = false
	}
	if paused {
		l.stale = led
		p.sayAt(l.last, "woke", led)
	}
}

// A Price is what it costs to ask whether the process leads.
type Price struct {
	// Local is that of asking nobody, and Clock that of time.Now, both in nanoseconds: the median of several batches.
	Local float64 `json:"local_ns"`
	Clock float64 `json:"clock_ns"`
	// Verify and VerifyP99 are of asking those that decide, in microseconds, one question after the other.
	Verify    float64 `json:"verify_p50_us"`
	VerifyP99 float64 `json:"verify_p99_us"`
	Verified  int     `json:"verified"`
	Refused   int     `json:"refused"`
}

const (
	batches   = 9
	batch     = 20_000
	verifyFor = time.Second
	verifyMax = 2000
)

func (p *Process) price() {
	var r Price
	r.Local = perCall(func() { p.belief.Leads() })
	r.Clock = perCall(func() { _ = time.Now() })
	var took []time.Duration
	for end := time.Now().Add(verifyFor); p.belief.Verify != nil && time.Now().Before(end) && len(took) < verifyMax; {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		begin := time.Now()
		err := p.belief.Verify(ctx)
		cancel()
		if err == nil {
			took = append(took, time.Since(begin))
		} else if r.Refused++; r.Refused > 100 {
			p.Failed(fmt.Errorf("verify: %w", err))
			break
		}
	}
	r.Verified = len(took)
	r.Verify, r.VerifyP99 = float64(quantile(took, 0.5))/1e3, float64(quantile(took, 0.99))/1e3
	b, err := json.Marshal(r)
	if err != nil {
		p.Failed(err)
		return
	}
	p.Say("price", string(b))
}

// perCall returns what a call takes in the median batch, in nanoseconds.
func perCall(f func()) float64 {
	var all []time.Duration
	for range batches {
		begin := time.Now()
		for range batch {
			f()
		}
		all = append(all, time.Since(begin))
	}
	return float64(quantile(all, 0.5)) / batch
}
