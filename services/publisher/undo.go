package publisher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/go-containerregistry/pkg/v1/types"

	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Undo takes the files of the release out of the pages. What the index listed before the release stays.
func (t *pypiIndex) Undo(ctx context.Context, r Release) error {
	unlock, err := t.folder.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return t.each(r, func(project string, items []Item) error {
		page, err := t.page(project)
		if err != nil {
			return err
		}
		for _, item := range items {
			if a := item.Artifact; r.Had[a.Name] != a.Digest {
				page.remove(a)
			}
		}
		return t.publish(pagePath(project, ""), page)
	})
}

// remove takes a file with its digest out of a page, and a version that has no file any more.
func (p *simplePage) remove(a release.Artifact) {
	p.Files = slices.DeleteFunc(p.Files, func(f simpleFile) bool { return f.Filename == a.Name && f.digest() == a.Digest })
	p.Versions = slices.DeleteFunc(p.Versions, func(version string) bool {
		return !slices.ContainsFunc(p.Files, func(f simpleFile) bool {
			d, err := parseDistribution(f.Filename)
			return err == nil && d.Version == version
		})
	})
}

// Undo gives each tag back to what it named before, and deletes those that named nothing. A tag that names another image by now is
// not this release's any more.
func (t *oci) Undo(ctx context.Context, r Release) error {
	return t.each(ctx, r, true, func(img image, l imageLayout) error {
		ours := release.Digest(l.root.Digest.String())
		for _, tag := range slices.Backward(img.tags) { // what moves was set last, and is given back first
			b, err := img.registry.manifest(ctx, tag)
			if errors.Is(err, fs.ErrNotExist) || err == nil && release.DigestOf(b) != ours {
				continue
			}
			had, known := r.Had[img.repository+":"+tag]
			if err == nil && known {
				err = img.restore(ctx, tag, had, ours)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// restore makes a tag name what it named before.
func (i image) restore(ctx context.Context, tag string, had, ours release.Digest) error {
	switch had {
	case ours:
		return nil
	case "":
		return i.registry.untag(ctx, tag)
	}
	b, kind, err := i.registry.typed(ctx, string(had))
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Conflict, "cannot give tag %s:%s back: the registry has deleted %s, which it named before", i.repository, tag, had)
	}
	if err != nil {
		return err
	}
	if got := release.DigestOf(b); got != had {
		return fault.New(fault.Conflict, "cannot give tag %s:%s back: the registry gives %s for %s", i.repository, tag, got, had)
	}
	err = ggcr.Put(i.registry.repo.Tag(tag), rawManifest{b, kind}, i.registry.options(ctx)...)
	return i.registry.remote.registryFault("tag "+i.repository+":"+tag, err)
}

// rawManifest is a manifest as the registry gave it.
type rawManifest struct {
	raw  []byte
	kind types.MediaType
}

func (m rawManifest) RawManifest() ([]byte, error) { return m.raw, nil }

// MediaType is what the registry said it is.
func (m rawManifest) MediaType() (types.MediaType, error) { return m.kind, nil }

// typed reads a manifest with its media type.
func (g *registry) typed(ctx context.Context, reference string) (b []byte, kind types.MediaType, err error) {
	err = g.get(ctx, "manifests", reference, func(resp *http.Response) error {
		kind = types.MediaType(resp.Header.Get("Content-Type"))
		b, err = readAtMost(resp.Body, maxManifest)
		return err
	})
	return b, kind, err
}

// untag deletes a tag, and not the manifest: other tags may name it.
func (g *registry) untag(ctx context.Context, tag string) error {
	address := url.URL{Scheme: g.repo.Scheme(), Host: g.repo.RegistryStr(), Path: "/v2/" + g.repo.RepositoryStr() + "/manifests/" + tag}
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, address.String(), nil)
	if err != nil {
		return fault.New(fault.Invalid, "cannot delete tag %s: %w", tag, err)
	}
	client := http.Client{Transport: g.login, CheckRedirect: g.remote.redirect}
	resp, err := client.Do(req)
	if err != nil {
		return g.remote.broken(req, err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode/100 == 2 || resp.StatusCode == http.StatusNotFound:
		return nil
	case resp.StatusCode == http.StatusBadRequest || resp.StatusCode == http.StatusMethodNotAllowed:
		return fmt.Errorf("the registry deletes no tags, a person must delete %s:%s: %w", g.repo.Name(), tag, g.remote.refused(req, resp))
	default:
		return g.remote.refused(req, resp)
	}
}
