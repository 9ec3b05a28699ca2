// Package asengine has the council pass the conformance test of engines (regent/engine/enginetest): two of three members contend in processes of their own, behind a relay of datagrams.
// make test-engines runs it.
package asengine
