package core

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
)

// A Disk keeps files. What Write has returned for is durable, and a file is there whole or not at all.
type Disk interface {
	List() ([]string, error)
	Read(name string) ([]byte, error)
	Write(name string, content []byte) error
	Remove(name string) error
}

// A Vault keeps one member's shares.
type Vault struct {
	self int
	disk Disk
	mark Number // Invariant: no share of a lower view is written any more
	lost bool   // see Found
	kept map[string][]ID
}

// The mark is kept twice, so that one damaged sector does not lose it.
var markFiles = [...]string{"mark-1", "mark-2"}

// ErrMark says that both copies of the mark are damaged.
var ErrMark = errors.New("checkpoint: the mark of the store is damaged (remove its directory: the member then starts with an empty store)")

// OpenVault reads what is on a disk. If founding is not set, a disk with nothing on it has lost what it had.
func OpenVault(self int, d Disk, founding bool) (*Vault, error) {
	v := &Vault{self: self, disk: d, kept: make(map[string][]ID)}
	names, err := d.List()
	if err != nil {
		return nil, err
	}
	intact, marks := 0, 0
	for _, name := range names {
		if slices.Contains(markFiles[:], name) {
			marks++
			b, err := d.Read(name)
			if n, lost, ok := parseMark(b); err == nil && ok {
				intact++
				if n.Compare(v.mark) >= 0 {
					v.mark, v.lost = n, lost
				}
			}
		} else if key, id, ok := parseName(name); ok {
			v.kept[key] = append(v.kept[key], id)
		}
	}
	if intact == 0 && (marks > 0 || len(v.kept) > 0) {
		return nil, ErrMark
	}
	if marks == 0 {
		v.lost = !founding
	}
	return v, nil
}

// Recovered takes note that a view with this member is recovered: all shares that count are there again.
func (v *Vault) Recovered(n Number) error {
	if !v.lost || n.Compare(v.mark) < 0 {
		return nil
	}
	return v.write(n, false)
}

// Mark returns the highest view number that the vault has seen.
func (v *Vault) Mark() Number { return v.mark }

// Kept returns which checkpoints of a key the vault has a share of.
func (v *Vault) Kept(key string) []ID { return v.kept[key] }

const markSize = 8 + 8 + 1

func parseMark(b []byte) (n Number, lost, ok bool) {
	if len(b) != markSize+4 || crc32.ChecksumIEEE(b[:markSize]) != binary.BigEndian.Uint32(b[markSize:]) {
		return Number{}, false, false
	}
	return Number{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}, b[16] == 1, true
}

// write makes a mark durable.
func (v *Vault) write(n Number, lost bool) error {
	b := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, n.Token), n.Vid)
	if lost {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	for _, name := range markFiles {
		if err := v.disk.Write(name, b); err != nil {
			return err
		}
	}
	v.mark, v.lost = n, lost
	return nil
}

// admit refuses stale numbers, and remembers higher ones.
func (v *Vault) admit(n Number) (bool, error) {
	if n.Compare(v.mark) < 0 {
		return false, nil
	}
	if n == v.mark {
		return true, nil
	}
	err := v.write(n, v.lost)
	return err == nil, err
}

// shareName is the name of a share's file. It holds the identity, so that a damaged share is known to be missing.
func shareName(key string, id ID) string {
	return fmt.Sprintf("share-%s-%d-%d-%d", hex.EncodeToString([]byte(key)), id.View.Token, id.View.Vid, id.Seq)
}

func parseName(name string) (key string, id ID, ok bool) {
	parts := strings.Split(name, "-")
	if len(parts) != 5 || parts[0] != "share" {
		return "", ID{}, false
	}
	b, err := hex.DecodeString(parts[1])
	if err != nil {
		return "", ID{}, false
	}
	_, err = fmt.Sscan(strings.Join(parts[2:], " "), &id.View.Token, &id.View.Vid, &id.Seq)
	return string(b), id, err == nil && shareName(string(b), id) == name
}

// Receive answers a message to the vault. It returns false for one that needs no answer, and an error of the disk.
func (v *Vault) Receive(m *Message) (Message, bool, error) {
	reply := Message{View: m.View, Key: m.Key}
	if m.Kind == Look {
		reply.Kind = Shares
		var err error
		reply.Found, err = v.read(m.Key)
		return reply, err == nil, err
	}
	if m.Kind == Put && (m.Share == nil || m.Share.Index != v.self || m.Share.View != m.View || !m.Share.Intact(m.Key)) {
		return reply, false, nil
	}
	ok, err := v.admit(m.View)
	switch {
	case err != nil:
		return reply, false, err
	case !ok:
		reply.Kind, reply.View = Refused, v.mark
		return reply, true, nil
	case m.Kind == Fetch:
		reply.Kind = Shares
		reply.Found, err = v.read(m.Key)
		return reply, err == nil, err
	}
	if err := v.put(m); err != nil {
		return reply, false, err
	}
	reply.Kind, reply.Seq = Stored, m.Share.Seq
	return reply, true, nil
}

// put writes a share, and removes what came before the last complete checkpoint.
func (v *Vault) put(m *Message) error {
	b, err := json.Marshal(m.Share)
	if err != nil {
		return err
	}
	if err := v.disk.Write(shareName(m.Key, m.Share.ID), b); err != nil {
		return err
	}
	kept := v.kept[m.Key]
	if !slices.Contains(kept, m.Share.ID) {
		kept = append(kept, m.Share.ID)
	}
	v.kept[m.Key] = slices.DeleteFunc(kept, func(id ID) bool {
		return id.Compare(m.Base) < 0 && v.disk.Remove(shareName(m.Key, id)) == nil
	})
	return nil
}

// read returns the shares of a key, and which are damaged.
func (v *Vault) read(key string) (Found, error) {
	f := Found{Lost: v.lost}
	for _, id := range v.kept[key] {
		b, err := v.disk.Read(shareName(key, id))
		var s Share
		if err != nil || json.Unmarshal(b, &s) != nil || s.ID != id || s.Index != v.self || !s.Intact(key) {
			f.Damaged = append(f.Damaged, id)
		} else {
			f.Shares = append(f.Shares, s)
		}
	}
	return f, nil
}

// Scrub returns the keys of which a share is damaged. Their owners write them again.
func (v *Vault) Scrub() []string {
	var keys []string
	for key := range v.kept { // order does not matter: sorted below
		if f, _ := v.read(key); len(f.Damaged) > 0 {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
