//go:build !noengines

package main

import (
	"github.com/regentproject/regent/agent"
	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/engines/etcd"
	"github.com/regentproject/regent/engines/kubernetes"
	"github.com/regentproject/regent/engines/postgres"
	facade "github.com/regentproject/regent/facades/etcd"
)

// engines are those that this program has. The tag noengines leaves them out, with 17 MB of clients.
var engines = agent.Openers{"etcd": etcd.Open, "kubernetes": kubernetes.Open, "postgres": postgres.Open}

// engineSchema makes the table for PostgreSQL, and engineRole the manifest of the rights on Kubernetes.
var (
	engineSchema = postgres.Schema
	engineRole   = kubernetes.Role
)

// etcdServer serves elections to clients of etcd.
var etcdServer = func(a *core.Agent, g *access.Gate) agent.EtcdServer { return facade.New(a, g) }
