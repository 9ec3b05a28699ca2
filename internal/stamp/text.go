package stamp

import (
	"fmt"
	"strconv"
	"strings"
)

// The text form of an edict is
//
//	epoch.token.counter:voter/inc@clock,voter/inc@clock,...
//
// such as 0.42.81000450123:0/7@5200450,2/3@998000. All numbers are decimal and in their shortest form. People compare
// two stamps by the three numbers before the colon, from left to right; programs check the rest too. It fits an HTTP
// header and an environment variable: no spaces, quotes or control characters.

// AppendText appends the text form.
func (e Edict) AppendText(b []byte) ([]byte, error) {
	b = strconv.AppendUint(b, e.Epoch, 10)
	b = append(b, '.')
	b = strconv.AppendUint(b, e.Token, 10)
	b = append(b, '.')
	b = strconv.AppendInt(b, e.Counter, 10)
	b = append(b, ':')
	return e.Quorum.AppendText(b)
}

// MarshalText returns the text form, which is also the JSON form.
func (e Edict) MarshalText() ([]byte, error) { return e.AppendText(nil) }

// String returns the text form.
func (e Edict) String() string {
	b, _ := e.AppendText(nil)
	return string(b)
}

// UnmarshalText reads the text form and refuses everything else, with e left alone.
func (e *Edict) UnmarshalText(b []byte) error {
	f, err := Parse(string(b))
	if err == nil {
		*e = f
	}
	return err
}

// Parse reads the text form of an edict.
func Parse(s string) (Edict, error) {
	head, tail, ok := strings.Cut(s, ":")
	part := strings.Split(head, ".")
	if !ok || len(part) != 3 {
		return Edict{}, fmt.Errorf("edict %q: must look like 0.42.7:0/1@5,2/1@9 (epoch.token.counter:voter/inc@clock and so on)", clip(s))
	}
	var e Edict
	var err error
	e.Epoch, err = number(part[0], 64)
	if err != nil {
		return Edict{}, fmt.Errorf("edict %q: epoch: %w", clip(s), err)
	}
	e.Token, err = number(part[1], 64)
	if err != nil {
		return Edict{}, fmt.Errorf("edict %q: token: %w", clip(s), err)
	}
	e.Counter, err = signed(part[2])
	if err != nil {
		return Edict{}, fmt.Errorf("edict %q: counter: %w", clip(s), err)
	}
	e.Quorum, err = parseQuorum(tail)
	if err != nil {
		return Edict{}, fmt.Errorf("edict %q: %w", clip(s), err)
	}
	if err := e.Check(); err != nil {
		return Edict{}, fmt.Errorf("edict %q: %w", clip(s), err)
	}
	return e, nil
}

// AppendText appends the part of the text form that is about the quorum.
func (q Quorum) AppendText(b []byte) ([]byte, error) {
	for i, e := range q {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(e.Voter), 10)
		b = append(b, '/')
		b = strconv.AppendUint(b, uint64(e.Inc), 10)
		b = append(b, '@')
		b = strconv.AppendInt(b, e.Clock, 10)
	}
	return b, nil
}

// MarshalText returns voter/inc@clock,...
func (q Quorum) MarshalText() ([]byte, error) { return q.AppendText(nil) }

// String returns voter/inc@clock,...
func (q Quorum) String() string {
	b, _ := q.AppendText(nil)
	return string(b)
}

// UnmarshalText reads what MarshalText writes, and refuses everything else, with q left alone.
func (q *Quorum) UnmarshalText(b []byte) error {
	r, err := parseQuorum(string(b))
	if err == nil {
		err = r.Check()
	}
	if err == nil {
		*q = r
	}
	return err
}

func parseQuorum(s string) (Quorum, error) {
	n := strings.Count(s, ",") + 1
	if n > MaxVoters {
		return nil, fmt.Errorf("quorum timestamp with %d voters: must have 1 to %d", n, MaxVoters)
	}
	q := make(Quorum, 0, n)
	for part := range strings.SplitSeq(s, ",") {
		voter, rest, ok1 := strings.Cut(part, "/")
		inc, clock, ok2 := strings.Cut(rest, "@")
		if !ok1 || !ok2 {
			return nil, fmt.Errorf("quorum timestamp entry %q: must look like voter/inc@clock", clip(part))
		}
		v, err := number(voter, 16)
		if err != nil {
			return nil, fmt.Errorf("quorum timestamp entry %q: voter: %w", clip(part), err)
		}
		i, err := number(inc, 64)
		if err != nil {
			return nil, fmt.Errorf("quorum timestamp entry %q: incarnation: %w", clip(part), err)
		}
		c, err := signed(clock)
		if err != nil {
			return nil, fmt.Errorf("quorum timestamp entry %q: clock: %w", clip(part), err)
		}
		q = append(q, Entry{Voter: uint16(v), Inc: i, Clock: c})
	}
	return q, nil
}

// number reads an unsigned number in its shortest form.
func number(s string, bits int) (uint64, error) {
	v, err := strconv.ParseUint(s, 10, bits)
	if err != nil || strconv.FormatUint(v, 10) != s {
		return 0, fmt.Errorf("%q is not a plain number of %d bits", clip(s), bits)
	}
	return v, nil
}

// signed reads a signed number in its shortest form.
func signed(s string) (int64, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || strconv.FormatInt(v, 10) != s {
		return 0, fmt.Errorf("%q is not a plain signed number of 64 bits", clip(s))
	}
	return v, nil
}

// clip keeps what a stranger sent from filling a log.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}
