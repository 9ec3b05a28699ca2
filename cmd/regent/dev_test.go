package main

import (
	"os/exec"
	"testing"
)

func TestWordsReachAShellAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"/usr/local/bin", "/opt/my code/bin", "it's", "$HOME", "`id`"} {
		out, err := exec.Command("sh", "-c", "printf %s "+shellWord(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%s arrives as %s (%v)", word, out, err)
		}
	}
	if got := shellWord("/usr/local/bin"); got != "/usr/local/bin" {
		t.Errorf("an ordinary path is %s", got)
	}
}
