package outcome

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestTableIsComplete holds the table to what Ray's tooling has: 42 exceptions with 22 codes.
func TestTableIsComplete(t *testing.T) {
	t.Parallel()
	exceptions, codes := map[string]bool{}, map[Code]bool{}
	for _, row := range Table() {
		if codes[row.Code] || row.Name == "" || row.Status == "" || row.Class == "" {
			t.Errorf("row %+v is incomplete or there twice", row)
		}
		codes[row.Code] = true
		for _, e := range row.Exceptions {
			if exceptions[e] {
				t.Errorf("%s has two codes", e)
			}
			exceptions[e] = true
			if OfException(e).Code != row.Code {
				t.Errorf("%s has code %d, want %d", e, OfException(e).Code, row.Code)
			}
		}
		if row.Again != (row.Status == StatusInfraTimeout) {
			t.Errorf("code %d: another attempt %v, status %s", row.Code, row.Again, row.Status)
		}
		if (row.Status == StatusSuccess) != (row.Class.Outcome() == release.Success) {
			t.Errorf("code %d is %s and %s", row.Code, row.Status, row.Class)
		}
	}
	if len(exceptions) != 42 || len(codes) != 22 {
		t.Errorf("the table has %d exceptions and %d codes, want 42 and 22", len(exceptions), len(codes))
	}
}

// TestClassify is E1 to E8. E5 differs from Ray on purpose.
func TestClassify(t *testing.T) {
	t.Parallel()
	s := time.Second
	within := func(limit time.Duration, retry int) Limits {
		return Limits{RetryCount: retry, MaxRetries: 1, TimeLimit: limit}
	}
	for name, c := range map[string]struct {
		exception string
		took      time.Duration
		limits    Limits
		want      Verdict
	}{
		"E1":            {"ReleaseTestError", 10 * s, within(0, 0), Verdict{Code: 2, Status: StatusRuntimeError, Class: release.ClassUnknown, Runtime: 10 * s}},
		"E2":            {"ReleaseTestSetupError", 10 * s, within(100*s, 0), Verdict{Code: 12, Status: StatusTransient, Class: release.ClassSetup, Runtime: 10 * s}},
		"E3":            {"ReleaseTestSetupError", 10 * s, within(100*s, 1), Verdict{Code: 12, Status: StatusInfraError, Class: release.ClassSetup, Runtime: 10 * s}},
		"E4":            {"ReleaseTestSetupError", 3600 * s, within(s, 0), Verdict{Code: 12, Status: StatusInfraError, Class: release.ClassSetup, Runtime: 3600 * s}},
		"E5 (differs)":  {"TestCommandError", 100 * s, within(10800*s, 0), Verdict{Code: 40, Status: StatusError, Class: release.ClassCommand}},
		"E6":            {"TestCommandError", 100 * s, within(10800*s, 1), Verdict{Code: 40, Status: StatusError, Class: release.ClassCommand}},
		"E7":            {"ValueError", 10 * s, within(100*s, 0), Verdict{Code: 3, Status: StatusUnknown, Class: release.ClassUnknown}},
		"E8 alert":      {"ResultsAlert", 10 * s, Limits{}, Verdict{Code: 41, Status: StatusError, Class: release.ClassAlert}},
		"E8 prepare":    {"PrepareCommandTimeout", 10 * s, Limits{}, Verdict{Code: 33, Status: StatusInfraTimeout, Class: release.ClassInfraTimeout, Runtime: 10 * s}},
		"E8 timeout":    {"TestCommandTimeout", 10 * s, Limits{}, Verdict{Code: 42, Status: StatusTimeout, Class: release.ClassTimeout}},
		"wheels late":   {"RayWheelsTimeoutError", 10 * s, within(100*s, 0), Verdict{Code: 30, Status: StatusTransient, Class: release.ClassInfraTimeout, Runtime: 10 * s}},
		"wrong options": {"ReleaseTestConfigError", 10 * s, within(100*s, 0), Verdict{Code: 11, Status: StatusInfraError, Class: release.ClassConfig, Runtime: 10 * s}},
	} {
		c.want.Exception = c.exception
		if got := Classify(c.exception, c.took, c.limits); got != c.want {
			t.Errorf("%s: %s %+v, want %+v", name, got, got, c.want)
		}
	}
}

