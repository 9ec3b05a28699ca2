package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A contest is all runs of a report, and how far each has come.
type contest struct {
	settings *settings
	report   *report
	systems  map[string]*system
	// gone are runs that failed: later blocks are without them.
	gone map[*run]bool
}

// measure does everything that the settings ask for. What fails is in the report as missing.
func measure(ctx context.Context, s *settings) *report {
	c := &contest{settings: s, report: newReport(s), systems: make(map[string]*system), gone: make(map[*run]bool)}
	for _, x := range s.systems {
		if why := x.missing(s); why != "" {
			c.lacks(x.name, errors.New(why))
			continue
		}
		c.systems[x.name] = x
		c.enter(ctx, x)
	}
	for block := range s.blocks {
		c.report.Load = append(c.report.Load, load())
		for _, r := range c.report.Runs {
			if ctx.Err() != nil {
				break
			}
			if c.gone[r] {
				continue
			}
			s.progress("block %d of %d: %s (%s), load %.1f", block+1, s.blocks, r.name(), r.Role, load())
			if err := c.block(ctx, r, block); err != nil {
				c.gone[r] = true
				c.lacks(fmt.Sprintf("%s, from block %d on", r.name(), block+1), err)
			}
			// What there is so far is on the disk, should this process be killed.
			if err := c.report.write(s.out); err != nil {
				s.progress("%v", err)
			}
		}
	}
	c.report.Load = append(c.report.Load, load())
	if ctx.Err() != nil {
		c.lacks("all that came later", errors.New("the run was interrupted"))
	}
	return c.report
}

// lacks notes what is missing.
func (c *contest) lacks(what string, why error) {
	c.settings.progress("missing: %s: %v", what, why)
	c.report.Missing = append(c.report.Missing, gap{what, why.Error()})
}

// enter adds the runs of a system: at its defaults and at its fastest setting.
func (c *contest) enter(ctx context.Context, x *system) {
	s := c.settings
	add := func(role, found string, with setting) {
		c.report.Runs = append(c.report.Runs, &run{System: x.name, Says: x.says, Version: x.version(s), Setting: with, Role: role, Found: found, Trials: make(map[string]*series)})
	}
	if s.defaults {
		add("default", "", x.defaults)
	}
	if !s.fastest {
		return
	}
	if name, ok := s.given[x.name]; ok {
		with, err := x.setting(name)
		if err != nil {
			c.lacks(x.name, err)
			return
		}
		add("fastest", "given by -fastest", with)
		return
	}
	with, found, err := c.search(ctx, x)
	if err != nil {
		c.lacks(x.name+" at its fastest", err)
		return
	}
	if with.Name == x.defaults.Name && s.defaults {
		c.lacks(x.name+" at a faster setting than its default", errors.New(found))
		return
	}
	add("fastest", found, with)
}

// search tries settings, the fastest first, until one has no change in an idle minute.
func (c *contest) search(ctx context.Context, x *system) (setting, string, error) {
	found := ""
	for i, with := range x.fastest {
		changes, err := c.calm(ctx, x, with)
		if ctx.Err() != nil {
			return setting{}, "", context.Cause(ctx)
		}
		switch {
		case err != nil:
			found += fmt.Sprintf("%s did not work (%v); ", with.Name, err)
			c.settings.progress("%s %s: %v", x.name, with.Name, err)
		case changes > 0:
			found += fmt.Sprintf("%s had a change; ", with.Name)
			c.settings.progress("%s %s: a change within %v at load %.1f", x.name, with.Name, c.settings.length, load())
		default:
			c.settings.progress("%s %s: no change in %v at load %.1f: its fastest setting", x.name, with.Name, c.settings.length, load())
			if i == 0 {
				found = "the shortest of the list; "
			}
			return with, fmt.Sprintf("%s%s had none in %v", found, with.Name, c.settings.length), nil
		}
	}
	return x.defaults, found + "so it is the default", nil
}

