package alert

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
)

func suite(t *testing.T, name string) Suite {
	t.Helper()
	s, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func well() Measured {
	return Measured{Status: outcome.StatusSuccess, SinceUpdate: math.Inf(1), TimeTaken: math.Inf(1)}
}

// TestI26LastUpdate is the threshold of long_running_many_tasks.
func TestI26LastUpdate(t *testing.T) {
	t.Parallel()
	for diff, want := range map[float64]string{
		300: "", 301: "Last update to results json was too long ago (301.00 > 300)", math.Inf(1): "Last update to results json was too long ago (inf > 300)",
	} {
		m := well()
		m.SinceUpdate = diff
		got := suite(t, "long_running_tests").Judge("long_running_many_tasks", m)
		if got.Alert != want || got.By != "long_running_many_tasks" {
			t.Errorf("%g: %+v, want %q", diff, got, want)
		}
		if code := outcome.CodeOf(got.Err()); (code == 41) != (want != "") {
			t.Errorf("%g: code %d", diff, code)
		}
	}
}

func TestThresholds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		suite, test string
		m           Measured
		want        string
	}{
		"enough in time":    {"tune_tests", "tune_scalability_durable_trainable", Measured{TimeTaken: 650, Terminated: 16}, ""},
		"too few, too late": {"tune_tests", "tune_scalability_durable_trainable.gce", Measured{TimeTaken: 650.5, Terminated: 15}, "Some trials failed (num_terminated=15 < 16). Took too long to complete (time_taken=650.50 > 650)."},
		"full":              {"tune_tests", "tune_scalability_network_overhead.aws", Measured{TimeTaken: 900, Terminated: 20}, "Some trials failed (num_terminated=20 < 100)."},
		"smoke":             {"tune_tests", "tune_scalability_network_overhead.smoke-test", Measured{TimeTaken: 400, Terminated: 20, Smoke: true}, ""},
		"smoke, late":       {"tune_tests", "tune_scalability_network_overhead.aws", Measured{TimeTaken: 401, Terminated: 20, Smoke: true}, "Took too long to complete (time_taken=401.00 > 400)."},
		"checkpoints":       {"tune_tests", "tune_scalability_long_running_large_checkpoints.aws", Measured{SinceUpdate: 361}, "Last update to results json was too long ago (361.00 > 360)"},
		"train":             {"xgboost_tests", "xgboost_train_small.aws", Measured{TimeTaken: 46}, "Took too long to complete (time_taken=46.00 > 45)."},
		"never late":        {"long_running_tests", "long_running_serve_failure.aws", well(), ""},
		"serve":             {"long_running_tests", "long_running_serve.aws", Measured{SinceUpdate: 480.5}, "Last update to results json was too long ago (480.50 > 480)"},
		"default":           {"", "anything", well(), ""},
	} {
		c.m.Status = outcome.StatusSuccess
		if got := suite(t, c.suite).Judge(c.test, c.m); got.Alert != c.want {
			t.Errorf("%s: %q, want %q", name, got.Alert, c.want)
		}
	}
	for _, s := range Suites() {
		if got := s.Judge("x", Measured{Status: outcome.StatusTimeout}); got.Alert == "" {
			t.Errorf("suite %s takes a timeout for a success", s.Name)
		}
		if s.NeedsResult != (s.Name != "default") {
			t.Errorf("suite %s: needs a result %v", s.Name, s.NeedsResult)
		}
	}
	if _, err := Find("bogus"); outcome.CodeOf(err) != 11 || !strings.Contains(err.Error(), "Alert suite bogus not found.") {
		t.Errorf("%v", err)
	}
	if got := suite(t, "tune_tests").Judge("tune_cloud_x.aws", well()); got.Alert != "" || got.Note == "" {
		t.Errorf("a test without a threshold: %+v", got)
	}
}

