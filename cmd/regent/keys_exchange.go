package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/owned"
	"github.com/regentproject/regent/internal/secret"
)

// exchangeOptions is what exchange is given.
type exchangeOptions struct {
	keysOptions
	dir, name string
	restore   bool
}

func keysExchangeCommand() *cobra.Command {
	var o exchangeOptions
	c := &cobra.Command{
		Use:   "exchange [FILE ...]",
		Short: "Print this member's public key, or list those of others",
		Long: `Without FILE it prints this member's public key, and generates the key pair if there is none.
Save the output, and pass it to the same command on every other member. With FILE it adds the
keys in those files to this host's configuration; - is the standard input. Compare the
fingerprints over a channel that you trust.

With --dir it does the same for a Go program, which reads that directory with Config.ReadKeys.`,
		Example: `  regent keys exchange > host1.pub
  regent keys exchange host1.pub host2.pub host3.pub && systemctl reload regent
  regent keys exchange --dir /var/lib/billing --name a > a.pub
  regent keys exchange --dir /var/lib/billing a.pub b.pub c.pub`,
		RunE: func(c *cobra.Command, files []string) error {
			var err error
			switch {
			case o.dir != "" && c.Flags().Changed("config"):
				return errors.New("--dir and --config: choose one")
			case o.dir != "" && len(files) == 0 && o.name == "":
				return errors.New("--dir needs --name, the member that draws its key (or pass files with public keys)")
			case o.dir == "" && o.name != "":
				return errors.New("--name is for --dir")
			case len(files) == 0:
				err = o.give(c)
			default:
				err = o.take(c, files)
			}
			if err != nil {
				return keysFailure(c, err)
			}
			return nil
		},
	}
	o.flags(c)
	c.Flags().StringVar(&o.dir, "dir", "", "the directory of a member in a Go program, instead of a configuration")
	c.Flags().StringVar(&o.name, "name", "", "with --dir: which member this is")
	c.Flags().BoolVar(&o.restore, "restore", false, "admit members that are revoked here")
	return c
}

// give prints this member's public key.
func (o *exchangeOptions) give(c *cobra.Command) error {
	member, path := o.name, filepath.Join(o.dir, secret.PrivateName)
	var f *config.File
	if o.dir == "" {
		var err error
		if f, err = config.Read(o.config); err != nil {
			return err
		}
		member, path = f.Name, f.PrivateKeyFile
		if path == "" {
			return errors.New("private_key_file is not set, nor is dir (set one of them in the configuration)")
		}
	}
	own, drawn, err := drawPrivate(path, member)
	if err != nil {
		return err
	}
	public := own.Public()
	if drawn {
		fmt.Fprintf(c.ErrOrStderr(), "wrote %s: the private key of %s, with the fingerprint %s; it stays on this host\n", path, member, fingerprints(public))
	}
	if f != nil {
		if m := find(f, member); drawn && m != nil && len(m.PublicKeys) > 0 { // the file of another host that was copied, or a lost disk
			fmt.Fprintf(c.ErrOrStderr(), "warning: %s listed another key for %s: if this host is not %s, correct 'name' there, and run the command again\n", o.config, member, member)
		}
		changed, err := o.announce(f, public)
		if drawn || changed || err != nil {
			err = audited(c, f, access.KeyChange{Command: "exchange", Detail: member + ": " + fingerprints(public)}, err)
		}
		if err != nil {
			return err
		}
	}
	return o.print(c, member, public)
}

// take lists the keys of others.
func (o *exchangeOptions) take(c *cobra.Command, files []string) error {
	keys, err := readPublicKeys(c, files)
	if err != nil {
		return err
	}
	members := slices.Sorted(maps.Keys(keys))
	if o.dir != "" {
		if err := o.store(keys); err != nil {
			return err
		}
	} else if err := o.list(c, keys); err != nil {
		return err
	}
	var out []keysReport
	for _, m := range members {
		out = append(out, keysReport{Member: m, Keys: report(keys[m])})
		if !o.json {
			fmt.Fprintf(c.OutOrStdout(), "listed %s: %s\n", m, fingerprints(keys[m]))
		}
	}
	if o.json {
		return cli.WriteJSON(c, out)
	}
	if o.dir == "" {
		fmt.Fprintln(c.OutOrStdout(), "next: reload the agent if it runs (systemctl reload regent)")
	}
	return nil
}

// maxPublic is far above the length of a file with the public keys of a large council.
const maxPublic = 1 << 20

// store puts the keys where a Go program looks for them.
func (o *exchangeOptions) store(keys map[string][]identity.Public) error {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return err
	}
	for _, m := range slices.Sorted(maps.Keys(keys)) {
		if filepath.Base(m) != m {
			return fmt.Errorf("member %q: its name cannot be that of a file", m)
		}
		if err := owned.ReplaceFile(filepath.Join(o.dir, m+".pub"), []byte(secret.PublicText(m, keys[m])), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// list puts the keys into the configuration.
func (o *exchangeOptions) list(c *cobra.Command, keys map[string][]identity.Public) error {
	f, err := config.Read(o.config)
	if err != nil {
		return err
	}
	var detail []string
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		detail = append(detail, name+": "+fingerprints(keys[name]))
	}
	return audited(c, f, access.KeyChange{Command: "exchange", Detail: strings.Join(detail, "; ")}, o.listIn(f, keys))
}

func (o *exchangeOptions) listIn(f *config.File, keys map[string][]identity.Public) error {
	var changed []config.Member
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		m := find(f, name)
		switch {
		case m == nil:
			return fmt.Errorf("member %s is not in the council of %s (compare the names; 'regent members set %s --keys FILE' changes the key of a member that was added to a running council)", name, o.config, name)
		case name == f.Name:
			own, err := secret.ReadPrivate(f.PrivateKeyFile)
			if err != nil {
				return err
			}
			if !slices.Equal(own.Public(), keys[name]) {
				return fmt.Errorf("the key %s is not that of this member, %s, which has %s (run 'regent keys exchange' here, and pass its output to the others)",
					fingerprints(keys[name]), name, fingerprints(own.Public()))
			}
		case m.Revoked && !o.restore:
			return fmt.Errorf("member %s is revoked here (pass --restore to admit it again)", name)
		case len(keys[name]) > identity.MaxKeys:
			return fmt.Errorf("member %s has %d keys: at most %d", name, len(keys[name]), identity.MaxKeys)
		}
		m.PublicKeys, m.Revoked = texts(keys[name]), false
		changed = append(changed, *m)
	}
	return config.SetKeys(o.config, changed)
}
