package demo

import (
	"bufio"
)

// byKey is what each key does.
var byKey = map[byte]string{'c': "crash", 's': "start", 'p': "pause", 'r': "resume", 'x': "cut", 'd': "slow", 'h': "heal", 't': "transfer",
	'g': "resign", '+': "add", '-': "remove", 'z': "cancel", 'q': "quit", ctrlC: "quit", ctrlD: "quit"}

const (
	ctrlC  = 3
	ctrlD  = 4
	escape = 27
)

// help is the last line of the table.
const help = "1-9 or arrows choose   c crash  s start  p pause  r resume  x cut  d slow  h heal  t transfer  g give up  + add  - remove  z cancel  q quit"

// nextKey waits for a key that means something, and returns it as a command for the chosen member.
func nextKey(in *bufio.Reader) (command, error) {
	for {
		b, err := in.ReadByte()
		if err != nil {
			return command{}, err
		}
		switch verb, ok := byKey[b]; {
		case ok:
			return command{verb: verb, key: true}, nil
		case b >= '1' && b <= '9':
			return command{key: true, row: int(b-'1') + 1}, nil
		case b == escape && in.Buffered() >= 2:
			if by := arrow(in); by != 0 {
				return command{key: true, by: by}, nil
			}
		}
	}
}

// arrow reads the rest of an arrow key, and returns how many rows it goes down.
func arrow(in *bufio.Reader) int {
	if b, _ := in.ReadByte(); b != '[' {
		return 0
	}
	switch b, _ := in.ReadByte(); b {
	case 'A':
		return -1
	case 'B':
		return 1
	}
	return 0
}

// choose chooses a row of the table, and has the command be about the chosen member.
func (c *command) choose(m *model) {
	n := len(m.names)
	if !c.key || n == 0 {
		return
	}
	switch {
	case c.row > 0 && c.row <= n:
		m.chosen = c.row - 1
	case c.by != 0:
		m.chosen = (m.chosen + c.by + n) % n
	}
	if c.verb != "add" && c.verb != "cancel" {
		c.member = m.names[min(m.chosen, n-1)]
	}
}
