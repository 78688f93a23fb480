package choose_test

import (
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/driver/choose"
	"github.com/sluiceci/sluice/pkg/fault"
)

func TestAt(t *testing.T) {
	base := choose.Config{SSH: choose.SSH{User: "bench", KeyFile: "key", Address: "other"}, Container: choose.Container{Image: "i"}}
	for address, want := range map[string]struct{ kind, host, user, engine string }{
		"ssh://ada@node7:2222":           {"ssh", "node7:2222", "ada", ""},
		"ssh://node7":                    {"ssh", "node7", "bench", ""},
		"ssh://[::1]:22":                 {"ssh", "[::1]:22", "bench", ""},
		"unix:///run/podman/podman.sock": {"container", "other", "bench", "unix:///run/podman/podman.sock"},
		"tcp://node7:2375":               {"container", "other", "bench", "tcp://node7:2375"},
	} {
		got, err := base.At(address)
		if err != nil || got.Kind != want.kind || got.SSH.Address != want.host || got.SSH.User != want.user ||
			got.Container.Host != want.engine || got.SSH.KeyFile != "key" || got.Container.Image != "i" {
			t.Errorf("%s gives %+v, %v", address, got, err)
		}
	}
	for _, address := range []string{"", "node7", "ftp://node7", "ssh://", "ssh://ada:secret@node7", "ssh://node7/etc", "unix://", "ssh://node7?x=1", "\x00"} {
		if _, err := base.At(address); !fault.Is(err, fault.Invalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q gives %v", address, err)
		}
	}
}

func FuzzAt(f *testing.F) {
	f.Add("ssh://ada@node7:22")
	f.Add("unix:///x")
	f.Fuzz(func(t *testing.T, address string) {
		got, err := choose.Config{}.At(address)
		if err == nil && got.SSH.Address == "" && got.Container.Host == "" {
			t.Errorf("%q gives %+v", address, got)
		}
	})
}
