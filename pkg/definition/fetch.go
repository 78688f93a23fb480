package definition

import (
	"math"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/goccy/go-yaml/ast"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// Fetch is where a build's one output comes from that somebody else builds: a URL, or a map.
type Fetch struct {
	At      Pos
	URL     Text     `key:"url" doc:"Where it is, or will be: http, https, or file where the installation allows it." required:"true" example:"https://wheels.example.com/{{ commit }}/rayish.whl"`
	Wait    Duration `key:"wait" doc:"How long it may take to come. Then the attempt ends with class infra_timeout and exit code 30, and is not made again unless retry says so." default:"2h" example:"30m"`
	Every   Duration `key:"every" doc:"Between two questions whether it is there." default:"30s" example:"10s"`
	Digest  Text     `key:"digest" doc:"The digest that it must have." example:"sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"`
	Commit  Text     `key:"commit" doc:"The commit that it must carry, where that is not the run's own. Only what carries the run's commit can be published as stamped." default:"with stamp, the run's commit" example:"4f2a9c1d0123456789abcdef0123456789abcdef"`
	MaxSize Quantity `key:"max_size" doc:"The most bytes that are taken." default:"as the installation says" example:"500MiB"`
}

const (
	defaultWait  = release.Duration(2 * time.Hour)
	defaultEvery = release.Duration(30 * time.Second)
	soonest      = release.Duration(10 * time.Millisecond) // between two questions
)

func (v *Fetch) decode(d *decoder, n ast.Node) {
	v.At = d.at(n)
	d.shortOr(n, &v.URL, v)
	if v.Every.Set && v.Every.Value < soonest {
		d.source.fail(v.Every.At, "", "expected at least %s between two questions, found %s", soonest, v.Every.Value)
	}
	if v.Wait.Set && v.Wait.Value == 0 {
		d.source.fail(v.Wait.At, "", "expected a time to wait, found none")
	}
}

func (*Fetch) shape() shape { return either("URL, or map", "fetch", Text{}, Fetch{}) }

func (v *Fetch) wanted() bool { return v.At.Line > 0 }

// fetch checks that a job which fetches its output does nothing else: there is no place where it could.
func (c *checker) fetch(name string, job *Job) {
	if !job.Fetch.wanted() {
		return
	}
	if c.test[name] {
		c.fail(job.Fetch.At, "make it a build, and let the test need it", "%s is a test: only builds can fetch", name)
	}
	said := job.executed()
	for _, key := range keysOf(said) {
		if at := said[key]; at.Line > 0 {
			c.fail(at, "remove "+key+", or do it in a job that needs "+name, "%s fetches what it leaves and runs nothing: %s has no meaning", name, key)
		}
	}
	if len(job.Outputs) != 1 {
		c.fail(job.Fetch.At, "outputs: {wheel: \"*.whl\"}", "%s fetches one output, found %d", name, len(job.Outputs))
	}
	if job.Timeout.Queue.Set {
		c.fail(job.Timeout.Queue.At, "write fetch: {wait: …}", "%s has no queue: how long it waits is said by fetch", name)
	}
	if strings.Contains(job.Fetch.URL.Value, openMark) {
		return // looked at again with the values of each row
	}
	if problem := wrongURL(job.Fetch.URL.Value); problem != "" && job.Fetch.URL.At.Line > 0 {
		c.fail(job.Fetch.URL.At, "", "%s", problem)
	}
}

// executed are the places of what a job says of its execution.
func (j *Job) executed() map[string]Pos {
	out := map[string]Pos{
		"run": j.Run.At, "prepare": j.Prepare.At, "cleanup": j.Cleanup.At, "directory": j.Directory.At, "image": j.Image.At,
		"pool": j.Pool.At, "sequence": j.Sequence.At, "lease": j.Lease.At, "gang": j.Gang.At, "keep": j.Keep.At,
		"long_running": j.LongRunning.At, "reports": j.Reports.JUnit.At,
	}
	if len(j.Cache) > 0 {
		out["cache"] = j.Cache[0].At
	}
	if len(j.Secrets) > 0 {
		out["secrets"] = j.Secrets[0].At
	}
	if len(j.IDTokens) > 0 {
		out["id_tokens"] = j.IDTokens[0].At
	}
	return out
}

// wrongURL says why nothing can be fetched from a URL, or "". What it holds of secrets would stand in the plan.
func wrongURL(text string) string {
	u, err := url.Parse(text)
	shown := shorten(printable(text), 200)
	switch {
	case err != nil:
		return "expected a URL, found " + shown
	case u.User != nil:
		return "expected a URL without a user and a password: it stands in the plan, which many may read"
	case u.Scheme == "file" && u.Host == "" && path.IsAbs(u.Path) && path.Base(u.Path) != "/":
		return ""
	case u.Scheme != "http" && u.Scheme != "https":
		return "expected a URL that begins with http://, https:// or file:///, found " + shown
	case u.Host == "" || fileOf(u) == "":
		return "expected the URL of a file, found " + shown
	}
	return ""
}

// fileOf is the name of the file that a URL ends with, or "".
func fileOf(u *url.URL) string {
	name := path.Base(u.Path)
	if strings.HasSuffix(u.Path, "/") || name == "." || name == "/" || name == ".." || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '\\' }) {
		return ""
	}
	return name
}

