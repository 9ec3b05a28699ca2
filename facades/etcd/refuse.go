package etcd

import (
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// served returns the services with only those methods that are served: all others are unknown to gRPC.
func served() []*grpc.ServiceDesc {
	return []*grpc.ServiceDesc{
		only(pb.KV_ServiceDesc, "Range", "Txn"),
		only(pb.Lease_ServiceDesc, "LeaseGrant", "LeaseRevoke", "LeaseKeepAlive"),
		only(pb.Watch_ServiceDesc, "Watch"),
		only(pb.Auth_ServiceDesc, "Authenticate"),
	}
}

func only(d grpc.ServiceDesc, methods ...string) *grpc.ServiceDesc {
	d.Methods = slices.DeleteFunc(slices.Clone(d.Methods), func(m grpc.MethodDesc) bool { return !slices.Contains(methods, m.MethodName) })
	d.Streams = slices.DeleteFunc(slices.Clone(d.Streams), func(m grpc.StreamDesc) bool { return !slices.Contains(methods, m.StreamName) })
	return &d
}

// refuseUnknown answers requests for everything else.
func (s *Server) refuseUnknown(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	return unserved(method)
}

// unserved refuses what this is not: a store.
func unserved(what string) error {
	return status.Errorf(codes.Unimplemented, "%s: not served (this is Regent, which serves elections and keeps no data: use concurrency.Election or etcdctl elect here, and a cluster of etcd for keys)", what)
}

// checkTokens refuses campaigns where there is no token that Rev() could be.
func (s *Server) checkTokens() error {
	switch e := s.core.Status().Engine; {
	case e != nil && !e.Fences:
		return status.Errorf(codes.FailedPrecondition, "campaign: the engine %s at %s offers no tokens, and Rev() would be none (use regent run or a client of Regent there, or an engine with tokens: on Kubernetes that is a server of 1.35 or later)", e.Name, e.Where)
	case e == nil && s.core.Config().Engine != nil:
		return status.Error(codes.Unavailable, "campaign: the engine has not been reached yet (try again)")
	}
	return nil
}

// errLock refuses locks.
var errLock = status.Error(codes.Unimplemented, "lock: not served (a command under etcdctl lock goes on after its session is lost: use regent run GROUP -- COMMAND, which ends it in time, or an election)")
