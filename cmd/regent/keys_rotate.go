package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/secret"
	"github.com/regentproject/regent/roster"
)

// rotateOptions is what rotate is given.
type rotateOptions struct {
	keysOptions
	change               changeOptions
	files, finish, force bool
}

func keysRotateCommand() *cobra.Command {
	var o rotateOptions
	c := &cobra.Command{
		Use:   "rotate [MEMBER]",
		Short: "Replace this member's key while it runs",
		Long: `Run it on the host of the member; MEMBER only confirms that this is the right one. It draws a
second key into the file with the private keys, and has the members agree on both public keys.
Once every other member uses the new key, it has them agree on that one alone, and removes the
old key from the file. Leaders keep their leases, and no other host needs to be touched.

It prints these steps first, then what it waits for. It can be interrupted at any instant: both
keys count then, and the command goes on when it is called again. --finish only goes on, and
begins nothing. --force does not wait for members that are not heard. The exit status is 0 once
the old key is gone, 1 if the command has failed, and 2 if it is to be called again.

--files is the way for councils that cannot change while they run, and for those whose keys you
keep in files until the council has changed for the first time. It draws the second key, and prints both
public keys: reload this agent, pass the output to 'regent keys exchange' on every other member,
and reload those, in any order. Members use the new key with each peer that lists it. With
--finish it removes the old key, once the agent uses the new one and every other member lists
it; pass its output to the others as before.`,
		Example: `  regent keys rotate --dry-run
  regent keys rotate
  regent keys rotate --files > host1.pub && systemctl reload regent
  regent keys rotate --files --finish > host1.pub && systemctl reload regent`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			f, err := config.Read(o.config)
			switch {
			case err != nil:
				return keysFailure(c, err)
			case len(args) > 0 && args[0] != f.Name:
				return cli.Failf("%s: %s is of member %s, and the private key of %s is on its own host: nothing has changed (run the command there)", c.CommandPath(), o.config, f.Name, args[0])
			case !c.Flags().Changed("socket"):
				o.change.socket = f.Socket.Path
			}
			if err := o.choose(c, f); err != nil || o.files {
				return err
			}
			r := &rotation{rotateOptions: &o, c: c, f: f, agent: newClient(o.change.socket)}
			return r.run()
		},
	}
	o.flags(c)
	socketFlag(c, &o.change.socket)
	c.Flags().BoolVar(&o.files, "files", false, "list keys in the files of all hosts, in place of an agreement of the members")
	c.Flags().BoolVar(&o.finish, "finish", false, "go on with a rotation, and begin none; with --files: drop the old key")
	c.Flags().BoolVar(&o.force, "force", false, "do not wait for members that are not heard; with --files: do not ask whether all others list the new key")
	c.Flags().BoolVar(&o.change.dryRun, "dry-run", false, "print what would change, and change nothing")
	c.Flags().DurationVar(&o.change.timeout, "timeout", 10*time.Minute, "how long to wait for the other members")
	return c
}

// choose decides whether members agree on the key, or files have it, and does the latter.
func (o *rotateOptions) choose(c *cobra.Command, f *config.File) error {
	var now api.CouncilInfo
	err := newClient(o.change.socket).get(c.Context(), "/v1/council", &now)
	var none *unasked
	switch {
	case err == nil && o.files && now.Number > 0:
		return cli.Failf("%s: the council has changed (number %d), and keys in files count no more: nothing has changed (leave --files out)", c.CommandPath(), now.Number)
	case err == nil && now.Number == 0 && (now.Fixed != "" || o.finish):
		o.files = true
	case errors.As(err, &none) && o.finish:
		o.files = true
	case err != nil && !o.files:
		return fmt.Errorf("%w; nothing has changed (--files replaces the key by files)", err)
	}
	if !o.files {
		return nil
	}
	if o.change.dryRun {
		return errors.New("--files and --dry-run: choose one")
	}
	public, err := o.rotate(c, f, o.change.socket, o.finish, o.force)
	if audited(c, f, access.KeyChange{Command: "rotate", Detail: f.Name + ": " + fingerprints(public)}, err) != nil {
		return keysFailure(c, err)
	}
	return o.print(c, f.Name, public)
}

