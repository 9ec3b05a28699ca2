module github.com/regentproject/regent/agent

go 1.26.0

require (
	github.com/regentproject/regent v0.0.0-test
	github.com/goccy/go-yaml v1.19.2
	github.com/prometheus/client_golang v1.25.0
	golang.org/x/sys v0.49.0
	golang.org/x/term v0.47.0
	github.com/chromedp/cdproto v0.157.8
	github.com/chromedp/chromedp v0.21.0
	pgregory.net/rapid v1.3.0
)
