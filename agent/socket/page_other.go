//go:build !linux

package socket

import (
	"encoding/json"

	"github.com/regentproject/regent/internal/session"
)

// readsPage says that no program does.
func (c *conn) readsPage(*session.Request) (bool, error) { return false, nil }

// writePage answers that there is no page.
func (c *conn) writePage(id uint64) error {
	line, err := json.Marshal(&session.Event{Event: session.Failed, ID: id, Error: "page: this system has none: renewals come in messages"})
	if err != nil {
		return err
	}
	_, err = c.net.Write(append(line, '\n'))
	return err
}
