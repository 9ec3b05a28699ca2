package demo

import (
	"bufio"
)

// keys turns single keys into commands for the chosen member.
type keys struct {
	members int
	chosen  int
}

func newKeys(members int) *keys { return &keys{members: members} }

// byKey is what each key does.
var byKey = map[byte]string{'c': "crash", 's': "start", 'p': "pause", 'r': "resume", 'x': "cut", 'd': "slow", 'h': "heal", 't': "transfer",
	'g': "resign", 'q': "quit", ctrlC: "quit", ctrlD: "quit"}

const (
	ctrlC  = 3
	ctrlD  = 4
	escape = 27
)

// help is the last line of the table.
const help = "1-9 or arrows choose   c crash  s start  p pause  r resume  x cut  d slow  h heal  t transfer  g give up  q quit"

// next waits for a key that means something.
func (k *keys) next(in *bufio.Reader) (command, error) {
	for {
		b, err := in.ReadByte()
		if err != nil {
			return command{}, err
		}
		switch verb, ok := byKey[b]; {
		case ok:
			return command{verb: verb, member: string(rune('a' + k.chosen)), chosen: k.chosen}, nil
		case b >= '1' && int(b-'1') < k.members:
			k.chosen = int(b - '1')
		case b == escape && in.Buffered() >= 2:
			k.arrow(in)
		default:
			continue
		}
		return command{chosen: k.chosen}, nil
	}
}

// arrow reads the rest of an arrow key.
func (k *keys) arrow(in *bufio.Reader) {
	if b, _ := in.ReadByte(); b != '[' {
		return
	}
	switch b, _ := in.ReadByte(); b {
	case 'A':
		k.chosen = (k.chosen + k.members - 1) % k.members
	case 'B':
		k.chosen = (k.chosen + 1) % k.members
	}
}
