package ray

import (
	"strings"

	"github.com/sluiceci/sluice/pkg/dialect/ray/pyyaml"
)

// decode makes a test of a map that the schema has passed.
func (im *importer) decode(r raw) *Test {
	n := r.node
	t := &Test{
		Name: nameOf(n), Definition: r.definition, Suffix: r.suffix, Matrix: r.matrix,
		Group: text(n, DefaultGroup, "group"), Team: text(n, "", "team"), Frequency: Frequency(strings.ToLower(text(n, "", "frequency"))),
		WorkingDir: text(n, "", "working_dir"), Env: text(n, DefaultEnvironment, "env"), Python: text(n, im.python(), "python"),
		Stable: truth(n, true, "stable"), RepeatedRun: int(number(n, 1, "repeated_run")), Alert: text(n, DefaultAlert, "alert"),
		File: n.At.File, Line: n.At.Line, Column: n.At.Column, node: n, rules: &im.suite.Rules,
	}
	t.Cluster = Cluster{
		Compute: text(n, "", "cluster", "cluster_compute"), Byod: im.byod(lookup(n, "cluster", "byod")),
		CloudID: text(n, "", "cluster", "cloud_id"), CloudName: text(n, "", "cluster", "cloud_name"),
		ProjectID: text(n, "", "cluster", "project_id"), Cloud: text(n, "", "cluster", "cloud"),
		RayVersion: text(n, "", "cluster", "ray_version"), Env: text(n, "", "cluster", "cluster_env"),
		NewSDK: truth(n, false, "cluster", "anyscale_sdk_2026"),
	}
	if mins := lookup(n, "cluster", "autosuspend_mins"); mins != nil {
		t.Cluster.AutosuspendMins = new(toInt(mins))
	}
	t.Run = decodeRun(n)
	return t
}

// python is the version of a test that names none.
func (im *importer) python() string {
	if v := im.options.Env["RELEASE_PY"]; v != "" {
		return v
	}
	return im.suite.Rules.Python
}

func decodeRun(n *pyyaml.Node) Run {
	r := Run{
		Script: text(n, "", "run", "script"), Timeout: number(n, 0, "run", "timeout"), Type: text(n, DefaultRunType, "run", "type"),
		Prepare: text(n, "", "run", "prepare"), LongRunning: truth(n, false, "run", "long_running"),
		ArtifactPath: text(n, "", "run", "artifact_path"), Retries: number(n, 0, "run", "num_retries"),
	}
	if r.Prepare != "" {
		r.PrepareTimeout = number(n, r.Timeout, "run", "prepare_timeout")
	}
	if lookup(n, "run", "wait_for_nodes") != nil {
		r.Wait = &WaitForNodes{
			Nodes:   number(n, 0, "run", "wait_for_nodes", "num_nodes"),
			Timeout: number(n, defaultWaitTimeout, "run", "wait_for_nodes", "timeout"),
		}
	}
	return r
}

func (im *importer) byod(n *pyyaml.Node) Byod {
	b := Byod{
		Type: text(n, DefaultByodType, "type"), PostBuildScript: text(n, "", "post_build_script"), Pip: texts(n.Get("pip")),
		Depset: text(n, "", "python_depset"), Own: n.Has("runtime_env") && len(n.Get("runtime_env").Items) > 0,
		RuntimeEnv: runtimeEnv(im.suite.Rules.RuntimeEnv, texts(n.Get("runtime_env")), im.options.Env),
	}
	return b
}

// runtimeEnv reads NAME=VALUE and bare NAME, whose value is the caller's. What Ray always sets comes first.
func runtimeEnv(always, list []string, caller map[string]string) map[string]string {
	out := map[string]string{}
	for _, name := range always {
		out[name] = "1"
	}
	for _, one := range list {
		name, value, given := strings.Cut(one, "=")
		if !given {
			value = caller[name]
		}
		out[name] = value
	}
	return out
}

func text(n *pyyaml.Node, fallback string, path ...string) string {
	if v := lookup(n, path...); v != nil && v.Kind == pyyaml.String {
		return v.Text
	}
	return fallback
}

func number(n *pyyaml.Node, fallback int64, path ...string) int64 {
	if v := lookup(n, path...); v != nil && (v.Kind == pyyaml.Int || v.Kind == pyyaml.Float) {
		return toInt(v)
	}
	return fallback
}

func truth(n *pyyaml.Node, fallback bool, path ...string) bool {
	if v := lookup(n, path...); v != nil && v.Kind == pyyaml.Bool {
		return v.Bool
	}
	return fallback
}

func texts(n *pyyaml.Node) []string {
	if n == nil {
		return nil
	}
	out := make([]string, 0, len(n.Items))
	for _, item := range n.Items {
		out = append(out, pyyaml.Str(item))
	}
	return out
}
