package elector

import (
	"strings"
	"testing"
)

func TestEveryListedElectorPasses(t *testing.T) {
	for _, k := range append(All(), "") {
		if err := k.Check(); err != nil {
			t.Error(err)
		}
	}
}

func TestAnUnknownElectorIsRefusedWithTheChoice(t *testing.T) {
	err := Kind("bully").Check()
	if err == nil {
		t.Fatal("an elector that does not exist was accepted")
	}
	for _, want := range []string{`"bully"`, "stable", "timefree", "hybrid"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: does not name %s", err, want)
		}
	}
}
