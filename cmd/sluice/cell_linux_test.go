package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/driver/cell"
)

// TestACellStartsBeforeTheRest: an executor keeps a cell for each slot. One that prepared all packages of this program first would
// need five times the memory. An import that comes late, added to package cell, is enough for that.
func TestACellStartsBeforeTheRest(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), self, cell.Argument)
	cmd.Env, cmd.Stderr = []string{cell.Variable + "=1", "GODEBUG=inittrace=1"}, &said
	_ = cmd.Run() // not the first process of a namespace, it ends with status 2
	if got := cmd.ProcessState.ExitCode(); got != 2 {
		t.Fatalf("it ended with status %d, want 2\n%s", got, said.String())
	}
	prepared := regexp.MustCompile(`(?m)^init (\S+) @`).FindAllStringSubmatch(said.String(), -1)
	if len(prepared) == 0 {
		t.Fatalf("it told of no package\n%s", said.String())
	}
	for _, one := range prepared {
		if strings.HasPrefix(one[1], "github.com/sluiceci/") || strings.HasPrefix(one[1], "google.golang.org/protobuf/reflect") {
			t.Errorf("package %s was prepared before the cell: package cell imports something that comes late", one[1])
		}
	}
}
