package plan

import "github.com/sluiceci/sluice/pkg/release"

// Dialect reads another system's own files, unchanged, as tasks of a plan: include: [{ray: release_tests.yaml}]. It does
// no I/O; the same files, options and change give the same tasks.
type Dialect interface {
	// Read reads the files that an include names. What is wrong with them is one error, or several joined by
	// errors.Join, that each may tell their place by a method Position() (file string, line, column int).
	Read(Included) (Suite, error)
}

// Suite is what a dialect has read.
type Suite interface {
	// Tasks are those for one change. Tasks without a pool are mapped by the definition's pools; Needs, if any, name
	// tasks of the same suite; what the include itself needs is added by whoever asks.
	Tasks(Asked) (Imported, error)
}

// Asker is a suite that must know something of the world before it has tasks for a change: what a branch leads to, say. Its
// questions are answered by whoever plans, once, and the answers are part of what it is asked with.
type Asker interface {
	Asks(Asked) ([]string, error)
}

// Checked is a suite parts of which are broken. It has tasks all the same; whoever checks the definition is told what is wrong, as
// Read tells it of what cannot be read at all.
type Checked interface {
	Check() error
}

// Included is what an include of a dialect says.
type Included struct {
	Files   []string                          // paths in the repository, globs resolved
	Options map[string]string                 // its other keys, as they are written
	Open    func(name string) ([]byte, error) // any file of the repository; fs.ErrNotExist when there is none
}

// Asked is what a suite's tasks are wanted for.
type Asked struct {
	Change      release.Change
	Environment string            // that was chosen; empty when none was
	Settings    map[string]string // by path, after presets and overrides
	Answers     map[string]string // by question, of those that Asks gave
	Jailed      map[string]string // tests that are not to be run now, by name, with the reason
}

// Imported is what a suite is for a change.
type Imported struct {
	Tasks    []Task
	Skipped  []Skipped
	Warnings []string
}
