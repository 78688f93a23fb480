package publisher

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

var update = flag.Bool("update", false, "write docs/targets.md from the table") //nolint:gochecknoglobals // a test's flag

// TestTargetsPageIsTheTable holds docs/targets.md to the table of kinds.
func TestTargetsPageIsTheTable(t *testing.T) {
	t.Parallel()
	page := filepath.Join("..", "..", "docs", "targets.md")
	want := targetsPage()
	if *update {
		check(t, os.WriteFile(page, want, 0o644)) //nolint:gosec // a page
	}
	if got := contentOf(t, page); !bytes.Equal(got, want) {
		t.Errorf("docs/targets.md is not what the table says; write it with: go test ./services/publisher -run TargetsPage -update")
	}
}

func targetsPage() []byte {
	var b bytes.Buffer
	b.WriteString(targetsIntroduction)
	kinds := Kinds()
	slices.SortFunc(kinds, func(a, b Kind) int { return a.Rank - b.Rank })
	for _, k := range kinds {
		_, _ = fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| option | | default | meaning |\n|---|---|---|---|\n", k.Name, k.Doc)
		for _, o := range k.Options {
			must, byDefault := "", ""
			if o.Required {
				must = "required"
			}
			switch {
			case o.Secret:
				must = "secret"
			case o.Place && o.Required:
				must = "place, required"
			case o.Place:
				must = "place"
			}
			if o.Default != "" {
				byDefault = "`" + o.Default + "`"
			}
			_, _ = fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", o.Name, must, byDefault, o.Doc)
		}
		_, _ = fmt.Fprintf(&b, "\n**Staged.** %s\n\n**Committed.** %s\n\n**At a hard stop.** %s\n", k.Staged, k.Committed, k.HardStop)
	}
	return b.Bytes()
}

