// Package lessee plays internal/protocol/lessee in virtual time: contenders whose clocks deviate, a store that is slow, loses requests and
// answers, is down, and whose entry is deleted, and processes that are paused and crash.
//
// Checkers follow every run. No process leads while another may, in real time; tokens grow; a campaign that was ended leaves nothing for longer than a
// lease; once all is well, somebody leads.
package lessee
