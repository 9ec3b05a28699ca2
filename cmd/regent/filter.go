package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// A filter says which changes and groups a command shows.
type filter struct {
	pattern string // empty: all groups
	since   string // as it was given; see parseSince
	from    time.Time
}

// sinceFlag adds --since.
func (f *filter) sinceFlag(c *cobra.Command) {
	c.Flags().StringVar(&f.since, "since", "", "only changes since then: 10m (ago), 14:05 (time of day), or RFC 3339")
}

// resolve turns the arguments of a command into a filter.
func (f *filter) resolve(args []string, now time.Time) (err error) {
	if len(args) > 0 {
		f.pattern = args[0]
	}
	f.from, err = parseSince(f.since, now)
	return err
}

// parseSince returns the instant that a person means: so long ago, a time of day, which is yesterday's if today's is still to come, or a
// date with a time. Empty is the beginning.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			day := time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), at.Second(), 0, now.Location())
			if day.After(now) {
				day = day.AddDate(0, 0, -1)
			}
			return day, nil
		}
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	return time.Time{}, fmt.Errorf("--since %q: must be a length of time such as 10m, a time of day such as 14:05, or RFC 3339", text)
}

// isPattern says that an argument may stand for several groups.
func isPattern(arg string) bool { return strings.ContainsAny(arg, "*?") }

// one returns the only group that the filter lets through; empty if there may be several.
func (f *filter) one() string {
	if isPattern(f.pattern) {
		return ""
	}
	return f.pattern
}

// lets says whether a group is shown.
func (f *filter) lets(group string) bool {
	return f.pattern == "" || group == f.pattern || matchGlob([]rune(f.pattern), []rune(group))
}

// matchGlob says whether a name fits a pattern: * stands for any characters, and ? for one.
func matchGlob(pattern, name []rune) bool {
	for len(pattern) > 0 && pattern[0] != '*' {
		if len(name) == 0 || pattern[0] != '?' && pattern[0] != name[0] {
			return false
		}
		pattern, name = pattern[1:], name[1:]
	}
	if len(pattern) == 0 {
		return len(name) == 0
	}
	for pattern = pattern[1:]; len(pattern) > 0 && pattern[0] == '*'; {
		pattern = pattern[1:]
	}
	if len(pattern) == 0 {
		return true
	}
	for i := range len(name) + 1 {
		if matchGlob(pattern, name[i:]) {
			return true
		}
	}
	return false
}

// timeOfDay shows when something was: the time of day, and the date if that is not today.
func timeOfDay(at, now time.Time) string {
	if at.IsZero() {
		return "-"
	}
	at = at.In(now.Location())
	switch y, m, d := at.Date(); {
	case y == now.Year() && m == now.Month() && d == now.Day():
		return at.Format("15:04:05")
	case y == now.Year():
		return at.Format("Jan 02 15:04:05")
	}
	return at.Format("2006-01-02 15:04:05")
}

// shortTime is timeOfDay without the seconds of another day.
func shortTime(at, now time.Time) string {
	text := timeOfDay(at, now)
	if len(text) > len("15:04:05") {
		return text[:len(text)-len(":05")]
	}
	return text
}
