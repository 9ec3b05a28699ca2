//go:build plan9

package constrained

import "os"

var host = os.Args
