package images

import (
	"regexp"
	"slices"
)

var releaseTag = regexp.MustCompile(`^(\d+\.\d+\.\d+(?:rc\d+)?(?:\.post\d+)?)(?:-[A-Za-z0-9_.-]+)?$`)

// IsReleaseTag reports whether a tag is of one of the released versions; without versions, whether it has the form of
// one.
func IsReleaseTag(tag string, versions []string) bool {
	m := releaseTag.FindStringSubmatch(tag)
	return m != nil && (len(versions) == 0 || slices.Contains(versions, m[1]))
}
