package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/regentproject/regent/agent/api"
)

// FuzzEvents looks for streams of an agent that make a command crash. A command may have reached a socket that is no agent's.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("event: group\ndata: {\"group\":\"g\",\ndata: \"leader\":\"a\"}\n\n"))
	f.Add([]byte(": a comment\nid: 7\r\nevent: status\r\ndata: {}\r\n\r\nevent: end\n\n"))
	f.Add([]byte("data: lost\n\nevent: x"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		events, size := 0, 0
		err := readEvents(bytes.NewReader(stream), func(e event) (bool, error) {
			events++
			size += len(e.name) + len(e.data)
			var group api.GroupInfo
			var missed api.StreamEvent
			_, _ = json.Unmarshal(e.data, &group), json.Unmarshal(e.data, &missed)
			return true, nil
		})
		if !errors.Is(err, errHungUp) || size > len(stream) || events > len(stream) {
			t.Fatalf("%d bytes are %d events with %d bytes, %v", len(stream), events, size, err)
		}
	})
}
