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
	"github.com/regentproject/regent/internal/secret"
)

// runJoin writes the file of a host that joins a council.
func (o *initOptions) runJoin(c *cobra.Command, args []string) error {
	members, err := initMembers(args)
	if err != nil {
		return err
	}
	switch {
	case o.name == "":
		return errors.New("--join needs --name, the member that this host is to be")
	case o.bind == "":
		return errors.New("--join needs --bind, the address of this host that receives packets")
	}
	if _, _, err := net.SplitHostPort(o.bind); err != nil {
		o.bind = net.JoinHostPort(strings.Trim(o.bind, "[]"), strconv.Itoa(config.DefaultPort))
	}
	keys, err := readPublicKeys(c, o.keys)
	if err != nil {
		return &cli.Failure{Err: fmt.Errorf("regent init: %w", err)}
	}
	for i := range members {
		m := &members[i]
		if len(keys[m.Name]) == 0 {
			return cli.Failf("regent init: no public key of %s (run 'regent keys exchange > %s.pub' there, and pass --keys %s.pub)", m.Name, m.Name, m.Name)
		}
		m.PublicKeys = texts(keys[m.Name])
	}
	if err := o.joinKey(); err != nil {
		return &cli.Failure{Err: fmt.Errorf("regent init: %w", err)}
	}
	d := config.Draft{Name: o.name, CouncilID: o.council, Members: members, Join: true, Bind: o.bind, KeyFile: o.key, Dir: o.dir, Profile: o.profile,
		Socket: o.socket, Listen: o.listen, DefaultGroup: o.group}
	if err := checkDraft(d, o.file); err != nil {
		return &cli.Failure{Err: fmt.Errorf("regent init: %w", err)}
	}
	path := filepath.Join(o.dir, secret.PrivateName)
	own, _, err := drawPrivate(path, o.name)
	if err != nil {
		return &cli.Failure{Err: fmt.Errorf("regent init: %w", err)}
	}
	if err := o.write(o.file, d.YAML(), "--config to write another"); err != nil {
		return err
	}
	out := c.OutOrStdout()
	fmt.Fprintf(out, "wrote %s: the private key of %s, with the fingerprint %s\nwrote %s: member %s\n", path, o.name, fingerprints(own.Public()), o.file, o.name)
	fmt.Fprintf(out, "\nnext, here: regent keys exchange --config %s > %s.pub\n            regent agent --config %s\n", o.file, o.name, o.file)
	fmt.Fprintf(out, "then, on a member: regent members add %s=%s --keys %s.pub\n", o.name, o.bind, o.name)
	return nil
}

// joinKey finds the cluster key. A host that joins must have that of the council; without one, all members are on this host.
func (o *initOptions) joinKey() (err error) {
	if o.key == "" {
		o.key = filepath.Join(filepath.Dir(o.file), "key")
		if errors.Is(statErr(o.key), os.ErrNotExist) && config.Loopback(o.bind) {
			o.key = ""
			return nil
		}
	}
	if err := statErr(o.key); err != nil {
		return fmt.Errorf("%w (copy the cluster key of the council to this host, or name it with --key)", err)
	}
	o.key, err = filepath.Abs(o.key)
	return err
}
