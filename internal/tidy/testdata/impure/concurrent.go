package impure

type pipe chan int // want "has a channel"

func talk(p pipe, in <-chan int) { // want "has a channel"
	go talk(p, in) // want "starts a goroutine"
	p <- 1         // want "sends on a channel"
	x := <-in      // want "receives from a channel"
	for range p {  // want "receives from a channel"
	}
	select { // want "selects between channels"
	default:
	}
	close(p) // want "calls close"
	_ = x
}
