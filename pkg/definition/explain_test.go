package definition_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/release"
)

const explained = `project: x
settings:
  tests: {gpu: [1, 2], level: low}
  hosts: {"a.b": 1, c: 2}
  plain: yes
presets:
  light: {tests.level: light}
  before: {extends: [light], tests.level: mine}
  after: {tests.level: mine, extends: [light]}
builds: {a: {run: x, directory: "{{ settings.tests.gpu[0] }}/{{ settings.hosts[\"a.b\"] }}", if: "settings.hosts['a.b'] >= 1 && settings.tests.gpu[1] == 2"}}
gate: {require: [builds]}
`

// TestExplain tells of every setting where its value comes from.
func TestExplain(t *testing.T) {
	def, err := definition.Parse("sluice.yaml", []byte(explained))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		req  definition.Request
		want string
	}{
		{definition.Request{}, `tests.gpu=[1,2] sluice.yaml:3:16; tests.level=low sluice.yaml:3:31; hosts["a.b"]=1 sluice.yaml:4:18; hosts.c=2 sluice.yaml:4:24; plain=yes sluice.yaml:5:10`},
		{definition.Request{Presets: []string{"before"}}, `tests.gpu=[1,2] sluice.yaml:3:16; tests.level=mine preset before, sluice.yaml:8:43; hosts["a.b"]=1 sluice.yaml:4:18; hosts.c=2 sluice.yaml:4:24; plain=yes sluice.yaml:5:10`},
		{definition.Request{Presets: []string{"after"}, Set: []string{`hosts["a.b"]=a=b`, "tests.gpu[1]=8"}}, `tests.gpu=[1,8] sluice.yaml:3:16; tests.gpu[1]=8 --set 2: tests.gpu[1]=8; tests.level=light preset light, sluice.yaml:7:24; hosts["a.b"]=a=b --set 1: hosts["a.b"]=a=b; hosts.c=2 sluice.yaml:4:24; plain=yes sluice.yaml:5:10`},
		{definition.Request{Set: []string{"hosts={a.b: 5}", "tests.gpu=7"}}, `tests.gpu=7 --set 2: tests.gpu=7; tests.level=low sluice.yaml:3:31; hosts["a.b"]=5 --set 1: hosts={a.b: 5}; hosts.c=2 sluice.yaml:4:24; plain=yes sluice.yaml:5:10`},
	} {
		origins, err := definition.Explain(def, c.req)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, o := range origins {
			out = append(out, fmt.Sprintf("%s=%s %s", o.Path, o.Value, o.From))
		}
		if got := strings.Join(out, "; "); got != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.req, got, c.want)
		}
	}
	if _, err := definition.Explain(def, definition.Request{Presets: []string{"lihgt"}}); err == nil || !strings.Contains(err.Error(), "did you mean light?") {
		t.Errorf("an unknown preset gives %v", err)
	}
}

// TestPathsOfSettings refuses what is no path, and says what there is.
func TestPathsOfSettings(t *testing.T) {
	def, err := definition.Parse("sluice.yaml", []byte(explained))
	if err != nil {
		t.Fatal(err)
	}
	change := release.Change{Kind: release.Push, Branch: "master", Commit: commit}
	for set, want := range map[string]string{
		"tests.gpu[2]=1":     "the list has 2 values, counted from 0",
		"tests.level[0]=1":   "tests.level is not a list",
		"tests.gpu[x]=1":     "expected a path such as",
		"tests..gpu=1":       "expected a path such as",
		`hosts["a.c"]=1`:     `did you mean hosts["a.b"]?`,
		`hosts["a.b=1`:       "expected PATH=VALUE",
		"tests.gpu[0].x=1":   "there is nothing below it",
		"tests.gpu[0]={a: }": "is not a map",
		"=1":                 "expected PATH=VALUE",
		"[0]=1":              "settings is not a list",
	} {
		_, err := definition.Resolve(def, definition.Request{Change: change, Set: []string{set}})
		var problems definition.Errors
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), want) {
			t.Errorf("--set %s gives %v, want %q", set, err, want)
		}
	}
	p, err := definition.Resolve(def, definition.Request{Change: change})
	if err != nil || p.Tasks[0].Directory != "1/1" || p.Settings[`hosts["a.b"]`] != "1" {
		t.Fatal(p, err)
	}
}
