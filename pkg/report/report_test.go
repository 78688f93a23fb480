package report_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/report"
)

func ExampleJUnit() {
	sum, err := report.JUnit(strings.NewReader(`<testsuite name="smoke" tests="2">
  <testcase classname="install" name="wheel"/>
  <testcase classname="install" name="jar"><failure message="no such class"/></testcase>
</testsuite>`))
	fmt.Println(sum.Problem(), err)
	// Output: 1 test of 2 failed, the first is install.jar <nil>
}

func TestJUnit(t *testing.T) {
	type count = release.TestCount
	for _, one := range []struct {
		name, text string
		want       count
		problem    string
	}{
		{"root testsuite", `<testsuite><testcase name="a"/></testsuite>`, count{Total: 1}, ""},
		{
			"root testsuites", `<testsuites><testsuite name="s"><testcase name="a"/><testcase name="b"><skipped/></testcase></testsuite></testsuites>`,
			count{Total: 2, Skipped: 1},
			"",
		},
		{"case without suite", `<testsuites><testcase name="a"/></testsuites>`, count{Total: 1}, ""},
		{
			"failure and error are one failed case", `<testsuite><testcase name="a"><failure message="m"/><error message="n"/></testcase></testsuite>`,
			count{Total: 1, Failed: 1},
			"1 test of 1 failed, the first is a",
		},
		{
			"stated counts without cases", `<testsuite tests="1,200" failures="2" errors="1" skipped="4"/>`,
			count{Total: 1200, Failed: 3, Skipped: 4},
			"3 tests of 1200 failed",
		},
		{
			"stated failures that no case shows", `<testsuite tests="1" failures="1"><testcase name="a"/></testsuite>`,
			count{Total: 1, Failed: 1},
			"1 test of 1 failed",
		},
		{
			"suites of suites are counted once", `<testsuite tests="2" failures="1"><testsuite tests="2" failures="1"><testcase name="a"/><testcase name="b"><failure/></testcase></testsuite></testsuite>`,
			count{Total: 2, Failed: 1},
			"1 test of 2 failed, the first is b",
		},
		{"flaky pass", `<testsuite><testcase name="a"><flakyFailure message="x"/><flakyError/></testcase></testsuite>`, count{Total: 1, Flaky: 1}, ""},
		{
			"failed after reruns", `<testsuite><testcase name="a"><failure message="x"/><rerunFailure message="x"/></testcase></testsuite>`,
			count{Total: 1, Failed: 1},
			"1 test of 1 failed, the first is a",
		},
		{
			"all skipped", `<testsuite><testcase name="a"><skipped/></testcase><testcase name="b"><skipped/></testcase></testsuite>`,
			count{Total: 2, Skipped: 2},
			"all 2 tests were skipped: nothing was proved",
		},
		{"disabled", `<testsuite tests="2" disabled="1"><testcase name="a"/><testcase name="b" status="notrun"/></testsuite>`, count{Total: 2, Skipped: 1}, ""},
		{"nonsense counts", `<testsuite tests="many" failures="-3" errors="99999999999999"><testcase name="a"/></testsuite>`, count{Total: 1}, ""},
		{
			"latin1", "<?xml version='1.0' encoding='ISO-8859-1'?><testsuite><testcase name='\xfc'><failure/></testcase></testsuite>",
			count{Total: 1, Failed: 1},
			"1 test of 1 failed, the first is ü",
		},
		{"output that looks like a case", `<testsuite><testcase name="a"><system-out><testcase name="b"/></system-out></testcase></testsuite>`, count{Total: 1}, ""},
		{"properties and outputs", `<testsuite><properties><property name="k" value="v"/></properties><testcase name="a"/><system-out>x</system-out></testsuite>`, count{Total: 1}, ""},
	} {
		t.Run(one.name, func(t *testing.T) {
			sum, err := report.JUnit(strings.NewReader(one.text))
			if err != nil || sum.Count != one.want || sum.Problem() != one.problem {
				t.Errorf("%+v, problem %q, %v; expected %+v, problem %q", sum.Count, sum.Problem(), err, one.want, one.problem)
			}
		})
	}
}

func TestJUnitDetails(t *testing.T) {
	sum, err := report.JUnit(strings.NewReader(`<testsuite name="s" time="1,234.5"><testcase classname="c" name="n"><failure>line 1
line 2</failure></testcase></testsuite>`))
	want := []report.Case{{Suite: "s", Name: "c.n", Message: "line 1\nline 2"}}
	if err != nil || sum.Seconds != 1234.5 || !reflect.DeepEqual(sum.Failed, want) {
		t.Errorf("%+v, %v", sum, err)
	}
}

