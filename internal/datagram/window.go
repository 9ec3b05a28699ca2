package datagram

// windowWords is a power of two. The window remembers at least the last 64·(windowWords-1) numbers.
const windowWords = 16

// A window knows which numbers of a peer have been seen: a ring of words, in which the word of the highest number is partly
// free. What is too old to tell counts as seen.
type window struct {
	top  uint64
	seen [windowWords]uint64
}

// take says whether n is seen for the first time, and marks it. Zero is no number.
func (w *window) take(n uint64) bool {
	word, bit := n/64, uint64(1)<<(n%64)
	if n == 0 || word+windowWords <= w.top/64 {
		return false
	}
	for next := w.top/64 + 1; next <= word && next < w.top/64+1+windowWords; next++ {
		w.seen[next%windowWords] = 0
	}
	w.top = max(w.top, n)
	if w.seen[word%windowWords]&bit != 0 {
		return false
	}
	w.seen[word%windowWords] |= bit
	return true
}
