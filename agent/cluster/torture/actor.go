//go:build linux

package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/regentproject/regent/agent/cluster/journal"
)

// The words by which a child of torture knows what it is. They are arguments: some children have no environment.
const (
	wordAct  = "act"
	wordHook = "hook"
	wordBusy = "busy"
)

// child runs what this process is started for, if it is a child of torture. It does not return then.
func child() {
	if len(os.Args) < 2 {
		return
	}
	var err error
	switch os.Args[1] {
	case wordAct:
		err = act(os.Args[2:])
	case wordHook:
		err = writeHook(os.Args[2:])
	case wordBusy:
		err = spin()
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A role is what a process of a program is.
type role string

const (
	roleMain   role = "main"   // the first process
	roleFork   role = "fork"   // a child in the same session
	roleClean  role = "clean"  // the same, with an empty environment
	roleDaemon role = "daemon" // in a session of its own, without a parent of the program
	roleHidden role = "hidden" // the same, with an empty environment
	roleSetuid role = "setuid" // a child that has become another user
)

// children are the kinds of programs: what each starts beside its first process. A program is of the kind that its token names.
var children = [][]role{{}, {roleFork}, {roleClean}, {roleDaemon}, {roleHidden}, {roleSetuid}, {roleFork, roleDaemon}}

// life is what a process of a program reads in its arguments.
type life struct {
	dir   string // of the cluster
	owner int    // the process of torture
	role  role
	host  string
	group string
	token uint64
	// orphan says that this process starts one of its role and ends: that has no parent of the program then.
	orphan bool
}

func (l life) args() []string {
	return []string{wordAct, l.dir, strconv.Itoa(l.owner), string(l.role), l.host, l.group, strconv.FormatUint(l.token, 10), strconv.FormatBool(l.orphan)}
}

// act is a process of a program: it writes a journal and writes to the fenced store for as long as it runs.
func act(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("%s: missing arguments", wordAct)
	}
	l := life{dir: args[0], role: role(args[2])}
	var err error
	l.owner, err = strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	if l.role == roleMain {
		l.host, l.group = os.Getenv("REGENT_MEMBER"), os.Getenv("REGENT_GROUP")
		l.token, err = strconv.ParseUint(os.Getenv("REGENT_TOKEN"), 10, 64)
	} else {
		l.host, l.group, l.orphan = args[3], args[4], args[6] == strconv.FormatBool(true)
		l.token, err = strconv.ParseUint(args[5], 10, 64)
	}
	if err != nil {
		return err
	}
	switch {
	case l.orphan:
		l.orphan = false
		return l.start()
	case l.role == roleMain:
		if l.token%2 == 0 {
			signal.Ignore(syscall.SIGTERM)
		}
		for _, r := range children[l.token%uint64(len(children))] {
			next := l
			next.role, next.orphan = r, r == roleDaemon || r == roleHidden
			if err := next.start(); err != nil {
				return err
			}
		}
	default:
		signal.Ignore(syscall.SIGTERM)
		if l.role == roleSetuid {
			// As long as one of the user numbers is that of the runner, the runner may signal it.
			if uid := os.Geteuid(); os.Getuid() != uid {
				if err := syscall.Setreuid(uid, uid); err != nil {
					return err
				}
			}
		}
	}
	return l.act()
}

// start starts a process of the program.
func (l life) start() error {
	c := exec.Command("/proc/self/exe", l.args()...)
	if l.role == roleSetuid {
		c.Path = filepath.Join(l.dir, binDir, setuidName)
	}
	c.SysProcAttr = new(syscall.SysProcAttr)
	switch l.role {
	case roleClean:
		c.Env = []string{}
	case roleDaemon:
		c.SysProcAttr.Setsid = !l.orphan
	case roleHidden:
		c.SysProcAttr.Setsid = !l.orphan
		c.Env = []string{}
	}
	if err := c.Start(); err != nil {
		return err
	}
	if l.orphan {
		return c.Wait()
	}
	return nil
}

// actEvery is how often a program writes down that it runs, storeEvery how often it writes to the store, and lookEvery how often it looks
// whether torture is still there.
const (
	actEvery   = 500 * time.Microsecond
	storeEvery = 20 * time.Millisecond
	lookEvery  = 200 * time.Millisecond
)

// act acts until it is killed, or torture is gone.
func (l life) act() error {
	j, err := journal.Open(filepath.Join(l.dir, journals), l.host+"/"+string(l.role))
	if err != nil {
		return err
	}
	e := j.Begin(l.group, l.token)
	e.Observe(func() bool { return true })
	go l.write()
	for look := time.Now(); e.Err() == nil; {
		e.Observe(func() bool { return true })
		time.Sleep(actEvery)
		if time.Since(look) > lookEvery {
			if syscall.Kill(l.owner, 0) == syscall.ESRCH {
				return nil
			}
			look = time.Now()
		}
	}
	return e.Err()
}

// write writes to the store again and again, whatever it answers.
func (l life) write() {
	conn, err := net.Dial("unix", filepath.Join(l.dir, storeName))
	if err != nil {
		return
	}
	fmt.Fprintln(conn, l.host, l.group, l.token, l.role, os.Getpid())
	for answers := bufio.NewScanner(conn); answers.Scan(); {
		time.Sleep(storeEvery)
		fmt.Fprintln(conn, wordWrite)
	}
}

// The hooks that are written down.
const (
	hookElected = "elected"
	hookLost    = "lost"
)

// hookLasts is how long a hook takes.
const hookLasts = 20 * time.Millisecond

// writeHook is a hook: it writes down when it began and when it ended, and which process started it.
func writeHook(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%s: want a directory and a name", wordHook)
	}
	f, err := os.OpenFile(filepath.Join(args[0], hooksName), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	for _, end := range []bool{false, true} {
		_, err := fmt.Fprintln(f, args[1], end, os.Getenv("REGENT_MEMBER"), os.Getenv("REGENT_GROUP"), os.Getenv("REGENT_TOKEN"), os.Getppid(), int64(journal.Now()))
		if err != nil {
			return err
		}
		if !end {
			time.Sleep(hookLasts)
		}
	}
	return f.Close()
}

// spin keeps a processor busy until torture is gone.
func spin() error {
	for parent := os.Getppid(); os.Getppid() == parent; {
		for begin := time.Now(); time.Since(begin) < lookEvery; {
		}
	}
	return nil
}
