//go:build engines

package kubernetes

import (
	"context"
	"testing"
	"time"

	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/engine/enginetest"
	"github.com/regentproject/regent/engines/kubernetes/kubetest"
)

func TestMain(m *testing.M) { enginetest.Main(m, open) }

func open(_ context.Context, address string) (engine.Engine, error) {
	e, _, err := Open("http://" + address + "/" + kubetest.Namespace)
	return e, err
}

func TestKubernetesPassesTheTestOfEngines(t *testing.T) {
	server, _ := serve(t)
	enginetest.Run(t, enginetest.Subject{Address: server.Address(), Lease: 4 * time.Second,
		Crash: func(t *testing.T) {
			if err := server.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
		},
		Delete: func(_ *testing.T, group string) { server.Delete(group) }})
}