// calm counts changes that nothing causes. One is enough.
func (c *contest) calm(ctx context.Context, x *system, with setting) (int, error) {
	r, _, err := open(ctx, c.settings, x, with)
	if err != nil {
		return 0, err
	}
	err = r.sleep(ctx, time.Second)
	before := r.changes
	for end := time.Now().Add(c.settings.length); err == nil && r.changes == before && time.Now().Before(end); {
		err = r.sleep(ctx, min(time.Second, time.Until(end)))
	}
	return r.changes - before, errors.Join(err, r.close())
}

// block is one turn of a run.
func (c *contest) block(ctx context.Context, to *run, number int) (err error) {
	s := c.settings
	r, first, err := open(ctx, s, c.systems[to.System], to.Setting)
	if err != nil {
		return err
	}
	defer func() {
		spans, wrong := r.c.Spans()
		to.Both.add(overlaps(spans))
		err = errors.Join(err, wrong, r.close())
	}()
	to.Start = append(to.Start, ms(first))
	if s.length > 0 {
		idle, err := r.idle(ctx, s.length/time.Duration(s.blocks))
		if err != nil {
			return err
		}
		to.addIdle(idle)
	}
	if number == 0 && r.system.kinds == nil {
		p, err := r.price(ctx)
		if err != nil {
			c.lacks("the price of "+to.name(), err)
		}
		to.Price = p
	}
	if err := r.watch(true); err != nil {
		return err
	}
	for _, kind := range s.kinds {
		if r.system.kinds != nil && !slices.Contains(r.system.kinds, kind) {
			continue
		}
		if err := c.trials(ctx, r, to, kind, share(s.trialsOf(to.Setting), s.blocks, number)); err != nil {
			return err
		}
	}
	if s.busy == 0 {
		return nil
	}
	return burn(s.burners, func() error {
		before := r.changes
		length := s.busy / time.Duration(s.blocks)
		err := r.sleep(ctx, length)
		to.addBusy(busyResult{length.Seconds(), r.changes - before})
		return err
	})
}

// tooOften is how many trials of one kind may fail in a block before the system is given up.
const tooOften = 3

// share returns how many of all are in a block.
func share(all, blocks, number int) int { return all*(number+1)/blocks - all*number/blocks }

// trials makes leaders go.
func (c *contest) trials(ctx context.Context, r *rig, to *run, kind string, n int) error {
	to.series(kind)
	for done, void, failed := 0, 0, 0; done < n; {
		t, err := r.trial(ctx, kind)
		if t.woke {
			to.Stale.Woke++
		}
		if t.stale {
			to.Stale.Believed++
			to.Stale.MS = append(to.Stale.MS, ms(t.staleFor))
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errVoid):
			to.series(kind).Void++
			if void++; void > n {
				return fmt.Errorf("%s: its leaders go by themselves", kind)
			}
		case err != nil:
			to.series(kind).Failed++
			c.settings.progress("%s %s: %v", to.name(), kind, err)
			if failed++; failed >= tooOften {
				return fmt.Errorf("%s: %w", kind, err)
			}
			done++
		default:
			to.series(kind).MS = append(to.series(kind).MS, ms(t.took))
			c.settings.detail("%s %s: %s after %.2f ms", to.name(), kind, r.leader().host, ms(t.took))
			done++
		}
	}
	return nil
}

// price asks the leader.
func (r *rig) price(ctx context.Context) (*price, error) {
	if len(r.leading) == 0 {
		return nil, errors.New("none leads")
	}
	if err := r.say(r.leader().host, "price"); err != nil {
		return nil, err
	}
	var p *price
	var wrong error
	err := r.await(ctx, 40*time.Second, "the price is known", func(e event) bool {
		if e.what != "price" {
			return false
		}
		wrong = json.Unmarshal([]byte(e.text), &p)
		return true
	})
	return p, errors.Join(err, wrong)
}
