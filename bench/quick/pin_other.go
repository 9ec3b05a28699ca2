//go:build !linux

package main

func pin() {}
