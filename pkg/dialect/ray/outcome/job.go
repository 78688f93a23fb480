package outcome

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// JobState is how the job service says that a job ended.
type JobState int

// The states.
const (
	JobSucceeded        JobState = 0
	JobOutOfRetries     JobState = -1
	JobBroken           JobState = -2
	JobTerminated       JobState = -3
	JobTerminatedBefore JobState = -4 // before it ran
)

// JobOutput is the output.json of the wrapper that runs a test on its cluster.
type JobOutput struct {
	ReturnCode           *int     `json:"return_code"` // of the workload; null when it was not run
	PrepareReturnCodes   []int    `json:"prepare_return_codes"`
	LastPrepareTimeTaken *float64 `json:"last_prepare_time_taken"` // seconds; null without preparation
	WorkloadTimeTaken    *float64 `json:"workload_time_taken"`     // seconds
	TotalTimeTaken       float64  `json:"total_time_taken"`        // seconds
	UploadedResults      bool     `json:"uploaded_results"`
	CollectedMetrics     bool     `json:"collected_metrics"`
	UploadedMetrics      bool     `json:"uploaded_metrics"`
	UploadedArtifact     bool     `json:"uploaded_artifact"`
}

// maxOutput is the most that an output.json may have, in bytes; a real one has some hundred.
const maxOutput = 1 << 20

// ReadJobOutput reads an output.json.
func ReadJobOutput(b []byte) (JobOutput, error) {
	var o *JobOutput
	if len(b) > maxOutput {
		return JobOutput{}, fault.New(fault.Invalid, "cannot read output.json: it has %d bytes, expected at most %d", len(b), maxOutput)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	err := d.Decode(&o)
	switch {
	case err != nil:
		return JobOutput{}, fault.New(fault.Invalid, "cannot read output.json: %w; expected what the job wrapper writes", err)
	case o == nil:
		return JobOutput{}, fault.New(fault.Invalid, "cannot read output.json: found null, expected an object")
	case d.More():
		return JobOutput{}, fault.New(fault.Invalid, "cannot read output.json: something follows the object")
	}
	return *o, nil
}

// The marks between which the wrapper prints its output.json into the log, for when it cannot be fetched.
const (
	outputBegin = "### JSON |"
	outputEnd   = "| ###"
)

// Line is the output as the wrapper prints it.
func (o JobOutput) Line() string {
	b, err := json.Marshal(o)
	if err != nil {
		b = []byte("{}") // NaN is the only way here, and no duration is that
	}
	return outputBegin + string(b) + outputEnd
}

// FindJobOutput looks for the output in a log: the last one that can be read, since a test may print what it likes.
func FindJobOutput(log string) (JobOutput, bool) {
	for {
		at := strings.LastIndex(log, outputBegin)
		if at < 0 {
			return JobOutput{}, false
		}
		text, _, found := strings.Cut(log[at+len(outputBegin):], outputEnd)
		if found {
			if o, err := ReadJobOutput([]byte(text)); err == nil {
				return o, true
			}
		}
		log = log[:at]
	}
}

// Job is what is known of a job that ended.
type Job struct {
	State       JobState
	Output      *JobOutput // nil when it could not be fetched
	Log         string     // the last lines; empty when there are none
	LongRunning bool       // running out of time is what it is meant to do
}

// Conclude names the exception that a job ended with, "" for success.
func (j Job) Conclude() string {
	switch j.State {
	case JobBroken:
		return "JobBroken"
	case JobTerminated:
		return "JobTerminated"
	case JobTerminatedBefore:
		return "JobTerminatedBeforeStart"
	}
	output := j.Output
	if output == nil {
		found, ok := FindJobOutput(j.Log)
		if !ok {
			// There may be lines without a word of the wrapper: nobody knows how it ended, and that is no success.
			return "JobNoLogs"
		}
		output = &found
	}
	if exception := output.conclude(j.LongRunning); exception != "" {
		return exception
	}
	if j.State != JobSucceeded {
		return "JobOutOfRetries"
	}
	return ""
}

// conclude names the exception that the wrapper's output tells of, "" for none.
func (o JobOutput) conclude(longRunning bool) string {
	if n := len(o.PrepareReturnCodes); n > 0 && o.PrepareReturnCodes[n-1] != 0 {
		if o.PrepareReturnCodes[n-1] == int(CodeTimedOut) {
			return "PrepareCommandTimeout"
		}
		return "PrepareCommandError"
	}
	switch {
	case o.ReturnCode == nil:
		return "JobNoLogs" // prepared and never run: the wrapper did not come to its end
	case *o.ReturnCode == 0, *o.ReturnCode == int(CodeTimedOut) && longRunning:
		return ""
	case *o.ReturnCode == int(CodeTimedOut):
		return "TestCommandTimeout"
	default:
		return "TestCommandError"
	}
}

// Exit is what the wrapper itself exits with: the workload's code, 0 for a timeout that is meant to be, 1 when the
// workload was not run.
func (o JobOutput) Exit(longRunning bool) int {
	switch {
	case o.ReturnCode == nil:
		return 1
	case *o.ReturnCode == int(CodeTimedOut) && longRunning:
		return 0
	default:
		return *o.ReturnCode
	}
}

// CheckPrepare holds the wrapper's arguments together: every preparation has its time.
func CheckPrepare(commands, timeouts int) error {
	if commands != timeouts {
		return Raise("ReleaseTestConfigError", "cannot prepare: found %d commands and %d timeouts, expected as many of each", commands, timeouts)
	}
	return nil
}
