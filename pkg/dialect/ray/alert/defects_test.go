package alert

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
)

// TestDefect01ThresholdsAreAlive is I27, and with it every test of November 2024 that names one of the suites: 43 of them,
// of which 35 are variations of a test that has a threshold. Ray's own match none.
func TestDefect01ThresholdsAreAlive(t *testing.T) {
	t.Parallel()
	m := well()
	m.SinceUpdate = 9999
	if got := suite(t, "long_running_tests").Judge("long_running_many_tasks.aws", m); outcome.CodeOf(got.Err()) != 41 {
		t.Errorf("I27: %+v", got)
	}
	both := func(names string) []string {
		var out []string
		for _, n := range strings.Fields(names) {
			out = append(out, n+".aws", n+".gce")
		}
		return out
	}
	real2024 := map[string][]string{
		"long_running_tests": both(`long_running_actor_deaths long_running_apex long_running_distributed_pytorch_pbt_failure
			long_running_impala long_running_many_actor_tasks long_running_many_drivers long_running_many_jobs long_running_many_ppo
			long_running_many_tasks long_running_many_tasks_serialized_ids long_running_node_failures long_running_serve
			long_running_serve_failure tune_cloud_long_running_cloud_storage`),
		"tune_tests": append(both(`tune_scalability_bookkeeping_overhead tune_scalability_durable_multifile_checkpoints
			tune_scalability_durable_trainable tune_scalability_long_running_large_checkpoints tune_scalability_network_overhead
			tune_scalability_result_throughput_cluster tune_scalability_result_throughput_single_node`), "tune_scalability_network_overhead.smoke-test"),
	}
	tests, alive := 0, 0
	for name, names := range real2024 {
		for _, test := range names {
			tests++
			if threshold, ok := suite(t, name).For(test); ok {
				alive++
				if slices.Contains(names, threshold.Test) {
					t.Errorf("%s is judged by its full name", test)
				}
			}
		}
	}
	if tests != 43 || alive != 35 {
		t.Errorf("%d of %d tests have a threshold, want 35 of 43", alive, tests)
	}
}
