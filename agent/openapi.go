package agent

import (
	_ "embed"
	"net/http"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/httpd"
)

// description is made of the routes by a test: go test ./agent -run Description -update
//
//go:embed openapi.json
var description []byte

// descriptionRoute is the route of the description.
func descriptionRoute() httpd.Route {
	return httpd.Route{Method: "GET", Path: "/v1/openapi.json", Summary: "This description.", Out: map[int]any{200: map[string]any{}},
		Serve: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(Description())
		}}
}

// metricsRoute is the route of the metrics.
func metricsRoute(h http.Handler) httpd.Route {
	return httpd.Route{Method: "GET", Path: "/metrics", Requires: access.Reader, All: true, Summary: "For Prometheus, as text.", Out: map[int]any{200: ""}, Serve: h.ServeHTTP}
}

// Description returns the OpenAPI document.
func Description() []byte { return description }
