package secret_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/secret"
)

// world is one kind of provider with values that the test chooses.
type world struct {
	config secret.ProviderConfig
	put    func(t *testing.T, name, value string)
}

// worlds makes one for every kind of provider.
func worlds() map[string]func(t *testing.T) world {
	return map[string]func(t *testing.T) world{"file": fileWorld, "env": envWorld, "command": commandWorld}
}

func fileWorld(t *testing.T) world {
	path := filepath.Join(t.TempDir(), "secrets")
	write(t, path, "# a comment\n\n", 0o600)
	return world{secret.ProviderConfig{Kind: "file", Path: path}, func(t *testing.T, name, value string) {
		write(t, path, "OTHER=x\n"+name+"="+value+"\n", 0o600)
	}}
}

func envWorld(*testing.T) world {
	return world{secret.ProviderConfig{Kind: "env", Names: []string{"SLUICE_TEST_*"}}, func(t *testing.T, name, value string) { t.Setenv(name, value) }}
}

// commandWorld is a store as pass keeps one: a file for each secret.
func commandWorld(t *testing.T) world {
	dir := t.TempDir()
	config := secret.ProviderConfig{Kind: "command", Argv: []string{"cat", filepath.Join(dir, "{name}")}, Names: []string{"SLUICE_TEST_*"}}
	return world{config, func(t *testing.T, name, value string) { write(t, filepath.Join(dir, name), value+"\n", 0o600) }}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, c secret.Config, own map[string]string) *secret.Store {
	t.Helper()
	s, err := secret.Open(c, []string{"executor"}, own)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestProviders is what every kind of provider promises.
func TestProviders(t *testing.T) {
	const name, value = "SLUICE_TEST_TOKEN", ` p'a"s$s=w&rd#\x `
	for kind, make := range worlds() {
		t.Run(kind, func(t *testing.T) {
			w := make(t)
			w.put(t, name, value)
			w.config.Keep = time.Nanosecond
			s := open(t, secret.Config{Providers: []secret.ProviderConfig{w.config}}, nil)
			if got, err := s.Get(t.Context(), name); got != strings.TrimRight(value, " ") && got != value || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
			w.put(t, name, "another")
			if got, err := s.Get(t.Context(), name); got != "another" || err != nil {
				t.Errorf("after a rotation: got %q, %v", got, err)
			}
			_, err := s.Get(t.Context(), "OTHER_NAME")
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a name that it does not have: %v", err)
			}
			_, err = s.Get(t.Context(), "SLUICE_TEST_MISSING")
			if err == nil || strings.Contains(err.Error(), "another") {
				t.Errorf("a value that is not there: %v", err)
			}
		})
	}
}

func TestValuesAreKeptForAWhile(t *testing.T) {
	for kind, make := range worlds() {
		t.Run(kind, func(t *testing.T) {
			w := make(t)
			w.put(t, "SLUICE_TEST_A", "first")
			w.config.Keep = time.Hour
			s := open(t, secret.Config{Providers: []secret.ProviderConfig{w.config}}, nil)
			for range 2 {
				if got, err := s.Get(t.Context(), "SLUICE_TEST_A"); got != "first" || err != nil {
					t.Errorf("got %q, %v", got, err)
				}
				w.put(t, "SLUICE_TEST_A", "second")
			}
		})
	}
}

func TestAFileIsReadAgain(t *testing.T) {
	w := fileWorld(t)
	w.put(t, "A", "first")
	synctest.Test(t, func(t *testing.T) {
		s := open(t, secret.Config{Providers: []secret.ProviderConfig{w.config}}, nil)
		for _, want := range []string{"first", "second"} {
			if got, err := s.Get(t.Context(), "A"); got != want || err != nil {
				t.Errorf("got %q, %v, expected %q", got, err, want)
			}
			write(t, w.config.Path, "A=second\n", 0o600)
			time.Sleep(time.Minute + time.Second)
		}
	})
}

func TestWideFilesAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it's secret")
	for _, mode := range []os.FileMode{0o644, 0o640, 0o604, 0o620, 0o666} {
		write(t, path, "A=value\n", mode)
		_, err := secret.Open(secret.Config{Files: []string{path}}, nil, nil)
		if !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), `run: chmod 600 '`) || strings.Contains(err.Error(), "value") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	for _, mode := range []os.FileMode{0o600, 0o400} {
		write(t, path, "A=value\n", mode)
		if _, err := secret.Open(secret.Config{Files: []string{path}}, nil, nil); err != nil {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

// TestOnlyWhoUsesAProviderOpensIt lets a machine of executors be without the file of the publisher.
func TestOnlyWhoUsesAProviderOpensIt(t *testing.T) {
	c := secret.Config{Providers: []secret.ProviderConfig{{Kind: "file", Path: filepath.Join(t.TempDir(), "none"), Services: []string{"publisher"}}}}
	if _, err := secret.Open(c, []string{"executor"}, nil); err != nil {
		t.Error(err)
	}
	if _, err := secret.Open(c, []string{"executor", "publisher"}, nil); err == nil {
		t.Error("a file that is not there was opened")
	}
}

// TestServicesSeeTheirOwnNames keeps one service from reading what the configuration of another names.
func TestServicesSeeTheirOwnNames(t *testing.T) {
	s := open(t, secret.Config{}, map[string]string{"HOOK": "hook-value", "TOKEN": "task-value"})
	get := s.For("executor", []string{"TOKEN", "GONE"})
	if got, err := get("TOKEN"); got != "task-value" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := get("HOOK"); got != "" || !fault.Is(err, fault.Denied) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := get("GONE"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestCommands(t *testing.T) {
	for _, one := range []struct {
		name, script, want string
		kind               fault.Kind
		timeout            time.Duration
	}{
		{"fails", "echo no-such-value-here >&2; exit 3", "ended with status 3", fault.Transient, time.Minute},
		{"says too much", "yes | head -c 70000", "printed more than 65536 bytes", fault.Invalid, time.Minute},
		{"never ends", "sleep 1000 & sleep 1000", "did not answer within 100ms", fault.Transient, 100 * time.Millisecond},
		{"leaves a child behind", "sleep 1000 & echo half; exit 1", "", fault.Transient, 100 * time.Millisecond},
	} {
		t.Run(one.name, func(t *testing.T) {
			s := open(t, secret.Config{Providers: []secret.ProviderConfig{{
				Kind: "command", Argv: []string{"sh", "-c", one.script, "{name}"}, Names: []string{"*"}, Timeout: one.timeout,
			}}}, nil)
			_, err := s.Get(context.Background(), "A")
			if !fault.Is(err, one.kind) || !strings.Contains(err.Error(), one.want) || strings.Contains(err.Error(), "no-such-value") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestProvidersAreChecked(t *testing.T) {
	for _, one := range []struct {
		config secret.ProviderConfig
		want   string
	}{
		{secret.ProviderConfig{Kind: "vault"}, "the kinds are file, env, command"},
		{secret.ProviderConfig{Kind: "file"}, "it has no path"},
		{secret.ProviderConfig{Kind: "env"}, "it has no names"},
		{secret.ProviderConfig{Kind: "command", Argv: []string{"cat"}, Names: []string{"*"}}, "with {name} in one of them"},
		{secret.ProviderConfig{Kind: "command", Argv: []string{"cat", "{name}"}}, "it has no names"},
		{secret.ProviderConfig{Kind: "command", Argv: []string{"no-such-program", "{name}"}, Names: []string{"*"}}, "no-such-program"},
	} {
		_, err := secret.Open(secret.Config{Providers: []secret.ProviderConfig{one.config}}, nil, nil)
		if err == nil || !strings.Contains(err.Error(), one.want) {
			t.Errorf("%+v: %v", one.config, err)
		}
	}
}
