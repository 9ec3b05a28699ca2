package checkpoint

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	codes "github.com/regentproject/regent/checkpoint/code"
	"github.com/regentproject/regent/checkpoint/core"
)

// Read returns the newest state of a key that k members have shares of, with its step. It may be newer than the last complete checkpoint. It needs Council, Data
// and Secret of a configuration, and no membership.
func Read(ctx context.Context, c Config, key string) (seq uint64, state []byte, err error) {
	rs, err := codes.New(c.Data, len(c.Council))
	if err != nil {
		return 0, nil, err
	}
	if c.Client == nil {
		c.Client = http.DefaultClient
	}
	found := make(map[core.ID][]core.Share)
	for to := range c.Council {
		m, failed := c.post(ctx, to, to, &core.Message{Kind: core.Look, Key: key})
		if failed != nil || m == nil {
			err = failed
			continue
		}
		for _, s := range m.Found.Shares {
			if s.Index == to && s.Intact(key) {
				found[s.ID] = append(found[s.ID], s)
			}
		}
	}
	var best core.ID
	for id, shares := range found {
		if len(shares) >= c.Data && id.Compare(best) > 0 {
			best = id
		}
	}
	if shares := found[best]; len(shares) >= c.Data {
		if state, ok := core.Join(rs, len(c.Council), slices.Clone(shares)); ok {
			return best.Seq, state, nil
		}
	}
	if err != nil {
		return 0, nil, fmt.Errorf("checkpoint: %s: fewer than %d shares: %w", key, c.Data, err)
	}
	return 0, nil, fmt.Errorf("checkpoint: %s: fewer than %d shares of any checkpoint", key, c.Data)
}
