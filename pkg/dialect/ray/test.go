package ray

import (
	"path"
	"strings"

	"github.com/sluiceci/sluice/pkg/dialect/ray/pyyaml"
)

// What a test has that does not say.
const (
	DefaultGroup       = "Ungrouped release tests"
	DefaultEnvironment = "aws"
	DefaultPython      = "3.9"
	DefaultAlert       = "default"
	DefaultRunType     = "anyscale_job"
	DefaultByodType    = "cpu"

	defaultWaitTimeout = 3000 // seconds
)

// Test is one release test, expanded, with the defaults filled in. Tests are never changed once they are made.
type Test struct {
	Name        string
	Definition  string            // its name in the file, before variations and matrices
	Suffix      string            // of its variation
	Matrix      map[string]string // its combination
	Group       string
	Team        string
	Frequency   Frequency
	WorkingDir  string // as written: relative to the test file's directory
	Env         string // the name of its environment
	Python      string
	Stable      bool
	RepeatedRun int
	Alert       string // the name of its alert suite
	Cluster     Cluster
	Run         Run
	Smoke       *Test // the test as its smoke test; nil without one
	IsSmoke     bool

	File         string
	Line, Column int

	node *pyyaml.Node
}

// Cluster is what a test runs on.
type Cluster struct {
	Compute         string // path of the compute file as written: relative to the working directory
	Byod            Byod
	AutosuspendMins *int64
	CloudID         string
	CloudName       string
	ProjectID       string
	Size            Size   // of the compute file; zero and unknown when it cannot be told
	Unknown         string // why the size cannot be told
}

// Byod says what is in the image of a test's cluster.
type Byod struct {
	Type            string
	PostBuildScript string
	Pip             []string
	RuntimeEnv      map[string]string // Ray's three defaults included
}

// Run is what a test does.
type Run struct {
	Script         string
	Timeout        int64 // seconds
	Type           string
	Wait           *WaitForNodes
	Prepare        string
	PrepareTimeout int64 // seconds; 0 without a prepare command
	LongRunning    bool  // to reach the timeout is to succeed
	ArtifactPath   string
}

// WaitForNodes is how long to wait for how many nodes before the test starts.
type WaitForNodes struct {
	Nodes   int64
	Timeout int64 // seconds
}

// Value returns what the test's file says at a path such as "run/type", or the default that applies there. It is nil where
// neither is.
func (t *Test) Value(attr string) *pyyaml.Node {
	n := lookup(t.node, strings.Split(attr, "/")...)
	if n == nil {
		return t.fallback(attr)
	}
	return n
}

// Written reports whether the test's file says anything at a path.
func (t *Test) Written(attr string) bool {
	return lookup(t.node, strings.Split(attr, "/")...) != nil
}

// fallback is the default at a path.
func (t *Test) fallback(attr string) *pyyaml.Node {
	text := func(s string) *pyyaml.Node { return pyyaml.NewString(s, t.node.At) }
	number := func(n int64) *pyyaml.Node { return &pyyaml.Node{Kind: pyyaml.Int, Int: n} }
	truth := func(b bool) *pyyaml.Node { return &pyyaml.Node{Kind: pyyaml.Bool, Bool: b} }
	switch attr {
	case "group":
		return text(t.Group)
	case "env":
		return text(t.Env)
	case "python":
		return text(t.Python)
	case "alert":
		return text(t.Alert)
	case "stable":
		return truth(t.Stable)
	case "repeated_run":
		return number(int64(t.RepeatedRun))
	case "cluster/byod/type":
		return text(t.Cluster.Byod.Type)
	case "run/type":
		return text(t.Run.Type)
	case "run/long_running":
		return truth(t.Run.LongRunning)
	case "run/prepare_timeout":
		return number(t.Run.PrepareTimeout)
	case "run/wait_for_nodes/timeout":
		if t.Run.Wait != nil {
			return number(t.Run.Wait.Timeout)
		}
	}
	return nil
}

// ComputePath is the path of the compute file below the root of the files.
func (t *Test) ComputePath() string {
	return path.Join(path.Dir(t.File), t.WorkingDir, t.Cluster.Compute)
}

// Directory is the path of the working directory below the root of the files.
func (t *Test) Directory() string { return path.Join(path.Dir(t.File), t.WorkingDir) }

// Nodes is how many nodes the test waits for, else how many its compute file makes.
func (t *Test) Nodes() int64 {
	if t.Run.Wait != nil && t.Run.Wait.Nodes > 0 {
		return t.Run.Wait.Nodes
	}
	return t.Cluster.Size.Nodes
}

// WaitTimeout is how long to wait for the nodes, in seconds; 0 when the test does not wait.
func (t *Test) WaitTimeout() int64 {
	if t.Run.Wait == nil {
		return 0
	}
	return t.Run.Wait.Timeout
}

// AutosuspendMins is after how many idle minutes the cluster ends itself: as written, else a quarter of an hour more than
// the test may take, at most two hours.
func (t *Test) AutosuspendMins() int64 {
	if t.Cluster.AutosuspendMins != nil {
		return *t.Cluster.AutosuspendMins
	}
	return min(120, (t.Run.Timeout+t.Run.PrepareTimeout)/60+15)
}

// Command is the text that the test runs; a smoke test gets its flag.
func (t *Test) Command() string {
	if t.IsSmoke {
		return strings.TrimRight(t.Run.Script, "\n ") + " --smoke-test"
	}
	return t.Run.Script
}

// IsGCE reports whether the test's cluster is at Google, by the rule of Ray's own sizing.
func (t *Test) IsGCE() bool { return t.Env == "gce" }
