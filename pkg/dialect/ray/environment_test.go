package ray

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestEnvironmentFiles is vector I28; blank lines, comments and blanks around names are allowed (defect 19).
func TestEnvironmentFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]string{
		`A="x=y"`: {"A": "x=y"}, "\n\nA=1\n": {"A": "1"}, "# c\nA=1": {"A": "1"}, " A = 1 ": {"A": "1"}, "A=": {"A": ""}, "A=1\r\nB=2\r\n": {"A": "1", "B": "2"},
		"A=1\nA=2": {"A": "2"},
	} {
		got, err := ParseEnvironment("e/aws.env", text)
		if diff := cmp.Diff(want, got.Variables); err != nil || diff != "" || got.Name != "aws" {
			t.Errorf("I28 %q: %v (-want +got):\n%s", text, err, diff)
		}
	}
	_, err := ParseEnvironment("e/aws.env", "A=1\nB\n=3\na b=1\n")
	for _, want := range []string{"e/aws.env:2:1: expected NAME=VALUE, found 'B'", "aws.env:3:1", "aws.env:4:1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestEnvironments shows what is chosen and what goes before what: --env, the test's own, aws; and the caller's variables
// before the file before the test.
func TestEnvironments(t *testing.T) {
	t.Parallel()
	files := tree(valid + strings.Replace(change(t, "group: g", "env: gce"), "sample", "other", 1))
	for _, name := range []string{"aws", "gce", "prod"} {
		files["release/ray_release/environments/"+name+".env"] = &fstest.MapFile{Data: []byte("WHERE=" + name + "\nRAY_BACKEND_LOG_JSON=0\nX=file\n")}
	}
	s, err := Import(files, []string{"release/tests.yaml"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	steps := []Step{{Test: s.Tests[0], Of: 1}, {Test: s.Tests[1], Of: 1}}
	for asked, want := range map[string][2]string{"": {"aws", "gce"}, "prod": {"prod", "prod"}} {
		tasks, err := s.Tasks(steps, TaskOptions{Environment: asked, Variables: map[string]string{"X": "caller"}})
		if err != nil {
			t.Fatal(err)
		}
		for i, task := range tasks {
			v := task.Variables
			if v["WHERE"] != want[i] || v["X"] != "caller" || v["RAY_BACKEND_LOG_JSON"] != "0" || task.Tags[0] != "env:"+want[i] {
				t.Errorf("--env %q: got %v, %v", asked, v, task.Tags)
			}
		}
	}
	if _, err := s.Tasks(steps, TaskOptions{Environment: "staging"}); err == nil || err.Error() != "Unknown environment with name: staging; expected one of aws, gce, prod" {
		t.Errorf("got %v", err)
	}
}

func TestRealEnvironments(t *testing.T) {
	t.Parallel()
	s := suite2024(t)
	if len(s.Environments) != 3 || s.Environments["gce"].Variables["ANYSCALE_CLOUD_STORAGE_PROVIDER"] != "gs" {
		t.Errorf("got %v", s.Environments)
	}
}

func FuzzEnvironment(f *testing.F) {
	f.Add("A=1\n# c\n")
	f.Fuzz(func(t *testing.T, text string) {
		e, _ := ParseEnvironment("x.env", text)
		for name := range e.Variables {
			if !variable(name) {
				t.Errorf("%q is no name of a variable", name)
			}
		}
	})
}
