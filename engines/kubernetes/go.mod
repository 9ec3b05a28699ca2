module github.com/regentproject/regent/engines/kubernetes

go 1.26.0

require github.com/regentproject/regent v0.0.0-test

require golang.org/x/sys v0.49.0 // indirect
