package definition_test

import (
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/release"
)

const tenThousand = `
project: large
definitions:
  d: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
  pythons: ["3.10", "3.11", "3.12", "3.13"]
pools: [{name: gpu, match: ["gpu>=1"]}, {name: arm, match: ["c=7"]}, {name: linux, match: ["os=linux"]}]
builds:
  lock: {matrix: {python: $pythons, a: $d, b: $d}, run: "lock {{ python }}", outputs: {lock: "l{{ python }}-{{ a }}{{ b }}"}, tags: [os=linux]}
  wheel:
    needs: [lock]
    matrix: {python: $pythons, a: $d, b: $d, c: $d}
    run: "make wheel PYTHON={{ python }} A={{ a }} COMMIT={{ commit }}"
    outputs: {wheel: "dist/{{ python }}/*.whl"}
    stamp: commit
    tags: [os=linux]
    if: "python != '2.7'"
tests:
  test:
    needs: [wheel]
    matrix: {python: $pythons, a: $d, b: $d, c: $d}
    run: "make test PYTHON={{ python }}"
    reports: {junit: "reports/*.xml"}
    retry: {infra: 2}
    tags: [os=linux]
  more: {needs: [lock], matrix: {a: $d, b: $d, c: $d, d: ["0", "1"]}, run: more, tags: [os=linux]}
publish: {index: {kind: pypi-index, artifacts: [wheel]}}
`

func push() definition.Request {
	return definition.Request{Change: release.Change{
		Kind: release.Push, Repo: "a/b", Branch: "master", Ref: "refs/heads/master", Commit: commit,
	}}
}

// BenchmarkResolve10000 reads and resolves a definition of 10 400 tasks; the goal is one second.
func BenchmarkResolve10000(b *testing.B) {
	for b.Loop() {
		p, err := resolve(tenThousand, push())
		if err != nil || len(p.Tasks) != 10_400 {
			b.Fatal(len(p.Tasks), err)
		}
	}
}

// TestResolve10000InASecond fails when the goal is missed by far, as something quadratic would.
func TestResolve10000InASecond(t *testing.T) {
	start := time.Now()
	p, err := resolve(tenThousand, push())
	if err != nil || len(p.Tasks) != 10_400 {
		t.Fatal(len(p.Tasks), err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("10 400 tasks took %v, the goal is one second", took)
	}
}
