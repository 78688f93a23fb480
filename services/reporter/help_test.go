package reporter

import (
	"log/slog"
	"os"
)

// discard keeps quiet, unless SLUICE_TEST_LOG asks what the service says.
func discard() *slog.Logger {
	if os.Getenv("SLUICE_TEST_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.DiscardHandler)
}
