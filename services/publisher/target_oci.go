package publisher

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

func ociKind() Kind {
	return Kind{
		Name:   "oci",
		Doc:    "Images in an OCI registry. The artifact is an OCI image layout as a tar (or an output directory that is one), of one platform or several.",
		Moves:  true,
		Undoes: true,
		Rank:   1,
		Staged: "Blobs and manifests are in the registry by their digest; no tag names them.",
		Committed: "The tags name the image, moving tags last. " +
			"`sluice undo` gives moving tags back to what they named before and deletes the others; who pulled in between has the image.",
		HardStop: "A tag names another image already. Raise the version and release again; or, if the tag is meant to move, list it in moving_tags and retry; " +
			"or delete the tag if nobody can have used it.",
		Options: append([]Option{
			{Name: "repository", Doc: "HOST/PATH; may use words such as {name}", Required: true, Place: true},
			{Name: "tags", Doc: "tags, separated by commas; may use words such as {python}", Default: "{short_commit}"},
			{Name: "moving_tags", Doc: "those of the tags that may be moved from one image to the next; each stays with the run that was pushed last of those that gave it", Default: "latest"},
			{Name: "naming", Doc: "a project's own names for its images, instead of tags and moving_tags: " + namingDocs(), OneOf: namingNames()},
		}, remoteOptions("")...),
		New: newOCI,
	}
}

// oci publishes images. What is tested is the archive; what users name is the image in it, whose digest follows from
// the archive's bytes.
type oci struct{ setup Setup }

func newOCI(setup Setup) (Target, error) {
	if _, err := setup.Options.duration("timeout"); err != nil {
		return nil, err
	}
	_, err := setup.Options.flag("plain_http")
	return &oci{setup: setup}, err
}

// image is one item with its names.
type image struct {
	item       Item
	registry   *registry
	tags       []string // immutable tags first, so that moving tags are the last thing that changes
	moving     []string
	repository string
}

func (t *oci) images(ctx context.Context, r Release) ([]image, error) {
	var out []image
	seen := map[string]bool{}
	for _, item := range r.Items {
		img, err := t.named(r, item)
		if err != nil {
			return nil, err
		}
		for _, tag := range img.tags {
			if seen[img.repository+":"+tag] {
				return nil, fault.New(fault.Invalid, "cannot publish two images as %s:%s: use a word such as {name} in option repository", img.repository, tag)
			}
			seen[img.repository+":"+tag] = true
		}
		if img.registry, err = openRegistry(ctx, t.setup, img.repository); err != nil {
			return nil, err
		}
		out = append(out, img)
	}
	return out, nil
}

var tagName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

func (t *oci) named(r Release, item Item) (img image, err error) {
	img.item = item
	if img.repository, err = r.expand(t.setup.Options["repository"], &item); err != nil {
		return img, err
	}
	if img.tags, img.moving, err = t.tagsOf(r, item); err != nil {
		return img, err
	}
	slices.SortStableFunc(img.tags, func(a, b string) int { return img.rank(a) - img.rank(b) })
	return img, nil
}

// tagsOf are the tags of an item, and those of them that may move: as a project names its images, or as the options spell them.
func (t *oci) tagsOf(r Release, item Item) (tags, moving []string, err error) {
	if own, is := namingOf(t.setup.Options["naming"]); is {
		return own.tags(r, item)
	}
	if tags, err = t.expandList(r, item, "tags"); err != nil {
		return nil, nil, err
	}
	moving, err = t.expandList(r, item, "moving_tags")
	return tags, moving, err
}

func (i image) rank(tag string) int {
	if slices.Contains(i.moving, tag) {
		return 1
	}
	return 0
}

func (t *oci) expandList(r Release, item Item, option string) ([]string, error) {
	text, err := r.expand(t.setup.Options[option], &item)
	if err != nil {
		return nil, err
	}
	list := Options{option: text}.list(option)
	for _, tag := range list {
		if !tagName.MatchString(tag) {
			return nil, fault.New(fault.Invalid, "cannot use tag %q of option %s: expected at most 128 letters, digits and . _ -, not beginning with . or -", tag, option)
		}
	}
	return slices.Compact(list), nil
}

