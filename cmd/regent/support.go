package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/config"
)

// supportOptions are the flags of regent support.
type supportOptions struct {
	socket, config, output, unit string
	lines                        int
}

func supportCommand() *cobra.Command {
	var o supportOptions
	c := &cobra.Command{
		Use:   "support",
		Short: "Collect what a bug report needs, without secrets",
		Long: `Writes an archive with what the agent of this host reports, its configuration, its log and
facts about the host. It has no key, no token and no password: the archive has the names of
files that hold secrets, and never their content. Names of hosts, members and groups and
addresses stay readable. Look at the archive before you send it: tar -xzf FILE

What cannot be collected, such as the answers of an agent that does not run, is listed in the
archive and on standard error. The command succeeds without them.`,
		Example: `  regent support
  regent support --output /tmp/report.tar.gz --log-lines 20000`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.lines < 0 {
				return fmt.Errorf("--log-lines %d: must not be negative", o.lines)
			}
			if err := o.run(c); err != nil {
				return &cli.Failure{Err: fmt.Errorf("regent support: %w", err)}
			}
			return nil
		},
	}
	agentFlags(c, &o.socket)
	f := c.Flags()
	f.StringVar(&o.config, "config", config.DefaultConfig, "configuration of the agent")
	f.StringVar(&o.output, "output", "", "archive to write, which must not exist (default regent-support-HOST-TIME.tar.gz)")
	f.StringVar(&o.unit, "unit", "regent", "unit of systemd whose log is collected")
	f.IntVar(&o.lines, "log-lines", 5000, "how many lines of the log at most; 0 leaves the log out")
	return c
}

func (o *supportOptions) run(c *cobra.Command) error {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	now := time.Now().UTC().Truncate(time.Second) // tar rounds, and a file of the future makes it warn
	if o.output == "" {
		o.output = fmt.Sprintf("regent-support-%s-%s.tar.gz", host, now.Format("20060102-150405"))
	}
	// Others on the host need not know what the report says. A file that is there is left alone.
	file, err := os.OpenFile(o.output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists: name another file with --output", o.output)
	}
	if err != nil {
		return err
	}
	b := newBundle(strings.TrimSuffix(filepath.Base(o.output), ".tar.gz"), now)
	o.collect(c.Context(), b)
	err = errors.Join(b.write(file), file.Sync(), file.Close())
	if err != nil || c.Context().Err() != nil {
		return errors.Join(err, context.Cause(c.Context()), os.Remove(o.output))
	}
	for _, m := range b.missing {
		fmt.Fprintf(c.ErrOrStderr(), "regent support: not collected: %s\n", m)
	}
	fmt.Fprintf(c.OutOrStdout(), "%s\n", o.output)
	return nil
}

// supportAnswers are what the agent is asked.
var supportAnswers = []struct{ file, path string }{
	{"status.json", "/v1/status"},
	{"members.json", "/v1/members"},
	{"council.json", "/v1/council"},
	{"groups.json", "/v1/groups?limit=1000"},
	{"sessions.json", "/v1/sessions"},
	{"history.json", "/v1/history?limit=1000"},
	{"metrics.txt", "/metrics"},
}

// supportFacts are what decides about pauses and clocks of this host.
var supportFacts = []string{
	"/proc/version", "/proc/cpuinfo", "/proc/meminfo", "/proc/loadavg", "/proc/uptime", "/proc/self/limits", "/proc/self/cgroup", "/proc/pressure/cpu",
	"/proc/net/snmp", "/proc/sys/kernel/sched_rt_runtime_us", "/sys/devices/system/clocksource/clocksource0/current_clocksource", "/etc/os-release",
}

// collect asks the agent and reads the host. Each part stands alone: one that is missing is named, and keeps nothing else out.
func (o *supportOptions) collect(ctx context.Context, b *bundle) {
	version, err := json.MarshalIndent(map[string]string{"regent": cli.Version(version), "collected": b.at.Format(time.RFC3339)}, "", "  ")
	b.add("version.json", version, err)
	o.ask(ctx, b)
	text, err := withoutSecrets(o.config)
	b.add("config.yaml", text, err)
	for _, path := range supportFacts {
		data, err := os.ReadFile(path)
		b.add("host"+path, data, err)
	}
	if o.lines > 0 {
		data, err := journal(ctx, o.unit, o.lines)
		b.add("log.txt", data, err)
	}
}

// ask asks the agent. One that does not answer is missing once.
func (o *supportOptions) ask(ctx context.Context, b *bundle) {
	agent := newClient(o.socket)
	for _, q := range supportAnswers {
		body, err := agent.text(ctx, q.path)
		var exit *cli.Exit
		if errors.As(err, &exit) && exit.Status == cli.NoAgent {
			b.add("agent", nil, err)
			return
		}
		b.add("agent/"+q.file, body, err)
	}
}

// text returns an answer as it came.
func (c *client) text(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	answer, err := c.send(ctx, "GET", path, nil)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

// withoutSecrets returns a configuration without what must not be sent around. A file that cannot be read as a configuration stays out, and so does
// the error, which may quote it: it is not known where the secrets are.
func withoutSecrets(path string) ([]byte, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("%w (name the file with --config)", err)
	}
	f, err := config.Read(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read as a configuration ('regent config check' states the error)", path)
	}
	return f.Public()
}

// journal returns the last lines of the log of a unit.
func journal(ctx context.Context, unit string, lines int) ([]byte, error) {
	out, err := exec.CommandContext(ctx, "journalctl", "--no-pager", "--output=short-iso-precise", fmt.Sprint("--lines=", lines), "--unit="+unit).Output()
	if err != nil {
		return nil, fmt.Errorf("log of unit %s: %w (start the command as root, or name the unit with --unit)", unit, err)
	}
	return out, nil
}

// A bundle is an archive in memory, with what could not be collected for it.
type bundle struct {
	name    string
	at      time.Time
	files   []bundled
	missing []string
}

type bundled struct {
	name string
	data []byte
}

func newBundle(name string, at time.Time) *bundle { return &bundle{name: name, at: at} }

func (b *bundle) add(name string, data []byte, err error) {
	if err != nil {
		b.missing = append(b.missing, fmt.Sprintf("%s: %v", name, err))
		return
	}
	b.files = append(b.files, bundled{name, data})
}

// write writes the archive.
func (b *bundle) write(to io.Writer) error {
	var missing bytes.Buffer
	for _, m := range b.missing {
		fmt.Fprintln(&missing, m)
	}
	z := gzip.NewWriter(to)
	t := tar.NewWriter(z)
	for _, f := range append(b.files, bundled{"not-collected.txt", missing.Bytes()}) {
		h := &tar.Header{Name: b.name + "/" + f.name, Mode: 0o600, Size: int64(len(f.data)), ModTime: b.at, Typeflag: tar.TypeReg}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}
