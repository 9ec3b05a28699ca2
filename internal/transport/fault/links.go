package fault

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
)

// Links holds the links between the members of a network. All its methods may be called at any time, from any goroutine:
// the network looks at a link once for each datagram.
type Links struct {
	names []string
	pairs [][]atomic.Pointer[Link] // from, to
}

// NewLinks returns links that are all perfect.
func NewLinks(names ...string) *Links {
	b := &Links{names: slices.Clone(names), pairs: make([][]atomic.Pointer[Link], len(names))}
	for i := range b.pairs {
		b.pairs[i] = make([]atomic.Pointer[Link], len(names))
		for j := range b.pairs[i] {
			b.pairs[i][j].Store(new(Link))
		}
	}
	return b
}

// Names returns the members.
func (b *Links) Names() []string { return slices.Clone(b.names) }

// Index returns the place of a member among the names.
func (b *Links) Index(name string) (int, error) {
	if i := slices.Index(b.names, name); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("member %q: there are %s", name, strings.Join(b.names, " "))
}

// Link returns the link from one member to another, by their places.
func (b *Links) Link(from, to int) Link { return *b.pairs[from][to].Load() }

// Change changes the links from one member to another. * stands for all members; no link leads from a member to itself.
func (b *Links) Change(from, to string, change func(Link) (Link, error)) error {
	sources, err := b.match(from)
	if err != nil {
		return err
	}
	targets, err := b.match(to)
	if err != nil {
		return err
	}
	for _, i := range sources {
		for _, j := range targets {
			if i == j {
				continue
			}
			if err := b.swap(i, j, change); err != nil {
				return fmt.Errorf("link %s %s: %w", b.names[i], b.names[j], err)
			}
		}
	}
	return nil
}

func (b *Links) swap(i, j int, change func(Link) (Link, error)) error {
	for {
		old := b.pairs[i][j].Load()
		l, err := change(*old)
		if err != nil {
			return err
		}
		if err := l.Check(); err != nil {
			return err
		}
		if b.pairs[i][j].CompareAndSwap(old, &l) {
			return nil
		}
	}
}

func (b *Links) match(name string) ([]int, error) {
	if name == "*" {
		all := make([]int, len(b.names))
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	i, err := b.Index(name)
	return []int{i}, err
}

// Set replaces links.
func (b *Links) Set(from, to string, l Link) error {
	return b.Change(from, to, func(Link) (Link, error) { return l, nil })
}

// Cut makes links lose everything, in one direction.
func (b *Links) Cut(from, to string) error { return b.cut(from, to, true) }

// Heal undoes Cut. The rest of the link stays as it is.
func (b *Links) Heal(from, to string) error { return b.cut(from, to, false) }

func (b *Links) cut(from, to string, cut bool) error {
	return b.Change(from, to, func(l Link) (Link, error) { l.Cut = cut; return l, nil })
}

// Partition cuts all links between members of different parts, in both directions, and heals those within a part. Members
// that are in no part are on their own.
func (b *Links) Partition(parts ...[]string) error {
	part := make(map[string]int)
	for i, names := range parts {
		for _, name := range names {
			if _, err := b.Index(name); err != nil {
				return err
			}
			if _, ok := part[name]; ok {
				return fmt.Errorf("member %q: is in two parts", name)
			}
			part[name] = i + 1
		}
	}
	for _, x := range b.names {
		for _, y := range b.names {
			if err := b.cut(x, y, part[x] == 0 || part[x] != part[y]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Do carries out one line of the language and returns what there is to say:
//
//	link FROM TO [delay=5ms] [jitter=1ms] [drop=0.1] [duplicate=0.1] [late=2s] [reorder=0.1] [cut=true] [perfect]
//	cut FROM TO        one direction
//	heal FROM TO
//	cut FROM TO both   both directions; likewise heal and link
//	partition a b / c d e
//	heal               everything
//	show               all links that are not perfect
//
// FROM and TO are members, or * for all.
func (b *Links) Do(line string) (string, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return "", nil
	}
	verb, words := words[0], words[1:]
	switch {
	case verb == "show" && len(words) == 0:
		return b.String(), nil
	case verb == "heal" && len(words) == 0:
		return "", b.Heal("*", "*")
	case verb == "partition":
		return "", b.Partition(split(words)...)
	case len(words) < 2 || verb != "link" && verb != "cut" && verb != "heal":
		return "", fmt.Errorf("%q: say link FROM TO ..., cut FROM TO, heal FROM TO, partition, heal or show", line)
	}
	from, to, words := words[0], words[1], words[2:]
	both := slices.Contains(words, "both")
	words = slices.DeleteFunc(words, func(w string) bool { return w == "both" })
	switch {
	case verb == "cut" && len(words) == 0:
		words = []string{"cut=true"}
	case verb == "heal" && len(words) == 0:
		words = []string{"cut=false"}
	case verb != "link":
		return "", fmt.Errorf("%q: %s takes FROM, TO and perhaps both", line, verb)
	}
	set := func(l Link) (Link, error) { return l.Set(words...) }
	if err := b.Change(from, to, set); err != nil {
		return "", err
	}
	if both {
		return "", b.Change(to, from, set)
	}
	return "", nil
}

// split separates words at each slash.
func split(words []string) (parts [][]string) {
	var part []string
	for _, w := range words {
		if w == "/" {
			parts, part = append(parts, part), nil
		} else {
			part = append(part, w)
		}
	}
	return append(parts, part)
}

// String lists the links that are not perfect, one in a line, as Do reads them.
func (b *Links) String() string {
	var s strings.Builder
	for i := range b.names {
		for j := range b.names {
			if l := b.Link(i, j); l != (Link{}) {
				fmt.Fprintf(&s, "link %s %s perfect %v\n", b.names[i], b.names[j], l)
			}
		}
	}
	return s.String()
}