// each calls fn with every image of a release and its layout.
func (t *oci) each(ctx context.Context, r Release, small bool, fn func(image, imageLayout) error) error {
	images, err := t.images(ctx, r)
	if err != nil {
		return err
	}
	for _, img := range images {
		if known, is := t.setup.Layouts.find(img.item.Artifact.Digest); is && small {
			if err := fn(img, known); err != nil {
				return err
			}
			continue
		}
		err := unpacked(ctx, t.setup.Temp, img.item, small, func(l imageLayout) error {
			t.setup.Layouts.keep(img.item.Artifact.Digest, l)
			return fn(img, l)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *oci) Probe(ctx context.Context, r Release) (Probe, error) {
	var probe Probe
	err := t.each(ctx, r, true, func(img image, l imageLayout) error {
		for _, tag := range img.tags {
			there, before, err := img.tagged(ctx, tag, l)
			if err != nil {
				return err
			}
			name := img.repository + ":" + tag
			probe.Shared = append(probe.Shared, name)
			probe.Files = append(probe.Files, File{Name: name, Digest: release.Digest(l.root.Digest.String()), Location: name, Present: there, Before: before})
		}
		return nil
	})
	return probe, err
}

// tagged reports whether a tag names the image. A tag that names another is a hard stop unless it moves: then it is told which.
func (i image) tagged(ctx context.Context, tag string, l imageLayout) (there bool, other release.Digest, err error) {
	b, err := i.registry.manifest(ctx, tag)
	want := release.Digest(l.root.Digest.String())
	switch got := release.DigestOf(b); {
	case errors.Is(err, fs.ErrNotExist):
		return false, "", nil
	case err != nil:
		return false, "", err
	case got == want:
		return true, "", nil
	case slices.Contains(i.moving, tag):
		return false, got, nil
	default:
		return false, "", taken(i.item.Artifact.Name, "tag "+i.repository+":"+tag, got, want)
	}
}

func (t *oci) Stage(ctx context.Context, r Release) error {
	return t.each(ctx, r, false, func(img image, l imageLayout) error {
		for _, tag := range img.tags {
			if _, _, err := img.tagged(ctx, tag, l); err != nil {
				return err
			}
		}
		return img.registry.push(ctx, l)
	})
}

func (t *oci) Commit(ctx context.Context, r Release) error {
	if err := t.ready(ctx, r); err != nil {
		return err
	}
	return t.each(ctx, r, true, func(img image, l imageLayout) error {
		for _, tag := range img.tags {
			there, _, err := img.tagged(ctx, tag, l)
			if err != nil {
				return err
			}
			if there || img.left(tag, r.Leave) {
				continue
			}
			if err := img.registry.tag(ctx, tag, l); err != nil {
				return err
			}
		}
		return nil
	})
}

// left reports whether a tag stays with a release that was pushed later.
func (i image) left(tag string, leave []string) bool {
	return slices.Contains(i.moving, tag) && slices.Contains(leave, i.repository+":"+tag)
}

// ready looks at every tag before the first is set, and stages again what the registry has collected in between:
// registries may delete manifests that no tag names.
func (t *oci) ready(ctx context.Context, r Release) error {
	gone := false
	err := t.each(ctx, r, true, func(img image, l imageLayout) error {
		for _, tag := range img.tags {
			if _, _, err := img.tagged(ctx, tag, l); err != nil {
				return err
			}
		}
		_, err := img.registry.manifest(ctx, l.root.Digest.String())
		if errors.Is(err, fs.ErrNotExist) {
			gone = true
			return nil
		}
		return err
	})
	if err == nil && gone {
		return t.Stage(ctx, r)
	}
	return err
}

// Verify pulls what every tag names, whole.
func (t *oci) Verify(ctx context.Context, r Release) error {
	return t.each(ctx, r, true, func(img image, l imageLayout) error {
		want := release.Digest(l.root.Digest.String())
		for _, tag := range img.tags {
			if err := img.verifyTag(ctx, tag, want, r.Leave); err != nil {
				return err
			}
		}
		b, err := img.registry.manifest(ctx, string(want))
		if err != nil {
			return notYet(img.repository+"@"+string(want), err)
		}
		if err := sameDownload(img.repository+"@"+string(want), release.DigestOf(b), want); err != nil {
			return err
		}
		return img.registry.verify(ctx, l.raw, 0)
	})
}

// verifyTag looks that a tag names the image. A moving tag names another one only when a release that was pushed later has it;
// else the registry has dropped the move, or somebody has taken it back, and it is made again.
func (i image) verifyTag(ctx context.Context, tag string, want release.Digest, leave []string) error {
	b, err := i.registry.manifest(ctx, tag)
	if err != nil {
		return notYet(i.repository+":"+tag, err)
	}
	got, moving := release.DigestOf(b), slices.Contains(i.moving, tag)
	switch {
	case got == want || i.left(tag, leave):
		return nil
	case moving:
		return fault.New(fault.Transient, "cannot verify %q: it names %s, and no release that was pushed later has it", i.repository+":"+tag, got)
	default:
		return sameDownload(i.repository+":"+tag, got, want)
	}
}

const maxIndexDepth = 4

// verify downloads everything that a manifest names.
func (g *registry) verify(ctx context.Context, raw []byte, depth int) error {
	manifests, blobs, err := references(raw)
	if err != nil {
		return err
	}
	if depth > maxIndexDepth {
		return fault.New(fault.Invalid, "cannot verify %s: its indexes are nested more than %d deep", g.repo.Name(), maxIndexDepth)
	}
	for _, m := range manifests {
		b, err := g.manifest(ctx, m.Digest.String())
		if err != nil {
			return notYet(m.Digest.String(), err)
		}
		if err := sameDownload(m.Digest.String(), release.DigestOf(b), release.Digest(m.Digest.String())); err != nil {
			return err
		}
		if err := g.verify(ctx, b, depth+1); err != nil {
			return err
		}
	}
	return g.verifyBlobs(ctx, blobs)
}

func (g *registry) verifyBlobs(ctx context.Context, blobs []v1.Descriptor) error {
	for _, blob := range blobs {
		got, err := g.blob(ctx, blob)
		if err != nil {
			return notYet(blob.Digest.String(), err)
		}
		if err := sameDownload(blob.Digest.String(), got, release.Digest(blob.Digest.String())); err != nil {
			return err
		}
	}
	return nil
}
