package impure

import (
	"context"     // want "imports context"
	_ "embed"     // want "imports embed"
	"fmt"
	. "io"
	"iter"
	"log"         // want "imports log"
	"net"         // want "imports net"
	system "os"   // want "imports os"
	"reflect"     // want "imports reflect"
	"runtime"     // want "imports runtime"
	"sync"        // want "imports sync"
	"sync/atomic" // want "imports sync/atomic"
	"unsafe"      // want "imports unsafe"
)

var total int

type counter struct{ n [2]int }

var shared counter

func touch(ctx context.Context) {
	log.Print(system.Getpid(), runtime.NumGoroutine(), reflect.TypeOf(ctx), unsafe.Sizeof(total))
	net.Dial("tcp", "")
	var mu sync.Mutex
	mu.Lock()
	atomic.AddInt32(new(int32), 1)
	fmt.Println("x") // want "uses fmt.Println"
	Pipe()           // want "uses io.Pipe"
	println("x")     // want "calls println"
	iter.Pull(func(func(int) bool) {}) // want "uses iter.Pull"
	total++          // want "changes the package's variable total"
	shared.n[1] = 3  // want "changes the package's variable shared"
	system.Args = nil // want "changes the package's variable Args"
	_ = fmt.Sprint(total) // allowed
}

// The next line breaks one: want-below "carries //go:linkname"
//go:linkname nanotime runtime.nanotime
func nanotime() int64 { return 0 }
