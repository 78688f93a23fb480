package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets scripts run this program as the command "sluice", and keeps the developer's own Sluice out.
func TestMain(m *testing.M) {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "SLUICE_") && name != "SLUICE_UPDATE" {
			_ = os.Unsetenv(name)
		}
	}
	testscript.Main(m, map[string]func(){"sluice": main})
}
