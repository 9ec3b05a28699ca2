package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/owned"
	"github.com/regentproject/regent/internal/secret"
)

// initOptions is what a new configuration is made of.
type initOptions struct {
	name, file, key, dir, profile, socket, listen, group, loopback, peers, council string
	port, httpPort                                                                 int
	bootstrap, force, join, print                                                  bool
	bind                                                                           string
	keys                                                                           []string
}

func initCommand() *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use:   "init MEMBER=HOST[:PORT] ...",
		Short: "Write the configuration of this host",
		Long: `Writes a commented configuration for this host with a council id drawn at random, draws
the cluster key and this member's own key unless there are any, and prints the next steps: copy
both files to the other members, set their names there, and let the members exchange their
public keys. With --print it also prints the configurations of the other members, which differ in
the line with the name.

With --peers DIR the other members' keys are drawn as well, and written to DIR. Then all
public keys are in all files, and nothing is left to exchange.

Which member this host is follows from its host name, or is said with --name. The
port is ` + strconv.Itoa(config.DefaultPort) + ` if none is given.

With --bootstrap the council may begin: once all of its members run and none of them
has a record. Without it the member waits for a council that runs already. A council
begins once in its life; leaving the line in the file does no harm.

With --join this host is prepared to join a council that runs: name some of its members, with
their public keys, copy the cluster key here, and run 'regent members add' on one of them.

With --loopback DIR all members are on this host, for trying things out: each gets a
file in DIR, with a socket, a directory, a key and ports of its own. A cluster key is not needed.`,
		Example: `  regent init --bootstrap host1=10.0.0.1 host2=10.0.0.2 host3=10.0.0.3
  regent init --name b --config ./b.yaml --key ./key a=10.0.0.1 b=10.0.0.2 w=10.0.0.3
  regent init --join --name host4 --bind 10.0.0.4 --keys host1.pub host1=10.0.0.1
  regent init --loopback /tmp/try a b c`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no members: name all of the council, such as host1=10.0.0.1 host2=10.0.0.2 host3=10.0.0.3")
			}
			if err := o.check(c); err != nil {
				return err
			}
			return o.do(c, args)
		},
	}
	f := c.Flags()
	f.StringVar(&o.name, "name", "", "which member this host is (default: the host name)")
	f.StringVar(&o.file, "config", config.DefaultConfig, "the file to write")
	f.StringVar(&o.key, "key", "", "the key file (default: key beside the configuration); drawn if it does not exist")
	f.StringVar(&o.council, "council-id", "", "the id of a council that exists (default: drawn at random)")
	f.StringVar(&o.dir, "dir", config.DefaultDir, "where the member keeps its record")
	f.StringVar(&o.profile, "profile", "lan", "timing: fast, lan or wan")
	f.StringVar(&o.socket, "socket", config.DefaultSocket, "where local programs find the agent")
	f.StringVar(&o.listen, "listen", config.DefaultListen, "where the agent serves HTTP")
	f.StringVar(&o.group, "group", "", "the group that paths without a group are about")
	f.StringVar(&o.peers, "peers", "", "draw the peers' keys, and write their files to this directory")
	f.BoolVar(&o.print, "print", false, "print the peers' configurations")
	f.StringVar(&o.loopback, "loopback", "", "put all members on this host, with their files in this directory")
	f.IntVar(&o.port, "port", 0, "with --loopback: the first member's port; the others have the next ones (default: from 7401 on, as far as free)")
	f.IntVar(&o.httpPort, "http-port", 0, "with --loopback: the first member's port for HTTP (default: from 8011 on, as far as free)")
	f.BoolVar(&o.join, "join", false, "prepare this host to join a council that runs, of which the arguments are members")
	f.StringVar(&o.bind, "bind", "", "with --join: the address of this host that receives packets")
	f.StringArrayVar(&o.keys, "keys", nil, "with --join: a file with public keys of these members, as 'regent keys exchange' prints it there")
	f.BoolVar(&o.bootstrap, "bootstrap", false, "let the council begin")
	f.BoolVar(&o.force, "force", false, "overwrite files that exist")
	return c
}

// do writes what the flags ask for.
func (o *initOptions) do(c *cobra.Command, args []string) error {
	if o.join {
		return o.runJoin(c, args)
	}
	if o.council == "" {
		o.council = config.NewCouncilID()
	}
	if o.loopback != "" {
		return o.local(c, args)
	}
	return o.run(c, args)
}

