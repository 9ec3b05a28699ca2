package demo

import (
	"bytes"
	"io"
	"os"

	"golang.org/x/term"
)

// screen draws on a terminal, in place.
type screen struct {
	out io.Writer
	fd  int
	buf bytes.Buffer
}

func newScreen(f *os.File) *screen { return &screen{out: f, fd: int(f.Fd())} }

// The control sequences, which every terminal of the last forty years knows.
const (
	altScreen  = "\x1b[?1049h"
	mainScreen = "\x1b[?1049l"
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	home       = "\x1b[H"
	eraseLine  = "\x1b[K"
	eraseRest  = "\x1b[J"
)

func (s *screen) enter() { _, _ = io.WriteString(s.out, altScreen+hideCursor) }
func (s *screen) leave() { _, _ = io.WriteString(s.out, showCursor+mainScreen) }

// draw replaces what is on the screen, in one write, so that it does not flicker.
func (s *screen) draw(lines []string) {
	s.buf.Reset()
	s.buf.WriteString(home)
	for i, l := range lines {
		if i > 0 {
			s.buf.WriteString("\r\n")
		}
		s.buf.WriteString(l)
		s.buf.WriteString(eraseLine)
	}
	s.buf.WriteString(eraseRest)
	_, _ = s.out.Write(s.buf.Bytes())
}

// width returns how many characters fit into a line.
func (s *screen) width() int {
	w, _, err := term.GetSize(s.fd)
	if err != nil {
		return 0
	}
	return w
}
