package agent

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/httpd"
)

// An etcdListener is where clients of etcd find elections. The zero one is nowhere.
type etcdListener struct {
	server EtcdServer
	on     net.Listener
	tls    *tls.Config
}

// listen opens the port, if the configuration has one. No connection makes room for another: a client that waits to lead has nothing to send.
func (e *etcdListener) listen(a *Agent, file *config.File) error {
	if file.Etcd.Listen == "" {
		return nil
	}
	var conf *tls.Config
	if file.HTTP.TLS.Cert != "" {
		var err error
		conf, err = a.tls(file)
		if err != nil {
			return err
		}
	}
	plain, err := net.Listen("tcp", file.Etcd.Listen)
	if err != nil {
		return fmt.Errorf("etcd.listen: %w: does a server of etcd run on this host? change etcd.listen, or leave it out", err)
	}
	admission := httpd.NewAdmission(plain, func() *config.Limits { return &a.core.Config().Limits })
	admission.Stay = true
	e.server, e.on, e.tls = a.options.Etcd(a.core, a.gate), admission, conf
	return nil
}

// serve serves until close.
func (e *etcdListener) serve(log *slog.Logger) {
	if e.server == nil {
		return
	}
	if err := e.server.Serve(e.on, e.tls); err != nil && !errors.Is(err, net.ErrClosed) {
		log.Error("elections are not served to clients of etcd any more", "err", err)
	}
}

// close hangs up on everybody.
func (e *etcdListener) close() {
	if e.server != nil {
		e.server.Close()
		_ = e.on.Close()
	}
}

// address returns where it listens; empty if it does not.
func (e *etcdListener) address() string {
	if e.on == nil {
		return ""
	}
	return e.on.Addr().String()
}