// check refuses flags that would be ignored.
func (o *initOptions) check(c *cobra.Command) error {
	for _, name := range []string{"bind", "keys"} {
		if c.Flags().Changed(name) && !o.join {
			return fmt.Errorf("--%s is for --join", name)
		}
	}
	for _, name := range []string{"bootstrap", "loopback", "peers", "print"} {
		if c.Flags().Changed(name) && o.join {
			return fmt.Errorf("--%s makes no sense with --join: the council runs already", name)
		}
	}
	without := []string{"name", "config", "key", "dir", "socket", "listen", "peers", "print"}
	if o.loopback == "" {
		without = []string{"port", "http-port"}
	}
	for _, name := range without {
		switch {
		case !c.Flags().Changed(name):
		case o.loopback == "":
			return fmt.Errorf("--%s is for --loopback", name)
		default:
			return fmt.Errorf("--%s makes no sense with --loopback, which names the files and sockets of all members itself", name)
		}
	}
	return nil
}

// initMembers reads MEMBER=HOST[:PORT].
func initMembers(args []string) ([]config.Member, error) {
	var out []config.Member
	for _, a := range args {
		name, addr, ok := strings.Cut(a, "=")
		if !ok || name == "" || addr == "" {
			return nil, fmt.Errorf("member %q: must be MEMBER=HOST[:PORT], such as host1=10.0.0.1", a)
		}
		if slices.ContainsFunc(out, func(m config.Member) bool { return m.Name == name }) {
			return nil, fmt.Errorf("member %s is listed twice", name)
		}
		port := ":" + strconv.Itoa(config.DefaultPort)
		if host, cut := strings.CutSuffix(addr, port); cut && strings.Contains(host, ":") && !strings.HasPrefix(host, "[") { // it would be a part of the address
			return nil, fmt.Errorf("member %s: address %q: write an IPv6 address in brackets: [%s]%s (or leave the port out)", name, addr, host, port)
		}
		if _, _, err := net.SplitHostPort(addr); err != nil {
			addr = net.JoinHostPort(strings.Trim(addr, "[]"), strconv.Itoa(config.DefaultPort))
		}
		out = append(out, config.Member{Name: name, Address: addr})
	}
	return out, nil
}

// run writes the file of this host and shows the others.
func (o *initOptions) run(c *cobra.Command, args []string) error {
	members, err := initMembers(args)
	if err != nil {
		return err
	}
	if o.name == "" {
		o.name, err = thisMember(members)
		if err != nil {
			return err
		}
	}
	if o.key == "" {
		o.key = filepath.Join(filepath.Dir(o.file), "key")
	}
	o.key, err = filepath.Abs(o.key)
	if err != nil {
		return err
	}
	d := config.Draft{Name: o.name, CouncilID: o.council, Members: members, KeyFile: o.key, Dir: o.dir, Bootstrap: o.bootstrap, Profile: o.profile,
		Socket: o.socket, Listen: o.listen, DefaultGroup: o.group}
	out := c.OutOrStdout()
	if err := os.MkdirAll(filepath.Dir(o.file), 0o755); err != nil {
		return &cli.Failure{Err: fmt.Errorf("regent init: %w", err)}
	}
	// The draft is checked as if its key were there; a key that is drawn for a draft that is no good would be left behind.
	if err := checkDraft(d, o.file); err != nil {
		return &cli.Failure{Err: fmt.Errorf("regent init: %w", err)}
	}
	switch err := config.WriteKey(o.key); {
	case err == nil:
		fmt.Fprintf(out, "wrote %s: the key; copy it to every member, and keep it secret\n", o.key)
	case errors.Is(statErr(o.key), os.ErrNotExist):
		return &cli.Failure{Err: fmt.Errorf("regent init: %w", err)}
	default:
		fmt.Fprintf(out, "kept %s: the key that is there\n", o.key)
	}
	if err := o.drawKeys(c, members); err != nil {
		return &cli.Failure{Err: fmt.Errorf("regent init: %w", err)}
	}
	if err := o.write(o.file, d.YAML(), "--config to write another"); err != nil {
		return err
	}
	fmt.Fprintf(out, "wrote %s: member %s\n", o.file, o.name)
	if err := o.writePeers(out, d); err != nil {
		return err
	}
	o.nextSteps(out, members)
	return nil
}

