package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster/journal"
)

// partVar tells a child of Main what it is.
const partVar = "REGENT_CLUSTER_PART"

// The parts that Main knows.
const (
	partMember = "member"
	partActor  = "actor"
)

// Main is called first by programs whose children run from their own executable. In a child it does not return.
func Main(beside ...func(context.Context, *regent.Member, Order) error) {
	switch os.Getenv(partVar) {
	case partMember:
		os.Exit(Serve(os.Stdin, os.Stdout, os.Stderr, beside...))
	case partActor:
		fmt.Fprintln(os.Stderr, Act(os.Getenv(journalVar), os.Getenv(stubbornVar) != ""))
		os.Exit(1)
	}
}

// Child makes commands that run Serve in a child of a program that calls Main.
func Child() func() *exec.Cmd {
	self := Self()
	return func() *exec.Cmd {
		c := self()
		c.Env = append(os.Environ(), partVar+"="+partMember)
		return c
	}
}

// What a program under regent run reads in its environment.
const (
	journalVar  = "REGENT_CLUSTER_JOURNALS"
	stubbornVar = "REGENT_CLUSTER_STUBBORN"
	ownerVar    = "REGENT_CLUSTER_OWNER" // the process of the cluster
)

// Acting returns the command line of a program for Run that calls Main, and there Act. A stubborn one ignores SIGTERM.
func (c *Cluster) Acting(stubborn bool) []string {
	words := []string{"env", partVar + "=" + partActor, journalVar + "=" + c.journals(), fmt.Sprintf("%s=%d", ownerVar, os.Getpid())}
	if stubborn {
		words = append(words, stubbornVar+"=1")
	}
	return append(words, Self()().Path)
}

// lookAfter is after how many entries an acting program looks whether the cluster is still there: no guardian of a program dies
// with the cluster in an order that would end the program for certain.
const lookAfter = 500

// actEvery is how often an acting program writes down that it runs.
const actEvery = 200 * time.Microsecond

// Act is a program under regent run: for as long as it runs it leads, and writes a journal. The holder is the member's name.
func Act(journals string, stubborn bool) error {
	if stubborn {
		signal.Ignore(syscall.SIGTERM)
	}
	token, err := strconv.ParseUint(os.Getenv("REGENT_TOKEN"), 10, 64)
	if err != nil {
		return fmt.Errorf("REGENT_TOKEN: %w", err)
	}
	j, err := journal.Open(journals, os.Getenv("REGENT_MEMBER"))
	if err != nil {
		return err
	}
	e := j.Begin(os.Getenv("REGENT_GROUP"), token)
	owner, _ := strconv.Atoi(os.Getenv(ownerVar))
	for i := 0; e.Err() == nil; i++ {
		e.Observe(func() bool { return true })
		time.Sleep(actEvery)
		if i%lookAfter == 0 && owner != 0 && !exists(owner) {
			return errors.New("the process of the cluster is gone")
		}
	}
	return e.Err()
}

// StartMain starts this very program on a host, in the manner of the examples: with -name, -council and -dir, and with a variable of the
// environment set that tells it from its test. line gets its output.
func (c *Cluster) StartMain(name, variable string, line func(string), args ...string) error {
	council, err := c.Council()
	if err != nil {
		return err
	}
	var peers []string
	for _, p := range council {
		if p.Name == name {
			p.Addrs[0] = c.Bind(name) // where it listens
		}
		peers = append(peers, p.Name+"="+p.Addrs[0])
	}
	if err := c.WriteKeys(name); err != nil {
		return err
	}
	cmd := Self(append([]string{"-name", name, "-council", strings.Join(peers, ","), "-dir", filepath.Join(c.Dir, name)}, args...)...)()
	cmd.Env = append(os.Environ(), variable+"=1")
	_, err = c.Spawn(name, name, cmd, line)
	return err
}
