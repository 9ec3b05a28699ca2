package waits

func beside(c chan int) int { return <-c }
