// Package tree starts a program so that everything it starts can be found again and killed: by the process that started
// it, and by another one that only knows of it. It carries out; what a search proves is decided by package tenure.
//
//	tree.go           what a tree is, its end, and what that proves
//	start_linux.go    starting the first process, and the gate before it
//	gate_unix.go      what the first process does until the gate opens
//	reap_linux.go     children that outlived their parents
//	kill_linux.go     signals: at once, and after a walk
//	find_linux.go     who belongs to a tree
//	holder_linux.go   who holds an address after the tree
//	witness_linux.go  what proves its end to a process that only waits for it
//	verify_linux.go   what to believe of a tree that another process claims
//	proc_linux.go     reading /proc
//	cgroup_linux.go   a cgroup for each tree, where that is possible
//	tree_other.go     other systems: process groups, and no more
//
// # Use
//
// A runner calls [ProcessReaper] once, [Reaper.Prepare] for each tenure, and hands [Tree.Ref] to its keeper through a pipe and
// its mark and cgroup to the agent, before anything runs. [Tree.Start] forks the first process, which waits at the
// gate; [Tree.Exec] opens it, [Tree.Abort] ends the process instead. [Tree.Ref] knows the first process from Start on.
// [Tree.StartBeside] starts elected hooks, which are part of the tree as well.
//
// An agent makes a [Ref] of a [Claim] that came over a connection, with the identity that it has from the connection's pidfd
// ([Identify]), and has it learn the first process and the keeper when they exist ([Ref.Learn]). It calls [Ref.See] now and then while the program runs,
// such as at each renewal.
//
// All of them kill by [Ref.End] or [Tree.End]: it returns what it found, and [Result.Verdict] is the event for the machine. No
// verdict means that the context ended first: End again. Run it in [thread.Run], so that it is on time on a busy host.
//
// # Who belongs to a tree
//
// On Linux a tree is found by four signs, any of which is enough. A process belongs to it that is in its cgroup; that
// has its mark in the environment variable REGENT_RUN; that is in the session of the first process; or that is a child of
// the runner and no helper of it, for the runner is a subreaper: it adopts every process that loses its parent. So do the
// children of all these. Who is older than the runner does not belong. The rules are those of [tenure.Ref.Pick].
//
// In the cgroup everything is killed. Outside it only processes are killed that the user of the runner may signal itself; the others
// are named in [Result.Foreign].
//
// # What a search proves
//
// Nobody escapes from a cgroup who may not write to cgroups. Nobody escapes from a living runner. Without either, to find nobody
// proves nothing: the verdict is tenure.TreeUnknown. So it is where the searcher may not look: /proc is mounted with hidepid, or an environment of the
// runner's user cannot be read. A runner sees its own children in any case.
//
// # Identities
//
// A process is known by its number and its start time, which were read while a pidfd of it was open and the process lived. No
// signal goes to a number: each goes through a pidfd that was compared after it was opened.
//
// The mark is secret, and appears in environments only, which the kernel shows to their user and root. It must not be logged, nor be an
// argument of a command.
package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/run/address"
	"github.com/regentproject/regent/internal/tenure"
)

// Mark is the environment variable by which the processes of a tree are known. Its value is a list, separated by commas,
// for a tree may be part of another.
const Mark = "REGENT_RUN"

// helper is the environment variable by which children of a runner are known that are not part of its tree.
const helper = "REGENT_HELPER"

// markBytes is how long marks are: nobody guesses one.
const markBytes = 16

// A Ref says how to find the processes of a tree. It may be written down and handed to another process of the host that
// may know the mark. Without the first process it is good for finding whatever else is known.
type Ref struct {
	tenure.Ref
	// Mark is in the environment of all of them. It is random and secret.
	Mark string
	// Cgroup is the directory of the tree's cgroup, empty if it has none. Its name is random, and public.
	Cgroup string
	// Addresses are those that the first process adds to interfaces of the host, as package address writes them. Who ends the tree deletes them, when
	// nobody is left who could add them again, except those that a later leadership of the host holds. Nothing proves the end of a tree as long as the host has one
	// of the others.
	Addresses []string `json:",omitempty"`
	// first stands for the first process, also when that is dead and its process group is not; nil: open one when needed.
	first *os.File
}

// A Process is one process of a tree, for people. Name and UID are as far as they can be seen.
type Process struct {
	tenure.Identity
	Name string
	UID  int
}

func (p Process) String() string { return fmt.Sprintf("%d (%s, user %d)", p.Pid, p.Name, p.UID) }

// A Result is what the last look at a tree found.
type Result struct {
	Search tenure.Search
	// Left are processes that were alive and may be killed, Foreign those that may not: the runner's user may not signal them.
	Left, Foreign []Process
	// Err says why the look was incomplete, or that a process could not be killed.
	Err error
	// early says that there was no time for all of it, and forking that a child of the runner had not called exec: look again.
	early, forking bool
}

// Verdict says what the result proves, as an event; false: nothing, End again.
func (r *Result) Verdict() (tenure.Kind, bool) {
	kind, ok := r.Search.Verdict()
	switch {
	case r.early || r.forking || !ok:
		return tenure.Tick, false
	case r.Err != nil:
		return tenure.TreeUnknown, true
	}
	return kind, true
}

