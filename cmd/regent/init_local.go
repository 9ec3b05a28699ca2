package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/owned"
	"github.com/regentproject/regent/internal/secret"
)

// The ports of members on this host begin here, or so many further on for each time that one of them is taken.
const (
	localPort     = 7401
	localHTTPPort = 8011
	portStep      = 10
	portTries     = 200
)

// choosePorts sets the ports that were not given: those that the guides use, or the first after them that are free.
func (o *initOptions) choosePorts(n int) {
	if o.port == 0 {
		o.port = freeFrom(localPort, n, func(addr string) (func() error, error) {
			c, err := net.ListenPacket("udp", addr)
			if err != nil {
				return nil, err
			}
			return c.Close, nil
		})
	}
	if o.httpPort == 0 {
		o.httpPort = freeFrom(localHTTPPort, n, func(addr string) (func() error, error) {
			l, err := net.Listen("tcp", addr)
			if err != nil {
				return nil, err
			}
			return l.Close, nil
		})
	}
}

// freeFrom returns the first of n ports in a row that can be listened at. It returns the first port if there are none: the agent says then which one is
// taken.
func freeFrom(first, n int, listen func(addr string) (end func() error, err error)) int {
	free := func(port int) bool {
		end, err := listen(net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		return err == nil && end() == nil
	}
	for try := range portTries {
		base, all := first+try*portStep, true
		for i := range n {
			all = all && free(base+i)
		}
		if all {
			return base
		}
	}
	return first
}

// local writes the files of a council of which all members are on this host.
func (o *initOptions) local(c *cobra.Command, names []string) error {
	dir, err := filepath.Abs(o.loopback)
	if err != nil {
		return err
	}
	o.choosePorts(len(names))
	members := make([]config.Member, len(names))
	for i, name := range names {
		if strings.ContainsAny(name, "=/") {
			return fmt.Errorf("member %q: with --loopback members have a name and no address", name)
		}
		members[i] = config.Member{Name: name, Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(o.port+i))}
	}
	draft := func(i int) config.Draft {
		name := names[i]
		return config.Draft{Name: name, CouncilID: o.council, Members: members, Dir: filepath.Join(dir, name), Bootstrap: true, Profile: o.profile,
			Socket: filepath.Join(dir, name+".sock"), Listen: net.JoinHostPort("127.0.0.1", strconv.Itoa(o.httpPort+i)), DefaultGroup: o.group}
	}
	file := func(i int) string { return filepath.Join(dir, names[i]+".yaml") }
	for i := range names {
		if err := checkDraft(draft(i), file(i)); err != nil {
			return &cli.Failure{Err: fmt.Errorf("regent init: %w", err)}
		}
	}
	if err := errors.Join(os.MkdirAll(dir, 0o755), owned.Dir(dir)); err != nil {
		return &cli.Failure{Err: fmt.Errorf("regent init: %w", err)}
	}
	for i, name := range names {
		own, _, err := drawPrivate(filepath.Join(dir, name, secret.PrivateName), name)
		if err != nil {
			return &cli.Failure{Err: fmt.Errorf("regent init: %w", err)}
		}
		members[i].PublicKeys = texts(own.Public())
	}
	for i := range names {
		path := file(i)
		if err := o.write(path, draft(i).YAML(), "--loopback with another directory"); err != nil {
			return err
		}
		fmt.Fprintf(c.OutOrStdout(), "wrote %s\n", path)
	}
	fmt.Fprintf(c.OutOrStdout(), "\nnext, each in a terminal of its own or with & behind it:\n")
	for _, name := range names {
		fmt.Fprintf(c.OutOrStdout(), "  regent agent --config %s\n", filepath.Join(dir, name+".yaml"))
	}
	fmt.Fprintf(c.OutOrStdout(), "then: regent members --socket %s\n", filepath.Join(dir, names[0]+".sock"))
	return nil
}
