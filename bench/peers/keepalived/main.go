// Keepalived follows what keepalived on its host says of itself, for make bench-peers: it leads while that is the master.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/regentproject/regent/bench/peers/candidate"
)

func main() {
	journals := flag.String("journals", "", "the directory of journals")
	name := flag.String("name", "", "the name of the candidate")
	pipe := flag.String("pipe", "", "the pipe of keepalived (vrrp_notify_fifo)")
	flag.Parse()
	if err := run(*journals, *name, *pipe); err != nil {
		fmt.Fprintln(os.Stderr, "peer keepalived:", err)
		os.Exit(1)
	}
}

func run(journals, name, pipe string) error {
	p, err := candidate.New(journals, name)
	if err != nil {
		return err
	}
	var leads atomic.Bool
	go p.Serve(candidate.Belief{
		Leads:  leads.Load,
		Resign: func(context.Context) error { return errors.New("keepalived resigns only when it ends") },
	})
	f, err := os.OpenFile(pipe, os.O_RDWR, 0) // for writing too: the pipe must not end with its writer
	if err != nil {
		return err
	}
	p.Ready()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		state, ok := stateIn(lines.Text())
		switch {
		case !ok:
		case state == "MASTER":
			leads.Store(true)
			p.Led(0)
		case leads.Swap(false):
			p.Lost("its state is " + state)
		}
	}
	return lines.Err()
}

// stateIn returns the state that a line of the pipe names, such as INSTANCE "peers" MASTER 100.
func stateIn(line string) (string, bool) {
	words := strings.Fields(line)
	if len(words) < 3 || words[0] != "INSTANCE" {
		return "", false
	}
	return words[2], true
}