// drop deletes the addresses of the tree. It comes after the processes were killed.
func (r *Ref) drop(found *Result) {
	var err error
	found.Search.Held, err = address.Drop(r.Addresses, r.Succeeded)
	found.Err = errors.Join(found.Err, err)
}

// Void has the result prove nothing, and says why.
func (r *Result) Void(why string) {
	r.early, r.Err = true, errors.Join(r.Err, errors.New(why))
}

// Gone says that nothing is left.
func (r *Result) Gone() bool {
	kind, ok := r.Verdict()
	return ok && kind == tenure.TreeGone
}

// String names what is left, for the log and for explain.
func (r *Result) String() string {
	var parts []string
	list := func(what string, all []Process) {
		if len(all) == 0 {
			return
		}
		words := make([]string, len(all))
		for i, p := range all {
			words[i] = p.String()
		}
		parts = append(parts, what+" "+strings.Join(words, ", "))
	}
	list("still there:", r.Left)
	list("of other users, not killed:", r.Foreign)
	if r.Search.Hidden {
		parts = append(parts, "some processes cannot be seen")
	}
	if r.Err != nil {
		parts = append(parts, r.Err.Error())
	}
	switch {
	case r.Gone():
		return "nothing is left"
	case len(parts) == 0:
		return "nothing was found, which proves nothing without a cgroup or a living runner"
	}
	return strings.Join(parts, "; ")
}

// End kills the tree: at once the processes that it knows, then those that it finds. It returns when it has found the same twice in a row, or when
// ctx has ended; the result then has no verdict. It clears nothing: see Forget.
func (r *Ref) End(ctx context.Context) Result { return end(ctx, r.killer()) }

// A killer carries out what a hunt asks for.
type killer struct {
	// strike kills the processes that it knows. It returns true if that shows at a glance that nothing is left.
	strike func() (Result, bool)
	// walk looks for the others, and kills them.
	walk func() Result
}

// end kills in the order of a hunt, until that has a proof.
func end(ctx context.Context, k killer) Result {
	var hunt tenure.Hunt
	var found Result
	for {
		switch hunt.Next() {
		case tenure.Strike:
			if glance, gone := k.strike(); gone {
				return glance
			}
		case tenure.Walk:
			found = k.walk()
			hunt.Found(found.Verdict())
		case tenure.Rest:
			select {
			case <-time.After(hunt.Pause()):
			case <-ctx.Done():
				found.early = true
				return found
			}
		case tenure.Proven:
			return found
		}
	}
}

// Forget removes what was prepared for a tree: its cgroup, if nobody is in it. It kills nobody.
func (r *Ref) Forget() { r.clear() }

// Orphan returns the reference without the runner, for a runner that may have begun another tree since: its children may belong to
// that one.
func (r *Ref) Orphan() *Ref {
	o := *r
	o.Runner.Pid = 0
	return &o
}

// signalStatus is what shells add to the number of a signal that killed a program.
const signalStatus = 128

// Options is how to start a tree.
type Options struct {
	// Path is the program and Args its arguments, the first of which is its name. No shell is involved.
	Path string
	Args []string
	// Env is the environment, and Dir the working directory; empty is that of the runner.
	Env []string
	Dir string
	// Files are standard input, output and error.
	Files []*os.File
}

// environ returns an environment in which the mark was added to the ones that are there.
func environ(env []string, mark string) []string {
	out := make([]string, 0, len(env)+1)
	marks := mark
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		switch name {
		case helper:
		case Mark:
			marks = value + "," + mark
		default:
			out = append(out, e)
		}
	}
	return append(out, Mark+"="+marks)
}

// marked says whether an environment, as /proc shows it, bears the mark.
func marked(env, mark string) bool {
	for e := range strings.SplitSeq(env, "\x00") {
		if list, ok := strings.CutPrefix(e, Mark+"="); ok && mark != "" && slices.Contains(strings.Split(list, ","), mark) {
			return true
		}
	}
	return false
}

// Helper returns an environment that keeps a child of a runner from being taken for a part of its tree: lost hooks, checks, the
// keeper.
func Helper(env []string) []string { return append(slices.Clone(env), helper+"=1") }

// A Claim is what a runner says of its tree on a connection. Nothing in it is believed that Verify cannot check.
type Claim struct {
	// Mark is the tree's. It reaches only processes that the user of the runner may kill anyway.
	Mark string
	// Runner is the number that the runner has in its own pid namespace.
	Runner int
	// Cgroup is the directory of the tree's cgroup, of which the name counts; empty: none.
	Cgroup string
	// Addresses are those of the tree. Verify leaves them out: whether the runner may have them is not for this package to say.
	Addresses []string
}

// Claim returns what a runner tells the agent before anything runs.
func (r *Ref) Claim() Claim {
	return Claim{Mark: r.Mark, Runner: r.Runner.Pid, Cgroup: r.Cgroup, Addresses: r.Addresses}
}
