package container

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/fault"
)

// check refuses what no container can run. The API is JSON: what is no text would arrive as something else.
func check(spec driver.Spec) error {
	if len(spec.Args) == 0 || spec.Args[0] == "" {
		return fault.New(fault.Invalid, "cannot start a container: the command is empty")
	}
	for _, word := range spec.Args {
		if !utf8.ValidString(word) || strings.Contains(word, "\x00") {
			return fault.New(fault.Invalid, "cannot start a container: the word %.100q is not UTF-8 without zero bytes", word)
		}
	}
	for name, value := range spec.Env {
		if !utf8.ValidString(value) || strings.Contains(name+value, "\x00") || strings.Contains(name, "=") {
			return fault.New(fault.Invalid, "cannot start a container: variable %.100q is not UTF-8 without zero bytes", name)
		}
	}
	if info, err := os.Stat(spec.Dir); err != nil || !info.IsDir() {
		return fault.New(fault.Transient, "cannot start a container in %q: expected a directory; %w", spec.Dir, cmp.Or(err, error(syscall.ENOTDIR)))
	}
	return nil
}

// create is the container for a spec.
func (p *process) create(ctx context.Context, from image) client.ContainerCreateOptions {
	limits := p.driver.withDefaults(p.spec.Limits)
	command := []string{blocks(limits.FileSize), strconv.FormatInt(int64(math.Ceil(limits.CPUTime.Seconds())), 10)}
	return client.ContainerCreateOptions{
		Name: p.name,
		Config: &container.Config{
			Image: from.id, Entrypoint: []string{"/bin/sh", "-c", script, "sluice"}, Cmd: append(command, p.spec.Args...),
			Env: environ(p.spec), WorkingDir: p.spec.Dir, User: p.user, Labels: p.labels(ctx, from),
			OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
			Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
		},
		HostConfig: &container.HostConfig{
			NetworkMode: p.driver.network(p.spec), Mounts: mounts(p.spec), Resources: resources(limits),
			LogConfig: container.LogConfig{Type: "none"}, RestartPolicy: container.RestartPolicy{Name: "no"},
			CapDrop: []string{"ALL"}, CapAdd: p.driver.options.Capabilities, SecurityOpt: p.driver.security(),
			ReadonlyRootfs: p.driver.options.ReadOnly, Tmpfs: p.driver.scratch(),
		},
	}
}

// security keeps setuid programs of the image from gaining what the command does not have.
func (d *Driver) security() []string {
	if d.options.Privileges {
		return nil
	}
	return []string{"no-new-privileges"}
}

// scratch is what a command may write to beside its tree where the image is read-only.
func (d *Driver) scratch() map[string]string {
	if !d.options.ReadOnly {
		return nil
	}
	return map[string]string{"/tmp": "rw,nosuid,nodev,mode=1777", "/var/tmp": "rw,nosuid,nodev,mode=1777"}
}

// What a command may use that states no limit: a container without one can take the machine down.
const (
	defaultProcesses = 4096
	defaultMemory    = 4 << 30 // bytes, on an engine that does not say what it has; else three quarters of that
)

// withDefaults are the limits of a command, as far as the engine holds any.
func (d *Driver) withDefaults(l driver.Limits) driver.Limits {
	if l.Processes == 0 && d.about.holds(driver.Limits{Processes: defaultProcesses}) == nil {
		l.Processes = defaultProcesses
	}
	if l.Memory == 0 && d.about.holds(driver.Limits{Memory: defaultMemory}) == nil {
		l.Memory = cmp.Or(d.about.MemTotal/4*3, defaultMemory)
	}
	return l
}

func blocks(size int64) string { return strconv.FormatInt((size+511)/512, 10) }

// environ is the image's environment, as far as the spec says nothing else.
func environ(spec driver.Spec) []string {
	home := cmp.Or(spec.Home, spec.Dir)
	env := make([]string, 0, len(spec.Env)+3)
	for _, minimum := range [...][2]string{{"HOME", home}, {"TMPDIR", home}, {"LANG", "C.UTF-8"}} {
		if _, stated := spec.Env[minimum[0]]; !stated {
			env = append(env, minimum[0]+"="+minimum[1])
		}
	}
	for name, value := range spec.Env {
		env = append(env, name+"="+value)
	}
	return env
}

// nobody is who commands run as whose workspace belongs to root: it is made theirs. Images for users without an account
// use the same number.
const nobody = 65532

// user makes what the command writes belong to the workspace's owner. In a rootless engine the user that it runs as is
// root inside, and everybody else is nobody who could write to the workspace.
func (d *Driver) user(spec driver.Spec) (string, error) {
	if d.options.User != "" {
		return d.options.User, nil
	}
	if d.about.rootless() {
		return "0:0", nil
	}
	info, err := os.Stat(spec.Trees()[0])
	if err != nil {
		return "", fault.New(fault.Transient, "cannot tell whose the workspace is: %w", err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	if owner.Uid != 0 && owner.Uid != nobody {
		return fmt.Sprintf("%d:%d", owner.Uid, owner.Gid), nil
	}
	for _, tree := range spec.Trees() {
		if err := give(tree); err != nil {
			return "", fault.New(fault.Transient, "cannot give the workspace to user %d: %w", nobody, err)
		}
	}
	return fmt.Sprintf("%d:%d", nobody, nobody), nil
}

// give makes nobody the owner of a tree.
func give(tree string) error {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return root.Lchown(name, nobody, nobody)
	})
}

func (d *Driver) network(spec driver.Spec) container.NetworkMode {
	if !spec.Network {
		return "none"
	}
	return container.NetworkMode(d.options.Network)
}

func mounts(spec driver.Spec) []mount.Mount {
	var all []mount.Mount
	for _, tree := range spec.Trees() {
		all = append(all, mount.Mount{Type: mount.TypeBind, Source: tree, Target: tree})
	}
	for _, m := range spec.Mounts {
		all = append(all, mount.Mount{Type: mount.TypeBind, Source: m.Source, Target: filepath.Clean(m.At()), ReadOnly: !m.Writable})
	}
	return all
}

// ownProcesses is what the script and a signal need of the limit.
const ownProcesses = 6

func resources(l driver.Limits) container.Resources {
	r := container.Resources{Memory: l.Memory, MemorySwap: l.Memory, NanoCPUs: int64(l.CPU * 1e9)}
	if l.Processes > 0 {
		processes := l.Processes + ownProcesses
		r.PidsLimit = &processes
	}
	return r
}

// Labels of containers.
const (
	labelPlace    = "sluice.place"
	labelInstance = "sluice.instance"
	labelExpires  = "sluice.expires" // seconds since 1970
	labelImage    = "sluice.image"
)

// lifetime is how long a container may live that states no deadline, and margin what one with a deadline gets beyond it.
const (
	lifetime = 7 * 24 * time.Hour
	margin   = time.Hour
)

func (p *process) labels(ctx context.Context, from image) map[string]string {
	expires := time.Now().Add(lifetime)
	if deadline, ok := ctx.Deadline(); ok {
		expires = deadline.Add(p.spec.Patience() + margin)
	}
	labels := map[string]string{
		labelPlace: p.driver.place, labelInstance: p.driver.instance, labelImage: from.digest,
		labelExpires: strconv.FormatInt(expires.Unix(), 10),
	}
	for key, value := range p.spec.Labels {
		if _, taken := labels["sluice."+key]; !taken {
			labels["sluice."+key] = value
		}
	}
	return labels
}
