package definition_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/release"
)

// mebibyte is what a definition may have; a third of it shows the same in a third of the time.
var mebibyte = map[bool]int{true: 1 << 20, false: 350_000}[os.Getenv("SLUICE_HOSTILE") != ""]

// fill repeats a piece up to the size that a definition may have.
func fill(head, piece, tail string) string {
	return head + strings.Repeat(piece, (mebibyte-len(head)-len(tail))/len(piece)) + tail
}

// count repeats a piece with a number in it.
func count(head, piece, tail string) string {
	var b strings.Builder
	b.WriteString(head)
	for i := 0; b.Len() < mebibyte-len(tail)-2*len(piece)-20; i++ {
		b.WriteString(strings.ReplaceAll(piece, "#", fmt.Sprint(i)))
	}
	return b.String() + tail
}

func hostileTexts() map[string]string {
	job := "\nbuilds: {a: {run: x}}\ngate: {require: [builds]}\n"
	return map[string]string{
		"open brackets":      fill("", "[", ""),
		"open braces":        fill("", "{", ""),
		"dashes":             fill("", "- ", ""),
		"question marks":     fill("", "? ", ""),
		"colons":             fill("", ": ", ""),
		"keys in one line":   fill("", "a: ", ""),
		"quotes":             fill("a: \"", "\\\"", "\""),
		"open quotes":        fill("", "\"a\n", ""),
		"block scalars":      count("", "a#: |\n  b\n", ""),
		"anchors":            count("project: x\nsettings:\n", "  a#: &a# x\n", job),
		"one anchor":         fill("", "&a ", ""),
		"aliases":            fill("project: x\nsettings: {a: &a x, b: [", "*a,", "]}"+job),
		"merges":             fill("project: x\nsettings: {a: &a {b: 1, c: 2}, d: {<<: [", "*a,", "]}}"+job),
		"tags":               fill("", "!a ", ""),
		"comments":           fill("project: x"+job, "# c\n", ""),
		"documents":          fill("", "---\n", ""),
		"blank lines":        fill("project: x"+job, "\n", ""),
		"spaces":             fill("project: x", " ", job),
		"indentation":        indented(),
		"same keys":          fill("", "a: b\n", ""),
		"unknown keys":       count("", "a#: b\n", ""),
		"list of wrongs":     fill("project: x\npools: [", "x,", "]"+job),
		"unknown job keys":   count("project: x\nbuilds: {a: {run: x,", "r#: x,", "}}"),
		"jobs":               count("project: x\nbuilds:\n", "  j#: {run: x}\n", ""),
		"jobs with needs":    count("project: x\nbuilds:\n  a: {run: x}\n", "  j#: {run: x, needs: [a]}\n", ""),
		"unknown needs":      count("project: x\nbuilds:\n", "  j#: {run: x, needs: [k#]}\n", ""),
		"most jobs":          most("  j#: {run: x}\n"),
		"most needs":         most("  j#: {run: x, needs: [a, b#]}\n"),
		"most wrong needs":   most("  j#: {run: x, needs: [k#, k#k]}\n"),
		"most conditions":    most("  j#: {run: x, if: \"# == # && change.kind != 'x#'\"}\n"),
		"chain of needs":     chain(),
		"conditions":         count("project: x\nbuilds:\n", "  j#: {run: x, if: \"# == #\"}\n", ""),
		"templates":          fill("project: x\nbuilds: {a: {matrix: {p: [1]}, run: \"", "{{ p }}", "\"}}"),
		"folded templates":   fill("project: x\nbuilds: {a: {matrix: {p: [1]}, run: \"", "{{\\u0020q }}", "\"}}"),
		"matrix values":      count("project: x\nbuilds: {a: {run: x, matrix: {p: [", "#,", "]}}}"),
		"included keys":      count("project: x\nbuilds: {a: {run: x, matrix: {include: [", "{k#: 1},", "]}}, b: {run: x, needs: [a], matrix: {k1: [1,2,3]}}}"),
		"included rows":      rowsOfKeys(),
		"excludes":           "project: x\ndefinitions: {d: [0,1,2,3,4,5,6,7,8,9]}\nbuilds: {a: {run: x, matrix: {a: $d, b: $d, c: $d, d: $d, exclude: [" + strings.Repeat("{a: x},", 60_000) + "]}}}",
		"pools":              count("project: x\npools: [", "{name: p#, match: [\"a=#\", \"b=#\"]},", "]\ndefinitions: {d: [0,1,2,3,4,5,6,7,8,9]}\nbuilds: {a: {run: x, matrix: {a: $d, b: $d, c: $d, d: $d}}}"),
		"edges":              "project: x\ndefinitions: {d: [0,1,2,3,4,5,6,7,8,9]}\nbuilds:\n  a: {run: x, matrix: {a: $d, b: $d, c: $d, d: $d}}\n  b: {run: x, needs: [a], matrix: {e: $d, f: $d, g: $d, h: $d}}\n",
		"text times tasks":   "project: x\ndefinitions: {d: [0,1,2,3,4,5,6,7,8,9]}\nbuilds: {a: {run: \"{{ a }}" + strings.Repeat("x", 500_000) + "\", matrix: {a: $d, b: $d, c: $d, d: $d}}}",
		"settings":           count("project: x\nsettings:\n", "  s#: {a: 1}\n", "\nbuilds: {a: {run: x, if: settings.s1.a == 1}}"),
		"presets":            count("project: x\nsettings: {a: 1}\npresets:\n", "  p#: {a: 2}\n", job),
		"preset chain":       presetChain(),
		"template chain":     templateChain(),
		"circles":            count("project: x\ntemplates:\n", "  t#: {extends: [t#]}\n", job),
		"types of outputs":   most("  j#: {run: x, outputs: {o: x}, needs: {artifacts: o}}\n"),
		"adjustments":        "project: x\ndefinitions: {d: [0,1,2,3,4,5,6,7,8,9]}\nbuilds: {a: {run: x, matrix: {a: $d, b: $d, c: $d, d: $d, adjustments: [" + strings.Repeat("{with: {a: '{0,1,2,3}*'}, env: {A: b}, soft_fail: true},", 5_000) + "]}}}\ngate: {require: [builds]}",
		"sequence":           count("project: x\nbuilds: {a: {run: x, sequence: {p: [", "#,", "]}}}"),
		"parameters":         count("project: x\ntriggers: {manual: {parameters: {", "p#: {default: 1},", "}}}\nbuilds: {a: {run: x, directory: '"+strings.Repeat("{{ change.parameters.p1 }}", 5_000)+"'}}\ngate: {require: [builds]}"),
		"wheres":             "project: x\ndefinitions: {d: [0,1,2,3,4,5,6,7,8,9]}\nbuilds:\n  a: {run: x, matrix: {a: $d, b: $d, c: $d}}\n  b: {run: x, needs: [" + strings.Repeat("{job: a, where: {a: '{1,2}', b: '*'}},", 5_000) + "], matrix: {e: $d, f: $d}}\ngate: {require: [builds]}",
		"long strings":       "project: \"" + strings.Repeat("x", mebibyte-100) + "\"\nbuild: {}\n",
		"globs":              "project: x\nbuilds: {a: {run: x, outputs: {a: \"" + strings.Repeat("{a,", 1000) + strings.Repeat("**/", 1000) + "\"}}}",
		"braces":             "project: x\npools: [{name: a, match: [\"t=" + strings.Repeat("{a,a}", 60) + "b\"]}]\nbuilds: {a: {run: x, tags: [\"t=" + strings.Repeat("a", 60) + "\"]}}\n",
		"braces in a row":    "project: x\nbuilds: {a: {run: x, matrix: {p: [\"" + strings.Repeat("{a,a}", 60) + "\"]}, outputs: {o: \"{{ p }}\"}}}\n",
		"regular expression": "project: x\nbuilds: {a: {run: x, if: \"'" + strings.Repeat("a", 2000) + "'.matches('(a*)*(a*)*(a*)*b')\"}}\n",
	}
}

