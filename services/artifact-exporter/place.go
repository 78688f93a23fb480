package exporter

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
)

// Everything here makes names of words that come from outside. "~" and "@" are in no name that was taken over as it is:
// "~" marks a name that was changed, and goes before letters that are derived from the whole of it, so that two words are
// never one name; "@" goes before a task.

// plain has the characters that every file system, S3 server and URL takes as they are.
var plain = regexp.MustCompile(`^[A-Za-z0-9_+=-][A-Za-z0-9._+=-]*$`)

// The longest names, in bytes. With what is added to them, a type and its task stay below 255, and so does a file.
const (
	longestKind    = 80
	longestSegment = 120 // a task's id is not longer
	longestFile    = 180
	longestLine    = 300 // of a branch's segments together
)

// segment makes one segment of a path of any text.
func segment(s string) string { return shortened(s, longestSegment) }

func shortened(s string, longest int) string {
	if plain.MatchString(s) && len(s) <= longest {
		return s
	}
	return changed(s, longest)
}

// changed makes a segment that is surely not the text itself. The extension stays last.
func changed(s string, longest int) string {
	clean := strings.Map(func(r rune) rune {
		if r < 128 && plain.MatchString("x"+string(r)) {
			return r
		}
		return '_'
	}, s)
	ext := path.Ext(clean)
	if len(ext) > 12 || ext == clean || ext == "." {
		ext = ""
	}
	stem := strings.TrimLeft(strings.TrimSuffix(clean, ext), ".")
	return stem[:min(len(stem), longest)] + "~" + release.Derive(s)[:8] + ext
}

var commitLike = regexp.MustCompile(`^([0-9a-fA-F]{40}|[0-9a-fA-F]{64})$`)

// line makes the segments of a branch or tag. None of them looks like a commit: so the first that does is the commit,
// and no branch can reach into the files of another.
func line(s string) string {
	parts := strings.Split(s, "/")
	for i, part := range parts {
		parts[i] = segment(part)
		if commitLike.MatchString(part) {
			parts[i] = changed(part, longestSegment)
		}
	}
	if joined := strings.Join(parts, "/"); len(joined) <= longestLine {
		return joined
	}
	return changed(s, longestSegment)
}

// base is where the things of a change are: <branch>/<commit>. A pull request is never below the branch that it is for.
func base(c release.Change) string {
	return path.Join(under(c), string(c.Commit))
}

func under(c release.Change) string {
	branch := c.Branch
	if branch == "" {
		branch = strings.TrimPrefix(c.Ref, "refs/heads/")
	}
	switch {
	case c.Kind == release.PullRequest || c.Fork || c.Number != 0:
		return "pull/" + pullRequest(c)
	case c.Kind == release.Tag || strings.HasPrefix(c.Ref, "refs/tags/"):
		return "tags/" + line(strings.TrimPrefix(c.Ref, "refs/tags/"))
	}
	first, _, _ := strings.Cut(branch, "/")
	switch strings.ToLower(first) {
	case "latest", "released", "pull", "tags": // not even where "Latest" and "latest" are the same name
		return path.Join(changed(first, longestSegment), line(branch))
	}
	return line(branch)
}

func pullRequest(c release.Change) string {
	if c.Number > 0 {
		return strconv.Itoa(int(c.Number))
	}
	return changed(c.Ref, longestSegment)
}