// rotate draws another key for this member, or drops the old one, and lists what it has then.
func (o *keysOptions) rotate(c *cobra.Command, f *config.File, socket string, finish, force bool) ([]identity.Public, error) {
	own, err := secret.ReadPrivate(f.PrivateKeyFile)
	switch {
	case err != nil:
		return nil, err
	case finish && len(own.Private) < identity.MaxKeys:
		return nil, errors.New("this member has one key (run 'regent keys rotate --files' first)")
	case !finish && len(own.Private) == identity.MaxKeys:
		return nil, errors.New("this member has two keys (run 'regent keys rotate --files --finish' when all others list the new one)")
	case finish && !force:
		if err := listedEverywhere(c, newClient(socket), own.Private[len(own.Private)-1].Public()); err != nil {
			return nil, err
		}
	}
	if finish {
		own.Private = own.Private[len(own.Private)-1:]
	} else {
		own.Private = append(own.Private, identity.Draw())
	}
	if err := secret.WritePrivate(f.PrivateKeyFile, f.Name, &own); err != nil {
		return nil, err
	}
	_, err = o.announce(f, own.Public())
	return own.Public(), err
}

// listedEverywhere asks the agent of this host whether it uses the newest key of its member's file, and whether all others list that.
func listedEverywhere(c *cobra.Command, cl *client, newest identity.Public) error {
	var list api.MemberList
	if err := cl.get(c.Context(), "/v1/members", &list); err != nil {
		return err
	}
	self := slices.IndexFunc(list.Members, func(m regent.PeerStatus) bool { return m.Self })
	if self < 0 || list.Members[self].Key != newest.ID().String() {
		return fmt.Errorf("the agent does not use the new key %s yet, so nobody can list it (reload the agent first)", newest.Fingerprint())
	}
	for _, m := range list.Members {
		switch {
		case m.Self || m.Revoked:
		case m.KeyProblem != "":
			return fmt.Errorf("%s %s; or pass --force, which cuts it off", m.Name, m.KeyProblem)
		case m.Key == "":
			return fmt.Errorf("%s was not heard, so nobody knows which key it lists (start it, or pass --force)", m.Name)
		}
	}
	return nil
}

// A rotation replaces the key of this host's member by steps that the members agree on. The file with the private keys and the configuration of the
// council show how far it is: each key is on disk before the command sends it to a member, and stays there until no member lists it. So the command
// may end at any instant.
type rotation struct {
	*rotateOptions
	c     *cobra.Command
	f     *config.File
	agent *client
	// begun says that this call has drawn the key, or goes on with one that was.
	begun bool

	// What follows was looked up last.
	own    identity.Own
	now    api.CouncilInfo
	self   *roster.Member
	listed []string // the public keys of the member that the others have agreed on
}

// A rotationStage is how far a rotation is.
type rotationStage int

const (
	drawing   rotationStage = iota + 1 // there is one key, and it is the one agreed on
	naming                             // there are two keys, and the newer one is not agreed on
	awaiting                           // both are agreed on
	narrowing                          // and all members use the newer one: it is to be the only one
	removing                           // the older key is of no use
)

// steps are what a rotation does in each stage.
var steps = []struct {
	at   rotationStage
	text string
}{
	{drawing, "draw a new key, and keep it beside the old one in %s"},
	{naming, "the members agree on both keys"},
	{awaiting, "wait until every member uses the new key"},
	{narrowing, "the members agree on the new key alone"},
	{removing, "remove the old key from %s"},
}

