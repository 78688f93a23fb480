package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// top is the checkout's root.
func top(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// sluice is the program that is tested.
func sluice(t *testing.T) string {
	t.Helper()
	return filepath.Join(top(t), "bin", "sluice")
}

// tool is the path that a variable names, or else what a script installs and prints.
func tool(t *testing.T, variable, script string) string {
	t.Helper()
	if path := os.Getenv(variable); path != "" {
		return path
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(top(t), script))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("cannot install with %s: %v", script, err)
	}
	return strings.TrimSpace(string(out))
}
