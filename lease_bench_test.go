package regent_test

import (
	"context"
	"testing"
	"time"

	"github.com/regentproject/regent"
)

// What a program pays to ask whether it leads, and to stamp an order, beside time.Now in the same run: a member, its real clock, and a lease
// that is renewed meanwhile.
//
//	go test -run '^$' -bench 'TimeNow|LeaseValid|LeaseEdict' -cpu 1,2 .

func BenchmarkTimeNow(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = time.Now()
	}
}

func BenchmarkLeaseValid(b *testing.B) {
	lease := benchLease(b)
	b.ReportAllocs()
	for b.Loop() {
		if !lease.Valid() {
			b.Fatal("not valid")
		}
	}
}

func BenchmarkLeaseEdict(b *testing.B) {
	lease := benchLease(b)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := lease.Edict(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// benchLease leads at a member until the benchmark ends.
func benchLease(b *testing.B) *regent.Lease {
	m, err := solo()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = m.Leave(context.Background()) })
	group, err := m.Group("bench")
	if err != nil {
		b.Fatal(err)
	}
	lease, err := group.Campaign(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return lease
}
