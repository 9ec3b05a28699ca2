package access

import (
	"net"

	"github.com/regentproject/regent/agent/processes"
)

// Local returns who opened a connection on the socket, as it was then: the kernel keeps that.
func Local(conn net.Conn) *Client {
	c := &Client{Local: true, Role: Writer}
	cred, err := processes.Credentials(conn)
	if err != nil || cred.Pid <= 0 {
		return c
	}
	c.pid, c.uid, c.gids = int(cred.Pid), int(cred.Uid), append([]int{int(cred.Gid)}, processes.Groups(conn)...)
	return c
}
