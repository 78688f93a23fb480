package reportertest

import (
	"fmt"
	"strings"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

func pythons() []string   { return []string{"3.10", "3.11", "3.12", "3.13"} }
func platforms() []string { return []string{"linux-x86_64", "linux-aarch64"} }

// polyglot is the plan of a project of wheels, JARs and images.
func polyglot() *plan.Plan {
	p := &plan.Plan{
		Release: release.ReleasePolicy{Branch: "master"},
		Skipped: []plan.Skipped{
			{Name: "lock (3.13, linux-aarch64)", Why: `unless: arch == "aarch64" holds`},
			{Name: "nightly-soak", Why: "frequency nightly; this run is of a push"},
		},
		Warnings: []string{},
		Gate:     plan.Gate{Builds: true, On: []string{"push"}},
		Targets: []plan.Target{
			{Name: "index", Kind: "pypi-index"}, {Name: "pypi", Kind: "pypi"}, {Name: "maven", Kind: "maven"}, {Name: "registry", Kind: "oci"},
		},
	}
	p.Tasks = append(wheels(), others()...)
	p.Tasks = append(p.Tasks, tests()...)
	for _, t := range p.Tasks {
		if t.Kind == release.Test {
			p.Gate.Tests = append(p.Gate.Tests, t.ID)
		}
	}
	return p
}

func wheels() []plan.Task {
	var locks, out []plan.Task
	for _, python := range pythons() {
		lock := one("lock", release.Build, map[string]string{"python": python}, nil, "lock", "requirements_py"+short(python)+".txt")
		locks = append(locks, lock)
		for _, platform := range platforms() {
			out = append(out, one("wheel", release.Build, map[string]string{"python": python, "platform": platform},
				[]release.TaskID{lock.ID}, "wheel", fmt.Sprintf("rillkit-1.4.0-cp%s-cp%s-%s.whl", short(python), short(python), platform)))
		}
	}
	return append(locks, out...)
}

func others() []plan.Task {
	var out []plan.Task
	var jars []release.TaskID
	for _, platform := range platforms() {
		jar := one("jar", release.Build, map[string]string{"platform": platform}, nil, "native", "rillkit-jni-"+platform+".jar")
		jars = append(jars, jar.ID)
		out = append(out, jar)
	}
	base := one("base-image", release.Build, nil, nil, "base", "base.tar")
	return append(out,
		one("multiplatform-jar", release.Build, nil, jars, "jar", "rillkit-1.4.0.jar"), base,
		one("image", release.Build, nil, []release.TaskID{base.ID, id("wheel", map[string]string{"python": "3.12", "platform": "linux-x86_64"})},
			"image", "image.tar"))
}

func tests() []plan.Task {
	var out []plan.Task
	for _, python := range pythons() {
		out = append(out, one("test-wheels", release.Test, map[string]string{"python": python},
			[]release.TaskID{id("wheel", map[string]string{"python": python, "platform": "linux-x86_64"})}, "", ""))
	}
	return append(out,
		one("test-jar", release.Test, nil, []release.TaskID{id("multiplatform-jar", nil)}, "", ""),
		one("test-image", release.Test, nil, []release.TaskID{id("image", nil)}, "", ""))
}

func one(job string, kind release.TaskKind, matrix map[string]string, needs []release.TaskID, output, path string) plan.Task {
	t := plan.Task{
		ID: id(job, matrix), Name: job, Job: job, Kind: kind, Pool: "linux", Needs: needs, Matrix: matrix,
		Run: "sh tasks/" + job + ".sh\n", Why: "needed by the gate",
	}
	if matrix["platform"] == "linux-aarch64" {
		t.Pool = "arm"
	}
	if len(matrix) > 0 {
		t.Name = job + " (" + strings.Join(values(matrix), ", ") + ")"
	}
	if output != "" {
		t.Outputs = []plan.Output{{Type: output, Path: path, Stamped: output != "lock"}}
	}
	return t
}

func id(job string, matrix map[string]string) release.TaskID {
	out := job
	for _, v := range values(matrix) {
		out += "-" + strings.ReplaceAll(v, ".", "_")
	}
	return release.TaskID(out)
}

func values(matrix map[string]string) []string {
	var out []string
	for _, axis := range []string{"python", "platform"} {
		if v := matrix[axis]; v != "" {
			out = append(out, v)
		}
	}
	return out
}

func short(python string) string { return strings.ReplaceAll(python, ".", "") }

// find returns the task of a plan with an id.
func find(p *plan.Plan, id release.TaskID) plan.Task {
	t, ok := p.Task(id)
	if !ok {
		panic("reportertest: no task " + id)
	}
	return *t
}
