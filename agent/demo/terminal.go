package demo

import (
	"bytes"
	"io"
	"os"

	"golang.org/x/term"
)

// terminalView draws on a terminal, in place.
type terminalView struct {
	out io.Writer
	fd  int
	buf bytes.Buffer
}

func newTerminalView(f *os.File) *terminalView { return &terminalView{out: f, fd: int(f.Fd())} }

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

func (t *terminalView) enter() { _, _ = io.WriteString(t.out, altScreen+hideCursor) }
func (t *terminalView) leave() { _, _ = io.WriteString(t.out, showCursor+mainScreen) }

// draw replaces what is on the screen, in one write, so that it does not flicker.
func (t *terminalView) draw(lines []string) {
	t.buf.Reset()
	t.buf.WriteString(home)
	for i, l := range lines {
		if i > 0 {
			t.buf.WriteString("\r\n")
		}
		t.buf.WriteString(l)
		t.buf.WriteString(eraseLine)
	}
	t.buf.WriteString(eraseRest)
	_, _ = t.out.Write(t.buf.Bytes())
}

// width returns how many characters fit into a line.
func (t *terminalView) width() int {
	w, _, err := term.GetSize(t.fd)
	if err != nil {
		return 0
	}
	return w
}
