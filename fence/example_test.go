package fence_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/regentproject/regent/fence"
)

// The old leader was stopped for a while, and its order comes after the first of its successor.
func ExampleGate() {
	var gate fence.Gate
	for _, text := range []string{
		"0.7.81000:0/1@500,1/1@900", // the old leader
		"0.8.12:1/1@977,2/1@300",    // its successor
		"0.7.81450:0/1@500,1/1@900", // the old leader again
	} {
		s, err := fence.Parse(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s.Token(), gate.Admit(s))
	}
	// Output:
	// 7 <nil>
	// 8 <nil>
	// 7 fence: stamp 0.7.81450:0/1@500,1/1@900 is stale: it is of an earlier leadership than 0.8.12:1/1@977,2/1@300, which was seen before
}

// Where only a number fits, the token does: it tells leaderships apart.
func ExampleToken() {
	gate := fence.NewGate(fence.Token(41)) // kept from before the resource was restarted
	for _, token := range []uint64{42, 42, 41} {
		var stale *fence.StaleError
		err := gate.Admit(fence.Token(token))
		fmt.Println(token, errors.As(err, &stale))
	}
	// Output:
	// 42 false
	// 42 false
	// 41 true
}

// Enter keeps a successor's orders out while this one is being carried out.
func ExampleGate_Enter() {
	var gate fence.Gate
	write := func(token uint64, value string) error {
		leave, err := gate.Enter(context.Background(), fence.Token(token))
		if err != nil {
			return err
		}
		defer leave()
		fmt.Println("writing", value)
		return nil
	}
	fmt.Println(write(8, "new"))
	fmt.Println(write(7, "old"))
	// Output:
	// writing new
	// <nil>
	// fence: stamp 7 is stale: it is of an earlier leadership than 8, which was seen before
}
