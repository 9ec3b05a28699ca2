package guardian

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/regentproject/regent/internal/page"
	"github.com/regentproject/regent/internal/protocol"
)

// format identifies the layout: words of 64 bits, in the byte order of the processor.
//
//	word                   holds
//	0                      the format
//	1                      the edition: odd while the member changes more than one word
//	2                      the mode of the member
//	3                      zero
//	4                      until when a proof that it gave may be believed, on the clock of the host
//	5                      how many groups are kept without a slot
//	6                      the number of slots S
//	7                      zero
//	8 to 15                for the wake of the guardian
//	16 + r                 the number of the last packet to the member of rank r, for 1,000 ranks
//	Z + 34 s               slot s, behind the ranks: the length of the name of a kept group, zero if none has it
//	Z + 34 s + 1           the number of its tenure, zero if nothing can prove that it is over
//	Z + 34 s + 2 to + 33   the name, padded with zeros
const format uint64 = 'R'<<56 | 'e'<<48 | 'g'<<40 | 'e'<<32 | 'n'<<24 | 't'<<16 | 'G'<<8 | 2

const (
	wordFormat = iota
	wordEdition
	wordMode
	_
	wordProof
	wordUnlisted
	wordSlots
	_

	// WakeWord is the first of the words for the wake of the guardian, and WakeWords says how many there are.
	WakeWord  = 8
	WakeWords = 8

	headerWords = WakeWord + WakeWords
	slotsWord   = headerWords + protocol.MaxMembers
	nameWords   = maxName / 8
	slotTenure  = 1
	slotName    = 2
	slotWords   = slotName + nameWords
	maxName     = 256
	maxSlots    = 1 << 20
)

// A Mode says what a guardian may report.
type Mode uint64

const (
	// Unknown: nothing is known of the groups, so all are kept.
	Unknown Mode = iota
	// WithinProcess: all groups are led within the process only, except those that are listed.
	WithinProcess
	// Closed: the member has left in good order, and the guardian has nothing to report.
	Closed
)

// Size returns how many words a page with room for so many kept groups has.
func Size(slots int) int { return slotsWord + slots*slotWords }

// A Page is the member's side. It is not safe for use by several goroutines at once.
type Page struct {
	words page.Words
	// kept are the groups that are kept; free are the slots that none has, and tenures is the number of the last tenure.
	kept    map[protocol.Group]keptGroup
	free    []int
	tenures uint64
}

// A keptGroup is in a slot, or in noSlot. The tenure is the number on the page.
type keptGroup struct {
	slot   int
	tenure uint64
}

const noSlot = -1

// NewPage lays out a page in memory that is zero.
func NewPage(w page.Words, slots int) (*Page, error) {
	if slots < 0 || slots > maxSlots || w.Len() < Size(slots) {
		return nil, fmt.Errorf("guardian: a page of %d words with %d slots: must have %d words and at most %d slots", w.Len(), slots, Size(slots), maxSlots)
	}
	p := &Page{words: w, kept: make(map[protocol.Group]keptGroup), free: make([]int, 0, slots)}
	for s := slots - 1; s >= 0; s-- {
		p.free = append(p.free, s)
	}
	w.Store(wordSlots, uint64(slots))
	w.Store(wordFormat, format)
	return p, nil
}

// SetMode says what may be reported from now on. WithinProcess comes before the first lease is published.
func (p *Page) SetMode(m Mode) { p.words.Store(wordMode, uint64(m)) }

// Number says that a packet to a member is about to leave with a number. Each is above those before.
func (p *Page) Number(to protocol.Rank, number uint64) { p.words.Store(headerWords+int(to), number) }

// NumberOf returns the number of the last packet that a member sent to another, or was about to.
func NumberOf(w page.Words, to protocol.Rank) uint64 { return w.Load(headerWords + int(to)) }

// Prove says that a proof which leaves after the call may be believed until an instant of the clock of the host.
func (p *Page) Prove(until protocol.Time) {
	if uint64(max(0, until)) > p.words.Load(wordProof) {
		p.words.Store(wordProof, uint64(until))
	}
}

// Keep says that something outside of the process may act for a group. It comes before a lease of the group is published. It returns the number of the
// tenure, by which the guardian knows a program; zero: the page cannot say it. A group that is kept stays so, with its number.
func (p *Page) Keep(group protocol.Group) (tenure uint64) {
	k, known := p.kept[group]
	if !known {
		p.tenures++
		k = p.list(group, p.tenures)
		p.kept[group] = k
	}
	return k.tenure
}

