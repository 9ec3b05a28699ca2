//go:build !linux

package party

const asksKernel = false

func (r *Reader) read(p []byte) (int, error) { return r.conn.Read(p) }

func (r *Reader) waits() bool { return false }
