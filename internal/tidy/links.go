package tidy

import (
	"bytes"
	"path"
	"regexp"
	"strings"
)

// markdownLink finds the target of a link or an image in Markdown.
var markdownLink = regexp.MustCompile(`\]\(([^()\s]+)\)`)

// Links reports links of a Markdown file to files that exists does not know. Links to other sites and within the page are
// not followed; what stands in a block of code is no link.
func Links(name string, content []byte, exists func(file string) bool) []Problem {
	var found []Problem
	n, code := 0, false
	for line := range bytes.Lines(content) {
		n++
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("```")) {
			code = !code
		}
		if code {
			continue
		}
		for _, m := range markdownLink.FindAllSubmatch(line, -1) {
			target, _, _ := strings.Cut(string(m[1]), "#")
			if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			if file := path.Join(path.Dir(name), target); !exists(file) {
				found = append(found, Problem{name, n, "links to " + file + ", which does not exist"})
			}
		}
	}
	return found
}
