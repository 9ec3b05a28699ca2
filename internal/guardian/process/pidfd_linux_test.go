package process

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/guardian"
	"github.com/regentproject/regent/internal/page/shared"
	"golang.org/x/sys/unix"
)

// A guardian whose descriptor of the member is none that shows its death reports nothing: that cannot be told from a death otherwise.
func TestGuardianThatCannotWatchReportsNothing(t *testing.T) {
	voter, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer voter.Close()
	memory, err := shared.New(guardian.Size(0))
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	page, err := guardian.NewPage(memory, 0)
	if err != nil {
		t.Fatal(err)
	}
	page.SetMode(guardian.WithinProcess)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	letters := encode([]Voter{{Rank: 2, Addrs: []netip.AddrPort{netip.MustParseAddrPort(voter.LocalAddr().String())}, Letter: letter}})
	if _, err := unix.Write(pair[0], letters); err != nil {
		t.Fatal(err)
	}
	path, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0) // poll answers POLLNVAL
	if err != nil {
		t.Fatal(err)
	}
	copied, err := unix.FcntlInt(uintptr(memory.Descriptor()), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	files := []*os.File{os.NewFile(uintptr(copied), "page"), os.NewFile(uintptr(path), "no pidfd"), os.NewFile(uintptr(pair[1]), "letters")}
	c := &exec.Cmd{Path: "/proc/self/exe", Args: []string{Marker, ordinaryArg}, Env: environment(nil), ExtraFiles: files}
	err = c.Start()
	for _, f := range files {
		_ = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) {
		t.Errorf("it ends with %v, want a failure", err)
	}
	_ = voter.SetReadDeadline(time.Now().Add(10 * time.Millisecond)) // on loopback it is there once it was sent
	if n, _, err := voter.ReadFrom(make([]byte, 1<<12)); err == nil {
		t.Errorf("a report of %d bytes on a member that lives", n)
	}
}

// The kernel gives what /proc shows of a process to root if others of its user may not look into it.
func TestOthersOfItsUserSeeNothingOfAGuardian(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	for _, name := range []string{"fd", "mem", "environ"} {
		var info unix.Stat_t
		if err := unix.Stat(fmt.Sprintf("/proc/%d/%s", g.guardian, name), &info); err != nil {
			t.Fatal(err)
		}
		if info.Uid != 0 {
			t.Errorf("%s is of user %d", name, info.Uid)
		}
	}
	g.order("close")
}
