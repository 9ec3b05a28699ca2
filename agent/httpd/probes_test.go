package httpd

import (
	"net/http"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/config"
)

// The listener for probes answers role endpoints and nothing else, whatever credentials a request has.
func TestProbesAnswerRolesOnly(t *testing.T) {
	roles := make(map[string]bool)
	for _, r := range roleChecks {
		roles[r.path] = true
	}
	for name, file := range map[string]*config.File{"guarded": guarded(), "open": {DefaultGroup: "quorum", HTTP: config.HTTP{Anonymous: "write"}}} {
		a := newFake(file)
		s := newServer(t, a)
		s.Dashboard = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
		h := s.Probes()
		for _, r := range append(s.Routes(), Route{Method: "GET", Path: pagePath}, Route{Method: "POST", Path: pagePath + "login"}) {
			at := strings.TrimPrefix(strings.TrimPrefix(r.Path, "/v1/groups/{group}"), "/")
			role := roles[at]
			for _, token := range []string{"", "reader", "operator"} {
				got := ask(t, h, token, r.Method, strings.ReplaceAll(r.Path, "{group}", "quorum"), "").Code
				switch {
				case !role && got != http.StatusNotFound && got != http.StatusMethodNotAllowed:
					t.Errorf("%s: %s %s by %q: status %d", name, r.Method, r.Path, token, got)
				case role && name == "open" && got != http.StatusOK && got != http.StatusServiceUnavailable:
					t.Errorf("%s: %s %s by %q: status %d", name, r.Method, r.Path, token, got)
				case role && name == "guarded" && got != http.StatusForbidden && got != http.StatusUnauthorized:
					t.Errorf("%s: %s %s by %q, who may not read the group: status %d", name, r.Method, r.Path, token, got)
				}
			}
		}
	}
}
