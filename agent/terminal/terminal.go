// Package terminal takes over a terminal: keys come in, lines of text go out, and the terminal is as before when that ends.
//
// It is the only package that knows the library for terminals, [charm.land/bubbletea/v2]. The library decodes keys, follows the size of the
// window, writes only cells that have changed, and leaves colours out where NO_COLOR or the type of the terminal asks for that. Programs keep
// their own loops: what they show is a function of what they know and of the size.
package terminal

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"
)

// ErrNone and ErrDumb say why a screen cannot be shown.
var (
	ErrNone = errors.New("standard input and output must be a terminal")
	ErrDumb = errors.New("the terminal cannot place text ($TERM is dumb or empty)")
)

// Usable returns why a screen cannot be shown on in and out; nil if it can.
func Usable(in io.Reader, out io.Writer) error {
	i, iok := in.(*os.File)
	o, ook := out.(*os.File)
	switch {
	case !iok || !ook || !term.IsTerminal(int(i.Fd())) || !term.IsTerminal(int(o.Fd())):
		return ErrNone
	case os.Getenv("TERM") == "" || os.Getenv("TERM") == "dumb":
		return ErrDumb
	}
	return nil
}

// keysKept is how many keys wait for a program that is busy. Further ones are dropped.
const keysKept = 64

// A Terminal is a terminal that has been taken over.
type Terminal struct {
	program *tea.Program
	keys    chan string
	resized chan struct{}
	done    chan struct{}
	err     error // of the library; set before done is closed

	mu            sync.Mutex
	width, height int
	content       string
}

// Open takes a terminal over: it shows an empty screen, and the one before when the Terminal is closed. Check Usable first.
func Open(in io.Reader, out io.Writer) (*Terminal, error) {
	t := &Terminal{keys: make(chan string, keysKept), resized: make(chan struct{}, 1), done: make(chan struct{})}
	ready := make(chan struct{})
	if file, ok := in.(*os.File); ok {
		in = &keyboard{file, t}
	}
	t.program = tea.NewProgram(&model{t: t, ready: ready}, tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
	go func() {
		_, t.err = t.program.Run()
		close(t.keys)
		close(t.done)
	}()
	select {
	case <-ready:
		return t, nil
	case <-t.done:
		return nil, t.err
	}
}

// Keys returns the keys that are pressed: a character as it is, and "up", "enter", "esc", "space", "ctrl+c" and the like. It is closed when
// the terminal has gone.
func (t *Terminal) Keys() <-chan string { return t.keys }

// Resized is sent to after the size of the window has changed.
func (t *Terminal) Resized() <-chan struct{} { return t.resized }

// Size returns how many characters fit into a line, and how many lines into the window.
func (t *Terminal) Size() (width, height int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.width, t.height
}

// Draw replaces what the screen shows. Lines may contain colours (SGR sequences). What does not fit is cut off.
func (t *Terminal) Draw(lines []string) {
	t.mu.Lock()
	t.content = strings.Join(lines[:min(len(lines), t.height)], "\n")
	t.mu.Unlock()
	t.program.Send(drawn{})
}

// Close gives the terminal back. It may be called again.
func (t *Terminal) Close() error {
	t.program.Quit()
	<-t.done
	return t.err
}

// A keyboard is a terminal as the library reads it. It ends the library when the terminal has gone: by itself the library would wait for keys without end.
type keyboard struct {
	*os.File
	t *Terminal
}

func (k *keyboard) Read(b []byte) (int, error) {
	n, err := k.File.Read(b)
	if err != nil {
		go k.t.program.Quit()
	}
	return n, err
}

// drawn tells the library that there is something new to show.
type drawn struct{}

// model is what the library knows of a program: it passes keys and sizes on, and shows what was drawn last. It never waits for the
// program, which may itself wait for it in Draw.
type model struct {
	t     *Terminal
	ready chan struct{} // closed, and nil, when the size is known
}

func (m *model) Init() tea.Cmd { return nil }

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		select {
		case m.t.keys <- msg.String():
		default:
		}
	case tea.WindowSizeMsg:
		m.t.mu.Lock()
		m.t.width, m.t.height = msg.Width, msg.Height
		m.t.mu.Unlock()
		if m.ready != nil {
			close(m.ready)
			m.ready = nil
			break
		}
		select {
		case m.t.resized <- struct{}{}:
		default: // it has not yet read the one before
		}
	}
	return m, nil
}

func (m *model) View() tea.View {
	m.t.mu.Lock()
	defer m.t.mu.Unlock()
	v := tea.NewView(m.t.content)
	v.AltScreen = true
	return v
}
