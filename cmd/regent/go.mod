module github.com/regentproject/regent/cmd/regent

go 1.26.0

require (
	github.com/regentproject/regent v0.0.0-test
	github.com/regentproject/regent/agent v0.0.0-test
	github.com/spf13/cobra v1.10.2
	golang.org/x/term v0.47.0
	github.com/rogpeppe/go-internal v1.16.0
	golang.org/x/sys v0.49.0
)
