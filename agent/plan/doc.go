// Package plan computes the timing of a council from what its hosts were measured to do and from what an operator wants.
//
//	plan.go        intent and measurements to constants
//	inequality.go  every inequality that constants must satisfy, with its numbers
//	bound.go       how often something may happen that was seen rarely or never
//	measured.go    what was measured
//	cost.go        packets and processor time
//	draw.go        a histogram of pauses against what a lease survives
//	yaml.go        constants as the configuration has them
//
// The package is pure: it measures nothing (agent/plan/measure does) and starts nothing. All constants follow from one sum. A leader that
// is paused when its renewal is due keeps its lease if
//
//	(1-ρ)·lease ≥ renew + pause + (1+ρ)·round trip + guard
//
// which is regent.Timing.Tolerates. A simulated council at a planned timing keeps its leader through a pause of that length, and loses it in a
// longer one (sim/suite).
//
// # What a plan is not
//
// A pause that was not measured can be longer than all that were. A plan therefore tolerates twice the longest pause, and says how often longer
// ones may come at most, for the time that was measured. That bound takes pauses for independent of one another. Hosts whose pauses come in
// bursts, such as at a nightly backup, need a measurement that includes the burst.
package plan
