package main

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"time"

	regent "github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/internal/runtime/thread"
)

// floors measures what no council on this host can beat.
func floors(out io.Writer) error {
	trips, err := roundTrips(2000)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "floor: round trip on the loopback interface  %v\n", trips)
	late, err := overshoots(400, 5*time.Millisecond)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "floor: timer of 5ms on the loop's own thread  %v too late\n\n", late)
	return nil
}

// roundTrips sends packets to and fro between two sockets.
func roundTrips(n int) (sample, error) {
	a, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer a.Close()
	b, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer b.Close()
	go func() {
		buf := make([]byte, 200)
		for {
			k, from, err := b.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = b.WriteTo(buf[:k], from)
		}
	}()
	var s sample
	buf := make([]byte, 200)
	for range n {
		begin := time.Now()
		if _, err := a.WriteTo(buf[:150], b.LocalAddr()); err != nil {
			return nil, err
		}
		_ = a.SetReadDeadline(begin.Add(time.Second))
		if _, _, err := a.ReadFrom(buf); err != nil {
			return nil, err
		}
		s = append(s, time.Since(begin))
	}
	return s, nil
}

// overshoots measures by how much a wait is too long, as the loop waits.
func overshoots(n int, length time.Duration) (sample, error) {
	w, err := regent.NewPollWaiter()
	if err != nil {
		w = regent.NewChanWaiter()
	}
	defer w.Close()
	done := make(chan sample)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		_, _ = thread.Claim(true)
		var s sample
		for range n {
			begin := time.Now()
			w.Wait(length, 0)
			s = append(s, time.Since(begin)-length)
		}
		done <- s
	}()
	return <-done, nil
}
