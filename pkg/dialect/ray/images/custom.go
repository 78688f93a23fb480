package images

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
)

// Digest is the digest of everything that a custom image is made of. Ray's, until 2025, was that of the script's file
// name, so that a changed script was tested in the image of the old one.
func (c Custom) Digest() release.Digest {
	var b strings.Builder
	part := func(name string, content []byte) { _, _ = fmt.Fprintf(&b, "%s %d:%s\n", name, len(content), content) }
	part("base", []byte(c.Base))
	part("script name", []byte(c.ScriptName))
	part("script", c.Script)
	part("lock", c.Lock)
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		part("env "+name, []byte(c.Env[name]))
	}
	return release.DigestOf([]byte(b.String()))
}

// Tag is the tag of the custom image over a base tag.
func (c Custom) Tag(base string) string { return base + "-" + c.Digest().Hex() }

// Custom is what a custom image is made of.
type Custom struct {
	Base       string            // the image below, by digest where it is known
	Script     []byte            // of the post-build script: its content
	ScriptName string            // it stands in the image's history
	Lock       []byte            // the locked requirements
	Env        map[string]string // the runtime environment
}
