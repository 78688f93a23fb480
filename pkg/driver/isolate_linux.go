package driver

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/driver/cell"
	"github.com/sluiceci/sluice/pkg/fault"
)

// openIsolation makes what holds commands back, as far as this machine can.
func (l *Local) openIsolation(o LocalOptions) error {
	switch {
	case l.sandbox != "":
		return nil
	case o.Isolation == IsolationNone:
		l.isolation.Missing = append(l.isolation.Missing, "users and namespaces: the configuration says isolation: none")
		return nil
	}
	if !o.Cells || os.Getenv(cell.Variable) != "" {
		return l.missing(o, fault.New(fault.Invalid, "this program makes no cells"))
	}
	users, err := o.Users.orDefault()
	if err != nil {
		return err
	}
	groups := openCgroups(l.place)
	l.cells, err = openCells(cell.Options{View: l.view(o), Offline: o.Network == "none", Leash: leashVariable + "=" + l.outer + l.instance}, users, groups, min(o.Warm, maxWarm))
	if err != nil {
		groups.close()
		return l.missing(o, err)
	}
	l.isolation = Isolation{Held: []string{HoldsUser, HoldsPID, HoldsMount, HoldsIPC, HoldsKill}}
	if o.Network == "none" {
		l.isolation.Held = append(l.isolation.Held, HoldsNetwork)
	}
	l.isolation.Held = append(l.isolation.Held, groups.held()...)
	l.isolation.Missing = groups.missing()
	l.refuseMetadata(o, groups)
	if l.cells.options.Kind == cell.Namespace {
		l.isolation.Missing = append(l.isolation.Missing,
			"users of their own: commands run as user "+fmt.Sprint(os.Getuid())+" in a user namespace; run the executor as root for a range of users")
		l.isolation.Missing = append(l.isolation.Missing, keptGroups()...)
	}
	for _, what := range l.isolation.Missing {
		l.log.Warn("this machine cannot hold commands back by everything", "missing", what)
	}
	return nil
}

// refuseMetadata keeps commands that share the machine's network from the metadata address.
func (l *Local) refuseMetadata(o LocalOptions, groups *cgroups) {
	err := error(fault.New(fault.Invalid, "there is no control group of version 2 for it"))
	if o.Network == "none" {
		err = nil
	} else if base, ok := groups.bases[""]; ok {
		err = refuseMetadata(base)
	}
	if err == nil {
		l.isolation.Held = append(l.isolation.Held, HoldsMetadata)
		return
	}
	l.isolation.Missing = append(l.isolation.Missing, "the metadata address 169.254.169.254: commands share this machine's network, and nothing "+
		"here keeps them from it ("+err.Error()+"); run the executor as root, or refuse the address to its systemd unit")
}

// keptGroups tells which groups commands keep from the executor. In a user namespace only root outside of it could drop them.
func keptGroups() []string {
	groups, _ := os.Getgroups()
	groups = slices.DeleteFunc(groups, func(one int) bool { return one == os.Getegid() })
	if len(groups) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("groups: commands keep the executor's supplementary groups %v, which an ordinary user cannot drop; "+
		"run the executor as root, or without them", groups)}
}

// missing goes on without isolation, and says so, unless it is required.
func (l *Local) missing(o LocalOptions, err error) error {
	if o.Isolation == IsolationRequired || o.Network == "none" {
		return fault.New(fault.Invalid, "cannot isolate commands, which the configuration requires: %w", err)
	}
	why := strings.ReplaceAll(err.Error(), "\n", "; ")
	l.isolation.Missing = append(l.isolation.Missing, "users and namespaces: "+why)
	l.log.Warn("commands are not isolated: they run as the platform's user and see its files", "missing", why)
	return nil
}

// view is what commands see of this machine.
func (l *Local) view(o LocalOptions) cell.View {
	v, hide := cell.View{Scratch: scratchDirs(), Below: l.resolved}, append([]string{l.dir}, o.Hide...)
	home, _ := os.UserHomeDir()
	if home != "" && home != "/" {
		hide = append(hide, home)
		for _, dir := range toolchains(home, l.path) {
			v.Show = append(v.Show, cell.Tree{Source: dir, Target: dir, Foreign: true})
		}
	}
	for _, name := range []string{"/run/systemd/resolve", "/run/resolvconf"} { // what /etc/resolv.conf may lead to
		v.Show = append(v.Show, cell.Tree{Source: name, Target: name, Foreign: true})
	}
	for _, m := range o.Show {
		v.Show = append(v.Show, cell.Tree{Source: m.Source, Target: m.At(), Writable: m.Writable, Foreign: true})
	}
	v.Hide = hidden(hide)
	return v
}

// toolchains are the trees below a home that the directories of PATH belong to: of ~/.pyenv/shims that is ~/.pyenv. Where
// that would be all that programs of the user keep, it is the directory itself.
func toolchains(home, path string) []string {
	var trees []string
	for _, dir := range filepath.SplitList(path) {
		if dir == home || !Within(dir, home) {
			continue
		}
		tree := filepath.Dir(dir)
		if tree == home || slices.Contains([]string{".local", ".cargo", ".config"}, filepath.Base(tree)) {
			tree = dir
		}
		if !slices.ContainsFunc(trees, func(other string) bool { return Within(tree, other) }) {
			trees = append(trees, tree)
		}
	}
	return trees
}
