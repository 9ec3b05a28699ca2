package library_test

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// limitFiles makes every file too long that has more than that many bytes.
func limitFiles(limit string) {
	if n, err := strconv.ParseUint(limit, 10, 64); err == nil {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: n, Max: n}); err != nil {
			panic(err)
		}
	}
}
