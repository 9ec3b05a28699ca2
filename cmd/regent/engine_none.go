//go:build noengines

package main

import "github.com/regentproject/regent/agent"

// engines is empty: this program was built without engines.
var engines = agent.Openers{}

var (
	engineSchema = ""
	engineRole   func(namespace, account string) string
)
