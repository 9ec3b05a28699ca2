module github.com/regentproject/regent/examples

go 1.26.0

require (
	github.com/regentproject/regent v0.0.0-test
	github.com/regentproject/regent/agent v0.0.0-test
	modernc.org/sqlite v1.60.1
)
