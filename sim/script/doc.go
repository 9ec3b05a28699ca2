// Package script is the language in which scenarios are written: who takes part, what goes wrong when, and
// what the members believe afterwards. A scenario is a text file that a person can read, that tests hold
// (package scenariotest), and that `regent sim run` plays. docs/simulator.md teaches it by example.
//
//	lex.go       words of a line, with their columns
//	parse.go     lines, paragraphs and expected output; verbs.go, settings.go, cond.go: one function per verb
//	names.go     members, links, lengths of time, odds, rates
//	play.go      a script on a world; actions.go: what each verb does
//	intercept.go messages that a script holds, drops, delays and delivers
//	show.go      views in words
//	render.go    a schedule of faults as a script
//
// The shape of the files is that of cockroachdb/datadriven: commands, a line of four dashes, what they print. We parse
// them ourselves, because a script is a product and not only a test: it must be playable outside of tests, and say
// line and column where it is wrong.
package script
