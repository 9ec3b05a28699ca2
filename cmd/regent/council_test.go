package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/secret"
	"github.com/regentproject/regent/internal/transport/loopback"
)

// eventually runs a command again and again until it has an exit status: eventually 0 regent members
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually CODE COMMAND [ARG ...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := -1
	err = cluster.Wait(cluster.Patience, strings.Join(args, " "), func() bool {
		got = exitStatus(ts, args[1:])
		return got == want
	})
	if err != nil {
		ts.Fatalf("%v: exit status %d, want %d", err, got, want)
	}
}

// calmly is the timing of councils whose tests are not about it: a host that is busy with other things pauses members for
// longer than a lease of the usual length.
const calmly = "timing:\n  lease: 2s\n"

// councilFiles writes the configurations of a council on this host, on ports that are free: council a b c. A member may
// have a priority, p=2, or be a witness, w=witness, or an observer, o=observer. The commands that follow ask the agent of the first.
func councilFiles(ts *testscript.TestScript, neg bool, names []string) {
	if neg || len(names) == 0 {
		ts.Fatalf("usage: council MEMBER ...")
	}
	members := make([]config.Member, len(names))
	for i, name := range names {
		name, role, given := strings.Cut(name, "=")
		members[i] = config.Member{Name: name, Address: freeAddr(ts)}
		switch {
		case role == observer:
			members[i].Observer = true
		case role == "witness":
			members[i].Witness = true
		case given:
			n, err := strconv.Atoi(role)
			ts.Check(err)
			members[i].Priority = n
		}
		names[i] = name
		ts.Setenv("ADDR_"+name, members[i].Address)
		own := identity.DrawOwn()
		members[i].PublicKeys = texts(own.Public())
		ts.Check(os.MkdirAll(ts.MkAbs(name), 0o700))
		ts.Check(secret.WritePrivate(filepath.Join(ts.MkAbs(name), secret.PrivateName), name, &own))
	}
	id := config.NewCouncilID()
	for _, name := range names {
		d := config.Draft{Name: name, CouncilID: id, Members: members, Dir: ts.MkAbs(name), Bootstrap: true, Socket: ts.MkAbs(name + ".sock"),
			Listen: freeAddr(ts)}
		ts.Check(os.WriteFile(ts.MkAbs(name+".yaml"), []byte(d.YAML()+calmly), 0o644))
	}
	ts.Setenv("REGENT_SOCKET", ts.MkAbs(names[0]+".sock"))
}

// freeAddrs sets variables to addresses that are free: free NAME ...
func freeAddrs(ts *testscript.TestScript, neg bool, names []string) {
	if neg || len(names) == 0 {
		ts.Fatalf("usage: free NAME ...")
	}
	for _, name := range names {
		ts.Setenv(name, freeAddr(ts))
	}
}

// freeAddr returns an address on loopback that no process listens on.
func freeAddr(ts *testscript.TestScript) string {
	addr, err := loopback.Free()
	ts.Check(err)
	return addr
}
