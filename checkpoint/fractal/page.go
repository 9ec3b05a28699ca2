package fractal

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/regentproject/regent/checkpoint"
	"github.com/regentproject/regent/checkpoint/core"
)

//go:embed page
var files embed.FS

// Path is where the page of the demonstration is.
const Path = "/fractal/"

// A state is what the page shows.
type state struct {
	Members   []memberState `json:"members"`
	Tiles     []tileState   `json:"tiles"`
	Log       []logEntry    `json:"log"`
	Data      int           `json:"data"`
	Tolerates int           `json:"tolerates"`
	Frames    uint64        `json:"frames"`
}

type memberState struct {
	Name    string `json:"name"`
	Answers bool   `json:"answers"`
	In      bool   `json:"in"`
	Tiles   int    `json:"tiles"`
	Keeps   int    `json:"keeps"` // shares on its disk
}

// A tileState is where a tile stands. Shares is on how many disks its last complete checkpoint, or a later one, is.
type tileState struct {
	Key      string `json:"key"`
	Owner    int    `json:"owner"` // place in the council; -1: none
	Step     uint64 `json:"step"`
	Complete uint64 `json:"complete"`
	Shares   int    `json:"shares"`
}

type logEntry struct {
	Member string `json:"member"`
	checkpoint.Event
}

// A page asks the members of a directory.
type page struct {
	config checkpoint.Config
	mu     sync.Mutex // guards all below
	drawn  time.Time
	last   map[string][]byte
}

// Page serves the page about the members in a directory, below Path.
func Page(dir string, names []string) http.Handler {
	p := &page{config: local(dir, names), last: make(map[string][]byte)}
	static, err := fs.Sub(files, "page")
	if err != nil {
		panic("fractal: the page is not embedded: " + err.Error())
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+Path, http.StripPrefix(Path, http.FileServerFS(static)))
	mux.HandleFunc("GET "+Path+"state", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(w).Encode(p.state(r.Context()))
	})
	mux.HandleFunc("GET "+Path+"picture.png", p.picture)
	return mux
}

const patience = 400 * time.Millisecond

// ask returns the status of a member; nil if it does not answer in time.
func (p *page) ask(ctx context.Context, name string) *checkpoint.Status {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+name+checkpoint.StatusPath, nil)
	if err != nil {
		return nil
	}
	answer, err := p.config.Client.Do(r)
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	var s checkpoint.Status
	if json.NewDecoder(answer.Body).Decode(&s) != nil {
		return nil
	}
	return &s
}

func (p *page) state(ctx context.Context) state {
	council := p.config.Council
	all := make([]*checkpoint.Status, len(council))
	var asking sync.WaitGroup
	for i, m := range council {
		asking.Go(func() { all[i] = p.ask(ctx, m.Name) })
	}
	asking.Wait()
	cfg := core.Config{Members: len(council), Data: p.config.Data}
	out := state{Data: p.config.Data, Tolerates: cfg.Tolerates(), Frames: frames}
	tiles := make(map[string]*tileState)
	for _, key := range p.config.Keys {
		out.Tiles = append(out.Tiles, tileState{Key: key, Owner: -1})
	}
	for i := range out.Tiles {
		tiles[out.Tiles[i].Key] = &out.Tiles[i]
	}
	newest := make(map[string]core.ID)
	for i, s := range all {
		m := memberState{Name: council[i].Name, Answers: s != nil}
		if s != nil {
			m.In, m.Tiles = s.In, len(s.Owned)
			for _, t := range s.Owned {
				*tiles[t.Key] = tileState{Key: t.Key, Owner: i, Step: t.Step, Complete: t.Complete}
				newest[t.Key] = core.ID{View: s.View, Seq: t.Complete}
			}
			for _, e := range s.Recent {
				out.Log = append(out.Log, logEntry{m.Name, e})
			}
		}
		out.Members = append(out.Members, m)
	}
	for i, s := range all {
		if s == nil {
			continue
		}
		for key, ids := range s.Kept { // order does not matter: counted
			out.Members[i].Keeps += len(ids)
			if t := tiles[key]; t != nil && t.Owner >= 0 && slices.ContainsFunc(ids, func(id core.ID) bool { return id.Compare(newest[key]) >= 0 }) {
				t.Shares++
			}
		}
	}
	slices.SortFunc(out.Log, func(a, b logEntry) int { return b.At.Compare(a.At) })
	out.Log = out.Log[:min(len(out.Log), 80)]
	return out
}

// picture draws what can be read of all tiles, at most once in a second.
func (p *page) picture(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.drawn) > time.Second {
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		var reading sync.WaitGroup
		states := make([][]byte, len(p.config.Keys))
		for i, key := range p.config.Keys {
			reading.Go(func() { _, states[i], _ = checkpoint.Read(ctx, p.config, key) })
		}
		reading.Wait()
		for i, s := range states {
			if s != nil {
				p.last[p.config.Keys[i]] = s
			}
		}
		p.drawn = time.Now()
	}
	var b bytes.Buffer
	if err := Draw(&b, p.last); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(b.Bytes())
}
