package ssh

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/fault"
)

// leashVariable is in the environment of a command, so that what leaves its session is found.
const leashVariable = "SLUICE_LEASH"

// place says where on the host a command finds what it has here.
type place struct {
	dir   string // of the attempt, on the host
	trees []tree
}

// tree is a directory of this machine and what the host calls it.
type tree struct{ here, there string }

func newPlace(dir string, spec driver.Spec, shared bool) place {
	p := place{dir: dir}
	for i, here := range spec.Trees() {
		one := tree{here, fmt.Sprintf("%s/tree/%d", dir, i)}
		if shared {
			one.there = here
		}
		p.trees = append(p.trees, one)
	}
	return p
}

// there translates a word that is a path into one of the trees; every other word stays as it is.
func (p place) there(word string) string {
	for _, t := range p.trees {
		if rest, ok := strings.CutPrefix(word, t.here); ok && (rest == "" || rest[0] == '/') {
			return t.there + rest
		}
	}
	return word
}

// check refuses what cannot be passed on.
func check(spec driver.Spec) error {
	if len(spec.Args) == 0 || spec.Args[0] == "" || strings.HasPrefix(spec.Args[0], "-") || strings.Contains(spec.Args[0], "=") {
		return fault.New(fault.Invalid, "cannot start %q on a host: expected a command whose name holds no = and begins with no -", spec.Args)
	}
	if slices.ContainsFunc(spec.Args, func(word string) bool { return strings.Contains(word, "\x00") }) {
		return fault.New(fault.Invalid, "cannot start %q on a host: a word has a zero byte", spec.Args[0])
	}
	for name, value := range spec.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return fault.New(fault.Invalid, "cannot start %q on a host: variable %.100q has a zero byte, or = in its name", spec.Args[0], name)
		}
	}
	if slices.Contains(spec.Trees(), "/") {
		return fault.New(fault.Invalid, "cannot start %q on a host: its tree is all of this machine", spec.Args[0])
	}
	if len(spec.Mounts) > 0 {
		return fault.New(fault.Invalid, "cannot show %s on a host: expected it to be there", spec.Mounts[0].Source)
	}
	return nil
}

// job is the script that becomes the command. Its first word on the pipe says what came of it.
func job(spec driver.Spec, at place, searchPath, leash string) string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "echo $$ >leader\nsay() { echo \"$*\" >\"$dir/first\"; }\ndir=$1\n")
	fmt.Fprintf(b, "cd -- %s || { say directory; exit 126; }\n", quote(at.there(spec.Dir)))
	if searchPath != "" {
		fmt.Fprintf(b, "PATH=%s\n", quote(searchPath))
	}
	if stated, ok := spec.Env["PATH"]; ok {
		fmt.Fprintf(b, "PATH=%s\n", quote(stated))
	}
	limit(b, spec.Limits)
	program := quote(at.there(spec.Args[0]))
	fmt.Fprintf(b, "command -v %s >/dev/null 2>&1 || { say missing; exit 127; }\nsay ready\nexec env -i PATH=\"$PATH\"", program)
	for _, one := range environ(spec, at, leash) {
		b.WriteString(" " + quote(one))
	}
	for _, word := range spec.Args {
		b.WriteString(" " + quote(at.there(word)))
	}
	b.WriteString("\n# whole\n")
	return b.String()
}

// environ is the whole environment but for PATH.
func environ(spec driver.Spec, at place, leash string) []string {
	home := cmp.Or(spec.Home, spec.Dir)
	all := map[string]string{"HOME": home, "TMPDIR": home, "LANG": "C.UTF-8"}
	maps.Copy(all, spec.Env)
	all[leashVariable] = leash
	delete(all, "PATH")
	env := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		env = append(env, name+"="+at.there(all[name]))
	}
	return env
}

// limit sets limits as shells can; the flag of processes is not the same in all of them.
func limit(b *strings.Builder, l driver.Limits) {
	for _, one := range []struct {
		name, flags string
		value       int64
	}{
		{"file_size", "f", (l.FileSize + 511) / 512},
		{"cpu_time", "t", int64(math.Ceil(l.CPUTime.Seconds()))},
		{"memory", "d", (l.Memory + 1023) / 1024},
		{"processes", "u p", l.Processes},
	} {
		if one.value <= 0 {
			continue
		}
		fmt.Fprintf(b, "for flag in %s; do (ulimit -$flag %d) >/dev/null 2>&1 && break; done\nulimit -$flag %[2]d || { say refused %s; exit 125; }\n",
			one.flags, one.value, one.name)
	}
}

// remote joins names of the host.
func remote(parts ...string) string { return path.Join(parts...) }
