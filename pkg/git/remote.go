package git

import (
	"context"
	"path"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// LsRemote asks the repository at url for its refs and the commits that they lead to; annotated tags are peeled.
// Patterns are full names ("refs/heads/master") or end in one star that stands for any text ("refs/heads/releases/*");
// none means branches and tags.
func (c *Cache) LsRemote(ctx context.Context, url string, patterns ...string) (map[string]release.Commit, error) {
	r, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	if len(patterns) == 0 {
		patterns = []string{"refs/heads/*", "refs/tags/*"}
	}
	args := []string{"ls-remote", "--quiet"}
	for _, p := range patterns {
		if err := checkRef(p); err != nil {
			return nil, err
		}
	}
	args = append(append(args, narrow(patterns)...), "--", r.url)
	ctx, cancel := context.WithTimeout(ctx, c.options.LsTimeout)
	defer cancel()
	out, err := c.run(ctx, call{args: args, remote: &r})
	if err != nil {
		return nil, wrap(err, "cannot list the refs of %s", r.url)
	}
	return parseRefs(string(out), patterns)
}

// narrow lets the remote leave out what no pattern wants: a large forge has 100 000 refs of pull requests.
func narrow(patterns []string) []string {
	var heads, tags bool
	for _, p := range patterns {
		switch {
		case strings.HasPrefix(p, "refs/heads/"):
			heads = true
		case strings.HasPrefix(p, "refs/tags/"):
			tags = true
		default:
			return nil
		}
	}
	var flags []string
	if heads {
		flags = append(flags, "--heads")
	}
	if tags {
		flags = append(flags, "--tags")
	}
	return flags
}

// parseRefs reads "<object>\t<ref>" lines. The line of a tag's commit, "<ref>^{}", comes after that of its object.
func parseRefs(out string, patterns []string) (map[string]release.Commit, error) {
	refs := map[string]release.Commit{}
	for line := range strings.Lines(out) {
		object, ref, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		commit := release.Commit(object)
		if !ok || !commit.Valid() {
			return nil, fault.New(fault.Transient, "cannot read the list of refs: %.80q is no object and name", line)
		}
		if name := strings.TrimSuffix(ref, "^{}"); wanted(name, patterns) {
			refs[name] = commit
		}
	}
	return refs, nil
}

func wanted(ref string, patterns []string) bool {
	for _, p := range patterns {
		if before, after, star := strings.Cut(p, "*"); star {
			if len(ref) >= len(before)+len(after) && strings.HasPrefix(ref, before) && strings.HasSuffix(ref, after) {
				return true
			}
		} else if path.Clean(p) == ref {
			return true
		}
	}
	return false
}
