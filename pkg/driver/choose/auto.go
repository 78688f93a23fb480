package choose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/fault"
)

// auto runs commands that name an image in containers, and all others as processes of this machine. The engine is looked
// for when the first of them starts, so that a machine without one runs everything else.
type auto struct {
	driver.Site // of processes
	config      Config
	options     Options

	mu    sync.Mutex
	boxes driver.Site // nil until an engine is needed
}

func openAuto(ctx context.Context, c Config, o Options) (driver.Site, error) {
	site, err := openLocal(ctx, c, o)
	if err != nil {
		return nil, err
	}
	return &auto{Site: site, config: c, options: o}, nil
}

// Start implements driver.Driver.
func (a *auto) Start(ctx context.Context, spec driver.Spec) (driver.Process, error) {
	if spec.Image == "" {
		return a.Site.Start(ctx, spec)
	}
	boxes, err := a.containers(ctx)
	if err != nil {
		return nil, err
	}
	return boxes.Start(ctx, spec)
}

// Isolation implements driver.Isolated: what processes of this machine are held back by.
func (a *auto) Isolation() driver.Isolation { return driver.IsolationOf(a.Site) }

// containers opens the engine, and sweeps it, the first time that it can.
func (a *auto) containers(ctx context.Context) (driver.Site, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.boxes != nil {
		return a.boxes, nil
	}
	site, err := a.find(ctx)
	if err != nil {
		return nil, err
	}
	a.boxes = site
	if _, err := site.Sweep(ctx); err != nil {
		a.options.Log.WarnContext(ctx, "cannot sweep the container engine", "err", err)
	}
	return site, nil
}

// find opens the first engine that answers.
func (a *auto) find(ctx context.Context) (driver.Site, error) {
	var looked []string
	for _, one := range candidates(a.config.Container.Host, os.Getenv) {
		if missing := one.missing(); missing != "" {
			looked = append(looked, one.name+" ("+missing+")")
			continue
		}
		config := a.config
		config.Container.Host = one.host
		site, err := openContainer(ctx, config, a.options)
		if err == nil {
			a.options.Log.InfoContext(ctx, "images run in containers of an engine of this machine", "engine", one.host)
			return site, nil
		}
		looked = append(looked, fmt.Sprintf("%s (%v)", one.name, err))
	}
	return nil, fault.New(fault.Invalid, "cannot run in an image: no container engine answers here; start docker, or podman with "+
		"\"systemctl --user start podman.socket\", or name a socket in DOCKER_HOST; looked for %s", strings.Join(looked, ", "))
}

// candidate is where an engine may listen.
type candidate struct{ name, host string }

// candidates are, in order, the places where an engine of this machine may listen. One that is named is the only one.
func candidates(stated string, getenv func(string) string) []candidate {
	for _, one := range []candidate{{"the configuration's host", stated}, {"DOCKER_HOST", getenv("DOCKER_HOST")}, {"CONTAINER_HOST", getenv("CONTAINER_HOST")}} {
		if one.host != "" {
			return []candidate{{one.name + " " + one.host, one.host}}
		}
	}
	all := []candidate{{"DOCKER_HOST", ""}, socket("/var/run/docker.sock"), socket("/run/podman/podman.sock")}
	if home := getenv("HOME"); home != "" {
		all = append(all, socket(filepath.Join(home, ".docker/run/docker.sock")))
	}
	runtime := cmp.Or(getenv("XDG_RUNTIME_DIR"), fmt.Sprintf("/run/user/%d", os.Getuid()))
	return append(all, socket(filepath.Join(runtime, "docker.sock")), socket(filepath.Join(runtime, "podman/podman.sock")))
}

func socket(path string) candidate { return candidate{path, "unix://" + path} }

// missing says why a candidate need not be tried.
func (c candidate) missing() string {
	if c.host == "" {
		return "not set"
	}
	path, local := strings.CutPrefix(c.host, "unix://")
	if !local {
		return ""
	}
	if _, err := os.Stat(path); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return "not there"
		}
		return "cannot be looked at"
	}
	return ""
}

// Sweep implements driver.Site.
func (a *auto) Sweep(ctx context.Context) (int, error) {
	n, err := a.Site.Sweep(ctx)
	a.mu.Lock()
	boxes := a.boxes
	a.mu.Unlock()
	if boxes == nil {
		return n, err
	}
	more, failed := boxes.Sweep(ctx)
	return n + more, errors.Join(err, failed)
}

// Close implements driver.Site.
func (a *auto) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.Site.Close()
	if a.boxes != nil {
		err = errors.Join(err, a.boxes.Close())
		a.boxes = nil
	}
	return err
}
