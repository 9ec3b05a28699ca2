package transport

import (
	"net/netip"
	"sync"
	"sync/atomic"
)

// A Pump reads a connection on a goroutine of its own, so that a loop can take what has come without waiting. Use it
// where the loop cannot poll the connection itself.
type Pump struct {
	Conn
	wake func()
	full chan Packet
	// free holds buffers; as many as there are bound how much a flood can make the pump hold.
	free chan []byte
	lost atomic.Uint64
	err  atomic.Pointer[error]
	done sync.WaitGroup
}

// NewPump starts to read. It keeps at most depth datagrams of at most size bytes; longer ones and those that find no
// room are lost and counted. It calls wake, from its own goroutine, when there is something to read.
func NewPump(c Conn, depth, size int, wake func()) *Pump {
	p := &Pump{Conn: c, wake: wake, full: make(chan Packet, depth), free: make(chan []byte, depth)}
	for range depth {
		p.free <- make([]byte, 0, size)
	}
	p.done.Go(p.run)
	return p
}

func (p *Pump) run() {
	in := NewPackets(16)
	for {
		n, err := p.Conn.Read(in)
		if err != nil {
			p.err.Store(&err)
			p.wake()
			return
		}
		for _, q := range in[:n] {
			p.put(q.Data, q.Addr)
		}
		p.wake()
	}
}

func (p *Pump) put(data []byte, from netip.AddrPort) {
	select {
	case buf := <-p.free:
		if len(data) > cap(buf) {
			p.free <- buf
			break
		}
		p.full <- Packet{append(buf[:0], data...), from}
		return
	default:
	}
	p.lost.Add(1)
}

// TryRead takes what has come. It returns the reader's error once there is nothing left.
func (p *Pump) TryRead(ps []Packet) (int, error) {
	for i := range ps {
		select {
		case q := <-p.full:
			ps[i].Data = append(ps[i].Data[:0], q.Data...)
			ps[i].Addr = q.Addr
			p.free <- q.Data[:0]
		default:
			if err := p.err.Load(); i == 0 && err != nil {
				return 0, *err
			}
			return i, nil
		}
	}
	return len(ps), nil
}

// Lost returns how many datagrams found no room.
func (p *Pump) Lost() uint64 { return p.lost.Load() }

// Close closes the connection and waits for the reader.
func (p *Pump) Close() error {
	err := p.Conn.Close()
	p.done.Wait()
	return err
}
