package demo

// byKey is what each key does.
var byKey = map[string]string{"c": "crash", "s": "start", "p": "pause", "r": "resume", "x": "cut", "d": "slow", "h": "heal", "t": "transfer",
	"g": "resign", "+": "add", "-": "remove", "z": "cancel", "q": "quit", "ctrl+c": "quit", "ctrl+d": "quit",
	"enter": "next", "esc": "skip", "?": "tour", "o": "others"}

// help is below the table.
var help = []string{
	"1-9 up down choose   c crash  s start  p pause  r resume  x cut  d slow  h heal",
	"t hand over  g give up  + add  - remove  z cancel  o more groups  ? tour  q quit",
}

// keyCommand returns a key as a command for the chosen member; false if the key means nothing.
func keyCommand(key string) (command, bool) {
	verb, ok := byKey[key]
	switch {
	case ok:
		return command{verb: verb, key: true}, true
	case len(key) == 1 && key[0] >= '1' && key[0] <= '9':
		return command{key: true, row: int(key[0]-'1') + 1}, true
	case key == "up":
		return command{key: true, by: -1}, true
	case key == "down":
		return command{key: true, by: 1}, true
	}
	return command{}, false
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
