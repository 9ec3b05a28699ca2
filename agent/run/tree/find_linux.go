package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/internal/tenure"
)

// A walk goes once through all processes of the host.
type walk struct {
	// strike has it kill: those of the first process's session as soon as they are seen, the others when all were seen.
	strike bool
	// own are children of this process that are not part of any tree; nil: this process is not the runner.
	own func() (children []int, known map[int]bool, ok bool)
	// cpu returns the time that this thread has used, pause lets others run, and arguments reads those of a process; nil: those of the
	// system. Tests have their own.
	cpu       func() time.Duration
	pause     func(time.Duration)
	arguments func(pid int) ([]byte, error)
	began     time.Duration
}

// begin begins a turn, and yield ends it if it has been long.
func (w *walk) begin() {
	if w.cpu == nil {
		w.cpu, w.pause = threadTime, time.Sleep
	}
	if w.arguments == nil {
		w.arguments = func(pid int) ([]byte, error) { return readProc(pid, "cmdline") }
	}
	w.began = w.cpu()
}

func (w *walk) yield() {
	if tenure.Breaks(w.cpu() - w.began) {
		w.pause(tenure.WalkBreak)
		w.began = w.cpu()
	}
}

// threadTime returns the CPU time of this thread.
func threadTime() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano())
}

// search goes through all processes and says which belong to the tree. What it reads about a process it reads after the
// process's identity, and signals compare that once more: so nothing that is read is taken for another process's.
func (r *Ref) search(w *walk) Result {
	runtime.LockOSThread() // for threadTime
	defer runtime.UnlockOSThread()
	w.begin()
	var out Result
	all, err := r.stats(w, &out)
	if err != nil {
		out.Err = fmt.Errorf("look for processes: %w", err)
		return out
	}
	var inside map[int]bool
	out.Search.Cgroup = tenure.NoCgroup
	if r.Cgroup != "" {
		out.Search.Cgroup = cgroupState(r.Cgroup)
		if inside, err = cgroupProcs(r.Cgroup); err != nil {
			out.Err = err
		}
	}
	rows, who := r.rows(w, all, inside, &out)
	r.classify(rows, who, &out)
	r.countUnseen(w, all, &out)
	out.Search.Left, out.Search.Foreign = len(out.Left), len(out.Foreign)
	if w.strike {
		for _, p := range out.Left {
			if err := signalProcess(p.Identity, unix.SIGKILL); err != nil {
				out.Err = errors.Join(out.Err, err)
			}
			w.yield()
		}
	}
	return out
}

// stats reads the states of all processes, and kills those that are of the session of the first one on sight.
func (r *Ref) stats(w *walk, out *Result) ([]stat, error) {
	pids, err := pidsNow()
	if err != nil {
		return nil, err
	}
	out.Search.Hidden = blind() && r.Runner.Pid != os.Getpid()
	seen := r.Seen
	if r.First.Pid != 0 && alive(r.First) {
		seen = max(seen, now())
	}
	all := make([]stat, 0, len(pids))
	for _, pid := range pids {
		w.yield()
		s, err := readStat(pid)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case refused(err):
			out.Search.Hidden = true
			continue
		case err != nil:
			return nil, err
		}
		all = append(all, s)
		if w.strike && !s.dead && r.First.Pid != 0 && s.session == r.First.Pid && s.started >= r.First.Started && s.started <= seen && r.may(pid) {
			_ = signalProcess(s.identity(), unix.SIGKILL) // it is found again, and the error reported
		}
	}
	return all, nil
}

