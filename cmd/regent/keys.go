package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/secret"
)

func keysCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "keys",
		Short: "Show, exchange, rotate and revoke members' keys",
		Long: `Every member of a council has a key pair. The private key stays on its host, in the
member's directory. The public key stands in the member's entry of every configuration.
A running agent puts changes in force when it reloads its configuration (SIGHUP).`,
		Example: `  regent keys show
  regent keys exchange > host1.pub
  regent keys exchange *.pub`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(keysShowCommand(), keysExchangeCommand(), keysRotateCommand(), keysRevokeCommand())
	return c
}

// keysOptions is what the commands about keys share.
type keysOptions struct {
	config string
	json   bool
}

func (o *keysOptions) flags(c *cobra.Command) {
	c.Flags().StringVar(&o.config, "config", config.DefaultConfig, "the configuration of this host")
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
}

// keysFailure names the command in an error.
func keysFailure(c *cobra.Command, err error) error {
	return &cli.Failure{Err: fmt.Errorf("%s: %w", c.CommandPath(), err)}
}

// A keyReport is one key of a member.
type keyReport struct {
	Public      string `json:"public"`
	Fingerprint string `json:"fingerprint"`
}

// A keysReport is what is known of the keys of a member.
type keysReport struct {
	Member string `json:"member"`
	// Self says that it is the member of this host.
	Self bool `json:"self,omitempty"`
	// Keys are those that are listed, the oldest first.
	Keys    []keyReport `json:"keys"`
	Revoked bool        `json:"revoked,omitempty"`
	// Problem is what is wrong with them; empty if nothing is.
	Problem string `json:"problem,omitempty"`
}

func report(public []identity.Public) []keyReport {
	out := []keyReport{}
	for _, k := range public {
		out = append(out, keyReport{k.String(), k.Fingerprint()})
	}
	return out
}

func texts(public []identity.Public) []string {
	var out []string
	for _, k := range public {
		out = append(out, k.String())
	}
	return out
}

func keysShowCommand() *cobra.Command {
	var o keysOptions
	c := &cobra.Command{
		Use:   "show",
		Short: "Show the fingerprints of all members' keys",
		Long: `Prints the fingerprint of every key that this host's configuration lists. Compare them
with what the command prints on the other hosts. A second key of a member is its next
one. 'regent status' compares the keys that members use while they run.

The exit status is 1 if a member has no key, or if this host lacks its private key.`,
		Example: `  regent keys show
  regent keys show --json | jq -r '.[].keys[].fingerprint'`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f, err := config.Read(o.config)
			if err != nil {
				return keysFailure(c, err)
			}
			all := showKeys(f)
			if o.json {
				err = cli.WriteJSON(c, all)
			} else {
				printKeys(c, all)
			}
			if err == nil && slices.ContainsFunc(all, func(r keysReport) bool { return r.Problem != "" }) {
				return cli.Silently(cli.Failed)
			}
			return err
		},
	}
	o.flags(c)
	return c
}

// showKeys compares what is listed with this host's private key.
func showKeys(f *config.File) []keysReport {
	private, privateErr := secret.ReadPrivate(f.PrivateKeyFile)
	own := private.Public()
	var out []keysReport
	for _, m := range f.Council {
		r := keysReport{Member: m.Name, Self: m.Name == f.Name, Revoked: m.Revoked}
		var listed []identity.Public
		for _, text := range m.PublicKeys {
			k, err := identity.ParsePublic(text)
			if err != nil {
				r.Problem = err.Error()
				continue
			}
			listed = append(listed, k)
		}
		r.Keys = report(listed)
		switch {
		case r.Problem != "":
		case r.Self && privateErr != nil:
			r.Problem = privateErr.Error()
		case r.Self && !slices.Equal(listed, own):
			r.Problem = fmt.Sprintf("the private key file holds %s (run 'regent keys exchange' to list it)", fingerprints(own))
		case len(listed) == 0 && !m.Revoked:
			r.Problem = "no key is listed (run 'regent keys exchange' there, and pass its output to 'regent keys exchange' here)"
		}
		out = append(out, r)
	}
	return out
}

