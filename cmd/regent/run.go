package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	runner "github.com/regentproject/regent/agent/run"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/session"
)

// runFlags are the flags of regent run that need a second look.
type runFlags struct {
	runner.Options
	socket                                  string
	elected, lost, notify, health, ready    string
	healthEvery, healthTimeout, hookTimeout time.Duration
	healthFailures                          int
	// attached says that the standard input says when to stop: see attach.
	stdin, attached bool
}

const runLong = `Runs COMMAND only while this host leads GROUP: it is started when the host is elected, and
stopped, with all its processes, before another host can be elected. Then the host campaigns
again.

No shell is involved. COMMAND finds these in its environment:

  REGENT_TOKEN   a number that grows with every leadership of the group: send it with
  REGENT_TERM    every order, so that the receiver can reject a lower one
  REGENT_GROUP   the group            REGENT_LEASE     how long a lease is
  REGENT_MEMBER  this host's member   REGENT_PRIORITY  its priority, or 1
  REGENT_SOCKET  where to ask the agent
  REGENT_RUN     a mark by which the agent finds the processes of COMMAND: keep it

If COMMAND or the runner dies, and all processes of COMMAND are proven gone, another host
leads within about 50 ms and the time of the lost hooks; otherwise after the announced
deadline. If this host or its agent dies, or is cut off, another host leads after the lease:
5 s, unless --lease or the configuration sets another length. When the agent dies, COMMAND
receives SIGTERM at once: no agent can renew its lease any more.

When the leadership is given up (SIGTERM or SIGINT to the runner, regent resign, regent
transfer, a health check that fails, the agent stops), COMMAND receives SIGTERM, or the
signal that the runner received, and has --grace to stop while the lease is renewed. When the
lease cannot be renewed, COMMAND is killed --guard before the end of the lease, regardless of
the grace. Runner, agent and a keeper process beside the runner do so independently. The
runner forwards other signals.

--on-elected, --on-lost, --health and --ready are lines for /bin/sh -c. They have the same
environment but REGENT_RUN, with REGENT_TOKEN only while this host leads, and --on-lost
has REGENT_REASON as well: ended, resigned, unhealthy or lost. --notify is a program and
its arguments, separated by spaces, and no shell runs it. The output of hooks goes to the
standard error; the output of checks is logged when they fail. A hook that takes too long is
killed with its process group. --on-lost and --notify run before another host can lead. If
the runner is killed, the keeper runs them.

The runner creates the pipe of --notify-fifo unless it exists, and keeps it open until it
ends. Unread lines wait in it. When it is full, the runner drops further lines and logs a
warning: it never waits for a reader.

With --announce every member of the council learns the text when this host is elected:
'regent who', 'regent watch' and 'regent verify' show it, and programs find it with the
leader. COMMAND may still be starting then, and not listen yet.

With --mode local or --mode eventual hosts lead GROUP, which the configuration of every
agent lists under groups. COMMAND runs while the view of this host's agent names this
host, and is sent SIGTERM when it no longer does. Run the command on every host: a host
leads also while no COMMAND runs on it. There is no token: REGENT_MODE is set instead of
REGENT_TOKEN. These modes do not promise that COMMAND runs on one host only. There is no
--mode consistent: a command has no way to report a recovery.

  local     One host leads in each part of a network that is cut: COMMAND runs in each.
            Within a part, COMMAND is killed before the host's lease ends, as above.
  eventual  There is no lease. Two hosts may run COMMAND at once, until all agree on one,
            and after that for as long as --grace. COMMAND is killed if the agent is
            silent for the length of a lease.

If neither runner, keeper nor agent is scheduled before the lease ends, as on a host that
hangs, COMMAND is not killed in time: then only the token protects.

The exit status is that of COMMAND if it ends by itself, 128 plus the number of the signal if
a signal killed it, 0 if the runner was asked to stop, and otherwise

  123  this host did not lead within --wait
  124  the leadership was lost or given up, with --once
  125  regent run failed, or usage error
  126  COMMAND cannot be run
  127  COMMAND was not found`

func runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run GROUP [flags] -- COMMAND [ARG ...]",
		Short: "Run a program only while this host leads a group",
		Long:  runLong,
		Example: `  regent run billing -- /usr/local/bin/billing --port 9000
  regent run cron --restart -- supercronic /etc/crontab
  regent run db --grace 30s --guard 50ms --health 'pg_isready -q' -- /usr/lib/db/start
  regent run mail --on-lost 'logger "mail stopped: $REGENT_REASON"' -- /usr/sbin/mail
  regent run web --announce http://10.0.0.1:8080/ -- /usr/local/bin/web
  regent run cache --mode local -- /usr/local/bin/warm-cache
  regent run backup --once --wait 10s -- /usr/local/bin/backup`,
		Args: func(c *cobra.Command, args []string) error {
			if err := runArgs(c, args); err != nil {
				return misused(err)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			f.Group, f.Command = args[0], args[1:]
			return f.run(c)
		},
	}
	f.add(c)
	return c
}

