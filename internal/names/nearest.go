package names

import "strings"

// Nearest returns the name that was probably meant: the one with the fewest changes, if those are few.
func Nearest(got string, names []string) string {
	flat := func(s string) string { return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s)) }
	best, least := "", max(2, len(got)/3)+1
	for _, n := range names {
		d := distance(flat(got), flat(n))
		if strings.HasPrefix(flat(n), flat(got)) && len(got) > 2 {
			d = min(d, 1)
		}
		if d < least && d < len(n) {
			best, least = n, d
		}
	}
	return best
}

// distance counts the letters to insert, remove or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