func TestJUnitErrors(t *testing.T) {
	deep := strings.Repeat("<testsuite>", 100)
	for name, text := range map[string]string{
		"empty": "", "white space": "  \n", "not XML": "all tests passed", "cut off": `<testsuite><testcase name="a"/>`,
		"wrong root": `<html><body/></html>`, "no tests": `<testsuite/>`, "zero stated": `<testsuite tests="0"/>`,
		"no suites": `<testsuites/>`, "one empty suite": `<testsuites><testsuite name="x"/><testsuite><testcase name="a"/></testsuite></testsuites>`,
		"too deep": deep, "unknown encoding": `<?xml version="1.0" encoding="EBCDIC"?><testsuite><testcase name="a"/></testsuite>`,
		"own entities": `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>`,
		"huge":         `<testsuite><testcase name="a"/>` + strings.Repeat(" ", 65<<20) + `</testsuite>`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := report.JUnit(strings.NewReader(text))
			if !fault.Is(err, fault.Invalid) || !strings.HasPrefix(err.Error(), "cannot read the JUnit report: ") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestReportsAreBounded(t *testing.T) {
	var text strings.Builder
	text.WriteString(`<testsuite tests="2147483647">`)
	for i := range 1000 {
		fmt.Fprintf(&text, `<testcase name="%d%s"><failure message="%s"/></testcase>`, i, strings.Repeat("n", 1000), strings.Repeat("ü", 5000))
	}
	text.WriteString(`</testsuite>`)
	one, err := report.JUnit(strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	sum := one
	sum.Add(one)
	if sum.Count.Total != math.MaxInt32 || sum.Count.Failed != 2000 || len(sum.Failed) != report.MaxCases {
		t.Errorf("%+v with %d cases", sum.Count, len(sum.Failed))
	}
	if c := sum.Failed[0]; len(c.Name) > 300 || len(c.Message) > 2048 || !strings.HasSuffix(c.Message, "ü…") {
		t.Errorf("name of %d bytes, message of %d", len(c.Name), len(c.Message))
	}
}

func TestResults(t *testing.T) {
	yes, no := true, false
	for _, one := range []struct {
		name, text string
		success    *bool
		metrics    map[string]float64
	}{
		{
			"all", `{"success": true, "time_taken": 1.5, "results": {"rps": 310, "deep": {"p99": 4e2}, "name": "x", "list": [1,2]},
			"perf_metrics": [{"perf_metric_name": "ops", "perf_metric_value": 9.5, "perf_metric_type": "THROUGHPUT"}]}`,
			&yes,
			map[string]float64{"time_taken": 1.5, "results.rps": 310, "results.deep.p99": 400, "ops": 9.5},
		},
		{"numbers only", `{"a": 1}`, nil, map[string]float64{"a": 1}},
		{"success as number", `{"success": 1}`, &yes, nil},
		{"success as text", `{"success": "0"}`, &no, nil},
		{"success unknown", `{"success": null}`, &no, nil},
		{"results of any kind", `{"results": "fine"}`, nil, nil},
		{"infinite numbers are left out", `{"a": 1e999, "b": 2}`, nil, map[string]float64{"b": 2}},
	} {
		t.Run(one.name, func(t *testing.T) {
			sum, err := report.Results(strings.NewReader(one.text))
			if err != nil || !reflect.DeepEqual(sum.Success, one.success) || !reflect.DeepEqual(sum.Metrics, one.metrics) {
				t.Errorf("%v %v, %v", sum.Success, sum.Metrics, err)
			}
			if failed := one.success != nil && !*one.success; failed != (sum.Problem() != "") {
				t.Errorf("problem is %q", sum.Problem())
			}
		})
	}
}

func TestResultsErrors(t *testing.T) {
	for name, text := range map[string]string{
		"empty file": "", "empty object": "{}", "null": "null", "list": "[1]", "cut off": `{"success": tr`, "text": "ok",
		"odd success": `{"success": "maybe"}`, "two objects": `{"success": true}{"success": false}`, "words only": `{"name": "x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := report.Results(strings.NewReader(text)); !fault.Is(err, fault.Invalid) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzJUnit(f *testing.F) {
	f.Add(`<testsuite tests="3" failures="1"><testcase name="a"><failure>x</failure></testcase></testsuite>`)
	f.Add(`<testsuites><testsuite tests="1"/></testsuites>`)
	f.Fuzz(func(t *testing.T, text string) {
		sum, err := report.JUnit(strings.NewReader(text))
		if err != nil {
			return
		}
		c := sum.Count
		if c.Total <= 0 || c.Failed < 0 || c.Skipped < 0 || c.Flaky < 0 || len(sum.Failed) > report.MaxCases {
			t.Errorf("%q gives %+v", text, c)
		}
	})
}

func FuzzResults(f *testing.F) {
	f.Add(`{"success": 1, "results": {"a": 1}, "perf_metrics": [{"perf_metric_name": "x", "perf_metric_value": 1}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		sum, err := report.Results(strings.NewReader(text))
		if err == nil && len(sum.Metrics) > report.MaxMetrics {
			t.Errorf("%d metrics", len(sum.Metrics))
		}
	})
}
