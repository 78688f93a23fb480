//go:build unix

package driver

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/sluiceci/sluice/pkg/fault"
)

// leashVariable holds the leashes of every attempt that a process runs in, outermost first, each ended by a comma.
const leashVariable = "SLUICE_LEASH"

// environ is the whole environment of a command. The leash comes last so that a task's variable cannot hide it.
func (l *Local) environ(spec Spec, leash string) []string {
	home := spec.Home
	if home == "" {
		home = spec.Dir
	}
	env := make([]string, 0, len(spec.Env)+5)
	for _, minimum := range [...][2]string{{"PATH", l.path}, {"HOME", home}, {"TMPDIR", home}, {"LANG", "C.UTF-8"}} {
		if _, stated := spec.Env[minimum[0]]; !stated {
			env = append(env, minimum[0]+"="+minimum[1])
		}
	}
	for name, value := range spec.Env {
		if name != leashVariable {
			env = append(env, name+"="+value)
		}
	}
	return append(env, leashVariable+"="+l.outer+leash)
}

// programs remembers where programs are: a PATH has many directories, and every attempt asks for the same shell.
type programs struct {
	mu    sync.Mutex
	known map[[2]string]string // name and PATH → file
}

const maxPrograms = 256

// find finds the program in the PATH that the command itself will have.
func (p *programs) find(spec Spec, env []string) (string, error) {
	if len(spec.Args) == 0 || spec.Args[0] == "" {
		return "", fault.New(fault.Invalid, "cannot start a process: the command is empty")
	}
	name := spec.Args[0]
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := variable(env, "PATH")
	p.mu.Lock()
	defer p.mu.Unlock()
	if file, ok := p.known[[2]string{name, path}]; ok && executable(file) {
		return file, nil
	}
	file, ok := lookPath(name, path)
	if !ok {
		return "", fault.New(fault.Invalid, "cannot start %q: no such program in PATH %s", name, path)
	}
	if p.known == nil || len(p.known) >= maxPrograms {
		p.known = map[[2]string]string{}
	}
	p.known[[2]string{name, path}] = file
	return file, nil
}

func lookPath(name, path string) (string, bool) {
	for _, dir := range filepath.SplitList(path) {
		// The workspace, which relative directories begin at, is no place to find "sh" in.
		if file := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(file) {
			return file, true
		}
	}
	return "", false
}

// from makes a path absolute as the command would.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func executable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func variable(env []string, name string) string {
	for _, one := range env {
		if value, ok := strings.CutPrefix(one, name+"="); ok {
			return value
		}
	}
	return ""
}

// startError says whether trying the same command again makes sense.
func startError(spec Spec, program string, err error) error {
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	kind := fault.Transient
	for _, never := range []error{syscall.E2BIG, syscall.ENOEXEC, syscall.EACCES, syscall.EINVAL, syscall.ENOTDIR} {
		if errors.Is(err, never) {
			kind = fault.Invalid
		}
	}
	if errors.Is(err, syscall.ENOENT) {
		if _, missing := os.Stat(program); missing != nil && filepath.IsAbs(program) {
			kind = fault.Invalid
		}
	}
	return fault.New(kind, "cannot start %s in %s: %w", program, spec.Dir, err)
}
