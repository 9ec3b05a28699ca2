package httpd

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/config"
)

// FuzzQuery looks for query parameters that make the agent crash, that it reads as a number out of bounds, or that it takes for tags that the host does not have.
func FuzzQuery(f *testing.F) {
	for _, raw := range []string{"", "limit=7", "limit=0", "limit=-1", "limit=99999999999999999999", "limit=7&limit=x", "limit=%zz", "limit=+7", "tag_zone=a", "tag_zone=b", "tag_x=y&limit=3", "tag_zone=b&tag_zone=a", "tag_=", "tag_x=", "a;b=c"} {
		f.Add(raw)
	}
	const without, most = 100, 1000
	server := &Server{core: newFake(&config.File{Tags: map[string]string{"zone": "a"}})}
	f.Fuzz(func(t *testing.T, raw string) {
		q := &http.Request{Method: "GET", URL: &url.URL{Path: "/v1/groups", RawQuery: raw}}
		n, err := queryInt(q, "limit", without, most)
		text := q.URL.Query().Get("limit")
		given, fault := strconv.Atoi(text)
		var refused *api.Error
		switch {
		case err != nil:
			if !errors.As(err, &refused) || refused.Status != http.StatusBadRequest || text == "" || fault == nil && given >= 1 {
				t.Fatalf("%q: %v", raw, err)
			}
		case text == "" && n != without, text != "" && n != min(given, most), n < 1, n > most:
			t.Fatalf("%q was read as %d", raw, n)
		}
		for pair := range strings.SplitSeq(raw, "&") {
			// The only value of a tag that the host lacks, or has another one for.
			name, value, _ := strings.Cut(pair, "=")
			other := name == "tag_zone" && value == "b" || name == "tag_x" && value == "y"
			if other && len(q.URL.Query()[name]) == 1 && server.tagged(q) {
				t.Fatalf("%q asks for tags that this host has", raw)
			}
		}
	})
}

// FuzzPassedOrder looks for orders of other hosts that make the agent crash, that it does not answer, or that reach it although it must refuse them.
func FuzzPassedOrder(f *testing.F) {
	for _, text := range []string{"", "{}", "null", `{"at":"a","action":"resign","group":"g","body":{}}`, `{"at":"a","action":"resign","group":"quorum","token":"x","body":{"token":7}}`,
		`{"at":"b","action":"transfer","group":"quorum","body":{"to":"b"}}`, `{"at":"a","action":"drain","certificate":"x","body":null}`, `{"at":"a","action":"edict","group":"quorum","body":{}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, s := judge(t, guarded())
		var answer passedAnswer
		if err := json.Unmarshal(s.CarryOut(context.Background(), "z", text), &answer); err != nil || answer.Status == 0 {
			t.Fatalf("%q: %+v, %v", text, answer, err)
		}
		var p passedOrder
		if len(a.wanted) > 0 && (json.Unmarshal(text, &p) != nil || p.At != "a" || p.Token+p.Certificate != "" || !strings.Contains("resign transfer drain undrain", p.Action)) {
			t.Fatalf("%q reached the agent: %v", text, a.wanted)
		}
	})
}
