// Package stable elects a leader that stays: it is not demoted as long as it lives and its links are good, whatever happens
// to others (Aguilera, Delporte-Gallet, Fauconnier, Toueg: Stable Leader Election).
//
// Members work in rounds. Round k belongs to one candidate, the k-th in rank order, cyclically. In its round a candidate
// sends OK to all, once per period. A member that misses its OKs for too long starts a later round, and takes the others
// along. The figures of the paper are variants of one machine:
//
//	Fig. 1  Basic     reliable links; an Ω, but not stable              round.go
//	Fig. 2  Reliable  reliable links; 3-stable; two OKs, STOP           round.go
//	Fig. 3  Lossy     expiring links; (n+4)-stable; START to all, R5    round.go
//	Fig. 4  Alerting  expiring links; 6-stable; ALERT                   round.go, alerts.go
//	Fig. 5  Config.Ping, with any of them (fn 8): skips the dead        probe.go
//	§8      Ω+: the Term of a view is its round                         round.go
//	fn 7    Config.Period apart from Config.Delta                       timing.go
//
// The production elector is Alerting with Ping. The rules R1 to R7 are those of PROTOCOLS §4.3.
//
// We differ in this:
//   - Clocks drift and timers are late (§4.4); timing.go has all lengths of time. The two OKs that make a leader must have
//     been sent δ apart, which is judged by their numbers. A duplicate does not count (E-S5), and with a short period it
//     takes more than two.
//   - Members restart. OKs carry the incarnation of their sender. A member that receives a new one in its round starts the
//     next round (E-S3): a leader that has lost its state is not the same leader.
//   - All ALERTs of a new round stand before its first START among the messages of a Step (E-S6).
//   - The wait of Fig. 5 is a state of the machine, not a handler that blocks (E-S2). PINGs are numbered, so that a late PONG
//     is not counted for a later probe.
//   - With Config.Gate, a quorum system, a member that does not reach a quorum does not advance (E-S4): a member that was cut
//     off comes back in the round that it left. Then PINGs come before ALERTs, so that a member that receives nothing does
//     not disturb the others, and OKs received meanwhile end the probe. A PING of a later round takes the place of its START.
//     Otherwise a member that reaches no quorum might keep its round to itself for any time, and demote a leader with it in
//     the end. So k is 6, as without a gate.
//   - Rounds run over Config.Candidates, the members that may lead.
//   - When leaders fail one after the other although members answer, perhaps no member has good links with all others. Ω is
//     impossible then. The machine goes on, and its views have the cause NoAccess.
//   - Links expire by proof (§1.5), and proofs age. When a link has become too slow one way, messages the other way stay good
//     until the last quick datagram is forgotten (datagram.Config.MaxAge). A leader with such a link may lead on for that
//     long; only then does a member start a new round.
//   - A member receives its own messages in the Step that sends them; none goes over a link.
//   - Unfit starts the next round: the authority reports with it that its trusted member gathers no quorum.
//   - Rounds are 64 bits. The machine ignores rounds beyond MaxRound, so that none can overflow.
//
// From any state the machines converge (the paper calls them self-stabilising; a test starts them anywhere). Rounds begin at
// zero when all members restart: they order leaders within one life of the council, and are no fencing token.
package stable
