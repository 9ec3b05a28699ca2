package etcd

import (
	"bytes"
	"context"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc/codes"

	"github.com/regentproject/regent/agent/core"
)

// A watchStream carries watches.
type watchStream struct {
	pb.Watch_WatchServer
	server *Server
	mu     sync.Mutex // of Send
	next   int64
	// cancel ends the watches.
	cancel map[int64]context.CancelFunc
}

// A watching is one watch: of the key of a leader, or of the prefix of an election.
type watching struct {
	id            int64
	group, suffix string
	key           []byte
	start         int64
	seen          *mvccpb.KeyValue
}

// settling is how often to look again who of this host leads.
const settling = 10 * time.Millisecond

// Watch serves the watches of Observe.
func (s *Server) Watch(stream pb.Watch_WatchServer) error {
	w := &watchStream{Watch_WatchServer: stream, server: s, cancel: make(map[int64]context.CancelFunc)}
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(stream.Context())
	defer all.Wait()
	defer cancel()
	for {
		r, err := stream.Recv()
		if err != nil {
			return nil // the client has ended it, or is gone
		}
		switch r := r.RequestUnion.(type) {
		case *pb.WatchRequest_CreateRequest:
			err = w.create(ctx, &all, r.CreateRequest)
		case *pb.WatchRequest_CancelRequest:
			if end := w.cancel[r.CancelRequest.WatchId]; end != nil {
				end()
				delete(w.cancel, r.CancelRequest.WatchId)
				err = w.put(&pb.WatchResponse{Header: s.header(0), WatchId: r.CancelRequest.WatchId, Canceled: true})
			}
		default:
			err = unserved("progress of a watch")
		}
		if err != nil {
			return err
		}
	}
}

// put sends an answer: streams take one at a time.
func (w *watchStream) put(r *pb.WatchResponse) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Send(r)
}

// create begins a watch, or says why it cannot.
func (w *watchStream) create(ctx context.Context, all *sync.WaitGroup, r *pb.WatchCreateRequest) error {
	id := w.next
	w.next++
	o, done, err := w.open(ctx, r)
	if err != nil {
		return w.put(&pb.WatchResponse{Header: w.server.header(0), WatchId: id, Created: true, Canceled: true, CancelReason: err.Error()})
	}
	o.id = id
	watcher, _ := w.server.core.Known().Watch(o.group, core.WatchDepth)
	ctx, w.cancel[id] = context.WithCancel(ctx)
	l := w.server.leaderOf(o.group)
	if err := w.put(&pb.WatchResponse{Header: w.server.header(l.revision), WatchId: id, Created: true}); err != nil {
		done()
		w.server.core.Known().Unwatch(watcher)
		return err
	}
	all.Go(func() {
		defer done()
		defer w.server.core.Known().Unwatch(watcher)
		o.begin(l)
		for {
			l := w.server.leaderOf(o.group)
			var soon <-chan time.Time
			if l.unsettled {
				soon = time.After(settling)
			} else if events := o.events(l); len(events) > 0 {
				revision := events[len(events)-1].Kv.ModRevision
				if w.put(&pb.WatchResponse{Header: w.server.header(revision), WatchId: id, Events: events}) != nil {
					return
				}
			}
			select {
			case <-watcher.C:
			case <-soon:
			case <-ctx.Done():
				return
			}
		}
	})
	return nil
}

// open checks a request, and takes a place among the streams.
func (w *watchStream) open(ctx context.Context, r *pb.WatchCreateRequest) (*watching, func(), error) {
	group, suffix, err := groupOf(r.Key, r.RangeEnd)
	switch {
	case err != nil:
		return nil, nil, err
	case r.WatchId != 0 || r.PrevKv || len(r.Filters) > 0 || suffix == "" && len(r.RangeEnd) == 0:
		return nil, nil, unserved("this watch")
	}
	if err := w.server.permitRead(ctx, group); err != nil {
		return nil, nil, err
	}
	done, err := w.server.core.AcquireStream()
	if err != nil {
		return nil, nil, refusal(codes.ResourceExhausted, err)
	}
	return &watching{group: group, suffix: suffix, key: r.Key, start: r.StartRevision}, done, nil
}

// begin settles what the client has seen. There is no history: a watch from a revision of the past gets the state of now, unless the client has that. The revision
// after the one that it has seen is the one that it asks for.
func (o *watching) begin(l leader) {
	switch kv := o.own(l.kv); {
	case o.start == 0 || kv != nil && l.revision == o.start-1:
		o.seen = kv
	case o.suffix != "":
		o.seen = &mvccpb.KeyValue{Key: o.key}
	}
}

// own returns the key if the watch is about it: one of a single key is not about that of another leader.
func (o *watching) own(kv *mvccpb.KeyValue) *mvccpb.KeyValue {
	if o.suffix != "" && kv != nil && !bytes.Equal(kv.Key, o.key) {
		return nil
	}
	return kv
}

// events returns what has changed since the last call.
func (o *watching) events(l leader) (out []*mvccpb.Event) {
	kv := o.own(l.kv)
	before := o.seen
	o.seen = kv
	if before != nil && (kv == nil || !bytes.Equal(before.Key, kv.Key)) {
		out = append(out, &mvccpb.Event{Type: mvccpb.Event_DELETE, Kv: &mvccpb.KeyValue{Key: before.Key, ModRevision: l.revision}})
	}
	if kv != nil && (before == nil || !bytes.Equal(before.Key, kv.Key) || !bytes.Equal(before.Value, kv.Value) || before.CreateRevision != kv.CreateRevision) {
		out = append(out, &mvccpb.Event{Type: mvccpb.Event_PUT, Kv: kv})
	}
	return out
}
