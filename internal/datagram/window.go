package datagram

// WindowWords is a power of two. The window remembers at least the last 64·(WindowWords-1) numbers: more than any network
// reorders, and than one flush of a split message sends.
const WindowWords = 32

// A window knows which numbers have been used, as in RFC 6479: a ring of words, of which the one that the highest
// number falls into is always partly free. What is too old to tell counts as used.
type window struct {
	top  uint64
	bits [WindowWords]uint64
}

// fresh says whether n is known not to have been used. Zero never is.
func (w *window) fresh(n uint64) bool {
	if n > w.top {
		return true
	}
	if n == 0 || n>>6+WindowWords <= w.top>>6 {
		return false
	}
	return w.bits[n>>6%WindowWords]&(1<<(n&63)) == 0
}

// use marks a fresh n.
func (w *window) use(n uint64) {
	if n > w.top {
		if gap := n>>6 - w.top>>6; gap >= WindowWords {
			w.bits = [WindowWords]uint64{}
		} else {
			for i := range gap {
				w.bits[(w.top>>6+1+i)%WindowWords] = 0
			}
		}
		w.top = n
	}
	w.bits[n>>6%WindowWords] |= 1 << (n & 63)
}
