package store

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

const testDir = "/var/regent/a"

// A life is a process that opens the directory and writes records until it fails to, or is done. Records are numbers.
type life struct {
	read      int // the record that it found
	confirmed int // the last of which Write returned nil, at least what an earlier life has confirmed
	asked     int // the last that was handed to Write
}

// live runs a process on the volume: it writes each record until it is confirmed, as the runtime does, but not often.
func live(t *testing.T, v *volume, before life) life {
	t.Helper()
	l := before
	if makeDir(v, testDir) != nil {
		return l
	}
	d := &Dir{path: testDir, member: "a", files: v, spare: 1 << 20} // room for the next record is no part of this one
	b, err := d.Read()
	if err != nil && v.crash == 0 && v.fault == 0 {
		t.Fatalf("no fault, and the record cannot be read: %v\n%v", err, v)
	}
	if err != nil {
		return l
	}
	l.read = number(t, b)
	for range 2 {
		l.asked++
		for range 3 {
			err := d.Write(fmt.Append(nil, l.asked))
			if err == nil {
				l.confirmed = l.asked
				break
			}
			if errors.Is(err, errCrash) {
				return l
			}
		}
	}
	return l
}

// number returns the number of a record; zero if there is none.
func number(t *testing.T, b []byte) (n int) {
	t.Helper()
	if b == nil {
		return 0
	}
	if _, err := fmt.Sscan(string(b), &n); err != nil {
		t.Fatalf("record %q: %v", b, err)
	}
	return n
}

// judge reads the record of a volume that has survived.
func judge(t *testing.T, v *volume, l life, what string) {
	t.Helper()
	d := &Dir{path: testDir, member: "a", files: v.clone()}
	b, err := d.Read()
	if err != nil {
		t.Fatalf("%s: %d was confirmed, and reading fails: %v\n%v", what, l.confirmed, err, v)
	}
	if n := number(t, b); n < l.confirmed || n > l.asked {
		t.Fatalf("%s: %d was confirmed and %d asked for, and %d is found\n%v", what, l.confirmed, l.asked, n, v)
	}
}

// longLife is more calls than a life makes.
const longLife = 60

// A crash after every call, by a kill or by a loss of power; then a second life with a crash after every call of it.
func TestConfirmedRecordSurvivesEveryCrash(t *testing.T) {
	states := 0
	second := func(v *volume, first life, what string) {
		for crash := 1; crash <= longLife; crash++ {
			w := v.clone()
			w.crash = crash
			l := live(t, w, first)
			w.survivors(func(s *volume) {
				states++
				judge(t, s, l, fmt.Sprintf("%s, then power lost after call %d", what, crash))
			})
			if w.calls < crash {
				return
			}
		}
		t.Fatalf("a life makes more than %d calls", longLife)
	}
	for crash := 1; crash <= longLife; crash++ {
		v := newVolume()
		v.crash = crash
		l := live(t, v, life{})
		second(v, l, fmt.Sprintf("killed after call %d", crash))
		v.survivors(func(s *volume) {
			judge(t, s, l, fmt.Sprintf("power lost after call %d", crash))
			second(s, l, fmt.Sprintf("power lost after call %d", crash))
		})
		if v.calls < crash {
			break
		}
	}
	if states < 1000 {
		t.Errorf("only %d states were looked at", states)
	}
	t.Logf("%d states", states)
}

// One call fails, each in turn, with each error; the record is written again; and power is lost after every call.
func TestFailedCallIsNeverTakenForADurableRecord(t *testing.T) {
	states := 0
	for _, fault := range []error{syscall.EIO, syscall.ENOSPC} {
		for failing := 1; failing <= longLife; failing++ {
			for crash := failing; crash <= longLife; crash++ {
				v := newVolume()
				v.fault, v.err, v.crash = failing, fault, crash
				l := live(t, v, life{})
				v.survivors(func(s *volume) {
					states++
					judge(t, s, l, fmt.Sprintf("call %d met %v, power lost after call %d", failing, fault, crash))
				})
				if v.calls < crash {
					break
				}
			}
		}
	}
	if states < 1000 {
		t.Errorf("only %d states were looked at", states)
	}
	t.Logf("%d states", states)
}

// A directory in which the member may not look was not made by it.
func TestParentThatMayNotBeReadIsNotSynchronised(t *testing.T) {
	v := newVolume()
	if err := makeDir(v, testDir); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		err  error
		want bool
	}{{fs.ErrPermission, true}, {syscall.EIO, false}} {
		w := v.clone()
		w.fault, w.err = 2, c.err // exists, and then syncDir of the parent
		if err := makeDir(w, testDir); (err == nil) != c.want {
			t.Errorf("synchronising the parent fails with %v: makeDir returns %v", c.err, err)
		}
	}
}

// Power is lost after every call of a write to reserved room, and of the write after it.
func TestRecordInReservedRoomSurvivesEveryCrash(t *testing.T) {
	v := newVolume()
	if err := makeDir(v, testDir); err != nil {
		t.Fatal(err)
	}
	d := &Dir{path: testDir, member: "a", files: v}
	if err := errors.Join(d.Write([]byte("1")), v.syncDir(testDir)); err != nil {
		t.Fatal(err)
	}
	for crash := 1; ; crash++ {
		w := v.clone()
		w.crash = crash
		l := life{confirmed: 1, asked: 1}
		d := &Dir{path: testDir, member: "a", files: w}
		for _, write := range []func([]byte) error{d.WriteReserved, d.Write} {
			l.asked++
			if write(fmt.Append(nil, l.asked)) != nil {
				break
			}
			l.confirmed = l.asked
		}
		w.survivors(func(s *volume) { judge(t, s, l, fmt.Sprintf("power lost after call %d", crash)) })
		if w.calls < crash {
			if l.confirmed != 3 {
				t.Errorf("%d was confirmed", l.confirmed)
			}
			return
		}
	}
}
