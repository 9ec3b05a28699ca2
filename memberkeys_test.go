package regent

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
)

// A directory that was rolled back has older private keys than the last life of its member had, or newer ones.
func TestTagsOutliveARotation(t *testing.T) {
	own := DrawKeys([]Peer{{Name: "a"}})["a"]
	first, next := own.PrivateKeys[0], identity.Draw().Text()
	tag := func(c Config) protocol.Tag {
		m := &Member{config: c}
		m.present.Store(&council{})
		return m.lifeTags()(7, protocol.StartBits{1})
	}
	want := tag(Config{Name: "a", OwnKeys: own})
	for _, keys := range [][]string{{first, next}, {next}} {
		if tag(Config{Name: "a", OwnKeys: OwnKeys{PrivateKeys: keys, TagKey: own.TagKey}}) != want {
			t.Errorf("with %d keys, the member cannot prove a life that it had with the first one", len(keys))
		}
	}
	if tag(Config{Name: "a", OwnKeys: DrawKeys([]Peer{{Name: "a"}})["a"]}) == want {
		t.Error("another identity makes the same tag")
	}
}

// Peers hold tags of the running life: under another tag key its next start could not prove them.
func TestRunningMemberKeepsItsTagKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members := assemble(t, nil, "a", "b", "c")
		a := members["a"]
		c := a.config
		c.Council = slices.Clone(c.Council)
		if err := a.Rekey(c); err != nil {
			t.Errorf("the keys that it has: %v", err)
		}
		c.OwnKeys = DrawKeys([]Peer{{Name: "a"}})["a"]
		c.PrivateKeys = a.config.PrivateKeys
		if err := a.Rekey(c); err == nil || !strings.Contains(err.Error(), "restart") {
			t.Errorf("another tag key: %v", err)
		}
	})
}

// A program that is started before its keys are drawn says which command draws them.
func TestMissingKeysNameTheCommandThatDrawsThem(t *testing.T) {
	dir := t.TempDir()
	c := Config{Name: "a"}
	if err := c.ReadKeys(dir); err == nil || !strings.Contains(err.Error(), "run 'regent keys exchange --dir "+dir+" --name a'") {
		t.Errorf("got %v", err)
	}
}
