package etcd

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/facades/etcd/internal/belief"
	"github.com/regentproject/regent/internal/session"
)

// groupOf returns the group that a key or the prefix of an election names: what is before the last slash. The key is empty for a prefix.
func groupOf(key, end []byte) (group, suffix string, err error) {
	i := bytes.LastIndexByte(key, '/')
	if i < 1 {
		return "", "", unserved(fmt.Sprintf("the key %.40q", key))
	}
	group, suffix = string(key[:i]), string(key[i+1:])
	if len(end) > 0 && (suffix != "" || !bytes.Equal(end, append(bytes.Clone(key[:i]), '/'+1))) {
		return "", "", unserved(fmt.Sprintf("the range from %.40q to %.40q", key, end))
	}
	if err := session.CheckGroup(group); err != nil {
		return "", "", status.Error(codes.InvalidArgument, err.Error())
	}
	return group, suffix, nil
}

// A leader is the key of a group, as clients of etcd see it.
type leader struct {
	kv *mvccpb.KeyValue // nil: nobody leads
	// revision grows with every change that this agent sees.
	revision int64
	// unsettled says that a program of this host leads, and that it will be known in a moment whether it is a client of etcd.
	unsettled bool
}

// leaderOf returns the key of a group. It has the name of the leader's session if that is here.
func (s *Server) leaderOf(group string) leader {
	c, _ := s.core.Known().Group(group)
	l := leader{revision: 1}
	var token uint64
	var value, key string
	if c != nil {
		l.revision = int64(c.Token + c.Serial)
		if c.Leader != "" {
			token, value, key = c.Token, c.Value, group+"/"+strconv.FormatUint(c.Token, 16)
		}
	}
	var lease int64
	waiting := false
	s.mu.Lock()
	for own := range s.groups[group] {
		switch t := own.token(); {
		case t == 0:
			waiting = true
		case t > token && own.leads.Load(): // the agent's log does not show it yet
			token, value, key, lease = t, *own.value.Load(), own.key, own.session.id
		case t == token:
			key, lease = own.key, own.session.id
		}
	}
	s.mu.Unlock()
	if waiting && lease == 0 && c != nil && c.Mine {
		k := s.core.Leader(group)
		l.unsettled = k == nil || k.Token() != token
	}
	if token != 0 && !l.unsettled {
		l.revision = max(l.revision, int64(token))
		l.kv = &mvccpb.KeyValue{Key: []byte(key), Value: []byte(value), CreateRevision: int64(token), ModRevision: l.revision, Version: 1, Lease: lease}
	}
	return l
}

// Range returns the key of a group, by the key or by the prefix of an election.
func (s *Server) Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	group, suffix, err := groupOf(r.Key, r.RangeEnd)
	if err != nil {
		return nil, err
	}
	if r.Revision != 0 || r.MinModRevision != 0 || r.MaxModRevision != 0 || r.MinCreateRevision != 0 {
		return nil, unserved("a read of the past")
	}
	if err := s.permitRead(ctx, group); err != nil {
		return nil, err
	}
	l := s.leaderOf(group)
	out := &pb.RangeResponse{Header: s.header(l.revision)}
	// A candidate asks for keys older than its own. Of the first leadership of a group, whose token is 1, it asks for those up to 0, which is any.
	oldest := l.kv != nil && l.kv.CreateRevision == 1 && r.MaxCreateRevision == 0 && r.SortTarget == pb.RangeRequest_CREATE && r.SortOrder == pb.RangeRequest_DESCEND
	if l.kv == nil || oldest || suffix != "" && !bytes.Equal(l.kv.Key, r.Key) || len(r.RangeEnd) == 0 && suffix == "" || r.MaxCreateRevision != 0 && l.kv.CreateRevision > r.MaxCreateRevision {
		return out, nil
	}
	out.Count = 1
	if r.CountOnly {
		return out, nil
	}
	if r.KeysOnly {
		l.kv.Value = nil
	}
	out.Kvs = []*mvccpb.KeyValue{l.kv}
	return out, nil
}

// Txn serves the transactions of an election: to campaign, to proclaim and to resign.
func (s *Server) Txn(ctx context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	if len(r.Compare) != 1 || r.Compare[0].Result != pb.Compare_EQUAL || r.Compare[0].Target != pb.Compare_CREATE || len(r.Compare[0].RangeEnd) > 0 || len(r.Success) == 0 || len(r.Failure) > 2 {
		return nil, unserved("this transaction")
	}
	key, created := r.Compare[0].Key, r.Compare[0].GetCreateRevision()
	if len(r.Success) > 1 || len(r.Failure) > 1 {
		if len(r.Success) == 2 && created == 0 && r.Success[0].GetRequestPut() != nil && r.Success[1].GetRequestRange() != nil {
			return nil, errLock
		}
		return nil, unserved("this transaction")
	}
	put, remove := r.Success[0].GetRequestPut(), r.Success[0].GetRequestDeleteRange()
	switch {
	case put != nil && bytes.Equal(put.Key, key) && !put.PrevKv && !put.IgnoreLease && !put.IgnoreValue:
		if created == 0 {
			return s.campaign(ctx, put)
		}
		return s.proclaim(ctx, put, created)
	case remove != nil && bytes.Equal(remove.Key, key) && len(remove.RangeEnd) == 0 && created != 0:
		return s.resign(ctx, remove, created)
	}
	return nil, unserved("this transaction")
}

