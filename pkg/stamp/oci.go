package stamp

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// revision is the label, or annotation, in which an image names its commit.
const revision = "org.opencontainers.image.revision"

// reference marks the manifests of attestations that builders put beside images.
const reference = "vnd.docker.reference.type"

// descriptor, manifest and settings have of OCI's documents what is needed here.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      release.Digest    `json:"digest"`
	Annotations map[string]string `json:"annotations"`
}

type manifest struct {
	Manifests   []descriptor      `json:"manifests"` // an index has these
	Config      *descriptor       `json:"config"`    // an image has this
	Annotations map[string]string `json:"annotations"`
}

type settings struct {
	Config struct {
		Labels map[string]string `json:"Labels"`
	} `json:"config"`
}

// images looks at every image of a layout: one for another platform counts as much as the first.
func (c *checker) images(l layout) error {
	c.place = fmt.Sprintf("label and annotation %s of its images", revision)
	w := &walk{c: c, layout: l, left: c.limits.documents, done: map[release.Digest]bool{}}
	var root manifest
	if err := w.read("index.json", "", &root); err != nil {
		return err
	}
	for _, d := range root.Manifests {
		if err := w.visit(d); err != nil {
			return err
		}
	}
	if w.images == 0 {
		return fault.New(fault.Invalid, "cannot find an image in the OCI layout")
	}
	c.found = w.stamped == w.images
	return nil
}

// walk goes through the manifests of a layout.
type walk struct {
	c               *checker
	layout          layout
	left            int // documents that may still be read
	done            map[release.Digest]bool
	images, stamped int
}

func (w *walk) visit(d descriptor) error {
	if w.done[d.Digest] || d.Annotations[reference] != "" {
		return nil
	}
	w.done[d.Digest] = true
	var m manifest
	if err := w.read("blobs/sha256/"+d.Digest.Hex(), d.Digest, &m); err != nil {
		return err
	}
	for _, child := range m.Manifests {
		if err := w.visit(child); err != nil {
			return err
		}
	}
	if m.Config == nil {
		return nil
	}
	return w.image(d.Digest, m)
}

func (w *walk) image(d release.Digest, m manifest) error {
	w.images++
	says := []string{m.Annotations[revision]}
	var s settings
	if err := w.read("blobs/sha256/"+m.Config.Digest.Hex(), m.Config.Digest, &s); err != nil {
		return err
	}
	says = append(says, s.Config.Labels[revision])
	for _, say := range says {
		if say == string(w.c.search.want) {
			w.stamped++
			return nil
		}
	}
	for _, say := range says {
		if other := release.Commit(say); other.Valid() && w.c.other == "" {
			w.c.other, w.c.where = other, string(d)
		}
	}
	return nil
}

// read decodes a JSON document of the layout, whose bytes have the digest unless that is empty.
func (w *walk) read(name string, digest release.Digest, into any) error {
	at, ok := w.layout.at[name]
	switch w.left--; {
	case w.left < 0:
		return fault.New(fault.Invalid, "cannot read more than %d documents of the OCI layout", w.c.limits.documents)
	case !ok:
		return fault.New(fault.Invalid, "cannot read the OCI layout: %s is not in it", name)
	case at.size > w.c.limits.document:
		return fault.New(fault.Invalid, "cannot read the OCI layout: %s has %d bytes, expected at most %d", name, at.size, w.c.limits.document)
	}
	text := make([]byte, at.size)
	if _, err := io.ReadFull(io.NewSectionReader(w.c.file, at.offset, at.size), text); err != nil {
		return unreadable(name, err)
	}
	if got := release.DigestOf(text); digest != "" && got != digest {
		return fault.New(fault.Invalid, "cannot trust the OCI layout: the bytes of %s have digest %s", name, got)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fault.New(fault.Invalid, "cannot read the OCI layout: %s: %w", name, err)
	}
	return nil
}
