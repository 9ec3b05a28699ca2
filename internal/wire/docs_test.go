package wire

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/datagram"
)

const (
	docs = "../../docs/wire.md"
	// operations names reasons, too.
	operations = "../../docs/operations.md"
	begin      = "<!-- messages: written by go test ./internal/wire -update -->\n"
	finish     = "<!-- end of messages -->\n"
)

// The list of messages and of the keys of their fields in docs/wire.md is the one that the code has.
func TestDocsListEveryMessage(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, finish)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the list of messages", docs)
	}
	compare(t, docs, []byte(before+begin+describe()+finish+after))
}

// describe lists all messages with their fields.
func describe() string {
	var b strings.Builder
	types := slices.Clone(Types)
	slices.SortFunc(types, func(x, y Type) int { return int(x.Number) - int(y.Number) })
	var structs []reflect.Type
	for _, row := range types {
		fmt.Fprintf(&b, "\n**%d `%s`**", row.Number, row.Message.Name())
		if row.Recovery {
			b.WriteString(" (also from incarnation 0)")
		}
		if row.Any {
			b.WriteString(" (any number)")
		}
		if row.Proof {
			b.WriteString(" (also for another incarnation)")
		}
		b.WriteString("\n\n")
		structs = describeFields(&b, reflect.TypeOf(row.Message).Elem(), structs)
	}
	for i := 0; i < len(structs); i++ {
		fmt.Fprintf(&b, "\n**`%v`**\n\n", structs[i])
		structs = describeFields(&b, structs[i], structs)
	}
	b.WriteString("\n")
	return b.String()
}

// describeFields writes a table of the fields of t, and adds the structs in it to those to describe.
func describeFields(b *strings.Builder, t reflect.Type, structs []reflect.Type) []reflect.Type {
	keys, err := fieldKeys(t)
	if err != nil {
		panic(err)
	}
	b.WriteString("| key | field | type |\n|---|---|---|\n")
	for i, key := range keys {
		if key == 0 {
			continue
		}
		f := t.Field(i)
		elem := f.Type
		for !opaque(elem) && (elem.Kind() == reflect.Slice || elem.Kind() == reflect.Array) {
			elem = elem.Elem()
		}
		if elem.Kind() == reflect.Struct && !opaque(elem) && !slices.Contains(structs, elem) {
			structs = append(structs, elem)
		}
		fmt.Fprintf(b, "| %d | %s | %s |\n", key, f.Name, describeType(f.Type))
	}
	return structs
}

func describeType(t reflect.Type) string {
	switch {
	case opaque(t):
		return "byte string, " + t.String()
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return "byte string"
	case t.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8:
		return fmt.Sprintf("byte string of %d", t.Len())
	case t.Kind() == reflect.Slice:
		return "array of " + describeType(t.Elem())
	case t.Kind() == reflect.Array:
		return fmt.Sprintf("array of %d %s", t.Len(), describeType(t.Elem()))
	case t.Kind() == reflect.Struct:
		return "`" + t.String() + "`"
	case t.String() == t.Kind().String():
		return t.String()
	}
	return fmt.Sprintf("%v (%v)", t.Kind(), t)
}

// The numbers in the text are those of the code.
func TestDocsStateTheLimits(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	for what, line := range map[string]string{
		"header":     fmt.Sprintf("| %d | 8 | counter |", offSeq),
		"mark":       fmt.Sprintf("| %d | %d | mark |", offMark, markSize),
		"sealed":     fmt.Sprintf("| %d | | sealed part,", headerSize),
		"magic":      fmt.Sprintf("magic: `%c` `%c`", magic0, magic1),
		"additional": fmt.Sprintf("the clear header, all %d bytes of it", headerSize),
		"overhead":   fmt.Sprintf("%d bytes in front of and behind the payload", overhead),
		"mtu":        fmt.Sprintf("default %d, at least %d", DefaultMTU, MinMTU),
		"message":    fmt.Sprintf("| body of one message | %d bytes |", MaxMessage),
		"fragments":  fmt.Sprintf("| parts of one message | %d |", maxFragments),
		"items":      fmt.Sprintf("| items in one packet | %d |", maxItems),
		"assemblies": fmt.Sprintf("| messages of one peer being put together | %d, %d bytes |", maxAssemblies, maxPending),
		"all":        fmt.Sprintf("| of all peers together | %d bytes |", maxPendingAll),
		"life":       fmt.Sprintf("| time from the first part to the last | %v |", assemblyLife),
		"depth":      fmt.Sprintf("| nesting of CBOR | %d |", maxDepth),
		"array":      fmt.Sprintf("| elements of an array | %d |", maxArray),
		"map":        fmt.Sprintf("| pairs of a map | %d |", maxMap),
		"summary":    fmt.Sprintf("| summary | %d bytes, %d fields |", maxSummary, maxFields),
		"window":     fmt.Sprintf("%d words of 64 bits", datagram.WindowWords),
		"keys":       fmt.Sprintf("%d to %d bytes", MinKey, MaxKey),
		"extract":    fmt.Sprintf("%q", labelExtract),
		"id":         fmt.Sprintf("%q", labelID),
		"packet":     fmt.Sprintf("%q", labelPacket),
		"public":     fmt.Sprintf("`%s`", publicKey),
		"fetch":      fmt.Sprintf("questions and answers have %d bytes", fetchSize),
		"fetch key":  fmt.Sprintf("`Expand(prk, %q, 32)`", labelFetch),
		"part key":   fmt.Sprintf("%q, 32)`, with the secret of the two", labelPart),
		"fetched":    fmt.Sprintf("| %d | %d | sealed: council id (16), one more", fetchHeader, fetchSize-fetchHeader-tagSize),
		"part":       fmt.Sprintf("| %d | %d | sealed: council id (16), number (8)", partHeader, partBody+partData),
		"versions":   fmt.Sprintf("speaks versions %d to %d", LowestVersion, HighestVersion),
	} {
		if !strings.Contains(string(text), line) {
			t.Errorf("%s: %s does not say %q", what, docs, line)
		}
	}
	var reasons []string
	for r := range datagram.NumReasons {
		reasons = append(reasons, r.String())
		if !strings.Contains(string(text), "| "+r.String()+" |") {
			t.Errorf("%s has no row for %q", docs, r)
		}
	}
	text, err = os.ReadFile(operations)
	if err != nil {
		t.Fatal(err)
	}
	_, row, ok := strings.Cut(string(text), "| `rate(regent_dropped_total[5m]) > 0`, by `reason` |")
	row, _, _ = strings.Cut(row, "|")
	for i, name := range strings.Split(row, "`") {
		if i%2 == 1 && !slices.Contains(reasons, name) {
			t.Errorf("%s names the reason %q, and there is none", operations, name)
		}
	}
	if !ok || !strings.Contains(row, "`") {
		t.Errorf("%s has no row about dropped packets", operations)
	}
}
