package ray

import (
	"strings"
	"testing"
)

// TestBudgets is the table of section 2.5: a size, and the group and limit that Ray gives it.
func TestBudgets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		google     bool
		cpus, gpus int64
		group      string
		limit      int64
	}{
		{false, 12800, 9, "large-gpu", 4},
		{false, 12800, 8, "small-gpu", 8},
		{false, 1, 1, "small-gpu", 8},
		{false, 1025, 0, "enormous", 1},
		{false, 1024, 0, "large", 8},
		{false, 513, 0, "large", 8},
		{false, 512, 0, "medium", 6},
		{false, 129, 0, "medium", 6},
		{false, 128, 0, "small", 16},
		{false, 33, 0, "small", 16},
		{false, 32, 0, "tiny", 32},
		{false, 9, 0, "tiny", 32},
		{false, 8, 0, "minuscule", 128},
		{false, 0, 0, "minuscule", 128},
		{true, 1, 8, "gpu-gce", 4},
		{true, 1, 4, "gpu-gce", 8},
		{true, 1, 3, "gpu-gce", 16},
		{true, 1, 2, "gpu-gce", 16},
		{true, 1, 1, "gpu-gce", 32},
		{true, 1025, 0, "enormous-gce", 1},
		{true, 1024, 0, "large-gce", 8},
		{true, 129, 0, "medium-gce", 6},
		{true, 33, 0, "small-gce", 16},
		{true, 32, 0, "tiny-gce", 32},
		{true, 8, 0, "minuscule-gce", 128},
	} {
		b := BudgetOf(Size{CPUs: c.cpus, GPUs: c.gpus}, c.google)
		if b.Group != c.group || b.AtOnce() != c.limit {
			t.Errorf("2.5: %d vCPUs, %d GPUs, Google %v: got %s of %d, want %s of %d", c.cpus, c.gpus, c.google, b.Group, b.AtOnce(), c.group, c.limit)
		}
	}
}

// TestDefect15OneGroupHasOneLimit: of Ray's gpu-gce there are four limits, and which one counts depends on who comes
// first. Here the tasks of a plan agree, and what runs at once never weighs more than the budget.
func TestDefect15OneGroupHasOneLimit(t *testing.T) {
	t.Parallel()
	s := suite2024(t)
	for _, filter := range []string{"prefix:", `run/timeout:[1-3][0-9]+`, "name:.*1_gpu.*"} {
		filters, err := NewFilters([]string{filter})
		if err != nil {
			t.Fatal(err)
		}
		selection, err := s.Select(Request{Filters: filters, RunUnstable: true})
		if err != nil {
			t.Fatal(err)
		}
		tasks, err := s.Tasks(selection.Steps, TaskOptions{})
		if err != nil {
			t.Fatal(err)
		}
		limits, groups := map[string]int32{}, map[string]int{}
		for i, task := range tasks {
			b := selection.Steps[i].Test.Budget()
			if known, ok := limits[task.Concurrency]; ok && known != task.GroupLimit {
				t.Errorf("%s: %s has the limits %d and %d", filter, task.Concurrency, known, task.GroupLimit)
			}
			if task.GroupLimit < 1 || int64(task.GroupLimit)*b.Weight > b.Limit {
				t.Errorf("%s: %d of %s at once weigh more than %d", filter, task.GroupLimit, task.Name, b.Limit)
			}
			limits[task.Concurrency] = task.GroupLimit
			groups[task.Concurrency]++
		}
		if filter == "prefix:" && (groups["gpu-gce"] != 30 || limits["gpu-gce"] != 4) {
			t.Errorf("gpu-gce has %d tasks, %d at once, want 30 and 4", groups["gpu-gce"], limits["gpu-gce"])
		}
	}
}

