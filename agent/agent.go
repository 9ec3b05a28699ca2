package agent

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/agent/httpd"
	"github.com/regentproject/regent/agent/metrics"
	"github.com/regentproject/regent/agent/patroni"
	"github.com/regentproject/regent/agent/socket"
	"github.com/regentproject/regent/internal/runtime/thread"
	"github.com/regentproject/regent/roster"
	"github.com/regentproject/regent/view"
)

// Options is what an agent needs beside its configuration.
type Options struct {
	// Config is the path of the configuration, which is read again when the process gets SIGHUP.
	Config string
	// Version is shown in the status.
	Version string
	// Dashboard, if it is set, makes what serves the pages for people, below /ui/. access.MayWrite says of a request whether its
	// sender may do more than look.
	Dashboard func(*Agent) http.Handler
	// Log is where lines for the operator go; nil is the standard error.
	Log io.Writer
	// Engines are those that a configuration may name.
	Engines Openers
	// Etcd, if it is set, makes what serves elections to clients of etcd. EtcdListen is where, in place of etcd.listen in the configuration.
	Etcd       func(*core.Agent, *access.Gate) EtcdServer
	EtcdListen string
	// Ready, if it is set, is called with the address of the HTTP interface once the agent can be asked.
	Ready func(http string)
}

// An EtcdServer serves elections to clients of etcd that connect by a listener, without TLS if conf is nil.
type EtcdServer interface {
	Serve(l net.Listener, conf *tls.Config) error
	Close()
}

// Agent is a member of the council that elects for other programs: the rooms of the agent, put together.
type Agent struct {
	core    *core.Agent
	gate    *access.Gate
	options Options
	level   *slog.LevelVar
	// endLog writes lines that the log has gathered.
	endLog func()
	// reloading is held while a configuration is put into force. putKeys, which it guards, does that with keys once there is a member.
	reloading sync.Mutex
	putKeys   func(regent.Config) error
	// closeEngine closes the engine; nil: there is none.
	closeEngine func() error
	// keys tells the keys in force that are in files from others.
	keys     atomic.Pointer[secretKeys]
	programs *socket.Server
	web      *httpd.Server
	patroni  *patroni.Adapter
	handler  http.Handler
}

// Run runs an agent until ctx ends, and then lets it leave in good order.
func Run(ctx context.Context, o Options) error {
	file, err := o.load()
	if err != nil {
		return err
	}
	a, err := newAgent(file, o)
	if err != nil {
		return err
	}
	defer a.endLog()
	thread.Spare() // for the member and for killers
	if c := holdAwake(a.core.Timing, a.core.Ordinary, thread.HoldAwake, a.core.Log); c != nil {
		defer c.Close()
	}
	return a.run(ctx)
}

// load reads the configuration.
func (o *Options) load() (*config.File, error) {
	file, err := config.Load(o.Config)
	if err != nil {
		return nil, err
	}
	if o.EtcdListen != "" {
		file.Etcd.Listen = o.EtcdListen
		if err := file.Check(); err != nil {
			return nil, err
		}
	}
	if file.Etcd.Listen != "" && o.Etcd == nil {
		return nil, errors.New("etcd.listen: this program was built without elections for clients of etcd (build it without the tag noengines, or leave the key out)")
	}
	return file, nil
}

func newAgent(file *config.File, o Options) (*Agent, error) {
	c, err := file.Regent()
	if err != nil {
		return nil, err
	}
	to := o.Log
	if to == nil {
		to = os.Stderr
	}
	level := new(slog.LevelVar)
	log, end := newLog(to, file.LogFormat, level)
	core, err := core.New(file, &c, o.Version, log)
	if err != nil {
		return nil, err
	}
	a := &Agent{core: core, gate: access.NewGate(log), options: o, level: level, endLog: end}
	adopt, err := a.prepare(file)
	if err != nil {
		return nil, err
	}
	adopt()
	a.programs = socket.New(a.core, a.gate)
	a.web = httpd.New(a.core, a.gate)
	a.web.Reread = a.reread
	a.core.TakeOrders(a.web.CarryOut)
	a.patroni = patroni.New(a.core, a.web)
	if o.Dashboard != nil {
		a.web.Dashboard = o.Dashboard(a)
	}
	a.handler = a.web.Handler(a.routes())
	return a, nil
}

// routes are those of all rooms.
func (a *Agent) routes() []httpd.Route {
	c := &metrics.Collector{Source: a.core, AuditLost: a.gate.Audit.EverLost, Connections: a.web.Connections}
	all := append(a.web.Routes(), a.patroni.Routes()...)
	return append(all, metricsRoute(metrics.Handler(c)), descriptionRoute())
}

// prepare checks what can change while the agent runs, and returns how to put it into force.
func (a *Agent) prepare(file *config.File) (adopt func(), err error) {
	level, err := file.Level()
	if err != nil {
		return nil, err
	}
	rights, err := access.NewRules(file)
	if err != nil {
		return nil, err
	}
	if err := checkOpenFiles(&file.Limits); err != nil {
		return nil, err
	}
	return func() {
		a.level.Set(level)
		a.gate.SetAccess(rights)
		a.gate.Audit.SetPath(file.Audit)
		a.core.SetConfig(file)
		if err := socket.MayAdd(); len(file.Addresses) > 0 && err != nil {
			a.core.Log.Warn("addresses of the configuration cannot be used", "err", err)
		}
	}, nil
}

