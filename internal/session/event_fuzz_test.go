package session

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzEvent looks for lines of an agent that make a program crash. A program may dial a socket that is no agent's.
func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"event":"leads","id":1,"token":7,"until_ns":5}` + "\n"))
	f.Add([]byte(`{"event":"extended","ids":[1,2],"until_ns":9}` + "\n" + `{"event":"lost","id":1}` + "\n"))
	f.Add([]byte(`{"event":"leads","id":1,"turn":3,"until_ns":5}` + "\n"))
	f.Add([]byte(`{"event":"leads","id":1,"token":3,"view":{},"until_ns":5}` + "\n" + `{"event":"agreed","id":1,"view":{"agreement":{"recover":true}}}` + "\n"))
	f.Add([]byte(`{"event":"failed","id":2,"error":"no"}` + "\n\n"))
	const longest = 5 << 10 // longer than the reader's buffer
	f.Add([]byte(strings.Repeat(" ", longest-9) + "{}\n"))
	f.Add([]byte(strings.Repeat(" ", longest) + "{}\n"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		answered := make(chan Event, 1)
		watched := 0
		c := &Conn{answers: map[uint64]chan Event{1: answered}, watches: map[uint64]func(Event){2: func(Event) { watched++ }}, candidacies: make(map[uint64]*Candidacy)}
		in := NewReader(bytes.NewReader(lines), longest)
		for n := 0; ; n++ {
			line, err := in.Line()
			if err != nil {
				return
			}
			if len(line) > longest || n > len(lines) {
				t.Fatalf("line %d has %d bytes", n, len(line))
			}
			var e Event
			if json.Unmarshal(line, &e) == nil {
				c.dispatch(e)
			}
		}
	})
}