// add declares the flags.
func (f *runFlags) add(c *cobra.Command) {
	socketFlag(c, &f.socket)
	s := c.Flags()
	s.DurationVar(&f.Grace, "grace", 10*time.Second, "how long COMMAND has to stop when it is asked to")
	s.DurationVar(&f.Guard, "guard", 0, "how long before the end of a lease that was not renewed COMMAND is killed (default: the agent's guard time)")
	s.StringVar((*string)(&f.Mode), "mode", "", "local or eventual, for a group that hosts lead; see above for what these do not promise (default: quorum)")
	s.StringVar(&f.Value, "announce", "", "a text for those that look for the leader, such as the address of COMMAND; at most 256 bytes")
	s.DurationVar(&f.Lease, "lease", 0, "how long a lease is: COMMAND survives pauses shorter than that, and a dead host is replaced after it (default: what the agent is configured with for GROUP)")
	s.BoolVar(&f.Restart, "restart", false, "when COMMAND ends by itself give the group up, and campaign again after --delay")
	s.DurationVar(&f.Delay, "delay", time.Second, "how long to wait before campaigning again after COMMAND ended by itself or was not healthy")
	s.BoolVar(&f.Once, "once", false, "end after the first leadership")
	s.DurationVar(&f.Wait, "wait", 0, "end with status 123 if this host does not lead within this time (default: wait without end)")
	s.StringVar(&f.elected, "on-elected", "", "a line for the shell, run when elected and before COMMAND is started")
	s.StringVar(&f.lost, "on-lost", "", "a line for the shell, run when COMMAND is gone, whatever the reason, which is in $REGENT_REASON")
	s.StringVar(&f.notify, "notify", "", "a program, perhaps with arguments, that is called as keepalived calls its notify script: GROUP, the group's name, MASTER, BACKUP, FAULT, STOP, or MASTER_RX_LOWER_PRI when a member is back that may not know who leads; and the priority")
	s.StringVar(&f.Hooks.Fifo, "notify-fifo", "", "a named pipe that gets the same as lines, in order")
	s.DurationVar(&f.hookTimeout, "hook-timeout", 10*time.Second, "how long each of these may take")
	s.StringVar(&f.health, "health", "", "a line for the shell that fails when COMMAND is not well; then the group is given up")
	s.StringVar(&f.ready, "ready", "", "a line for the shell that fails when this host must not lead; then it does not campaign")
	s.DurationVar(&f.healthEvery, "health-interval", 5*time.Second, "how often --health and --ready are asked")
	s.DurationVar(&f.healthTimeout, "health-timeout", 5*time.Second, "how long they may take")
	s.IntVar(&f.healthFailures, "health-failures", 3, "how many failures of --health in a row count")
	s.BoolVar(&f.stdin, "stdin", false, "give COMMAND the standard input (default: nothing to read)")
	s.BoolVarP(&f.Quiet, "quiet", "q", false, "say nothing about elections on the standard error")
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return misused(err) })
}

// misused is an error of usage. Its status is not that of other commands, as 2 may be the program's own.
func misused(err error) error {
	return &cli.Exit{Err: fmt.Errorf("regent: %w (usage: regent run GROUP -- COMMAND; see 'regent run --help')", err), Status: runner.StatusFailed}
}

// runArgs says what is wrong with the words before and after --.
func runArgs(c *cobra.Command, args []string) error {
	switch dash := c.ArgsLenAtDash(); {
	case len(args) == 0:
		return errors.New("missing GROUP")
	case dash < 0:
		return errors.New("missing --: without it the flags of COMMAND are taken for those of regent")
	case dash != 1:
		return fmt.Errorf("%d words before --: want the group alone", dash)
	case len(args) == 1:
		return errors.New("missing COMMAND")
	}
	return nil
}