func fingerprints(keys []identity.Public) string {
	var out string
	for i, k := range keys {
		if i > 0 {
			out += ", "
		}
		out += k.Fingerprint()
	}
	return out
}

func printKeys(c *cobra.Command, all []keysReport) {
	p := paintFor(c.OutOrStdout())
	var rows [][]string
	for _, r := range all {
		state := ""
		switch {
		case r.Problem != "":
			state = p.bad(r.Problem)
		case r.Revoked:
			state = p.bad("revoked")
		case r.Self:
			state = "this host"
		}
		if len(r.Keys) == 0 {
			rows = append(rows, []string{p.bold(r.Member), "-", state})
		}
		for i, k := range r.Keys {
			name := p.bold(r.Member)
			if i > 0 {
				name, state = "", "the next key"
			}
			rows = append(rows, []string{name, k.Fingerprint, state})
		}
	}
	table(c.OutOrStdout(), p, []string{"MEMBER", "FINGERPRINT", ""}, rows)
}

func keysRevokeCommand() *cobra.Command {
	var o keysOptions
	c := &cobra.Command{
		Use:   "revoke MEMBER",
		Short: "Revoke the key of a member",
		Long: `Marks a member as revoked in this host's configuration. Run it on every other member, and
reload their agents. They then drop the packets of that member, and send it none.

The effect is that of a cut network: promises to and by the member stand until they lapse,
and it still counts in the quorums. Replace the cluster key as well: the member knows it. To
admit the member again, give it a new key, and pass that key to
'regent keys exchange --restore'.`,
		Example: `  regent keys revoke host3 && systemctl reload regent`,
		Args:    cli.Args,
		RunE: func(c *cobra.Command, args []string) error {
			f, err := config.Read(o.config)
			if err != nil {
				return keysFailure(c, err)
			}
			m := find(f, args[0])
			switch {
			case m == nil:
				err = fmt.Errorf("member %q is not in the council of the file (see 'regent keys show'; 'regent members remove' revokes the key of a member that was added to a running council)", args[0])
			case m.Name == f.Name:
				err = fmt.Errorf("%s is the member of this host (run the command on the other members)", m.Name)
			default:
				m.Revoked = true
				err = config.SetKeys(o.config, []config.Member{*m})
			}
			if audited(c, f, access.KeyChange{Command: "revoke", Detail: args[0]}, err) != nil {
				return keysFailure(c, err)
			}
			if o.json {
				return cli.WriteJSON(c, keysReport{Member: m.Name, Revoked: true, Keys: []keyReport{}})
			}
			fmt.Fprintf(c.OutOrStdout(), "revoked %s in %s\nnext: reload the agent here, and do the same on every other member\n", m.Name, o.config)
			return nil
		},
	}
	o.flags(c)
	return c
}

func find(f *config.File, name string) *config.Member {
	for i := range f.Council {
		if f.Council[i].Name == name {
			return &f.Council[i]
		}
	}
	return nil
}

// announce lists this member's keys in its own entry, and says whether others were listed there.
func (o *keysOptions) announce(f *config.File, public []identity.Public) (changed bool, err error) {
	if len(f.Join) > 0 {
		return false, nil // a host that joins has no entry of its own
	}
	me := find(f, f.Name)
	if me == nil {
		return false, fmt.Errorf("%s: name %q is not in the council", o.config, f.Name)
	}
	changed = !slices.Equal(me.PublicKeys, texts(public))
	me.PublicKeys = texts(public)
	return changed, config.SetKeys(o.config, []config.Member{*me})
}

// print shows a member's public keys.
func (o *keysOptions) print(c *cobra.Command, member string, public []identity.Public) error {
	if o.json {
		return cli.WriteJSON(c, keysReport{Member: member, Self: true, Keys: report(public)})
	}
	fmt.Fprint(c.OutOrStdout(), secret.PublicText(member, public))
	return nil
}

// drawPrivate returns the keys in a file of a member, and draws a new identity if there is no file.
func drawPrivate(path, member string) (own identity.Own, drawn bool, err error) {
	own, err = secret.ReadPrivate(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return own, false, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return own, false, err
	}
	own = identity.DrawOwn()
	return own, true, secret.WritePrivate(path, member, &own)
}
