package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/internal/owned"
)

// Openers open engines by their kind, behind an address. The function closes what was opened.
type Openers = map[string]func(address string) (e engine.Engine, done func() error, err error)

// engineNoteName is the file in the directory of the agent that has its note, and recordName the record that a member of a council keeps there.
const (
	engineNoteName = "engine.json"
	recordName     = "record"
)

// An engineNote is what an agent remembers of its engine, because tokens of two engines are not comparable.
type engineNote struct {
	// Engine names it, and tells it from others of its kind.
	Engine string `json:"engine"`
	// Above is not below any token that this host has seen.
	Above uint64 `json:"above"`
}

// noteRoom is how far ahead of the tokens a note goes, so that it is seldom written.
const noteRoom = 1000

// engineIdentity names an engine in notes.
func engineIdentity(e engine.Engine) string { return e.Name() + " " + e.Where() }

// readEngineNote returns the note of a directory. One without a note, in which a member of a council has kept its record, has the council's.
func readEngineNote(dir string) (n engineNote, found bool, err error) {
	if dir == "" {
		return n, false, nil
	}
	b, _, err := owned.ReadFile(filepath.Join(dir, engineNoteName))
	if errors.Is(err, fs.ErrNotExist) {
		_, err := os.Stat(filepath.Join(dir, recordName))
		return engineNote{Engine: "council"}, err == nil, nil
	}
	if err != nil {
		return n, false, err
	}
	err = json.Unmarshal(b, &n)
	if err == nil && n.Engine == "" {
		err = errors.New("it names no engine")
	}
	if err != nil {
		return n, false, fmt.Errorf("%s: damaged (remove it, and run 'regent engine switch --above TOKEN' with a token that is above all): %w", filepath.Join(dir, engineNoteName), err)
	}
	return n, true, nil
}

func (n *engineNote) write(dir string) error {
	if dir == "" {
		return nil
	}
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return owned.ReplaceFile(filepath.Join(dir, engineNoteName), append(b, '\n'), 0o600)
}

// openEngine opens the engine of a file.
func openEngine(file *config.File, engines Openers) (e engine.Engine, done func() error, err error) {
	kind, address, err := file.EngineAddress()
	if err != nil {
		return nil, nil, err
	}
	open := engines[kind]
	if open == nil {
		return nil, nil, fmt.Errorf("engine.kind %q: this agent has %s", kind, cmp.Or(strings.Join(slices.Sorted(maps.Keys(engines)), ", "), "no engines (use a program that was built without the tag noengines)"))
	}
	return open(address)
}

// elector returns what elects for the agent. It refuses to go on with another engine than that of the note.
func (a *Agent) elector(file *config.File) (core.Elector, func() error, error) {
	note, noted, err := readEngineNote(file.Dir)
	if err != nil {
		return core.Elector{}, nil, err
	}
	if file.Engine == nil {
		if noted && note.Engine != "council" {
			return core.Elector{}, nil, fmt.Errorf("engine: this host used %s, and a council cannot begin above its tokens (use another dir and other groups, or configure that engine)", note.Engine)
		}
		return core.Elector{Join: regent.Join}, nil, nil
	}
	e, done, err := openEngine(file, a.options.Engines)
	if err != nil {
		return core.Elector{}, nil, err
	}
	if noted && note.Engine != engineIdentity(e) {
		return core.Elector{}, nil, errors.Join(fmt.Errorf("engine: this host used %s, and now %s: their tokens are not comparable (stop all agents, and run 'regent engine switch' on each host)",
			note.Engine, engineIdentity(e)), done())
	}
	k := &noteKeeper{dir: file.Dir, note: engineNote{Engine: engineIdentity(e), Above: note.Above}, fail: func(err error) { a.core.Log.Warn("the note about the engine cannot be written", "err", err) }}
	join := func(ctx context.Context, c regent.Config) (*regent.Member, error) {
		m, err := regent.On(ctx, e, c)
		if err == nil {
			k.write()
		}
		return m, err
	}
	return core.Elector{Join: join, See: k.see}, done, nil
}

// A noteKeeper keeps the note above all tokens.
type noteKeeper struct {
	dir  string
	fail func(error)

	mu   sync.Mutex
	note engineNote
}

// see takes note of a token.
func (k *noteKeeper) see(token uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if token > k.note.Above {
		k.note.Above = token + noteRoom
		k.save()
	}
}

func (k *noteKeeper) write() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.save()
}

func (k *noteKeeper) save() {
	if err := k.note.write(k.dir); err != nil {
		k.fail(err)
	}
}

// SwitchEngine has the tokens of the engine of a file be above those that this host has noted, and above the one given, and notes that engine. It
// returns the names of the engine before and of this one, and what the tokens are above.
func SwitchEngine(ctx context.Context, file *config.File, engines Openers, above uint64) (from, to string, floor uint64, err error) {
	note, noted, err := readEngineNote(file.Dir)
	if err != nil {
		return "", "", 0, err
	}
	e, done, err := openEngine(file, engines)
	if err != nil {
		return "", "", 0, err
	}
	defer func() { err = errors.Join(err, done()) }()
	to = engineIdentity(e)
	switch {
	case !noted && above == 0:
		return "", to, 0, errors.New("engine: this host has noted no token (nothing to switch; --above sets a floor all the same)")
	case note.Engine == "council" && above == 0:
		return note.Engine, to, 0, errors.New("engine: the council's tokens are not noted (give a token that is above all of them: --above, from 'regent history' on each host)")
	}
	floor = max(note.Above, above)
	if err := e.Raise(ctx, "", floor); err != nil {
		return note.Engine, to, floor, err
	}
	next := engineNote{Engine: to, Above: floor}
	return note.Engine, to, floor, next.write(file.Dir)
}