// TestSizes has the sums of section 2.5.
func TestSizes(t *testing.T) {
	t.Parallel()
	worker := func(kind, counts string) string { return "- {instance_type: " + kind + counts + "}\n" }
	head := func(kind string) string { return "head_node_type: {instance_type: " + kind + "}\nworker_node_types:\n" }
	for _, c := range []struct {
		name, compute, env string
		want               Size
		group              string
	}{
		{"AWS", head("m5.4xlarge") + worker("m5.8xlarge", ", max_workers: 4") + worker("g3.8xlarge", ", min_workers: 8"), "aws", Size{13, 400, 16}, "large-gpu"},
		{"GCE", head("n1-standard-16") + worker("random-str-xxx-32", ", max_workers: 4") + worker("a2-highgpu-2g", ", max_workers: 8"), "gce", Size{13, 336, 16}, "gpu-gce"},
		{"one worker", head("m5.4xlarge") + worker("m5.8xlarge", ""), "aws", Size{2, 48, 0}, "small"},
		{"min and max", head("m5.4xlarge") + worker("m5.4xlarge", ", min_workers: 2, max_workers: 5"), "aws", Size{6, 96, 0}, "small"},
		{"the platform selects the workers", "head_node_type: {instance_type: m5.4xlarge}\nauto_select_worker_config: true\n", "aws", Size{1, 16, 0}, "small"},
		{"workers of null", "head_node_type: {instance_type: m5.4xlarge}\nworker_node_types:\n", "aws", Size{1, 16, 0}, "small"},
		{"today's keys", "head_node: {instance_type: p4d.24xlarge}\nworker_nodes: [{instance_type: p4d.24xlarge, max_nodes: 4}]\n", "aws", Size{5, 480, 40}, "small"},
		{"a number of no kind", head("m5.4xlarge") + worker("m5.8xlarge", ", max_workers: x"), "aws", Size{1, 16, 0}, "small"},
		{"Google's GPUs", head("n1-highmem-64-nvidia-tesla-v100-8"), "gce", Size{1, 64, 8}, "small-gce"},
		{"eight of Google's GPUs", head("n1-standard-16") + worker("n1-highmem-64-nvidia-tesla-v100-8", ""), "gce", Size{2, 80, 8}, "gpu-gce"},
		{"no workers", "head_node_type: {instance_type: m5.4xlarge}\nworker_node_types: []\n", "aws", Size{1, 16, 0}, "tiny"},
		{"weird", head("m5.4xlarge") + worker("weird", ""), "aws", Size{1, 16, 0}, "small"},
		{"weird at Google", "head_node_type: {instance_type: weird}\n", "gce", Size{}, "small-gce"},
		{"no head", "worker_node_types: []\n", "aws", Size{}, "small"},
		{"many", head("m5.4xlarge") + worker("m5.4xlarge", ", max_workers: 9000000000000000000"), "aws", Size{1_000_001, 16_000_016, 0}, "enormous"},
		{"fewer than none", head("m5.4xlarge") + worker("m5.4xlarge", ", max_workers: -5"), "aws", Size{-4, -64, 0}, "small"},
	} {
		files := tree(change(t, "group: g", "env: "+c.env))
		files["release/dir/compute.yaml"].Data = []byte(c.compute)
		s, err := Import(files, []string{"release/tests.yaml"}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if test := s.Tests[0]; test.Cluster.Size != c.want || test.Budget().Group != c.group {
			t.Errorf("2.5 %s: got %+v in %s, want %+v in %s", c.name, test.Cluster.Size, test.Budget().Group, c.want, c.group)
		}
	}
}

// TestRealSizes has tests of the delivered suite.
func TestRealSizes(t *testing.T) {
	t.Parallel()
	s := suite2024(t)
	for _, c := range []struct {
		name       string
		smoke      bool
		cpus, gpus int64
		group      string
		limit      int64
	}{
		{"cluster_tune_scale_up_down.aws", false, 12, 0, "tiny", 32},
		{"torch_batch_inference_1_gpu_10gb_raw.aws", false, 16, 1, "small-gpu", 8},
		{"torch_batch_inference_1_gpu_10gb_raw.gce", false, 16, 1, "gpu-gce", 32},
		{"microbenchmark.aws", false, 64, 0, "small", 16},
		{"tune_scalability_network_overhead.aws", false, 216, 0, "medium", 6},
		{"tune_scalability_network_overhead.smoke-test", false, 56, 0, "small", 16},
		{"stress_test_many_tasks.aws", false, 264, 0, "medium", 6},
		{"stress_test_many_tasks.aws", true, 0, 0, "tiny", 32},
		{"many_actors.aws", false, 4160, 0, "enormous", 1},
	} {
		found := false
		for _, test := range s.Tests {
			if test.Name != c.name {
				continue
			}
			found = true
			if c.smoke {
				test = test.Smoke
				c.cpus = test.Cluster.Size.CPUs
			}
			b := test.Budget()
			if size := test.Cluster.Size; size.CPUs != c.cpus || size.GPUs != c.gpus || b.Group != c.group || b.AtOnce() != c.limit {
				t.Errorf("2.5 %s: got %+v in %s of %d", c.name, size, b.Group, b.AtOnce())
			}
		}
		if !found {
			t.Errorf("2.5: there is no test %s", c.name)
		}
	}
}

func TestInstanceTable(t *testing.T) {
	t.Parallel()
	if n := len(BuiltinInstances().types); n < 485 {
		t.Errorf("the table has %d types, want at least 485", n)
	}
	mine, err := ReadInstances("# mine\ninstance,cpus,gpus\nm5.xlarge,1000,9\n\n")
	if err != nil {
		t.Fatal(err)
	}
	s, found := read(valid, Options{Instances: mine})
	if len(found) > 0 || s.Tests[0].Cluster.Size != (Size{1, 1000, 9}) {
		t.Errorf("got %+v and %v with a table of one's own", s.Tests[0].Cluster.Size, found)
	}
	for _, text := range []string{"a,1\n", "a,x,0\n", "a,1,-1\n", "a,99999999999,0"} {
		if _, err := ReadInstances(text); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