// rowsOfKeys is a matrix of as many rows as fit, of a few keys each.
func rowsOfKeys() string {
	return count("project: x\nbuilds: {a: {run: x, matrix: {include: [", "{k1: #, k2: #, k3: #}, {k4: #}, {k99: #},", "]}}, b: {run: x, needs: [{job: a, optional: true}], matrix: {k1: [1,2,3]}}}\ngate: {require: [builds]}")
}

// most is as many jobs as there may be.
func most(piece string) string {
	var b strings.Builder
	b.WriteString("project: x\nbuilds:\n  a: {run: x}\n")
	for i := range 1900 {
		b.WriteString(strings.ReplaceAll(piece, "#", fmt.Sprint(i)))
	}
	b.WriteString("tests:\n")
	for i := range 1900 {
		fmt.Fprintf(&b, "  b%d: {run: x}\n", i)
	}
	return b.String()
}

func indented() string {
	var b strings.Builder
	for i := 0; b.Len() < mebibyte/2; i++ {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func chain() string {
	var b strings.Builder
	b.WriteString("project: x\nbuilds:\n  j0: {run: x}\n")
	for i := 1; i < 1990; i++ {
		fmt.Fprintf(&b, "  j%d: {run: x, needs: [j%d]}\n", i, i-1)
	}
	return b.String()
}

func templateChain() string {
	var b strings.Builder
	b.WriteString("project: x\ntemplates:\n  t0: {run: x}\n")
	for i := 1; i < 1990; i++ {
		fmt.Fprintf(&b, "  t%d: {extends: t%d, env: {", i, i-1)
		for j := range 20 {
			fmt.Fprintf(&b, "V%d_%d: x, ", i, j)
		}
		b.WriteString("}}\n")
	}
	return b.String() + "builds: {a: {extends: t1989}}\ngate: {require: [builds]}\n"
}

func presetChain() string {
	var b strings.Builder
	b.WriteString("project: x\nsettings: {a: 1}\npresets:\n  p0: {a: 2}\n")
	for i := 1; i < 1990; i++ {
		fmt.Fprintf(&b, "  p%d: {extends: [p%d]}\n", i, i-1)
	}
	return b.String() + "builds: {a: {run: x}}\ngate: {require: [builds]}\n"
}

// TestHostile reads texts as large as they may be and as bad as we could think of: each is answered in bounded time
// and memory, by a plan or by problems that say where. The time is generous, since this machine may be busy; what is
// quadratic is seen in the memory.
func TestHostile(t *testing.T) {
	for name, text := range hostileTexts() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			outcome := resolveHostile(text)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
			if os.Getenv("SLUICE_HOSTILE") != "" {
				t.Logf("%v, %d MiB: %s", took.Round(time.Millisecond), allocated, outcome)
			}
			if took > time.Minute || allocated > 1500 {
				t.Errorf("took %v and allocated %d MiB: %s", took, allocated, outcome)
			}
		})
	}
}

func resolveHostile(text string) string {
	def, err := definition.Parse("sluice.yaml", []byte(text))
	if err == nil {
		_, err = definition.Resolve(def, definition.Request{Change: release.Change{
			Kind: release.Push, Repo: "a/b", Branch: "master", Ref: "refs/heads/master", Commit: commit,
		}})
	}
	if err == nil {
		return "resolved"
	}
	out := err.Error()
	return out[:min(len(out), 200)]
}
