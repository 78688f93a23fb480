package container

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/moby/moby/client"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/fault"
)

// about is what an engine says of itself. It is read here and not by the client, which knows what Docker says only:
// podman tells that it is rootless in a field of its own.
type about struct {
	SecurityOptions []string
	Rootless        bool
	CgroupDriver    string
	CgroupVersion   string
	MemoryLimit     bool
	CPUQuota        bool `json:"CpuCfsQuota"`
	PidsLimit       bool
	MemTotal        int64 // bytes
}

// maxAbout bounds it.
const maxAbout = 1 << 20

// meet asks the engine what it is.
func (d *Driver) meet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	if _, err := d.engine.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return fault.New(fault.Transient, "cannot reach the engine at %s: %w; is docker, or podman system service, running?", d.options.Host, err)
	}
	if err := d.askAbout(ctx); err != nil {
		return fault.New(fault.Transient, "cannot ask the engine at %s what it is: %w", d.options.Host, err)
	}
	return nil
}

func (d *Driver) askAbout(ctx context.Context) error {
	dial := d.engine.Dialer()
	plain := http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	defer plain.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine/v"+d.engine.ClientVersion()+"/info", nil)
	if err != nil {
		return err
	}
	answer, err := plain.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", answer.Status)
	}
	return json.NewDecoder(io.LimitReader(answer.Body, maxAbout)).Decode(&d.about)
}

// rootless reports whether the engine is an ordinary user's, who is root inside of its containers.
func (a about) rootless() bool {
	return a.Rootless || slices.ContainsFunc(a.SecurityOptions, func(option string) bool {
		return option == "rootless" || strings.HasPrefix(option, "name=rootless")
	})
}

// groups reports whether the engine can limit a container as a whole. Without root that takes a kernel whose control
// groups can be delegated, and somebody who did. Podman then claims that it can, and leaves limits out.
func (a about) groups() bool {
	return a.CgroupDriver != "none" && !(a.rootless() && a.CgroupVersion == "1")
}

// holds refuses a limit that the engine would leave out.
func (a about) holds(l driver.Limits) error {
	for _, one := range []struct {
		name        string
		asked, held bool
	}{
		{"memory", l.Memory > 0, a.MemoryLimit},
		{"cpu", l.CPU > 0, a.CPUQuota},
		{"processes", l.Processes > 0, a.PidsLimit},
	} {
		if one.asked && !(one.held && a.groups()) {
			return fault.New(fault.Invalid, "cannot hold the limit %s: the engine has no control group for it (cgroups of version %s, rootless: %v); "+
				"use an engine that runs as root, or delegate cgroups of version 2 to its user", one.name, a.CgroupVersion, a.rootless())
		}
	}
	return nil
}
