// Package datagram bounds how late each datagram can be.
//
// Two members have unsynchronised clocks, of which they know only that each runs within ρ of real time. If a datagram
// carries its own send stamp and the two stamps of an earlier datagram in the other direction, its receiver can still
// prove an upper bound on its delay. That is the fail-aware datagram service of Fetzer and Cristian, on which HALL and
// the expiring links of the stable elector stand. The package is pure: it gets the clock as an argument and authenticated headers,
// and knows nothing of sockets, bytes or keys.
package datagram
