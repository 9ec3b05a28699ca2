// Package fractal is RAIN's demonstration: a zoom into a fractal, computed by the members of a group, whose tiles survive the members.
//
//	picture.go  the tiles, and how one frame follows from another
//	member.go   a member of the demonstration, on one host with the others
//	page.go     what a person sees of it
package fractal