// Entangle says that the group has another tenure although something of an earlier one may still act: no proof that one of them is over counts.
func (p *Page) Entangle(group protocol.Group) {
	k, known := p.kept[group]
	if !known || k.slot == noSlot {
		return
	}
	k.tenure = 0
	p.words.Store(slotWord(k.slot)+slotTenure, 0)
	p.kept[group] = k
}

// Tenure returns the number of the tenure of a group; zero: none is known by a number.
func (p *Page) Tenure(group protocol.Group) uint64 { return p.kept[group].tenure }

// Forget takes a Keep back. It comes once nothing may act for the group by a lease of this member.
func (p *Page) Forget(group protocol.Group) {
	k, known := p.kept[group]
	switch {
	case !known:
		return
	case k.slot == noSlot:
		p.words.Store(wordUnlisted, p.words.Load(wordUnlisted)-1)
	default:
		p.words.Store(slotWord(k.slot), 0)
		p.words.Store(slotWord(k.slot)+slotTenure, 0)
		p.free = append(p.free, k.slot)
	}
	delete(p.kept, group)
}

// list gives a group a slot. If there is none, the page is marked as full: then every group is kept.
func (p *Page) list(group protocol.Group, tenure uint64) keptGroup {
	if len(p.free) == 0 || group == "" || len(group) > maxName {
		p.words.Store(wordUnlisted, p.words.Load(wordUnlisted)+1)
		return keptGroup{slot: noSlot}
	}
	slot := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	edition := p.words.Load(wordEdition)
	p.words.Store(wordEdition, edition+1)
	var name [maxName]byte
	copy(name[:], group)
	for i := range nameWords {
		p.words.Store(slotWord(slot)+slotName+i, binary.LittleEndian.Uint64(name[8*i:]))
	}
	p.words.Store(slotWord(slot)+slotTenure, tenure)
	p.words.Store(slotWord(slot), uint64(len(group)))
	p.words.Store(wordEdition, edition+2)
	return keptGroup{slot, tenure}
}

func slotWord(slot int) int { return slotsWord + slot*slotWords }

// A Statement is what a page says of a member.
type Statement struct {
	Mode Mode
	// Proof is until when a proof may be believed.
	Proof protocol.Time
	// Kept are the groups that something outside of the process may act for, in ascending order.
	Kept []Kept
}

// A Kept group has a tenure with a number; zero: nothing proves that it is over.
type Kept struct {
	Group  protocol.Group
	Tenure uint64
}

// errTorn says that the member died while it changed the page.
var errTorn = errors.New("guardian: the page was about to change when the member died: all groups are kept")

// errUnlisted says that more groups are kept than the page has slots.
var errUnlisted = errors.New("guardian: the member keeps more groups than the page can list: all groups are kept")

// ModeOf returns the mode that the member is in, which may still run.
func ModeOf(w page.Words) Mode { return Mode(w.Load(wordMode)) }

// Read returns the statement of a member that does not run any more. If it fails, every group is kept.
func Read(w page.Words) (s Statement, err error) {
	if w.Len() < slotsWord || w.Load(wordFormat) != format {
		return s, errors.New("guardian: unknown format of the page")
	}
	slots := w.Load(wordSlots)
	if slots > maxSlots || w.Len() < Size(int(slots)) {
		return s, fmt.Errorf("guardian: the page has %d words, which is too short for %d slots", w.Len(), slots)
	}
	s = Statement{Mode: Mode(w.Load(wordMode)), Proof: protocol.Time(w.Load(wordProof))}
	switch {
	case w.Load(wordEdition)%2 != 0:
		return s, errTorn
	case w.Load(wordUnlisted) != 0:
		return s, errUnlisted
	}
	for slot := range int(slots) {
		n := w.Load(slotWord(slot))
		if n == 0 {
			continue
		}
		if n > maxName {
			return s, fmt.Errorf("guardian: slot %d has a name of %d bytes", slot, n)
		}
		var name [maxName]byte
		for i := range nameWords {
			binary.LittleEndian.PutUint64(name[8*i:], w.Load(slotWord(slot)+slotName+i))
		}
		s.Kept = append(s.Kept, Kept{protocol.Group(name[:n]), w.Load(slotWord(slot) + slotTenure)})
	}
	slices.SortFunc(s.Kept, func(x, y Kept) int { return strings.Compare(string(x.Group), string(y.Group)) })
	return s, nil
}

// Holds returns whether the page has a tenure, which can be over a moment later.
func Holds(w page.Words, tenure uint64) bool {
	for slot := range int(min(w.Load(wordSlots), maxSlots)) {
		if w.Len() >= Size(slot+1) && w.Load(slotWord(slot)+slotTenure) == tenure {
			return true
		}
	}
	return false
}
