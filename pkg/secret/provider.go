package secret

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Provider holds values of secrets. The error of a name that it does not have is fs.ErrNotExist; no error quotes a value.
type Provider interface {
	Get(ctx context.Context, name string) (string, error)
}

// ProviderConfig configures a provider of any kind; each kind reads its own fields.
type ProviderConfig struct {
	Kind     string        `yaml:"kind"`     // file, env or command
	Path     string        `yaml:"path"`     // file: of NAME=value lines, of mode 0600
	Argv     []string      `yaml:"argv"`     // command: prints the value of the secret {name}
	Names    []string      `yaml:"names"`    // globs of the names that it is asked for; all when empty, which only a file may
	Services []string      `yaml:"services"` // whose processes use it: executor, publisher …; all when empty
	Timeout  time.Duration `yaml:"timeout"`  // command: 10s when 0
	Keep     time.Duration `yaml:"keep"`     // how long a value is kept in memory before it is read again; 1m when 0
}

const defaultKeep = time.Minute

// kind is one kind of provider.
type kind struct {
	name string
	open func(ProviderConfig) (Provider, error)
}

// kinds is the table of all providers.
func kinds() []kind {
	return []kind{
		{"file", openFile},
		{"env", openEnvironment},
		{"command", openCommand},
	}
}

// openProvider makes the provider of a configuration.
func openProvider(c ProviderConfig) (Provider, error) {
	var names []string
	c.Keep = cmp.Or(c.Keep, defaultKeep)
	for _, k := range kinds() {
		if k.name == c.Kind {
			p, err := k.open(c)
			return chosen{c.Names, p}, err
		}
		names = append(names, k.name)
	}
	return nil, fault.New(fault.Invalid, "cannot open a provider of secrets of kind %q; the kinds are %s", c.Kind, strings.Join(names, ", "))
}

// chosen asks a provider for some names only.
type chosen struct {
	globs []string
	Provider
}

// Get implements Provider.
func (c chosen) Get(ctx context.Context, name string) (string, error) {
	if len(c.globs) > 0 && !slices.ContainsFunc(c.globs, func(glob string) bool { ok, _ := doublestar.Match(glob, name); return ok }) {
		return "", missing(name)
	}
	return c.Provider.Get(ctx, name)
}

func missing(name string) error { return fmt.Errorf("there is no secret %s: %w", name, fs.ErrNotExist) }
