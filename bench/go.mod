module github.com/regentproject/regent/bench

go 1.26.0

require (
	github.com/regentproject/regent v0.0.0-test
	github.com/regentproject/regent/agent v0.0.0-test
	golang.org/x/sys v0.49.0
)

require (
	github.com/fxamacker/cbor/v2 v2.9.6 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	golang.org/x/crypto v0.58.0 // indirect
)
