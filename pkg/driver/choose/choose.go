// Package choose opens the driver that a configuration names. Its table is the list of all drivers.
package choose

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/driver/container"
	"github.com/sluiceci/sluice/pkg/driver/ssh"
	"github.com/sluiceci/sluice/pkg/fault"
)

// Config says where attempts run: the key "driver" of an executor.
type Config struct {
	Kind   string        `yaml:"kind"`   // a Kind of Table; "local" when empty
	Limits driver.Limits `yaml:"limits"` // of commands that state none

	Local     Local     `yaml:"local"`
	Container Container `yaml:"container"`
	SSH       SSH       `yaml:"ssh"`
}

// Local configures processes of this machine.
type Local struct {
	Sandbox   string       `yaml:"sandbox"`   // "bubblewrap", or empty for none
	Isolation string       `yaml:"isolation"` // "required" or "none"; as far as the machine can when empty
	Users     driver.Users `yaml:"users"`     // that commands run as where the executor is root: "200000-200063"
	Binds     []Bind       `yaml:"binds"`     // what commands see beside the system's programs
	Network   string       `yaml:"network"`   // "none", or the machine's when empty
}

// Bind is a file or directory of the machine that commands see.
type Bind struct {
	Path     string `yaml:"path"`
	Writable bool   `yaml:"writable"`
}

// Container configures containers of a Docker Engine.
type Container struct {
	Host    string `yaml:"host"`    // "unix:///run/podman/podman.sock" or "tcp://…": an engine that sees the executor's files
	Image   string `yaml:"image"`   // of tasks that name none
	Pull    string `yaml:"pull"`    // "missing", "never" or "always"; "missing" when empty
	Network string `yaml:"network"` // that tasks get which ask for one; the engine's default when empty
	User    string `yaml:"user"`    // "uid:gid"; the owner of the workspace when empty, but never root

	ReadOnly     bool     `yaml:"read_only"`    // the image's files cannot be written to; /tmp can
	Capabilities []string `yaml:"capabilities"` // that commands keep, such as CHOWN; none when empty
	Privileges   bool     `yaml:"privileges"`   // setuid programs of the image gain them
}

// SSH configures a host that is reached over SSH.
type SSH struct {
	Address    string        `yaml:"address"`     // "node7" or "node7:2222"
	User       string        `yaml:"user"`        //
	KeyFile    string        `yaml:"key_file"`    // private, without a passphrase
	KnownHosts string        `yaml:"known_hosts"` // file of keys that hosts are known by
	Dir        string        `yaml:"dir"`         // on the host; ".sluice" in the account's home when empty
	Shared     bool          `yaml:"shared"`      // the host sees the executor's files at the same paths
	Path       string        `yaml:"path"`        // PATH of tasks that state none; the host's own when empty
	KeepAlive  time.Duration `yaml:"keep_alive"`  // between signs of life; 10s when 0
	Patience   time.Duration `yaml:"patience"`    // with a host that is away while a task runs there; 5m when 0
	Orphan     time.Duration `yaml:"orphan"`      // after which a host that hears nothing ends the task; 10m when 0
}

// Options are what the executor itself gives to its driver.
type Options struct {
	Place string       // the executor's directory, absolute: what earlier instances of the same place left is ours to sweep
	Path  string       // PATH of commands that state none
	Log   *slog.Logger // the default logger when nil

	Cells bool     // commands run in cells: see driver.LocalOptions
	Slots int      // commands that run at a time
	Hide  []string // the platform's files, which do not exist for commands
	Show  []string // files of the executor's that commands read
}

// Kind is one line of Table.
type Kind struct {
	Name string
	Doc  string
	open func(context.Context, Config, Options) (driver.Site, error)
}

// Table lists the drivers there are.
func Table() []Kind {
	return []Kind{
		{"local", "processes of this machine, in a sandbox if asked", openLocal},
		{"container", "containers of a Docker Engine: docker or podman", openContainer},
		{"auto", "processes of this machine, and containers of its engine for tasks that name an image", openAuto},
		{"ssh", "another machine, such as bare metal; survives lost connections", openSSH},
	}
}

// Open opens the driver that the configuration names and makes sure that it can work. The caller sweeps and closes it.
func Open(ctx context.Context, config Config, options Options) (driver.Site, error) {
	if config.Kind == "" {
		config.Kind = "local"
	}
	if options.Log == nil {
		options.Log = slog.Default()
	}
	table := Table()
	i := slices.IndexFunc(table, func(k Kind) bool { return k.Name == config.Kind })
	if i < 0 {
		return nil, fault.New(fault.Invalid, "cannot open a driver of kind %q: expected one of %s", config.Kind, names(table))
	}
	site, err := table[i].open(ctx, config, options)
	if err != nil {
		return nil, err
	}
	if config.Limits == (driver.Limits{}) {
		return site, nil
	}
	return limited{site, config.Limits}, nil
}

func names(table []Kind) string {
	var all []string
	for _, k := range table {
		all = append(all, k.Name)
	}
	return strings.Join(all, ", ")
}

// limited gives limits to commands that state none.
type limited struct {
	driver.Site
	limits driver.Limits
}

func (l limited) Start(ctx context.Context, spec driver.Spec) (driver.Process, error) {
	spec.Limits = spec.Limits.Or(l.limits)
	return l.Site.Start(ctx, spec)
}

// Isolation implements driver.Isolated.
func (l limited) Isolation() driver.Isolation { return driver.IsolationOf(l.Site) }

func openLocal(_ context.Context, c Config, o Options) (driver.Site, error) {
	local := driver.LocalOptions{
		Place: o.Place, Path: o.Path, Log: o.Log, Sandbox: c.Local.Sandbox,
		Isolation: c.Local.Isolation, Cells: o.Cells, Warm: o.Slots + 1, Users: c.Local.Users, Hide: o.Hide, Network: c.Local.Network,
	}
	for _, path := range o.Show {
		local.Show = append(local.Show, driver.Mount{Source: path})
	}
	for _, bind := range c.Local.Binds {
		local.Show = append(local.Show, driver.Mount{Source: bind.Path, Writable: bind.Writable})
	}
	return driver.NewLocal(local)
}

func openContainer(ctx context.Context, c Config, o Options) (driver.Site, error) {
	return container.Open(ctx, container.Options{
		Host: c.Container.Host, Image: c.Container.Image, Pull: c.Container.Pull, Network: c.Container.Network,
		User: c.Container.User, Place: o.Place, Log: o.Log,
		ReadOnly: c.Container.ReadOnly, Capabilities: c.Container.Capabilities, Privileges: c.Container.Privileges,
	})
}

func openSSH(_ context.Context, c Config, o Options) (driver.Site, error) {
	h := c.SSH
	return ssh.Open(ssh.Options{
		Address: h.Address, User: h.User, KeyFile: h.KeyFile, KnownHosts: h.KnownHosts, Dir: h.Dir, Shared: h.Shared, Path: h.Path,
		KeepAlive: h.KeepAlive, Patience: h.Patience, Orphan: h.Orphan, Place: o.Place, Log: o.Log,
	})
}
