package httpd

import (
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
