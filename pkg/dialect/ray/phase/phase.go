package phase

import (
	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
)

// Phase is a part of a test.
type Phase string

// The phases, in their order.
const (
	CreateCluster Phase = "create cluster"
	BuildImage    Phase = "build cluster environment"
	StartCluster  Phase = "start cluster"
	PrepareRemote Phase = "prepare remote environment"
	WaitForNodes  Phase = "wait for nodes"
	Prepare       Phase = "prepare"
	Command       Phase = "command"
	FetchResult   Phase = "fetch result"
	LastLogs      Phase = "last logs"
	Terminate     Phase = "terminate cluster"
	Alerts        Phase = "alerts"
	Report        Phase = "report"
)

// How is how a phase ended.
type How string

// The ends of a phase.
const (
	Done     How = ""
	Failed   How = "failed"
	TimedOut How = "timed out"
)

// rule is what a phase is to the test.
type rule struct {
	phase    Phase
	failed   string // the exception of a failure; "" when a failure changes nothing
	timedOut string // the exception of a timeout, when it is another
	always   bool   // it is done whatever happened
}

func rules() []rule {
	return []rule{
		{phase: CreateCluster, failed: "ClusterCreationError"},
		{phase: BuildImage, failed: "ClusterEnvBuildError", timedOut: "ClusterEnvBuildTimeout"},
		{phase: StartCluster, failed: "ClusterStartupFailed", timedOut: "ClusterStartupTimeout"},
		{phase: PrepareRemote, failed: "RemoteEnvSetupError"},
		{phase: WaitForNodes, failed: "ClusterNodesWaitTimeout", timedOut: "ClusterNodesWaitTimeout"},
		{phase: Prepare, failed: "PrepareCommandError", timedOut: "PrepareCommandTimeout"},
		{phase: Command, failed: "TestCommandError", timedOut: "TestCommandTimeout"},
		{phase: FetchResult, failed: "FetchResultError"},
		{phase: LastLogs, always: true},
		{phase: Terminate, always: true},
		{phase: Alerts, failed: "ResultsAlert"},
		{phase: Report, always: true},
	}
}

// Options are what a test says about its own end.
type Options struct {
	LongRunning bool // a command that runs out of time has done what it should
	NeedsResult bool // its alert suite cannot judge without a result
	NoTerminate bool // leave the cluster to a person
}

// Walk does the phases in their order and names the exception that ended the test, "" for success. The first failure
// is the one that counts; after it only what is always done is done. A phase that cannot be left out for any kind of
// run, such as the one that keeps its cluster, is given to do like every other.
func Walk(o Options, do func(Phase) How) string {
	ended := ""
	for _, r := range rules() {
		if ended != "" && !r.always || r.phase == Terminate && o.NoTerminate {
			continue
		}
		if exception := r.exception(o, do(r.phase)); ended == "" {
			ended = exception
		}
	}
	return ended
}

// exception is what an end of the phase means for the test.
func (r rule) exception(o Options, how How) string {
	switch {
	case how == Done,
		r.phase == Command && how == TimedOut && o.LongRunning,
		r.phase == FetchResult && !o.NeedsResult:
		return ""
	case how == TimedOut && r.timedOut != "":
		return r.timedOut
	default:
		return r.failed
	}
}

// CodeOf is the exit code of what Walk said.
func CodeOf(exception string) outcome.Code {
	if exception == "" {
		return outcome.CodeSuccess
	}
	return outcome.OfException(exception).Code
}