func TestLimitsFrom(t *testing.T) {
	t.Parallel()
	from := func(env map[string]string) (Limits, error) {
		return LimitsFrom(func(name string) string { return env[name] })
	}
	if got, err := from(nil); err != nil || got != (Limits{MaxRetries: 1}) {
		t.Errorf("without variables: %+v, %v", got, err)
	}
	got, err := from(map[string]string{"BUILDKITE_RETRY_COUNT": "1", "BUILDKITE_MAX_RETRIES": "2", "BUILDKITE_TIME_LIMIT_FOR_RETRY": "10800"})
	if err != nil || got != (Limits{1, 2, 3 * time.Hour}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"x", "-1", "1.5", "99999999999999999999"} {
		if _, err := from(map[string]string{"BUILDKITE_RETRY_COUNT": bad}); CodeOf(err) != 10 {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func number(n int) *int { return &n }

// TestE10JobEnds maps how a job ended, and what its wrapper wrote, to the exception.
func TestE10JobEnds(t *testing.T) {
	t.Parallel()
	rc := func(n int) *JobOutput { return &JobOutput{ReturnCode: number(n)} }
	prepared := func(codes ...int) *JobOutput { return &JobOutput{PrepareReturnCodes: codes} }
	for name, c := range map[string]struct {
		job  Job
		want string
		code Code
	}{
		"0 rc0":                  {Job{Output: rc(0)}, "", 0},
		"-1 rc0":                 {Job{State: -1, Output: rc(0)}, "JobOutOfRetries", 19},
		"-1 rc1":                 {Job{State: -1, Output: rc(1)}, "TestCommandError", 40},
		"-1 rc124":               {Job{State: -1, Output: rc(124)}, "TestCommandTimeout", 42},
		"0 rc124 long running":   {Job{Output: rc(124), LongRunning: true}, "", 0},
		"-1 prepare 0,1":         {Job{State: -1, Output: prepared(0, 1)}, "PrepareCommandError", 43},
		"-1 prepare 124":         {Job{State: -1, Output: prepared(124)}, "PrepareCommandTimeout", 33},
		"-2":                     {Job{State: -2, Output: rc(0)}, "JobBroken", 19},
		"-3":                     {Job{State: -3}, "JobTerminated", 19},
		"-4":                     {Job{State: -4}, "JobTerminatedBeforeStart", 32},
		"marker in the log":      {Job{Log: "x\n" + rc(0).Line() + "\ny"}, "", 0},
		"marker tells a failure": {Job{State: -1, Log: rc(7).Line()}, "TestCommandError", 40},
		"the last marker counts": {Job{Log: rc(1).Line() + rc(0).Line()}, "", 0},
		"nothing":                {Job{}, "JobNoLogs", 19},
		"a log that says naught": {Job{Log: "all is well\n### JSON |{| ###"}, "JobNoLogs", 19},
		"never run":              {Job{Output: prepared(0)}, "JobNoLogs", 19},
	} {
		got := c.job.Conclude()
		code := CodeSuccess
		if got != "" {
			code = OfException(got).Code
		}
		if got != c.want || code != c.code {
			t.Errorf("%s: %q code %d, want %q code %d", name, got, code, c.want, c.code)
		}
	}
}

func TestJobWrapperExits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		out  JobOutput
		long bool
		want int
	}{
		{JobOutput{ReturnCode: number(0)}, false, 0},
		{JobOutput{ReturnCode: number(1)}, false, 1},
		{JobOutput{ReturnCode: number(124)}, false, 124},
		{JobOutput{ReturnCode: number(124)}, true, 0},
		{JobOutput{PrepareReturnCodes: []int{0, 1}}, false, 1},
		{JobOutput{PrepareReturnCodes: []int{0, 124}}, true, 1},
	} {
		if got := c.out.Exit(c.long); got != c.want {
			t.Errorf("2.6 %s, long running %v: exits %d, want %d", c.out.Line(), c.long, got, c.want)
		}
	}
	if CheckPrepare(2, 2) != nil || CodeOf(CheckPrepare(2, 1)) != 11 {
		t.Error("two commands and one timeout are no configuration")
	}
}

// TestE11BeforeTheRun: what is wrong before a test starts has its own code; see TestDefect16.
func TestE11BeforeTheRun(t *testing.T) {
	t.Parallel()
	for exception, want := range map[string]Code{
		"ReleaseTestCLIError":    10, // no such test; a smoke run of a test that has none
		"ReleaseTestConfigError": 11, // no such environment
		"ReleaseTestSetupError":  12,
	} {
		err := fmt.Errorf("running: %w", Raise(exception, "cannot do %s", "it"))
		if CodeOf(err) != want || err.Error() != "running: cannot do it" {
			t.Errorf("%s: code %d, %v", exception, CodeOf(err), err)
		}
	}
	if CodeOf(nil) != 0 || CodeOf(errors.New("x")) != 3 {
		t.Error("an error of no exception is code 3, none is 0")
	}
	if fault.Of(Raise("ReleaseTestCLIError", "x")) != fault.Invalid || fault.Of(Raise("JobBroken", "x")) != fault.Transient ||
		fault.Of(Raise("ValueError", "x")) != fault.Internal {
		t.Error("the kind of an error is not that of its class")
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	for code, want := range map[Code]string{
		0: "success", 1: "runtime error", 9: "runtime error", 10: "infra error", 20: "unknown reason", 30: "infra timeout",
		39: "infra timeout", 40: "command error", 42: "command timeout", 49: "command error", 50: "unknown reason", 79: "asks to be tried again",
		124: "command timeout", 143: "unknown reason",
	} {
		if got := Reason(code); got != want {
			t.Errorf("%d: %q, want %q", code, got, want)
		}
	}
	for code, want := range map[Code]release.Class{
		20: release.ClassUnknown, 25: release.ClassUnknown, 29: release.ClassUnknown, 34: release.ClassInfraTimeout,
		44: release.ClassCommand, 50: release.ClassUnknown, 79: release.ClassUnknown, 124: release.ClassTimeout, 4: release.ClassUnknown,
		137: release.ClassUnknown, -1: release.ClassUnknown,
	} {
		if got := Of(code); got.Class != want || got.Class.Outcome() == release.Success {
			t.Errorf("%d: %s, want %s", code, got.Class, want)
		}
	}
}

func FuzzReadJobOutput(f *testing.F) {
	f.Add([]byte(`{"return_code":null,"prepare_return_codes":[0,124],"total_time_taken":1.5}`))
	f.Add([]byte(`### JSON |{"return_code":124}| ###`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if o, err := ReadJobOutput(b); err == nil {
			again, err := ReadJobOutput([]byte(o.Line()[len(outputBegin) : len(o.Line())-len(outputEnd)]))
			if err != nil || again.Exit(true) != o.Exit(true) {
				t.Errorf("%s does not survive being written: %v", b, err)
			}
		}
		exception := Job{Log: string(b)}.Conclude()
		if exception == "" {
			if o, ok := FindJobOutput(string(b)); !ok || o.ReturnCode == nil || *o.ReturnCode != 0 {
				t.Errorf("%q is a success that nobody stated", b)
			}
		}
	})
}
