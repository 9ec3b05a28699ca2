// Package wire turns what a member says into packets, and packets into what a peer said. docs/wire.md has the bytes.
//
// A packet is a clear header, which is authenticated, and a sealed part: the stamps of the datagram layer and any
// number of messages. A [Batch] packs messages into payloads and splits those that do not fit; an [Endpoint] seals
// payloads for one peer at a time and opens what comes in. What may be made of a packet is judged once, by package datagram:
// a packet that fails a check is counted under its reason and leaves no trace, and nothing here ever answers one.
//
//	docs/wire.md       one configuration         summary.go
//	docs/wire.md       nothing from strangers    open.go
//	docs/wire.md       floods                    mark.go, gate.go
//	PROTOCOLS §1.4     stamps and echo           header.go
//	RFC 5869, 7748     derivation of keys        key.go, pairs.go
//	RFC 8949           bodies of messages        codec.go, mirror.go, messages.go
//
// The key of a packet is derived from the secret that its sender and its receiver share, with the cluster key and the council's id, and
// from the start of the sender. So no third member can speak for the sender, and none can read what it said. Each direction has its
// own key: the datagram layer numbers the packets to each receiver apart, and with one key for both a nonce would be used twice.
package wire
