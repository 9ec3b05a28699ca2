package script

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Pos is a place in a script. Lines and columns count from one, columns in characters.
type Pos struct{ Line, Col int }

// Error is what is wrong with a script, and where.
type Error struct {
	File string
	Pos
	Msg string
}

// Error shows file:line:column: message.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg) }

// Errors are all errors of a script, in the order of its lines.
type Errors []*Error

// Error shows one error per line.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// A token is one word of a line, or one of the marks { } -> and <->.
type token struct {
	text string
	col  int
}

// lex splits a line into tokens. A # that begins a word begins a comment.
func lex(line string) []token {
	var tokens []token
	col := 1
	for line != "" {
		r, size := utf8.DecodeRuneInString(line)
		if r == '#' {
			break
		}
		if r == ' ' || r == '\t' || r == '\r' {
			line, col = line[size:], col+1
			continue
		}
		n := mark(line)
		if n == 0 {
			n = word(line)
		}
		tokens = append(tokens, token{line[:n], col})
		col += utf8.RuneCountInString(line[:n])
		line = line[n:]
	}
	return tokens
}

// mark returns the length of the mark at the beginning of s, zero if there is none.
func mark(s string) int {
	for _, m := range [...]string{"<->", "->", "{", "}"} {
		if strings.HasPrefix(s, m) {
			return len(m)
		}
	}
	return 0
}

// word returns the length of the word at the beginning of s, which begins with none of space and mark.
func word(s string) int {
	for i := range s {
		if i > 0 && (s[i] == ' ' || s[i] == '\t' || s[i] == '\r' || mark(s[i:]) > 0) {
			return i
		}
	}
	return len(s)
}

// A line is a statement that is being parsed.
type line struct {
	tokens []token
	next   int
	width  int // the column behind the last character
	num    int
}

// A problem is an error on the line that is being parsed; parsing of a line is ended by a panic with one, which
// parseLine catches.
type problem struct {
	col int
	msg string
}

// fail ends the parsing of the line at the token that is next.
func (l *line) fail(format string, args ...any) {
	panic(problem{l.col(), fmt.Sprintf(format, args...)})
}

// failAt is fail for a token that has been taken.
func (l *line) failAt(t token, format string, args ...any) {
	panic(problem{t.col, fmt.Sprintf(format, args...)})
}

// col returns the column of the token that is next, or the one behind the line.
func (l *line) col() int {
	if l.next < len(l.tokens) {
		return l.tokens[l.next].col
	}
	return l.width
}

// peek returns the text of the token that is next, "" at the end of the line.
func (l *line) peek() string {
	if l.next < len(l.tokens) {
		return l.tokens[l.next].text
	}
	return ""
}

// take returns the next token; want says what it should be, for the error if there is none.
func (l *line) take(want string) token {
	if l.next == len(l.tokens) {
		l.fail("the line ends here: %s is missing", want)
	}
	l.next++
	return l.tokens[l.next-1]
}

// accept takes the next token if it is the given one.
func (l *line) accept(text string) bool {
	if l.peek() != text {
		return false
	}
	l.next++
	return true
}

// expect takes the next token, which must be the given one.
func (l *line) expect(text string) {
	if !l.accept(text) {
		l.wrong(fmt.Sprintf("%q", text))
	}
}

// wrong says that the next token is not what it should be.
func (l *line) wrong(want string) {
	if l.next == len(l.tokens) {
		l.fail("the line ends here: %s is missing", want)
	}
	l.fail("%q: expected %s", l.peek(), want)
}

// end says that nothing may follow.
func (l *line) end() {
	if l.next < len(l.tokens) {
		l.fail("%q: nothing more is expected on this line", l.peek())
	}
}