func (r *resolver) bindFetch(b *bound, v *Job) {
	b.url, b.digest, b.commit = r.text(v.Fetch.URL), r.text(v.Fetch.Digest), r.text(v.Fetch.Commit)
	stated := slices.ContainsFunc(v.Retry.Map, func(e Entry[Retry]) bool { return e.Name == string(release.ClassInfraTimeout) })
	if !stated { // it has waited for as long as it was to
		b.retry = slices.DeleteFunc(b.retry, func(one release.Retry) bool { return one.Class == release.ClassInfraTimeout })
		b.retry = append(b.retry, release.Retry{Class: release.ClassInfraTimeout})
	}
	b.timeouts.Queue = orDuration(v.Fetch.Wait, defaultWait)
}

func orDuration(d Duration, otherwise release.Duration) release.Duration {
	if !d.Set {
		return otherwise
	}
	return d.Value
}

// fetch is what a row fetches.
func (r *resolver) fetch(t *task, b *bound, out *plan.Task, put func(*template) string) plan.Fetch {
	v := &t.v.Fetch
	f := plan.Fetch{
		URL: put(b.url), Every: orDuration(v.Every, defaultEvery), Digest: release.Digest(put(b.digest)),
		Commit: release.Commit(put(b.commit)), MaxSize: int64(min(v.MaxSize.Value, math.MaxInt64/2)),
	}
	if problem := wrongURL(f.URL); problem != "" {
		r.fail(v.URL.At, "", "%s: %s", t.name, problem)
		return f
	}
	if f.Digest != "" && !f.Digest.Valid() {
		r.fail(v.Digest.At, "", "%s: expected sha256: and 64 hexadecimal digits, found %s", t.name, shorten(printable(string(f.Digest)), 100))
	}
	switch {
	case f.Commit == "" && v.Commit.At.Line > 0, f.Commit != "" && !f.Commit.Valid():
		r.fail(v.Commit.At, "", "%s: expected a commit of 40 hexadecimal digits, found %q", t.name, shorten(printable(string(f.Commit)), 100))
	case f.Commit == "" && len(out.Outputs) == 1 && out.Outputs[0].Stamped:
		f.Commit = r.req.Change.Commit
	}
	r.fetched(t, f, out)
	return f
}

// fetched checks that what a URL ends with is the output.
func (r *resolver) fetched(t *task, f plan.Fetch, out *plan.Task) {
	u, err := url.Parse(f.URL)
	if err != nil || len(out.Outputs) != 1 {
		return
	}
	o := &out.Outputs[0]
	if ok, _ := doublestar.Match(o.Path, path.Base(u.Path)); !ok {
		r.fail(t.v.Outputs[0].Value.Path.At, "", "%s: the file %s of its URL does not match its output %s, %q",
			t.name, shorten(printable(path.Base(u.Path)), 100), o.Type, o.Path)
	}
	// What carries another commit than the run's is checked when it comes, and never published as this commit's.
	o.Stamped = o.Stamped && f.Commit == r.req.Change.Commit
}
