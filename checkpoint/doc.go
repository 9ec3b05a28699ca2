// Package checkpoint keeps the state of programs on each other's disks, so that other members go on with the work of those that fail. It is
// the application that RAIN was made for, over a [regent.ConsistentGroup].
//
// The work is a set of keys. Each key has a state, which one member advances step by step. After every [Config.Every] steps the owner cuts the state into n
// shares by a Reed–Solomon code, one for the disk of each member, any k of which give it back. The owner goes on when the checkpoint is complete. If
// members fail, the fault manager of the group assigns their keys, and each heir reads the shares and goes on from the last complete checkpoint.
//
//	node, err := checkpoint.Open(checkpoint.Config{Name: "a", Council: peers, Data: 4, Dir: dir, Secret: secret, Keys: keys, Every: 8, Last: 1000,
//		Begin: begin, Advance: advance})
//	go http.Serve(listener, node)
//	err = group.TakePart(ctx, func(ctx context.Context, l *regent.Membership) error { return node.Run(ctx, l) })
//
// What it promises, for n members and f = min(n-k, (n-1)/2): while at most f members have failed or are not recovered yet, no state is lost, and each
// failure repeats at most Every steps of a key. If more fail, keys wait until enough of the members are back with their disks. A key never goes on
// from a state that is older than its last complete checkpoint. Package core has the rules, and the reasons why they suffice.
//
// What it does not promise: a member that was paused may compute for a moment what its heir computes. It completes no checkpoint. Steps with effects
// outside the state need a fence of their own ([regent.View.Token]).
//
//	node.go   drives the core: views, messages, workers
//	peer.go   messages over HTTP, as JSON with an authentication code
//	disk.go   files that are whole or not there
//	read.go   reads states without being a member
//
// # Other languages
//
// Everything between members is JSON over HTTP (POST /checkpoint/message, type core.Message, bytes in base64), and the views are those that the agent
// shows on its socket. examples/fractal/checkpoint.py is a member in Python, and docs/checkpoint.md describes the bytes.
package checkpoint
