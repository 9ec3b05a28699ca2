// Package asengine has the council pass the conformance test of engines (regent/engine/enginetest): two of three members contend in processes of their own, behind a relay of datagrams.
// The third one only votes. The server that is killed with SIGKILL is that one, while the contenders do not reach each other: then it decides alone who leads, and what it promised before it died must hold.
// make test-engines runs it.
package asengine
