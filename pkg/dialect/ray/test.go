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

	Problem string // why it cannot run; such a test is not whole

	node  *pyyaml.Node
	rules *Rules
}

// Cluster is what a test runs on.
type Cluster struct {
	Compute         string // path of the compute file as written: relative to the working directory
	Byod            Byod
	AutosuspendMins *int64
	CloudID         string
	CloudName       string
	ProjectID       string
	Cloud           string // the name of a cloud, which takes the place of CloudID since 2026
	RayVersion      string // of a released image, which takes the place of one that is built
	Env             string // path of a cluster environment of 2023
	NewSDK          bool   // the compute file has head_node and worker_nodes
	Size            Size   // of the compute file; at least so much where it cannot be told
	Unknown         string // why the size cannot be told
	Nodes           int64  // that the compute file makes at its largest, as far as it says
}

// Byod says what is in the image of a test's cluster.
type Byod struct {
	Type            string
	PostBuildScript string
	Pip             []string
	Depset          string            // path of a lock file
	Own             bool              // the test has variables of its own
	RuntimeEnv      map[string]string // those included that Ray sets for every test
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
	Retries        int64 // of its failures; 0 leaves them to the suite
}

// WaitForNodes is how long to wait for how many nodes before the test starts.
type WaitForNodes struct {
	Nodes   int64
	Timeout int64 // seconds
}

// Value returns what the test's file says at a path such as "run/type"; nil where it says nothing.
func (t *Test) Value(attr string) *pyyaml.Node { return lookup(t.node, strings.Split(attr, "/")...) }

// Written reports whether the test's file says anything at a path.
func (t *Test) Written(attr string) bool { return t.Value(attr) != nil }

// ComputePath is the path of the compute file below the root of the files.
func (t *Test) ComputePath() string {
	return path.Join(t.Directory(), t.Cluster.Compute)
}

// Directory is the path of the working directory below the root of the files. One that begins with "//" is below that root,
// any other below the directory of the test file.
func (t *Test) Directory() string {
	if below, ok := strings.CutPrefix(t.WorkingDir, "//"); ok {
		return path.Clean(strings.TrimLeft(below, "/"))
	}
	return path.Join(path.Dir(t.File), t.WorkingDir)
}

// Nodes is how many nodes the test waits for, else how many its compute file makes.
func (t *Test) Nodes() int64 {
	if t.Run.Wait != nil && t.Run.Wait.Nodes > 0 {
		return t.Run.Wait.Nodes
	}
	return t.Cluster.Nodes
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

// queue is the queue of the CI that Ray gives the test to.
func (t *Test) queue() string {
	if t.Run.Type == "client" {
		return t.rules.QueueClient
	}
	return t.rules.Queue
}

// kuberay reports whether the test runs on Kubernetes.
func (t *Test) kuberay() bool {
	return strings.Contains(t.Name, ".kuberay") || t.rules.KuberayByEnv && t.Env == "kuberay"
}