const targetsIntroduction = "# Targets\n\n" +
	"<!-- Made from the table in services/publisher/kind.go: go test ./services/publisher -run TargetsPage -update -->\n\n" +
	"A target is a place that artifacts are published to. `publish` in `sluice.yaml` names each, says which artifacts it gets and how it\n" +
	"is reached:\n\n" +
	"```yaml\npublish:\n  pypi:\n    artifacts: [wheel]\n    url: https://upload.pypi.org/legacy/\n    index: https://pypi.org/simple/\n    password: $PYPI_TOKEN\n" +
	"  images:\n    kind: oci\n    artifacts: [image]\n    repository: $REGISTRY/acme/{name}\n    tags: \"{{ short_commit }}, latest\"\n```\n\n" +
	"Every target goes planned → probed → staged → committed → verified. Nothing is committed before everything is staged everywhere; the\n" +
	"targets below are committed in this order, each verified before the next begins, so that what is hardest to undo goes last. Only\n" +
	"artifacts of the candidate that was tested can be published, and only on the release branch.\n\n" +
	"The same digest under the same name is success: every step can be repeated. Another digest under the same name is a **hard stop**:\n" +
	"nothing is replaced, the target fails, and a person decides. After that, `sluice retry RUN` goes on where the release stopped. A server\n" +
	"that is away, slow or overloaded is no failure: the step is tried again, with growing delays.\n\n" +
	"Options may use the definition's words between double braces, `{{ branch }}`, `{{ short_commit }}`, which the plan fills in, and what is\n" +
	"known only of each artifact between single ones: `{name}` (its file name without its ending), `{type}`, `{job}` and the keys of its\n" +
	"matrix, `{python}`; also `{project}`, `{branch}`, `{commit}`, `{short_commit}` and `{run}`.\n\n" +
	"What begins with `$` is looked up in the installation where it is published. A secret is never written out: the option holds its name,\n" +
	"`$NAME`. A place may begin with a variable, `$MIRROR/simple/`; it is printed, so a name that ends like a secret's is refused there.\n" +
	"A directory lies below the publisher's `root`.\n"

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	good := plan.Target{Name: "pypi", Kind: "pypi", Select: []string{"wheel"}, Options: map[string]string{
		"url": "https://example.org/legacy/", "index": "https://example.org/simple/", "password": "$TOKEN",
	}}
	check(t, Check(good))
	for name, c := range map[string]struct {
		change func(*plan.Target)
		want   string
	}{
		"unknown kind":      {func(t *plan.Target) { t.Kind = "npm" }, "the kinds are maven, oci, pypi, pypi-index"},
		"selects nothing":   {func(t *plan.Target) { t.Select = nil }, "it selects nothing"},
		"unknown option":    {func(t *plan.Target) { t.Options["pasword"] = "$X" }, `no option "pasword"`},
		"missing":           {func(t *plan.Target) { delete(t.Options, "url") }, `option "url" is missing`},
		"a written secret":  {func(t *plan.Target) { t.Options["password"] = "pypi-AgEIcHlwaS5vcmc" }, "is written out"},
		"a secret in a URL": {func(t *plan.Target) { t.Options["url"] = "$PYPI_TOKEN/legacy" }, "may not hold a secret"},
		"a secret and more": {func(t *plan.Target) { t.Options["password"] = "$TOKEN/x" }, "more than the name"},
		"a variable":        {func(t *plan.Target) { t.Options["timeout"] = "$TIMEOUT" }, "may not hold a secret"},
	} {
		target := good
		target.Options = map[string]string{}
		for k, v := range good.Options {
			target.Options[k] = v
		}
		c.change(&target)
		err := Check(target)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "AgEIcHlwaS5vcmc") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestOpenRefusesWhatIsUnsafe(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	secrets := func(name string) (string, error) { return map[string]string{"TOKEN": "x"}[name], nil }
	pypi := func(url, password string) plan.Target {
		return plan.Target{Name: "t", Kind: "pypi", Options: map[string]string{"url": url, "index": "https://example.org/simple/", "password": password}}
	}
	index := func(dir string) plan.Target {
		return plan.Target{Name: "t", Kind: "pypi-index", Options: map[string]string{"directory": dir}}
	}
	for name, c := range map[string]struct {
		target plan.Target
		want   string
	}{
		"credentials in a URL":  {pypi("https://user:hunter2@example.org/", "$TOKEN"), "has credentials in it"},
		"http to another host":  {pypi("http://example.org/", "$TOKEN"), "without encryption"},
		"another scheme":        {pypi("file:///etc/passwd", "$TOKEN"), "expected a URL"},
		"a query":               {pypi("https://example.org/?token=hunter2", "$TOKEN"), "has a query"},
		"an empty secret":       {pypi("https://example.org/", "$NOBODY"), "is not given to the publisher"},
		"outside the root":      {index("/etc"), "outside the directory"},
		"climbing out":          {index("../other"), "outside the directory"},
		"both places":           {plan.Target{Name: "t", Kind: "maven", Options: map[string]string{"directory": "m", "url": "https://example.org"}}, "either option directory or option url"},
		"a bad duration":        {plan.Target{Name: "t", Kind: "oci", Options: map[string]string{"repository": "r.example.org/x", "timeout": "soon"}}, "expected a duration"},
		"plain_http is a guess": {plan.Target{Name: "t", Kind: "oci", Options: map[string]string{"repository": "r.example.org/x", "plain_http": "maybe"}}, "expected true or false"},
	} {
		_, err := Open(c.target, Setup{Root: root}, secrets)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	place := func(string) (string, error) { return root, nil }
	if _, err := Open(index("$INDEX/below"), Setup{Root: root}, place); err != nil {
		t.Errorf("a directory below a variable: %v", err)
	}
	if _, err := Open(index("below"), Setup{Root: root}, secrets); err != nil {
		t.Errorf("a directory below the root: %v", err)
	}
	if _, err := Open(index("below"), Setup{}, secrets); !fault.Is(err, fault.Invalid) {
		t.Errorf("a relative directory without a root: %v", err)
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	a := func(job, kind, name, content string) release.Artifact {
		return release.Artifact{Job: job, Type: kind, Name: name, Task: release.TaskID(job + "-" + release.Slug(name) + content), Digest: release.DigestOf([]byte(content))}
	}
	c := release.NewCandidate("r", "c", []release.Artifact{
		a("wheel", "wheel", "a-1-py3-none-any.whl", "one"), a("wheel2", "wheel", "a-1-py3-none-any.whl", "one"), a("jar", "native", "n.so", "x"), a("other", "native", "n.so", "y"), a("img", "image", "app.tar", "z"),
	})
	for name, tc := range map[string]struct {
		by   []string
		want string
		kind fault.Kind
	}{
		"type, the same bytes twice": {[]string{"wheel"}, "a-1-py3-none-any.whl", ""},
		"job and type":               {[]string{"jar.native", "image"}, "app.tar n.so", ""},
		"one name, two contents":     {[]string{"native"}, "", fault.Conflict},
		"nothing":                    {[]string{"wheel", "debs"}, "", fault.Invalid},
		"a job alone":                {[]string{"jar"}, "", fault.Invalid},
	} {
		items, err := Select(c, plan.Target{Name: "t", Select: tc.by}, func(context.Context, release.Digest) (io.ReadCloser, error) { return nil, io.EOF })
		var names []string
		for _, item := range items {
			if !c.Holds(item.Artifact.Digest) {
				t.Errorf("%s: %s is not of the candidate", name, item.Artifact.Name)
			}
			names = append(names, item.Artifact.Name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != tc.want || fault.Of(err) != tc.kind {
			t.Errorf("%s: %q, %v, want %q, %q", name, got, err, tc.want, tc.kind)
		}
	}
}

func TestNamesThatNobodyMayPublish(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", ".", "..", "../x.whl", "a/b.whl", ".hidden", "-rf", "a b.whl", "a\n.whl", "a\x00.whl", "a%2f.whl", strings.Repeat("a", 300), "ü.whl", "a\\b.whl"} {
		r := candidate(t, map[string][]byte{name: []byte("x")})
		if _, err := admit(r); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v, want invalid", name, err)
		}
	}
}

// TestCheckedReaderEndsOnlyWithTheRightBytes reads in pieces of every size.
func TestCheckedReaderEndsOnlyWithTheRightBytes(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("0123456789"), 1000)
	for _, given := range [][]byte{content, content[:len(content)-1], append(bytes.Clone(content), 'x'), nil} {
		for _, size := range []int{1, 7, 4096, 1 << 16} {
			item := Item{Artifact: release.Artifact{Name: "x", Digest: release.DigestOf(content)}, Open: func(context.Context) (io.ReadCloser, error) {
				return io.NopCloser(bytes.NewReader(given)), nil
			}}
			rc, err := checkedOpen(item)(t.Context())
			check(t, err)
			var got bytes.Buffer
			_, err = io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{rc}, make([]byte, size))
			right := bytes.Equal(given, content)
			if right && (err != nil || !bytes.Equal(got.Bytes(), content)) || !right && !fault.Is(err, fault.Denied) {
				t.Errorf("%d bytes in pieces of %d: %v", len(given), size, err)
			}
			if !right && len(given) > 0 && got.Len() >= len(given) {
				t.Errorf("%d bytes in pieces of %d: all went through before the check", len(given), size)
			}
		}
	}
}

func FuzzExpand(f *testing.F) {
	f.Add("v{short_commit}-{ branch }")
	f.Add("{{run}}")
	f.Fuzz(func(t *testing.T, text string) {
		r := Release{Run: "run", Project: "p", Commit: "abcdefghi", Branch: "master"}
		out, err := r.expand(text, nil)
		if err == nil && !strings.Contains(text, "{") && out != text {
			t.Fatalf("%q became %q", text, out)
		}
	})
}

// A matrix may leave a word empty on purpose: an image whose tag is the commit alone. Nothing else may.
func TestExpandOfWhatAMatrixLeavesEmpty(t *testing.T) {
	t.Parallel()
	r := Release{Run: "run", Commit: "abcdefabcdef"}
	item := &Item{Artifact: release.Artifact{Name: "x.tar", Matrix: map[string]string{"variant": ""}}}
	if out, err := r.expand("{short_commit}{variant}", item); err != nil || out != "abcdefab" {
		t.Errorf("got %q, %v", out, err)
	}
	for _, text := range []string{"{branch}", "{unknown}", "{type}"} {
		if out, err := r.expand("v"+text, item); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s became %q, %v; want an error", text, out, err)
		}
	}
}
