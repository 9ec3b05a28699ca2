package enginetest

import (
	"io"
	"net"
	"sync"
	"time"
)

// A Link is the way of one contender to the system that elects, which the test disturbs.
type Link interface {
	// Address is what the contender opens the engine with.
	Address() string
	// Set sets how long answers take, whether they are lost, and whether nothing passes in either direction.
	Set(delay time.Duration, mute, refuse bool)
	// Cut cuts the connections that there are.
	Cut()
	Close()
}

// A proxy stands between contenders and the server, and disturbs what passes.
type proxy struct {
	listener net.Listener
	server   string

	mu sync.Mutex
	// delay is how long answers take, mute has them lost, and refuse cuts connections.
	delay  time.Duration
	mute   bool
	refuse bool
	conns  map[net.Conn]bool
}

func newProxy(server string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, server: server, conns: make(map[net.Conn]bool)}
	go p.serve()
	return p, nil
}

func (p *proxy) Address() string { return p.listener.Addr().String() }

// Set changes what is disturbed.
func (p *proxy) Set(delay time.Duration, mute, refuse bool) {
	p.mu.Lock()
	p.delay, p.mute, p.refuse = delay, mute, refuse
	p.mu.Unlock()
	if refuse {
		p.Cut()
	}
}

// Cut cuts all connections that there are.
func (p *proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *proxy) Close() {
	_ = p.listener.Close()
	p.Cut()
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.pass(client)
	}
}

// keep has a connection cut with the others; false: it is cut at once.
func (p *proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
	return !p.refuse
}

func (p *proxy) drop(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *proxy) pass(client net.Conn) {
	defer p.drop(client)
	if !p.keep(client) {
		return
	}
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer p.drop(server)
	if !p.keep(server) {
		return
	}
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	p.answers(client, server)
}

// answers passes what the server answers.
func (p *proxy) answers(client, server net.Conn) {
	type chunk struct {
		at   time.Time
		data []byte
	}
	queue := make(chan chunk, 1024)
	go func() {
		defer client.Close()
		for c := range queue {
			time.Sleep(time.Until(c.at)) // wall clock: answers of a real server are delayed
			if _, err := client.Write(c.data); err != nil {
				_ = server.Close()
				return
			}
		}
	}()
	defer close(queue)
	buffer := make([]byte, 32<<10)
	for {
		n, err := server.Read(buffer)
		p.mu.Lock()
		delay, mute := p.delay, p.mute
		p.mu.Unlock()
		if n > 0 && !mute {
			queue <- chunk{time.Now().Add(delay), append([]byte(nil), buffer[:n]...)}
		}
		if err != nil {
			return
		}
	}
}
