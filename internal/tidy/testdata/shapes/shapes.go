// Package shapes has types of names that others have taken.
package shapes

type Lease struct{} // want "another type called Lease"

type view interface{ Valid() bool } // want "another type called view"

// LocalLease is another name.
type LocalLease struct{}

func inside() any {
	type cause string // want "another type called cause"
	return cause("")
}