// rows returns what the rules need to know of those that may belong to the tree.
func (r *Ref) rows(w *walk, all []stat, inside map[int]bool, out *Result) (rows []tenure.Process, who []stat) {
	self := os.Getpid()
	for _, s := range all {
		if s.pid == 1 || s.pid == self && s.identity() != r.Runner || s.started < r.Runner.Started && !inside[s.pid] {
			continue // those that are older than the runner have nothing to do with it
		}
		w.yield()
		if !inside[s.pid] && r.unborn(&s) {
			out.forking = true
			continue
		}
		execs := !inside[s.pid] && r.execs(w, &s) // before the environment, which the kernel sets together with the arguments
		// All are taken for the runner's user first; classify looks at those that belong.
		p := tenure.Process{Identity: s.identity(), Parent: s.parent, Session: s.session, UID: r.UID, Inside: inside[s.pid]}
		b, err := readProc(s.pid, "environ")
		environ := string(b)
		switch {
		case refused(err) && !s.dead && r.may(s.pid):
			out.Search.Hidden = true // it may bear the mark
		case err == nil:
			p.Marked = marked(environ, r.Mark)
			p.Helper = strings.Contains("\x00"+environ, "\x00"+helper+"=")
		}
		if execs && !p.Marked {
			out.forking = true
			continue
		}
		rows, who = append(rows, p), append(who, s)
	}
	return rows, who
}

// execWithin is how long an exec may take in which a process has no arguments. One that removes its own is none.
const execWithin = ticksPerSecond

// unborn says that a process is a child of the runner between fork and exec. What it becomes is not known: its environment is that of
// the runner still. A lost hook is no part of the tree, and an elected hook is. It does nothing before it execs.
func (r *Ref) unborn(s *stat) bool {
	if !r.isChild(s) || !s.forked {
		return false
	}
	// Programs fork without exec as well, and the runner adopts those. They are of another executable.
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", r.Runner.Pid))
	its, failed := os.Readlink(fmt.Sprintf("/proc/%d/exe", s.pid))
	return err == nil && failed == nil && own == its
}

// execs says that a child of the runner may be within exec: it has neither arguments nor an environment then. A program may be
// executed without arguments as well, and is known by its mark.
func (r *Ref) execs(w *walk, s *stat) bool {
	if !r.isChild(s) || s.forked {
		return false
	}
	arguments, err := w.arguments(s.pid)
	return err == nil && len(arguments) == 0 && now() < s.started+execWithin
}

// isChild says that a living process is a child of the runner.
func (r *Ref) isChild(s *stat) bool {
	return r.Runner.Pid != 0 && s.parent == r.Runner.Pid && !s.dead
}

// classify asks the rules who belongs to the tree, and who of them may be killed.
func (r *Ref) classify(rows []tenure.Process, who []stat, out *Result) {
	mine, _, _ := r.Pick(rows, nil, nil)
	for _, i := range mine {
		u, err := readUIDs(rows[i].Pid)
		switch {
		case who[i].dead || errors.Is(err, fs.ErrNotExist):
		case err != nil || !u.signalable(r.UID):
			rows[i].UID = u.effective
			if rows[i].UID == r.UID { // it only acts for the user
				rows[i].UID = u.real
			}
		}
	}
	mine, _, belongs := r.Pick(rows, nil, nil)
	for i := range rows {
		p := Process{Identity: rows[i].Identity, Name: who[i].name, UID: rows[i].UID}
		switch {
		case !belongs[i] || who[i].dead:
		case slices.Contains(mine, i):
			out.Left = append(out.Left, p)
		default:
			out.Foreign = append(out.Foreign, p)
		}
	}
}

// countUnseen adds children of the runner that /proc hides from it: it may not kill those.
func (r *Ref) countUnseen(w *walk, all []stat, out *Result) {
	if w.own == nil || !blind() {
		return
	}
	children, known, ok := w.own()
	if !ok {
		out.Search.Hidden = true
		return
	}
	for _, pid := range children {
		if !known[pid] && !slices.ContainsFunc(all, func(s stat) bool { return s.pid == pid }) {
			out.Foreign = append(out.Foreign, Process{Identity: tenure.Identity{Pid: pid}, Name: "hidden", UID: -1})
		}
	}
}
