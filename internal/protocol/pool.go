package protocol

// A pool is the memory of messages of one type. The messages that were handed out since the last reset are the first ones.
type pool interface{ reset() }

type poolOf[T any] struct {
	messages []*T
	used     int
}

func (p *poolOf[T]) reset() { p.used = 0 }

// Keep returns a message with the given content, in memory of the effects: it stays as it is until they are reset.
func Keep[T any](out *Effects, content T) *T {
	m := Make[T](out)
	*m = content
	return m
}

// Make returns a message in memory of the effects. It holds what an earlier one left there, whose slices may be filled again.
func Make[T any](out *Effects) *T {
	p := poolIn[T](out)
	if p.used == len(p.messages) {
		p.messages = append(p.messages, new(T))
	}
	p.used++
	return p.messages[p.used-1]
}

// poolIn finds the pool of a type. A member sends messages of few types, so it looks at one after the other.
func poolIn[T any](out *Effects) *poolOf[T] {
	for _, p := range out.pools {
		if p, ok := p.(*poolOf[T]); ok {
			return p
		}
	}
	p := new(poolOf[T])
	out.pools = append(out.pools, p)
	return p
}