func (a *Agent) run(ctx context.Context) error {
	s, err := a.listen()
	if err != nil {
		return err
	}
	defer s.close()
	defer a.patroni.Close()
	background, cancel := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	defer func() { cancel(); tasks.Wait() }()
	a.core.Start(background, &tasks)
	tasks.Go(func() { a.gate.Audit.Run(background) })
	tasks.Go(func() { s.serve(background) })
	tasks.Go(func() { a.reloads(background, s) })
	tasks.Go(func() { a.watchdog(background) })
	if a.options.Ready != nil {
		a.options.Ready(s.address())
	}
	notify("READY=1", "STATUS=waiting for the council")
	a.core.Log.Info("the agent listens", "socket", a.core.Config().Socket.Path, "http", s.address(), "probes", a.core.Config().HTTP.Probes, "etcd", s.etcd.address())
	if err := a.join(ctx); err != nil {
		a.core.Fail()
		notify("STOPPING=1")
		switch {
		case ctx.Err() != nil:
			a.core.Log.Info("stopped before the member took part", "waiting", err)
			return nil
		case errors.Is(err, roster.ErrRemoved) && a.removed():
			a.logRemoved()
			return nil
		}
		return err
	}
	notify("STATUS=takes part as " + a.core.Name)
	here, leave := context.WithCancel(ctx)
	defer leave()
	a.core.TakePart(here, &tasks)
	select {
	case <-ctx.Done():
	case <-a.core.Removed: // the member leaves by itself; the agent sees to it that programs have stopped, and ends
	}
	notify("STOPPING=1", "STATUS=programs are asked to stop")
	err = a.core.Leave(s.drain)
	if a.closeEngine != nil {
		err = errors.Join(err, a.closeEngine())
	}
	if err == nil && a.removed() {
		a.logRemoved()
	}
	return err
}

// removed says that the council has removed this host since the start.
func (a *Agent) removed() bool {
	select {
	case <-a.core.Removed:
		return true
	default:
		return false
	}
}

func (a *Agent) logRemoved() {
	a.core.Log.Info("the council has removed this host: the agent ends, and does not start again from this directory")
}

// join makes the agent a member.
func (a *Agent) join(ctx context.Context) error {
	file := a.core.Config()
	c, err := file.Regent()
	if err != nil {
		return err
	}
	a.keys.Store(digestKeys(&c))
	n, done, err := a.elector(file)
	if err != nil {
		return err
	}
	a.closeEngine = done
	return a.core.JoinBy(ctx, c, n, a.takeRekey)
}

// reloads reads the configuration again whenever the process is asked to.
func (a *Agent) reloads(ctx context.Context, s *server) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-hup:
			a.reload(s)
		case <-ctx.Done():
			return
		}
	}
}

// Resign asks the program that leads a group, on whatever host, to stop, and waits until the group was given up.
// If there is a token, the order is for the leadership with that token only.
func (a *Agent) Resign(ctx context.Context, group string, token uint64) error {
	_, _, err := a.web.Give(ctx, "resign", group, &api.ResignOrder{Token: token})
	return err
}

// Transfer asks the program that leads a group, on whatever host, to stop, and waits until a member leads that was named.
func (a *Agent) Transfer(ctx context.Context, group, to string, token uint64) error {
	_, _, err := a.web.Give(ctx, "transfer", group, &api.TransferOrder{To: to, Token: token})
	return err
}

// Drain moves all leadership away from a host and keeps it away, or lets programs of that host lead again.
func (a *Agent) Drain(ctx context.Context, member string, drain bool) (out api.Drained, err error) {
	action := "drain"
	if !drain {
		action = "undrain"
	}
	_, done, err := a.web.Give(ctx, action, "", &api.DrainOrder{Member: member})
	if err != nil {
		return out, err
	}
	text, err := json.Marshal(done) // that of another host is JSON already
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(text, &out)
}

// Status returns how the agent and its member are, without the id of the council. It is for the dashboard, as are Members, Groups and Changes.
func (a *Agent) Status() api.AgentStatus { return a.core.Status() }

// Members returns the council, as this member knows it; nil before the member speaks to others.
func (a *Agent) Members() []regent.PeerStatus { return a.core.Members() }

// Views asks all members who leads a quorum group.
func (a *Agent) Views(ctx context.Context, group string) ([]view.MemberView, error) {
	return a.core.Views(ctx, group)
}

// Reports returns how all members that answer are by their own word, and what they believe of groups.
func (a *Agent) Reports(ctx context.Context, groups []string) []api.Report {
	return a.web.Reports(ctx, groups)
}

// Groups returns what is known about all groups, by name.
func (a *Agent) Groups() []api.GroupInfo { return a.core.Groups() }

// Changes returns what changed lately in all groups, oldest first, as far as it is kept.
func (a *Agent) Changes() []api.Change { return a.core.Changes() }

// CouncilChanges returns the last changes of the council, oldest first.
func (a *Agent) CouncilChanges() []api.CouncilChange { return a.core.CouncilChanges() }
