package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/owned"
)

// devOptions are the flags of regent dev.
type devOptions struct {
	members int
	length  time.Duration
	// again is after what time an agent is started again that has ended.
	again time.Duration
	logs  bool
	page  cli.Page
}

func devCommand() *cobra.Command {
	var o devOptions
	c := &cobra.Command{
		Use:   "dev",
		Short: "Run a council of agents on this machine, to develop against",
		Long: `Runs agents on free ports of this machine, which form a council, until Ctrl-C. It prints where they
listen as lines for a shell, and writes the same lines into a file. Nothing is left behind
when it ends. Leases are those of agents without settings: 5 s.

An agent that ends, as after kill -9, is started again after --restart-after. By default another
member leads by then. The file has its new process number.

Any local user can use the HTTP interfaces and the page; the sockets are this user's.`,
		Example: `  regent dev
  . /tmp/regent-1234/env                                 # in another shell: the file that it names
  regent run hello -- sh -c 'echo leading; exec sleep 1000'
  kill -9 $REGENT_PID_A        # another member leads after the lease; a is back after 10 s`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.members < 1 || o.members > devNames {
				return fmt.Errorf("--members %d: from 1 to %d", o.members, devNames)
			}
			if o.length < 0 {
				return fmt.Errorf("--for %v: must not be negative", o.length)
			}
			if o.again < 0 {
				return fmt.Errorf("--restart-after %v: must not be negative", o.again)
			}
			if err := o.run(c); err != nil {
				return &cli.Failure{Err: fmt.Errorf("regent dev: %w", err)}
			}
			return nil
		},
	}
	f := c.Flags()
	f.IntVar(&o.members, "members", 3, "how many agents")
	f.DurationVar(&o.length, "for", 0, "end after this long (default: on Ctrl-C)")
	f.DurationVar(&o.again, "restart-after", 10*time.Second, "start an agent that has ended again after this long")
	f.BoolVar(&o.logs, "logs", false, "show what the agents log")
	o.page.BrowseFlags(c)
	return c
}

// devNames is how many agents there may be: members are named by letters.
const devNames = 9

func (o *devOptions) run(c *cobra.Command) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	options := cluster.Options{Regent: func(args ...string) *exec.Cmd { return exec.Command(self, args...) }}
	for i := range o.members {
		options.Names = append(options.Names, string(rune('a'+i)))
	}
	if o.logs {
		options.Log = func(process, line string) { fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", process, line) }
	}
	agents, err := cluster.New(options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agents.Close()) }()
	ctx := c.Context()
	if o.length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.length)
		defer cancel()
	}
	for _, name := range agents.Names {
		if _, err := agents.StartAgent(name); err != nil {
			return err
		}
	}
	if err := agents.AwaitAgents(agents.Names...); err != nil {
		return err
	}
	lines, page, err := devLines(agents)
	if err != nil {
		return err
	}
	if err := writeEnv(agents, lines); err != nil {
		return err
	}
	fmt.Fprint(c.OutOrStdout(), lines)
	if err := o.page.Browse(ctx, page, c.OutOrStdout()); err != nil {
		fmt.Fprintln(c.ErrOrStderr(), err)
	}
	return o.watch(ctx, agents, c.ErrOrStderr())
}

// devLines returns what a shell has to know, and the address of the page.
func devLines(agents *cluster.Cluster) (lines, page string, err error) {
	var b strings.Builder
	http, err := agents.HTTP(agents.Names[0])
	if err != nil {
		return "", "", err
	}
	page = "http://" + http + "/ui/"
	fmt.Fprintf(&b, "# regent dev: members %s form a council on this machine. Ctrl-C ends it and removes %s.\n", strings.Join(agents.Names, ", "), agents.Dir)
	fmt.Fprintf(&b, "# The page: %s\n# In other shells: . %s\n", page, filepath.Join(agents.Dir, "env"))
	for i, name := range agents.Names {
		http, err := agents.HTTP(name)
		if err != nil {
			return "", "", err
		}
		if i == 0 {
			fmt.Fprintf(&b, "export REGENT_SOCKET=%s\n", agents.Socket(name))
		}
		upper := strings.ToUpper(name)
		fmt.Fprintf(&b, "export REGENT_SOCKET_%s=%s REGENT_HTTP_%s=http://%s REGENT_PID_%s=%d\n", upper, agents.Socket(name), upper, http, upper, agents.Pid(name))
	}
	if self, err := os.Executable(); err == nil && filepath.Base(self) == "regent" { // other shells need not have it in their path
		fmt.Fprintf(&b, "export PATH=%s:$PATH\n", shellWord(filepath.Dir(self)))
	}
	fmt.Fprintf(&b, "# Then: regent run hello -- sh -c 'echo leading with token $REGENT_TOKEN; exec sleep 1000'\n")
	if len(agents.Names) > 1 {
		fmt.Fprintf(&b, "# The same at another member: regent run hello --socket $REGENT_SOCKET_B -- ...\n")
	}
	return b.String(), page, nil
}

// shellWord quotes a word for a shell if that is needed.
func shellWord(s string) string {
	if strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+@", r)
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// writeEnv writes the lines for a shell into the file, at once: a shell may read it now.
func writeEnv(agents *cluster.Cluster, lines string) error {
	return owned.ReplaceFile(filepath.Join(agents.Dir, "env"), []byte(lines), 0o600)
}

// watch starts agents again that have ended, until ctx ends.
func (o *devOptions) watch(ctx context.Context, agents *cluster.Cluster, out io.Writer) error {
	ended := make(chan string)
	follow := func(p *cluster.Process) {
		go func() {
			select {
			case <-p.Gone():
			case <-ctx.Done():
				return
			}
			select {
			case ended <- p.Name:
			case <-ctx.Done():
			}
		}()
	}
	due := make(chan string)
	for _, name := range agents.Names {
		follow(agents.Process(name))
	}
	for {
		select {
		case name := <-ended:
			fmt.Fprintf(out, "regent dev: agent %s has ended (%s): starting it again in %v\n", name, agents.Process(name).State(), o.again)
			time.AfterFunc(o.again, func() {
				select {
				case due <- name:
				case <-ctx.Done():
				}
			})
		case name := <-due:
			p, err := agents.StartAgent(name)
			var lines string
			if err == nil {
				lines, _, err = devLines(agents)
			}
			if err == nil {
				err = writeEnv(agents, lines)
			}
			if err != nil {
				return fmt.Errorf("starting agent %s again: %w", name, err)
			}
			fmt.Fprintf(out, "regent dev: agent %s runs again; export REGENT_PID_%s=%d\n", name, strings.ToUpper(name), p.Pid())
			follow(p)
		case <-ctx.Done():
			return nil
		}
	}
}
