package agent

import _ "embed"

// description is made of the routes by a test: go test ./agent -run Description -update
//
//go:embed openapi.json
var description []byte

// Description returns the OpenAPI document.
func Description() []byte { return description }
