package runtime

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
)

// A record that a full disk does not take goes to reserved room, but not before the council's machine has asked for many terms ahead. The fault stays.
func TestFullDiskTakesARecordInReservedRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, j := &toy{}, &journal{}
		m.script = map[string]func(protocol.Time) protocol.Effects{"Start": func(protocol.Time) protocol.Effects {
			return protocol.Effects{Persist: []byte("one"), Wake: protocol.Never}
		}}
		full := &reservedDisk{fullDisk: fullDisk{journal: j}}
		full.full.Store(true)
		l, end := begin(m, j, func(o *Options) { o.Store = full })
		defer end()
		time.Sleep(nerio.OverdueAfter + 2*retryAfter)
		expect(t, "before a machine has noticed", j.take())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		expect(t, "in reserved room, once", j.take(), "reserved one")
		expect(t, "events", m.log, "Start", "Persisted")
		if l.DiskFault() == nil {
			t.Error("the disk is full, and the loop reports no fault")
		}
		full.full.Store(false)
		time.Sleep(2 * retryAfter)
		expect(t, "once there is room", j.take(), "write one")
		if err := l.DiskFault(); err != nil {
			t.Errorf("the loop still reports %v", err)
		}
	})
}

type reservedDisk struct{ fullDisk }

func (d *reservedDisk) WriteReserved(record []byte) error {
	d.add("reserved %s", record)
	return nil
}
