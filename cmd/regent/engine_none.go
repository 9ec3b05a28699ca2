//go:build noengines

package main

import (
	"github.com/regentproject/regent/agent"
	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/core"
)

// engines is empty: this program was built without engines.
var engines = agent.Openers{}

var (
	engineSchema = ""
	engineRole   func(namespace, account string) string
)

// etcdServer is not there: it would need gRPC.
var etcdServer func(*core.Agent, *access.Gate) agent.EtcdServer
