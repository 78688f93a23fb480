package publisher

import (
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
)

// Kind is one kind of target: its validator, factory and documentation at once.
type Kind struct {
	Name      string
	Doc       string   // what it publishes, and where
	Moves     bool     // whether a name may move from one release to the next, as a tag of an image may
	Rank      int      // how hard a commit is to undo, 0 the easiest; commits go from the easiest to the hardest
	Staged    string   // what is done before anybody commits
	Committed string   // what "committed" means there, and how it could be undone
	Undoes    bool     // whether a commit can be undone: the target has Undo
	HardStop  string   // what a person does when the name is taken by other bytes
	Options   []Option // everything that the definition may say
	New       func(Setup) (Target, error)
}

// Setup is what a kind makes a target from.
type Setup struct {
	Options Options          // checked, with defaults and secrets filled in
	Temp    string           // directory for temporary files; empty means the system's
	Root    string           // directories of targets lie below it; empty allows any absolute path
	Now     func() time.Time // for dates in indexes
	Layouts *layouts         // of images that were read before; nil remembers none
}

// Kinds is the table of all kinds. Adding a kind is one line here and one file.
//
// The order of ranks leaves the least harm when a later commit fails: what can be taken back is committed and verified
// first, and a name that can never be used again is spent last.
func Kinds() []Kind {
	return []Kind{pypiIndexKind(), ociKind(), mavenKind(), pypiKind()}
}

// KindOf finds a kind by its name.
func KindOf(name string) (Kind, error) {
	var names []string
	for _, k := range Kinds() {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	slices.Sort(names)
	return Kind{}, fault.New(fault.Invalid, "cannot publish to a target of kind %q: the kinds are %s", name, strings.Join(names, ", "))
}

// Check reports whether a target of a plan can be opened, without reading secrets.
func Check(t plan.Target) error {
	kind, err := KindOf(t.Kind)
	if err != nil {
		return err
	}
	if len(t.Select) == 0 {
		return fault.New(fault.Invalid, "cannot publish to target %q: it selects nothing; name output types, such as \"wheel\" or \"jar.native\"", t.Name)
	}
	_, err = kind.options(t, nil)
	return err
}

// Secrets finds the value of a secret by its name.
type Secrets func(name string) (string, error)

// Open makes the target that a plan names. Every call of the target is guarded: it sees items of the candidate only,
// and only their true bytes.
func Open(t plan.Target, setup Setup, secrets Secrets) (Target, error) {
	kind, err := KindOf(t.Kind)
	if err != nil {
		return nil, err
	}
	if setup.Options, err = kind.options(t, secrets); err != nil {
		return nil, err
	}
	if setup.Now == nil {
		setup.Now = time.Now
	}
	most, err := setup.Options.size("max_size")
	if err != nil {
		return nil, err
	}
	target, err := kind.New(setup)
	if err != nil {
		return nil, err
	}
	return guarded{target, most}, nil
}
