package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A Reader reads lines of bounded length.
type Reader struct {
	in    *bufio.Reader
	limit int
}

// NewReader returns a reader of lines of at most limit bytes.
func NewReader(r io.Reader, limit int) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, min(limit, 4<<10)), limit: limit}
}

// ErrLong says that a line is too long. What follows cannot be read.
var ErrLong = errors.New("the line is too long")

// Line returns the next line without its end. It is valid until the next call.
func (r *Reader) Line() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line)+len(part) > r.limit {
			return nil, fmt.Errorf("%w: over %d bytes", ErrLong, r.limit)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			line = append(line, part...)
			continue
		}
		if err != nil {
			return nil, err // a line that breaks off was never said
		}
		if line == nil {
			return bytes.TrimRight(part, "\r\n"), nil
		}
		return bytes.TrimRight(append(line, part...), "\r\n"), nil
	}
}

// Decode reads a request: exactly one JSON object, with no field that has no meaning.
func Decode(line []byte) (Request, error) {
	var r Request
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return Request{}, fmt.Errorf("not a request: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return r, errors.New("not a request: something follows the object")
	}
	return r, r.check()
}
