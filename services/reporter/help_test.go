package reporter

import (
	"log/slog"
	"os"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// discard keeps quiet, unless SLUICE_TEST_LOG asks what the service says.
func discard() *slog.Logger {
	if os.Getenv("SLUICE_TEST_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.DiscardHandler)
}

func compress(t *testing.T, text string) string {
	t.Helper()
	encoder, err := zstd.NewWriter(nil)
	must(t, err)
	defer func() { must(t, encoder.Close()) }()
	return string(encoder.EncodeAll([]byte(text), nil))
}
