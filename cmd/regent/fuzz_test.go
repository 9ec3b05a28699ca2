package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
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

// FuzzArguments looks for command lines that make a command crash before it does anything. Arguments are lines.
func FuzzArguments(f *testing.F) {
	for _, line := range []string{"run\nbilling\n--guard\n1s\n--\nsleep\n1", "run\n--mode\nlocal\n--lease\n-1s\ng\n--\nx", "who", "status\n--json", "init\na=1.2.3.4:7\nb\n--loopback", "transfer\ng\nb\n--to",
		"keys\nrevoke\nc\n--config\nx", "config\ncheck\n-", "edict\nverify", "history\ng\n--limit\n99999999999999999999", "--help", "completion\nbash", "nothing", "run\n--announce\nhttp://x\ng", ""} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		root := rootCommand()
		c, rest, err := root.Find(strings.Split(text, "\n"))
		if err != nil || c.DisableFlagParsing {
			return
		}
		if err := c.ParseFlags(rest); err != nil {
			if err.Error() == "" {
				t.Fatalf("%q is refused without a reason", text)
			}
			return
		}
		if err := c.ValidateArgs(c.Flags().Args()); err != nil && err.Error() == "" {
			t.Fatalf("%q is refused without a reason", text)
		}
	})
}