// campaign waits until the client leads.
func (s *Server) campaign(ctx context.Context, put *pb.PutRequest) (*pb.TxnResponse, error) {
	group, _, err := groupOf(put.Key, nil)
	if err != nil {
		return nil, err
	}
	if err := s.permitLead(ctx, group); err != nil {
		return nil, err
	}
	if err := session.CheckValue(string(put.Value)); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if mode := s.core.ModeOf(group); mode != regent.Quorum {
		return nil, status.Errorf(codes.FailedPrecondition, "group %.40q is %s here: clients of etcd campaign in quorum groups only", group, mode)
	}
	if err := s.checkTokens(); err != nil {
		return nil, err
	}
	ttl, guard, err := s.ttlOf(group)
	if err != nil {
		return nil, err
	}
	n := s.find(ctx, put.Lease)
	if n == nil {
		return nil, rpctypes.ErrGRPCLeaseNotFound
	}
	if keyOf(group, n.id) != string(put.Key) {
		return nil, unserved(fmt.Sprintf("the key %.40q, which is not that of an election with the lease %x,", put.Key, n.id))
	}
	c, led, err := n.join(group, string(put.Value), belief.Granted(ttl, ttl), guard)
	if err != nil {
		return nil, err
	}
	if !led {
		select {
		case <-c.settled:
		case <-ctx.Done():
		}
		if err := n.joined(c, ctx.Err()); err != nil {
			return nil, err
		}
		return &pb.TxnResponse{Header: s.header(int64(c.token())), Succeeded: true,
			Responses: []*pb.ResponseOp{{Response: &pb.ResponseOp_ResponsePut{ResponsePut: &pb.PutResponse{Header: s.header(int64(c.token()))}}}}}, nil
	}
	token := int64(c.token())
	found := &pb.RangeResponse{Header: s.header(token), Count: 1, Kvs: []*mvccpb.KeyValue{{Key: put.Key, Value: []byte(*c.value.Load()), CreateRevision: token, ModRevision: token, Version: 1, Lease: n.id}}}
	return &pb.TxnResponse{Header: s.header(token), Responses: []*pb.ResponseOp{{Response: &pb.ResponseOp_ResponseRange{ResponseRange: found}}}}, nil
}

// ledBy returns the leadership that a transaction is about; nil: there is none any more.
func (s *Server) ledBy(ctx context.Context, key []byte, created int64) (*campaign, error) {
	group, suffix, err := groupOf(key, nil)
	if err != nil {
		return nil, err
	}
	if err := s.permitLead(ctx, group); err != nil {
		return nil, err
	}
	id, err := strconv.ParseInt(strings.ToLower(suffix), 16, 64)
	if err != nil {
		return nil, nil
	}
	n := s.find(ctx, id)
	if n == nil {
		return nil, nil
	}
	return n.led(group, uint64(created)), nil
}

// proclaim changes what the leader announces.
func (s *Server) proclaim(ctx context.Context, put *pb.PutRequest, created int64) (*pb.TxnResponse, error) {
	if err := session.CheckValue(string(put.Value)); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	c, err := s.ledBy(ctx, put.Key, created)
	if err != nil {
		return nil, err
	}
	if c == nil || put.Lease != c.session.id || c.candidate.Load().SetValue(string(put.Value)) != nil {
		return &pb.TxnResponse{Header: s.header(created)}, nil
	}
	value := string(put.Value)
	c.value.Store(&value)
	return &pb.TxnResponse{Header: s.header(created), Succeeded: true,
		Responses: []*pb.ResponseOp{{Response: &pb.ResponseOp_ResponsePut{ResponsePut: &pb.PutResponse{Header: s.header(created)}}}}}, nil
}

// resign gives the group up. It is answered when that is done.
func (s *Server) resign(ctx context.Context, remove *pb.DeleteRangeRequest, created int64) (*pb.TxnResponse, error) {
	c, err := s.ledBy(ctx, remove.Key, created)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return &pb.TxnResponse{Header: s.header(created)}, nil
	}
	c.session.resign(c)
	c.given(ctx)
	s.gate.Audit.Order(access.ClientOf(ctx), access.AuditLine{Action: "resign", Group: c.group, Outcome: "done"})
	return &pb.TxnResponse{Header: s.header(created), Succeeded: true,
		Responses: []*pb.ResponseOp{{Response: &pb.ResponseOp_ResponseDeleteRange{ResponseDeleteRange: &pb.DeleteRangeResponse{Header: s.header(created), Deleted: 1}}}}}, nil
}
