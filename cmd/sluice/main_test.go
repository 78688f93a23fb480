package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets scripts run this program as the command "sluice".
func TestMain(m *testing.M) {
	testscript.Main(alone{m}, map[string]func(){"sluice": main})
}

// alone keeps the developer's own Sluice out of the tests.
type alone struct{ *testing.M }

// Run forgets the variables that name a Sluice, then runs the tests.
func (a alone) Run() int {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "SLUICE_") && name != "SLUICE_UPDATE" {
			_ = os.Unsetenv(name)
		}
	}
	return a.M.Run()
}
