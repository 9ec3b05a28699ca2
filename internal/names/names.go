// Package names says which texts can be names of groups, members and programs, and shows texts that need not be names.
//
// Names are compared byte by byte, and people compare them by eye. So a name must not hold characters that have no shape, such as
// those that turn the direction of writing, and must not be one of two spellings of the same text. Names are refused and not rewritten:
// two programs that spell a name differently find out, and do not lead two groups.
package names

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// The reasons why a text is not a name.
var (
	errControl  = errors.New("must be UTF-8 without control characters")
	errShape    = errors.New("must be without characters that have no shape of their own, such as bidirectional controls, zero-width characters and unusual spaces")
	errSpelling = errors.New("must be in composed form (NFC): write é as one character, and no compatibility characters")
	errEdge     = errors.New("must not begin or end with a space")
)

// uncomposed are characters that have another spelling, or make one with the character before: combining diacritics, voicing
// marks of kana, conjoining jamo, compatibility ideographs, and letters that stand for another one. A few languages need a combining
// mark for which there is no composed character; their names are refused too.
var uncomposed = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x0300, 0x036f, 1}, {0x0374, 0x037e, 0x037e - 0x0374}, {0x0387, 0x0387, 1}, {0x1100, 0x11ff, 1}, {0x1ab0, 0x1aff, 1}, {0x1dc0, 0x1dff, 1},
		{0x1f71, 0x1f7d, 2}, {0x1fbb, 0x1fbe, 3}, {0x1fc9, 0x1fcb, 2}, {0x1fd3, 0x1fdb, 8}, {0x1fe3, 0x1feb, 8}, {0x1fee, 0x1fef, 1},
		{0x1ff9, 0x1ffd, 2}, {0x20d0, 0x20ff, 1}, {0x2126, 0x2126, 1}, {0x212a, 0x212b, 1}, {0x2329, 0x232a, 1}, {0x3099, 0x309a, 1},
		{0xa960, 0xa97f, 1}, {0xd7b0, 0xd7ff, 1}, {0xf900, 0xfaff, 1}, {0xfe20, 0xfe2f, 1},
	},
	R32: []unicode.Range32{{0x2f800, 0x2fa1f, 1}},
}

// shapeless are characters that count as graphic and do not show.
var shapeless = []*unicode.RangeTable{unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}

// Show returns a text as it can be shown to people: on a terminal, in a log, on a page. Characters that control a terminal, turn the
// direction of writing or do not show are escaped, and so is the backslash, so that no two texts look alike.
func Show(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch _, size := utf8.DecodeRuneInString(text[i:]); {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\\':
			b.WriteString(`\\`)
		case unicode.IsControl(r) || hidden(r):
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// ShowJSON returns a JSON text in which characters that Show escapes are escaped as JSON does: it means the same.
func ShowJSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case r < 0x7f || !unicode.IsControl(r) && !hidden(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// hidden says that a character has no shape of its own.
func hidden(r rune) bool {
	return r != ' ' && unicode.Is(unicode.Zs, r) || !unicode.IsGraphic(r) || unicode.In(r, shapeless...)
}

// Label returns a name of a peer as it can be shown. Peers may send what is no name: that is escaped as [Show] does.
func Label(name string) string {
	if Check(name) != nil {
		return Show(name)
	}
	return name
}

// Check returns why a text cannot be a name, whatever its length; nil if it can.
func Check(name string) error {
	if !utf8.ValidString(name) {
		return errControl
	}
	for _, r := range name {
		switch {
		case unicode.IsControl(r):
			return errControl
		case hidden(r):
			return errShape
		case unicode.Is(uncomposed, r):
			return errSpelling
		}
	}
	if n := len(name); n > 0 && (name[0] == ' ' || name[n-1] == ' ') {
		return errEdge
	}
	return nil
}
