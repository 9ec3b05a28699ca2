//go:build !unix

package owned

import "io/fs"

const (
	noFollow  = 0
	hasOwners = false
)

func trusted(string, fs.FileInfo) error { return nil }
