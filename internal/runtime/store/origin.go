package store

import (
	"crypto/sha256"
	"encoding/binary"
	"os"
	"strings"

	"github.com/regentproject/regent/internal/protocol/record"
)

// machineIDs are where hosts keep an id that is drawn when they are installed.
var machineIDs = []string{"/etc/machine-id", "/var/lib/dbus/machine-id"}

// Origin tells this machine and this directory from others. The directory is known by the instant at which it was made, where the file
// system has that: a copy was made later, and a reboot changes nothing. A disk or a virtual machine that was copied as a whole has the same
// origin, unless its machine id was drawn anew.
func (d *Dir) Origin() record.Origin { return originOf(d.path, machineIDs) }

func originOf(path string, ids []string) (o record.Origin) {
	for _, name := range ids {
		if id, err := os.ReadFile(name); err == nil && strings.TrimSpace(string(id)) != "" {
			o.Machine = digest("machine", []byte(strings.TrimSpace(string(id))))
			break
		}
	}
	if sec, nsec, ok := born(path); ok {
		b := binary.BigEndian.AppendUint64(nil, uint64(sec))
		o.Directory = digest("directory", binary.BigEndian.AppendUint32(b, nsec))
	}
	return o
}

func digest(label string, b []byte) [8]byte {
	sum := sha256.Sum256(append([]byte("regent "+label+" "), b...))
	return [8]byte(sum[:])
}
