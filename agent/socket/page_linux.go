package socket

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"github.com/regentproject/regent/internal/session"
	"golang.org/x/sys/unix"
)

// writePage hands the page to a program that asked for it, with the line that answers.
func (c *conn) writePage(id uint64) error {
	e := session.Event{Event: session.Mapped, ID: id}
	var rights []byte
	if err := c.mayMap(); err != nil {
		e = session.Event{Event: session.Failed, ID: id, Error: err.Error()}
	} else if fd, ok := c.agent.core.PageDescriptor(); ok {
		rights = unix.UnixRights(fd)
	}
	line, err := json.Marshal(&e)
	if err != nil {
		return err
	}
	u, ok := c.net.(*net.UnixConn)
	if !ok {
		return errors.New("not a unix socket")
	}
	c.mapped.Store(rights != nil) // before the program can name it in a request
	_, _, err = u.WriteMsgUnix(append(line, '\n'), rights, nil)
	return err
}

// readsPage says whether the program reads its deadlines on the page. It reports an error if the process has got other clocks since it mapped
// the page: the instants in lines would mislead it as well.
func (c *conn) readsPage(r *session.Request) (bool, error) {
	if !r.Page || !c.mapped.Load() {
		return false, nil
	}
	err := c.mayMap()
	return err == nil, err
}

// mayMap reports why a program gets no page.
func (c *conn) mayMap() error {
	if _, ok := c.agent.core.PageDescriptor(); !ok {
		return errors.New("page: this agent has none: renewals come in messages")
	}
	if c.peer == nil || c.peer.Pid <= 0 || !c.peer.IsKnown() {
		return errors.New("page: the process that asks is unknown: renewals come in messages")
	}
	own, err := os.Readlink("/proc/self/ns/time")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // before Linux 5.6 there is one time for all
	}
	its, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/time", c.peer.Pid))
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("page: the time namespace of the process is unknown: renewals come in messages: %w", err)
	}
	if c.peer.IsGone() { // the number may be another process's
		return errors.New("page: the process that asks is dead")
	}
	if own != its {
		return errors.New("page: the process has clocks of its own (another time namespace): renewals come in messages")
	}
	return nil
}
