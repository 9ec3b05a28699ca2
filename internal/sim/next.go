package sim

// Next returns the instant of the next event, Forever if there is none: Run(Next()) lets only that instant's events happen.
func (w *World) Next() Real { return w.queue.next() }

// Seed returns what all randomness of the world comes from.
func (w *World) Seed() uint64 { return w.config.Seed }
