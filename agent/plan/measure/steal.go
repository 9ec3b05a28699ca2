package measure

import (
	"os"
	"strconv"
	"strings"
)

// steal is what the kernel counted, in ticks.
type steal struct{ stolen, total uint64 }

// readSteal reads /proc/stat; zero where there is none.
func readSteal(path string) steal {
	b, err := os.ReadFile(path)
	if err != nil {
		return steal{}
	}
	return parseSteal(string(b))
}

// stealField is the place of the time stolen in the first line of /proc/stat, behind its name. What comes after it is counted in others already.
const stealField = 7

func parseSteal(stat string) steal {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) <= stealField+1 || fields[0] != "cpu" {
		return steal{}
	}
	var s steal
	for i, f := range fields[1 : stealField+2] {
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			return steal{}
		}
		s.total += n
		if i == stealField {
			s.stolen = n
		}
	}
	return s
}

// since returns the share that was stolen after an earlier reading; false if it is not known.
func (s steal) since(before steal) (share float64, ok bool) {
	if s.total <= before.total || before.total == 0 || s.stolen < before.stolen {
		return 0, false
	}
	return float64(s.stolen-before.stolen) / float64(s.total-before.total), true
}