// run carries a rotation out.
func (r *rotation) run() error {
	ctx, cancel := context.WithTimeout(r.c.Context(), r.change.timeout)
	defer cancel()
	r.c.SetContext(ctx)
	r.change.asJSON = r.json
	if r.f.Engine != nil {
		return cli.Failf("%s: %s has an engine and no council", r.c.CommandPath(), r.config)
	}
	var status api.AgentStatus
	if err := r.agent.get(ctx, "/v1/status", &status); err != nil {
		return err
	}
	if status.Name != r.f.Name {
		return cli.Failf("%s: %s is of member %s, and the agent at %s of %s: nothing has changed (name the file of this host, or pass --socket)", r.c.CommandPath(), r.config, r.f.Name, r.change.socket, status.Name)
	}
	stage, err := r.look()
	if err != nil {
		return keysFailure(r.c, err)
	}
	if stage == drawing && r.finish {
		return cli.Failf("%s: %s has one key: there is nothing to finish", r.c.CommandPath(), r.f.Name)
	}
	if err := r.plan(stage); err != nil || r.change.dryRun {
		return err
	}
	for {
		if stage == drawing && r.begun {
			return r.done()
		}
		err := r.step(stage)
		if err == nil {
			stage, err = r.look()
		}
		if err != nil {
			return r.failed(stage, err)
		}
	}
}

// failed says how far the rotation is when it ends early.
func (r *rotation) failed(stage rotationStage, err error) error {
	state := map[rotationStage]string{drawing: "nothing has changed", naming: "the old key counts, and the file holds both", awaiting: "both keys count",
		removing: "the new key counts, and the file holds both"}[stage]
	if r.c.Context().Err() != nil {
		fmt.Fprintf(r.c.ErrOrStderr(), "the rotation is not over: %s; run 'regent keys rotate' again to go on\n", state)
		return cli.Silently(changeGoesOn)
	}
	text := strings.TrimPrefix(err.Error(), "regent: ")
	_ = audited(r.c, r.f, access.KeyChange{Command: "rotate", Detail: r.f.Name}, errors.New(text))
	return cli.Failf("%s: %s; of the key of %s: %s (run 'regent keys rotate' again to go on)", r.c.CommandPath(), text, r.f.Name, state)
}

// look finds out how far the rotation is. It waits for a change of the same key that runs.
func (r *rotation) look() (rotationStage, error) {
	for {
		if err := r.agent.get(r.c.Context(), "/v1/council", &r.now); err != nil {
			return 0, err
		}
		at := slices.IndexFunc(r.now.Members, func(m roster.Member) bool { return m.Name == r.f.Name })
		switch {
		case r.f.CouncilID != "" && r.f.CouncilID != r.now.ID:
			return 0, cli.Failf("%s is of council %s, and the agent at %s of %s: nothing has changed (name the file of this host, or pass --socket)", r.config, r.f.CouncilID, r.change.socket, r.now.ID)
		case at < 0:
			return 0, cli.Failf("%s is no member of the council: nothing has changed (the council is %s)", r.f.Name, councilLine(&r.now))
		}
		r.self = &r.now.Members[at]
		if !r.now.Running() && r.now.Settled {
			break
		}
		if r.now.Goal != nil && (r.now.By != r.f.Name || r.now.Plan() != "" && r.now.Plan() != "changing "+r.f.Name) {
			return 0, cli.Failf("another change is running: it was asked for at %s %s ago, and is %s; the key of %s is as it was (wait for its end, or 'regent members cancel')", r.now.By, ago(r.now.Asked), r.now.Progress(), r.f.Name)
		}
		if err := r.change.follow(r.c, r.agent, &r.now); err != nil {
			return 0, err
		}
	}
	own, err := secret.ReadPrivate(r.f.PrivateKeyFile)
	if err != nil {
		return 0, err
	}
	keys := texts(own.Public())
	r.own, r.listed = own, r.self.PublicKeys
	if r.now.Number == 0 {
		r.listed = keys[:1] // the files of the others may list more, and do not count once the council has changed
	}
	return r.stage(keys)
}