func TestReadResults(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	m, err := ReadResults([]byte(`{"last_update": 1699999699, "time_taken": 12.5, "trial_states": {"TERMINATED": 3, "ERROR": 1}, "smoke_test": true}`), outcome.StatusSuccess, now)
	if err != nil || m != (Measured{outcome.StatusSuccess, 301, 12.5, 3, true}) {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := ReadResults([]byte(`{"last_update_diff": 7}`), outcome.StatusSuccess, now); err != nil || m.SinceUpdate != 7 || !math.IsInf(m.TimeTaken, 1) {
		t.Errorf("%+v, %v", m, err)
	}
	for _, bad := range []string{"", "null", "[]", `{"time_taken": "x"}`, "{", strings.Repeat(" ", maxResults+1)} {
		if _, err := ReadResults([]byte(bad), outcome.StatusSuccess, now); err == nil {
			t.Errorf("%.20q is read", bad)
		}
	}
}

// TestI25Signature reads crashes.
func TestI25Signature(t *testing.T) {
	t.Parallel()
	trace := func(n string) string {
		return "haha\nTraceback (most recent call last):\n  File \"/tmp/something\", line 584\nException: yaya" + n + "\nok"
	}
	for name, c := range map[string]struct{ log, want string }{
		"I25":                    {trace("45"), "somethingline Exception: yaya"},
		"the last one":           {trace("1") + "\n" + strings.ReplaceAll(trace("2"), "something", "other"), "otherline Exception: yaya"},
		"ERROR wins":             {"ERROR: bad thing 7\n\tat x\nend\n" + trace("1"), "ERROR: bad thing at xend"},
		"ERROR with a traceback": {"12:30 ERROR x\n" + trace("1")[len("haha\n"):], ": ERROR xsomethingline Exception: yaya"},
		"random words":           {"Traceback (most recent call last):\n  File \"/tmp/a0b1c2d3e4f5a6/x.py\", line 1\nE: id 9f8e7d6c5b4a3f2e1d", "x.pyline E: id "},
		"nothing":                {"all is well", ""},
		"at the end":             {"Traceback (most recent call last):", ""},
		"windows":                {strings.ReplaceAll(trace("1"), "\n", "\r\n"), "somethingline Exception: yaya"},
	} {
		if got := Signature(c.log); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := Signature("ERROR " + strings.Repeat("é-", 5000)); len([]rune(got)) != maxSignature {
		t.Errorf("a signature of %d characters", len([]rune(got)))
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	m := func(name, kind string, v float64) Metric { return Metric{name, v, kind} }
	old := map[string][]Metric{
		"a": {m("t1", Throughput, 100), m("t2", Throughput, 100), m("l1", Latency, 10), m("l0", Latency, 0), m("gone", Latency, 1), m("odd", Latency, 1)},
		"b": {m("t", Throughput, 10)}, "old": nil,
	}
	now := map[string][]Metric{
		"a": {m("t1", Throughput, 95), m("t2", Throughput, 101), m("l1", Latency, 12), m("l0", Latency, 1), m("come", Latency, 1), m("odd", Throughput, 1)},
		"b": {m("t", Throughput, 5)}, "new": nil,
	}
	got := Compare(old, now, 0)
	var said []string
	for _, c := range got.Regressions {
		said = append(said, c.Metric)
	}
	if strings.Join(said, " ") != "t t1 l0 l1" {
		t.Errorf("regressions are %q", said)
	}
	if got.Regressions[1].String() != "REGRESSION 5.00%: t1 (THROUGHPUT) regresses from 100 to 95 in a" {
		t.Errorf("%s", got.Regressions[1])
	}
	if strings.Join(got.MissingInNew, ",") != "a: gone,old" || strings.Join(got.MissingInOld, ",") != "a: come,new" || len(got.Problems) != 1 {
		t.Errorf("%+v", got)
	}
	if quiet := Compare(old, now, 0.1); len(quiet.Regressions) != 3 {
		t.Errorf("beyond 10 %%: %v", quiet.Regressions)
	}
	if got := Compare(old, old, 0); len(got.Regressions)+len(got.MissingInNew)+len(got.MissingInOld)+len(got.Problems) != 0 {
		t.Errorf("a release is worse than itself: %+v", got)
	}
}

func TestReadMetrics(t *testing.T) {
	t.Parallel()
	got, err := ReadMetrics([]byte(`{"perf_metrics": [{"perf_metric_name": "n", "perf_metric_value": 1.5, "perf_metric_type": "LATENCY"}], "success": "1"}`))
	if err != nil || len(got) != 1 || got[0] != (Metric{"n", 1.5, Latency}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "null", "{}", `{"perf_metrics": [{"perf_metric_name": "n", "perf_metric_type": "SIZE"}]}`, `{"perf_metrics": [{}]}`} {
		if _, err := ReadMetrics([]byte(bad)); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

func FuzzSignature(f *testing.F) {
	f.Add("ERROR x\nTraceback (most recent call last):\n  File \"/a/b1\", line 2\nE: 3")
	f.Fuzz(func(t *testing.T, log string) {
		got := Signature(log)
		if len([]rune(got)) > maxSignature || strings.ContainsAny(got, "0123456789\n") {
			t.Errorf("%q has signature %q", log, got)
		}
	})
}

func FuzzReadResults(f *testing.F) {
	f.Add([]byte(`{"last_update": 1, "trial_states": {"TERMINATED": 3}}`))
	f.Add([]byte(`{"perf_metrics": [{"perf_metric_name": "n", "perf_metric_value": 1, "perf_metric_type": "LATENCY"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ReadResults(b, outcome.StatusSuccess, time.Unix(0, 0))
		if err == nil {
			for _, s := range Suites() {
				s.Judge("long_running_many_tasks.aws", m)
			}
		}
		if metrics, err := ReadMetrics(b); err == nil {
			if got := Compare(map[string][]Metric{"f": metrics}, map[string][]Metric{"f": metrics}, 0); len(got.Regressions) > 0 {
				t.Errorf("%s is worse than itself: %v", b, got.Regressions)
			}
		}
	})
}
