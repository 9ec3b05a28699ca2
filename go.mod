module github.com/regentproject/regent

go 1.26.0

require (
	golang.org/x/sys v0.49.0 // indirect
	pgregory.net/rapid v1.3.0
)
