package measure

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/regentproject/regent/agent/plan"
)

const (
	// syncEvery is how often a file is written: seldom enough to leave the disk to others.
	syncEvery = 200 * time.Millisecond
	// syncSize is about that of a member's record.
	syncSize = 512
)

// syncs writes a file again and again.
type syncs struct {
	dir  string
	file *os.File
	took []time.Duration
	err  error
}

func newSyncs(dir string) (*syncs, error) {
	f, err := os.CreateTemp(dir, ".regent-plan-*")
	if err != nil {
		return nil, fmt.Errorf("disk: %w (name another directory with --dir, or none with --dir '')", err)
	}
	return &syncs{dir: dir, file: f}, nil
}

func (s *syncs) run(ctx context.Context) {
	every := time.NewTicker(syncEvery)
	defer every.Stop()
	data := make([]byte, syncSize)
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		begin := time.Now()
		data[0]++
		if _, err := s.file.WriteAt(data, 0); err != nil {
			s.err = fmt.Errorf("disk: %w", err)
			return
		}
		if err := s.file.Sync(); err != nil {
			s.err = fmt.Errorf("disk: %w", err)
			return
		}
		s.took = append(s.took, time.Since(begin))
	}
}

// end removes the file.
func (s *syncs) end(load plan.Load) (plan.Syncs, error) {
	_ = s.file.Close()
	if err := os.Remove(s.file.Name()); err != nil && s.err == nil {
		s.err = fmt.Errorf("disk: %w", err)
	}
	out := plan.Syncs{Dir: s.dir, Load: load, Count: len(s.took)}
	if len(s.took) > 0 {
		slices.Sort(s.took)
		out.Median, out.Longest = s.took[len(s.took)/2], s.took[len(s.took)-1]
	}
	return out, s.err
}