// stage compares the keys in the file with those agreed on.
func (r *rotation) stage(keys []string) (rotationStage, error) {
	newest := keys[len(keys)-1]
	switch {
	case len(keys) == 1 && len(r.listed) > 0 && r.listed[0] == newest: // and any other one is lost
		return drawing, nil
	case slices.Equal(r.listed, keys[1:]):
		return removing, nil
	case slices.Contains(r.listed, newest):
		return awaiting, nil
	case slices.Contains(r.listed, keys[0]):
		return naming, nil
	}
	return 0, fmt.Errorf("the members have agreed on the key %s of %s, and %s holds %s: nothing has changed (put the file with the right key back, or run "+
		"'regent keys exchange > %s.pub' here and 'regent members set %s --keys %[5]s.pub' on another member)",
		keyFingerprints(r.listed), r.f.Name, r.f.PrivateKeyFile, fingerprints(r.own.Public()), r.f.Name, r.f.Name)
}

// plan prints the steps, and what the next change of the council takes.
func (r *rotation) plan(stage rotationStage) error {
	next := r.own.Public()
	if stage == drawing {
		next = append(next, identity.Draw().Public()) // which nobody keeps: a key of its kind
	}
	var plan api.CouncilInfo
	if stage <= awaiting {
		if err := r.agent.post(r.c.Context(), "/v1/council", api.CouncilOrder{Change: r.wanted(next), DryRun: true}, &plan); err != nil {
			return err
		}
	}
	if r.json {
		if r.change.dryRun {
			return cli.WriteJSON(r.c, keysReport{Member: r.f.Name, Self: true, Keys: report(r.own.Public())})
		}
		return nil
	}
	w := r.c.OutOrStdout()
	fmt.Fprintf(w, "council: %s\n", councilLine(&r.now))
	fmt.Fprintf(w, "  rotate  %s, key %s\n", r.f.Name, fingerprints(r.own.Public()))
	for i, s := range steps {
		if strings.Contains(s.text, "%s") {
			s.text = fmt.Sprintf(s.text, r.f.PrivateKeyFile)
		}
		if s.at < stage {
			s.text += ": done"
		}
		fmt.Fprintf(w, "  %d. %s\n", i+1, s.text)
	}
	if f := plan.Forecast; f != nil {
		for _, text := range f.Lines[min(len(f.Lines), f.Steps):] { // after the one line for each step, of which there is nothing to say
			fmt.Fprintf(w, "  each change %s\n", text)
		}
		for _, text := range f.Warnings {
			fmt.Fprintf(w, "warning: %s\n", text)
		}
	}
	if r.change.dryRun {
		fmt.Fprintln(w, "nothing was changed (--dry-run)")
	}
	return nil
}

// wanted is the change to some keys of the member.
func (r *rotation) wanted(keys []identity.Public) roster.Change {
	p := withoutHints(r.self)
	p.PublicKeys = texts(keys)
	return roster.Change{Set: []regent.Peer{p}, Number: r.now.Number}
}

// step carries out what comes next.
func (r *rotation) step(stage rotationStage) error {
	r.begun = true
	switch stage {
	case drawing:
		next := r.own
		next.Private = append(slices.Clone(r.own.Private), identity.Draw())
		return r.replace(&next)
	case naming:
		if err := r.reread("uses"); err != nil {
			return err
		}
		return r.agree(r.own.Public())
	case awaiting:
		if err := r.reread("uses"); err != nil {
			return err
		}
		if err := r.await(); err != nil {
			return err
		}
		return r.agree(r.own.Public()[len(r.own.Private)-1:])
	case removing:
		next := r.own
		next.Private = r.own.Private[len(r.own.Private)-1:]
		if _, err := r.announce(r.f, next.Public()); err != nil { // first: an agent does not start whose file lists a key that it does not have
			return err
		}
		if err := r.replace(&next); err != nil {
			return err
		}
		r.own = next
		return r.reread("has only")
	}
	panic(fmt.Sprintf("keys: a rotation in stage %d", stage))
}

