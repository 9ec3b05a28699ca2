package regent

import (
	"errors"

	"github.com/regentproject/regent/internal/runtime/world"
)

// Check says what is wrong with the configuration, as [Join] would, without joining: it opens no socket and touches no
// file. What only shows at the place where the member will run, such as an address that is in use, it cannot know.
func (c Config) Check() error {
	if len(c.Join) > 0 {
		return errors.Join(c.complete().check(), c.checkJoin())
	}
	remembers := c.checkCouncilID()
	c.Dir = ""
	m, err := prepare(c, world.World{})
	if err != nil {
		return err
	}
	defer m.release()
	if _, err := m.machine(m.config.summary(m.council(), m.councilID), nil); err != nil {
		return err
	}
	if _, err := m.config.pairs(m.council()); err != nil {
		return err
	}
	return remembers
}
