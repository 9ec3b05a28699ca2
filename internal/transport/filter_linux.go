package transport

import (
	"errors"
	"fmt"

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
	left := len(x.Any) + 2*len(x.Within) // instructions before otherwise
	for _, v := range x.Any {
		p = append(p, op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, v, uint8(left), 0))
		left--
	}
	for _, r := range x.Within {
		left -= 2
		p = append(p, op(unix.BPF_JMP|unix.BPF_JGT|unix.BPF_K, r[1], 1, 0), op(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, r[0], uint8(left+1), 0))
	}
	if len(x.Any) == 0 && len(x.Within) == 0 {
		p = append(p, op(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, x.Below, 0, 1))
	}
	return append(p, otherwise)
}

// elsewhere is a jump whose end is not known yet, and redirect lets all jumps that are like it lead to the end of the program.
var elsewhere = op(unix.BPF_JMP|unix.BPF_JA, 1<<31, 0, 0)

func redirect(p []unix.SockFilter, like unix.SockFilter) []unix.SockFilter {
	for i := range p {
		if p[i] == like {
			p[i] = op(unix.BPF_JMP|unix.BPF_JA, uint32(len(p)-i-1), 0, 0)
		}
	}
	return p
}

// program writes the filter for the kernel, in classic BPF. Each check jumps over the drop behind it if it holds. With another filter
// to try, each drop becomes a jump to that one.
func (f *Filter) program() []unix.SockFilter {
	dropped, passed := op(unix.BPF_RET|unix.BPF_K, drop, 0, 0), op(unix.BPF_RET|unix.BPF_K, letIn, 0, 0)
	p := []unix.SockFilter{op(unix.BPF_LD|unix.BPF_W|unix.BPF_LEN, 0, 0, 0),
		op(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, uint32(f.Shortest+udpHeader), 1, 0), dropped,
		op(unix.BPF_JMP|unix.BPF_JGT|unix.BPF_K, uint32(f.Longest+udpHeader), 0, 1), dropped}
	for i := range f.Fields {
		p = append(p, f.Fields[i].program(dropped)...)
	}
	for _, row := range f.Except {
		var except []unix.SockFilter
		for i := range row {
			except = append(except, row[i].program(elsewhere)...)
		}
		p = append(p, redirect(append(except, dropped), elsewhere)...)
	}
	if f.Sample > 1 {
		if f.Known != nil {
			p = append(p, f.Known.load())
			for _, v := range f.Known.Any {
				p = append(p, op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, v, 0, 1), passed)
			}
		}
		p = append(p, op(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, auxRandom, 0, 0),
			op(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, 1<<31/f.Sample*2, 0, 1), dropped)
	}
	p = append(p, passed)
	if f.Or == nil {
		return p
	}
	return append(redirect(p, dropped), f.Or.program()...)
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
	return u.control(func(fd int) error {
		return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
	})
}

func (u *udp) control(f func(fd int) error) error {
	var inner error
	err := u.raw.Control(func(fd uintptr) { inner = f(int(fd)) })
	if err := errors.Join(err, inner); err != nil {
		return fmt.Errorf("filter of %v: %w", u.addr, err)
	}
	return nil
}