// check says which flags make no sense. From then on no mode stands for quorum.
func (f *runFlags) check() error {
	for _, d := range []struct {
		name string
		got  time.Duration
	}{{"grace", f.Grace}, {"guard", f.Guard}, {"delay", f.Delay}, {"wait", f.Wait}, {"lease", f.Lease}} {
		if d.got < 0 {
			return fmt.Errorf("--%s %v: must not be negative", d.name, d.got)
		}
	}
	for _, d := range []struct {
		name string
		got  time.Duration
	}{{"hook-timeout", f.hookTimeout}, {"health-interval", f.healthEvery}, {"health-timeout", f.healthTimeout}} {
		if d.got <= 0 {
			return fmt.Errorf("--%s %v: must be positive", d.name, d.got)
		}
	}
	if err := session.CheckValue(f.Value); err != nil {
		return fmt.Errorf("--announce: %w", err)
	}
	if err := session.CheckUnattended(f.Mode); err != nil {
		return fmt.Errorf("--%w", err)
	}
	if f.Mode == regent.Quorum {
		f.Mode = ""
	}
	if f.Mode != "" && f.Lease != 0 {
		return fmt.Errorf("--lease %v: the length of leases cannot be set in a %s group", f.Lease, f.Mode)
	}
	if f.Mode != "" && f.Value != "" {
		return fmt.Errorf("--announce: a leader of a %s group announces no value", f.Mode)
	}
	if f.healthFailures < 1 {
		return fmt.Errorf("--health-failures %d: must be at least 1", f.healthFailures)
	}
	return nil
}

// helpers turns what was said about hooks and checks into commands.
func (f *runFlags) helpers() error {
	f.Hooks.Notify, f.Hooks.Timeout = strings.Fields(f.notify), f.hookTimeout
	f.Health = runner.Check{Every: f.healthEvery, Timeout: f.healthTimeout, Failures: f.healthFailures}
	f.Ready = runner.Check{Every: f.healthEvery, Timeout: f.healthTimeout, Failures: 1}
	for _, h := range []struct {
		flag, line string
		to         *[]string
	}{
		{"on-elected", f.elected, &f.Hooks.Elected}, {"on-lost", f.lost, &f.Hooks.Lost},
		{"health", f.health, &f.Health.Command}, {"ready", f.ready, &f.Ready.Command},
	} {
		var err error
		*h.to, err = runner.Shell(h.line)
		if err != nil {
			return fmt.Errorf("--%s %w", h.flag, err)
		}
	}
	return nil
}

// run runs the runner.
func (f *runFlags) run(c *cobra.Command) error {
	if err := f.check(); err != nil {
		return misused(err)
	}
	if err := f.helpers(); err != nil {
		return runFailed(c, err, runner.StatusFailed)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return runFailed(c, err, runner.StatusFailed)
	}
	defer null.Close()
	f.Files = []*os.File{null, os.Stdout, os.Stderr}
	if f.stdin {
		f.Files[0] = os.Stdin
	}
	return f.start(c)
}

// runFailed is an error of a runner, in the name of its command.
func runFailed(c *cobra.Command, err error, status int) error {
	return &cli.Exit{Err: fmt.Errorf("regent %s: %w", c.Name(), err), Status: status}
}

// start runs the runner with what is known of it, whatever the command is.
func (f *runFlags) start(c *cobra.Command) error {
	reaper, err := tree.ProcessReaper()
	if err != nil {
		return runFailed(c, err, runner.StatusFailed)
	}
	f.Log = func(format string, args ...any) {
		if !f.Quiet {
			fmt.Fprintf(c.ErrOrStderr(), "regent "+c.Name()+": "+format+"\n", args...)
		}
	}
	var members api.MemberList
	if newClient(f.socket).get(c.Context(), "/v1/members", &members) == nil {
		if host := drainedHere(members.Members); host != "" {
			f.Log("this host is drained, and leads nothing: regent undrain %s", host)
		}
	}
	f.Env, f.Keeper = os.Environ(), true
	f.Hooks.Reaper, f.Hooks.Log = reaper, f.Log
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, runner.Signals()...)
	defer signal.Stop(signals)
	f.Signals = signals
	if f.attached {
		f.Sick = attach(os.Stdin, signals)
	}
	if c.Context().Err() != nil { // asked to stop before these were listened to
		return nil
	}
	connect := func(ctx context.Context) (runner.Agent, error) {
		a, err := runner.Dial(ctx, f.socket)
		if what := notThere(f.socket, err); what != "" {
			return nil, errors.New(what)
		}
		return a, err
	}
	// The signals end the runner by themselves, after the program: not by way of the context.
	status, err := runner.Run(context.WithoutCancel(c.Context()), connect, f.Options)
	if err != nil {
		return runFailed(c, err, status)
	}
	if status != 0 {
		return cli.Silently(status)
	}
	return nil
}
