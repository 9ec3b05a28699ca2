package transport

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// udpHeader is what stands before a datagram's data where a socket's filter looks.
const udpHeader = 8

// letIn and drop are what a filter returns: how many bytes of the datagram to keep.
const (
	letIn = 1<<32 - 1
	drop  = 0
)

// auxRandom is where a filter loads a random number from, beside the datagram: SKF_AD_OFF + SKF_AD_RANDOM of linux/filter.h.
const auxRandom = 1<<32 - 0x1000 + 56

func op(code uint16, k uint32, jt, jf uint8) unix.SockFilter {
	return unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k}
}

// load loads a field.
func (x *Field) load() unix.SockFilter {
	size := map[int]uint16{1: unix.BPF_B, 2: unix.BPF_H, 4: unix.BPF_W}[x.Size]
	return op(unix.BPF_LD|size|unix.BPF_ABS, uint32(x.Offset+udpHeader), 0, 0)
}

// program loads a field. What follows otherwise is jumped over if the field holds.
func (x *Field) program(otherwise unix.SockFilter) []unix.SockFilter {
	p := []unix.SockFilter{x.load()}
	for i, v := range x.Any {
		p = append(p, op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, v, uint8(len(x.Any)-i), 0))
	}
	if len(x.Any) == 0 {
		p = append(p, op(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, x.Below, 0, 1))
	}
	return append(p, otherwise)
}

// chance lets in one of so many.
func chance(oneIn uint32) []unix.SockFilter {
	if oneIn <= 1 {
		return []unix.SockFilter{passed}
	}
	return []unix.SockFilter{op(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, auxRandom, 0, 0),
		op(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, 1<<31/oneIn*2, 0, 1), dropped, passed}
}

// program decides on datagrams that have one of the values, and jumps to its end for all others. Each chunk of the list is skipped if the value is above
// all that it lists; a value that is below, and not listed, is not in a later one.
func (o *Odds) program() []unix.SockFilter {
	p := []unix.SockFilter{o.load()}
	for part := range slices.Chunk(slices.Sorted(slices.Values(o.Any)), chunk) {
		p = append(p, op(unix.BPF_JMP|unix.BPF_JGT|unix.BPF_K, part[len(part)-1], uint8(len(part)+2), 0))
		for i, v := range part {
			p = append(p, op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, v, uint8(len(part)-i), 0))
		}
		p = append(p, elsewhere, listed)
	}
	p = append(p, elsewhere)
	p = redirect(p, listed)
	return redirect(append(p, chance(o.OneIn)...), elsewhere)
}

// dropped and passed end a program.
var (
	dropped = op(unix.BPF_RET|unix.BPF_K, drop, 0, 0)
	passed  = op(unix.BPF_RET|unix.BPF_K, letIn, 0, 0)
)

// elsewhere and listed are jumps whose end is not known yet, and redirect lets all jumps that are like one lead to the end of the program.
var (
	elsewhere = op(unix.BPF_JMP|unix.BPF_JA, 1<<31, 0, 0)
	listed    = op(unix.BPF_JMP|unix.BPF_JA, 1<<31+1, 0, 0)
)

func redirect(p []unix.SockFilter, like unix.SockFilter) []unix.SockFilter {
	for i := range p {
		if p[i] == like {
			p[i] = op(unix.BPF_JMP|unix.BPF_JA, uint32(len(p)-i-1), 0, 0)
		}
	}
	return p
}

// program writes the filter for the kernel, in classic BPF. Each check jumps over the jump behind it if it holds: to the other filter, or to the
// drop at the end.
func (f *Filter) program() []unix.SockFilter {
	p := []unix.SockFilter{op(unix.BPF_LD|unix.BPF_W|unix.BPF_LEN, 0, 0, 0),
		op(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, uint32(f.Shortest+udpHeader), 1, 0), elsewhere,
		op(unix.BPF_JMP|unix.BPF_JGT|unix.BPF_K, uint32(f.Longest+udpHeader), 0, 1), elsewhere}
	for i := range f.Fields {
		p = append(p, f.Fields[i].program(elsewhere)...)
	}
	for i := range f.Odds {
		p = append(p, f.Odds[i].program()...)
	}
	p = redirect(append(p, chance(f.Sample)...), elsewhere)
	if f.Or == nil {
		return append(p, dropped)
	}
	return append(p, f.Or.program()...)
}

// SetFilter has the kernel apply a filter. Datagrams that have come before are not looked at again.
func (u *udp) SetFilter(f *Filter) error {
	if f == nil {
		return u.control(func(fd int) error {
			err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0)
			if errors.Is(err, unix.ENOENT) {
				return nil // there was none
			}
			return err
		})
	}
	if err := f.Check(); err != nil {
		return err
	}
	program := f.program()
	if len(program) > maxProgram {
		return fmt.Errorf("filter: %d instructions: must be at most %d", len(program), maxProgram)
	}
	return u.control(func(fd int) error {
		return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
	})
}

func (u *udp) Room() int { return u.room }

// readRoom asks the kernel how much a socket may hold beside its datagrams. Half of that is for the filter that one replaces.
func readRoom() int {
	text, err := os.ReadFile("/proc/sys/net/core/optmem_max")
	if err != nil {
		return SmallestRoom
	}
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return SmallestRoom
	}
	return most/2 - most/80
}

func (u *udp) control(f func(fd int) error) error {
	var inner error
	err := u.raw.Control(func(fd uintptr) { inner = f(int(fd)) })
	if err := errors.Join(err, inner); err != nil {
		return fmt.Errorf("filter of %v: %w", u.addr, err)
	}
	return nil
}
