// Package header has side effects in the headers of if statements.
package header

type lease struct {
	void  bool
	count int
	next  *lease
}

func (l *lease) load() error { return nil }

func (l *lease) smuggle(other *lease) int {
	if l.void = true; other.void { // want "l.void"
		return 1
	}
	if l.count++; other.count > 3 { // want "l.count"
		return 2
	}
	if l.count, l.void = 1, true; l.next != nil { // want "l.count"
		return 3
	} else if l.count += 2; l.void { // want "l.count"
		return 4
	}
	return 0
}

func (l *lease) about(other *lease) error {
	var err error
	if err = l.load(); err != nil {
		return err
	}
	if l.void, err = true, l.load(); err != nil { // want "l.void"
		return err
	}
	if l = l.next; l.next != nil {
		return nil
	}
	if l.next = other.next; l.next.count > 0 { // want "l.next"
		return nil
	}
	if n := other.count; l.void {
		l.count = n
	}
	if l.count++; l.count > 3 {
		l.count = 0
	}
	return nil
}