// writePeers writes the files of the other members, or prints them, if that is wanted.
func (o *initOptions) writePeers(out io.Writer, d config.Draft) error {
	for _, m := range d.Members {
		switch {
		case m.Name == o.name:
		case o.peers != "":
			path := filepath.Join(o.peers, m.Name+".yaml")
			if err := o.write(path, d.For(m.Name).YAML(), "--peers to write to another directory"); err != nil {
				return err
			}
			fmt.Fprintf(out, "wrote %s: for %s, to be put at %s there\n", path, m.Name, o.file)
		case o.print:
			fmt.Fprintf(out, "\n# ---- for %s, to be put at %s ----\n%s", m.Name, o.file, d.For(m.Name).YAML())
		}
	}
	return nil
}

// nextSteps says what to do now.
func (o *initOptions) nextSteps(out io.Writer, members []config.Member) {
	fmt.Fprintln(out, "\nnext:")
	if o.peers == "" && len(members) > 1 {
		var others []string
		for _, m := range members {
			if m.Name != o.name {
				others = append(others, m.Name)
			}
		}
		fmt.Fprintf(out, "  copy %s and %s to %s, and set 'name: %s' in %s there\n", o.file, o.key, strings.Join(others, ", "), strings.Join(others, "', 'name: "), o.file)
		fmt.Fprintf(out, "  on every member: regent keys exchange --config %s > NAME.pub\n", o.file)
		fmt.Fprintf(out, "  with the files of all, on every member: regent keys exchange --config %s *.pub\n", o.file)
	}
	fmt.Fprintf(out, "  on every member: regent agent --config %s\n", o.file)
	if !o.bootstrap {
		fmt.Fprintln(out, "the member waits for a council that runs already; for a new one say --bootstrap")
	}
}

// drawKeys draws the key of this member and, if their files are to be written, those of the others.
func (o *initOptions) drawKeys(c *cobra.Command, members []config.Member) error {
	for i := range members {
		m := &members[i]
		path, where := filepath.Join(o.dir, secret.PrivateName), "it stays on this host"
		if m.Name != o.name {
			if o.peers == "" {
				continue
			}
			path = filepath.Join(o.peers, m.Name+".key")
			where = "to be put at " + filepath.Join(o.dir, secret.PrivateName) + " there; remove it here then"
		}
		own, drawn, err := drawPrivate(path, m.Name)
		if err != nil {
			return err
		}
		m.PublicKeys = texts(own.Public())
		verb := map[bool]string{true: "wrote", false: "kept"}[drawn]
		fmt.Fprintf(c.OutOrStdout(), "%s %s: the private key of %s; %s\n", verb, path, m.Name, where)
	}
	return nil
}

func statErr(path string) error {
	_, err := os.Stat(path)
	return err
}

// missingKeys are problems of a draft that end when its keys are drawn.
var missingKeys = []string{"key_file is not set", "private_key_file", "no public key of"}

// checkDraft finds what is wrong with a draft but for its keys.
func checkDraft(d config.Draft, path string) error {
	d.KeyFile = ""
	f, err := config.Parse(path, []byte(d.YAML()))
	if err != nil {
		return err
	}
	for line := range strings.Lines(errText(f.Check())) {
		line = strings.TrimSpace(line)
		if line != "" && !slices.ContainsFunc(missingKeys, func(s string) bool { return strings.Contains(line, s) }) {
			return errors.New(line)
		}
	}
	return nil
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// thisMember finds the member that is called like this host.
func thisMember(members []config.Member) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("%w: say with --name which member this host is", err)
	}
	short, _, _ := strings.Cut(host, ".")
	for _, m := range members {
		if m.Name == host || m.Name == short {
			return m.Name, nil
		}
	}
	return "", fmt.Errorf("this host is called %s, and no member is: say with --name which one it is", host)
}

// write writes a file that does not exist. Otherwise is what to say to have another one written.
func (o *initOptions) write(path, text, otherwise string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return &cli.Failure{Err: fmt.Errorf("regent init: %w", err)}
	}
	if err := owned.Dir(filepath.Dir(path)); err != nil {
		return &cli.Failure{Err: fmt.Errorf("regent init: %w", err)}
	}
	how := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if !o.force {
		how |= os.O_EXCL
	}
	f, err := owned.OpenFile(path, how, 0o644)
	if errors.Is(err, os.ErrExist) {
		return &cli.Failure{Err: fmt.Errorf("regent init: %s exists: say --force to overwrite it, or %s", path, otherwise)}
	}
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return &cli.Failure{Err: fmt.Errorf("regent init: %w", err)}
	}
	return nil
}