// replace writes the file with the private keys, unless another process has changed it since it was read.
func (r *rotation) replace(next *identity.Own) error {
	now, err := secret.ReadPrivate(r.f.PrivateKeyFile)
	switch {
	case err != nil:
		return err
	case !slices.Equal(now.Private, r.own.Private):
		return fmt.Errorf("%s was changed meanwhile: does this command run twice?", r.f.PrivateKeyFile)
	}
	return secret.WritePrivate(r.f.PrivateKeyFile, r.f.Name, next)
}

// reread has the agent put the keys in the file in force, and take that down in its audit log.
func (r *rotation) reread(what string) error {
	ctx, cancel := context.WithTimeout(r.c.Context(), askLimit)
	defer cancel()
	var answer api.Health
	return r.agent.post(ctx, "/v1/keys", access.KeyChange{Command: "rotate", Detail: fmt.Sprintf("%s %s %s", r.f.Name, what, fingerprints(r.own.Public())), Reread: true}, &answer)
}

// agree has the members agree on keys.
func (r *rotation) agree(keys []identity.Public) error {
	r.say("the members are to agree on %s", fingerprints(keys))
	var info api.CouncilInfo
	if err := r.agent.post(r.c.Context(), "/v1/council", api.CouncilOrder{Change: r.wanted(keys)}, &info); err != nil {
		return err
	}
	if err := r.change.follow(r.c, r.agent, &info); err != nil {
		return err
	}
	if info.Ended != "" {
		return fmt.Errorf("the change has not reached its goal: %s", info.Ended)
	}
	return nil
}

func (r *rotation) say(format string, args ...any) {
	if !r.json {
		fmt.Fprintf(r.c.OutOrStdout(), format+"\n", args...)
	}
}

// await waits until every other member uses the newest key.
func (r *rotation) await() error {
	look := time.NewTicker(changePollInterval)
	defer look.Stop()
	newest := r.own.Private[len(r.own.Private)-1].Public()
	shown := make(map[string]bool)
	for {
		var list api.MemberList
		if err := r.agent.get(r.c.Context(), "/v1/members", &list); err != nil {
			return err
		}
		lines := notUsing(list.Members, newest, r.force)
		if len(lines) == 0 {
			return nil
		}
		if !r.json {
			showOnce(r.c, shown, lines)
		}
		select {
		case <-look.C:
		case <-r.c.Context().Done():
			return context.Cause(r.c.Context())
		}
	}
}

// notUsing says for each member that does not use the newest key of the member of this host what it waits for.
func notUsing(members []regent.PeerStatus, newest identity.Public, force bool) (lines []string) {
	for i := range members {
		m := &members[i]
		missing := m.Key == "" || !m.Heard || m.Silent || m.Incarnation == 0
		switch {
		case m.Self && m.Key != newest.ID().String():
			lines = append(lines, "waits for the agent of this host to use the new key")
		case m.Self, m.Revoked, missing && force:
		case missing:
			lines = append(lines, fmt.Sprintf("waits for %s, which is not heard or takes no part (start its agent, and look at 'regent status' there; or remove it from the council; or pass --force, after which it may have to join again)", m.Name))
		case m.KeyProblem != "":
			lines = append(lines, fmt.Sprintf("waits for %s to use the new key", m.Name))
		}
	}
	return lines
}

// done ends a rotation.
func (r *rotation) done() error {
	if r.json {
		return r.print(r.c, r.f.Name, r.own.Public())
	}
	r.say("done: %s has the key %s; no other one counts", r.f.Name, fingerprints(r.own.Public()))
	return nil
}
