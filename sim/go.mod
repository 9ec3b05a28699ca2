module github.com/regentproject/regent/sim

go 1.26.0

require (
	github.com/regentproject/regent v0.0.0-test
	github.com/regentproject/regent/agent v0.0.0-test
	gonum.org/v1/plot v0.17.0
	github.com/spf13/cobra v1.10.2
	golang.org/x/term v0.47.0
)
