//go:build !linux

package main

// diarist is a program that the tests with real processes lead, and they are for Linux.
func diarist() {}
