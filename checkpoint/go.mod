module github.com/regentproject/regent/checkpoint

go 1.26.0

require (
	github.com/klauspost/reedsolomon v1.14.2
	github.com/regentproject/regent v0.0.0-test
)

require (
	github.com/fxamacker/cbor/v2 v2.9.6 // indirect
	github.com/klauspost/cpuid/v2 v2.3.0 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
