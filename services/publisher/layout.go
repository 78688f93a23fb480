package publisher

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// maxManifest bounds what is read into memory of an image: manifests, indexes and configurations.
const maxManifest = 8 << 20

// imageLayout is an OCI image layout unpacked from an artifact.
type imageLayout struct {
	dir  string
	root v1.Descriptor // what the tags will name
	raw  []byte        // the root's bytes
}

// unpacked gives fn an item's OCI image layout in a temporary directory. With small true, blobs too large to be
// manifests are passed over.
func unpacked(ctx context.Context, temp string, item Item, small bool, fn func(imageLayout) error) error {
	dir, err := os.MkdirTemp(temp, "publish-")
	if err != nil {
		return fault.New(fault.Transient, "cannot make a temporary directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	held, err := os.Open(dir) //nolint:gosec // just made
	if err == nil {
		defer func() { _ = held.Close() }()
		err = inUse(held)
	}
	if err != nil {
		return diskFault("lock", dir, err)
	}
	rc, err := item.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = rc.Close() }()
	if err := unpackLayout(rc, dir, item.Artifact, small); err != nil {
		return err
	}
	layout, err := readLayout(dir, item.Artifact)
	if err != nil {
		return err
	}
	return fn(layout)
}

var blobName = regexp.MustCompile(`^blobs/sha256/[0-9a-f]{64}$`)

// unpackLayout writes the files of a layout and nothing else: no links, no other names, no blob that is not its digest.
func unpackLayout(r io.Reader, dir string, a release.Artifact, small bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return diskFault("open", dir, err)
	}
	defer func() { _ = root.Close() }()
	if err := root.MkdirAll("blobs/sha256", 0o700); err != nil {
		return diskFault("make", dir, err)
	}
	left := unknownSize(a.Size)
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, r) // to the end, where the digest of the whole is checked
			return err
		}
		if err != nil {
			return badLayout(a, err)
		}
		name := strings.TrimPrefix(path.Clean(header.Name), "./")
		if !wanted(name, header, small) {
			continue
		}
		if left -= header.Size; left < 0 {
			return fault.New(fault.Invalid, "cannot read image %q: its files are larger than the archive", a.Name)
		}
		if err := unpackFile(root, name, archive, a); err != nil {
			return err
		}
	}
}

func wanted(name string, header *tar.Header, small bool) bool {
	switch {
	case header.Typeflag != tar.TypeReg:
		return false
	case name == "index.json" || name == "oci-layout":
		return true
	default:
		return blobName.MatchString(name) && (!small || header.Size <= maxManifest)
	}
}

func unpackFile(root *os.Root, name string, r io.Reader, a release.Artifact) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return diskFault("write", name, err)
	}
	got, err := copyHashed(file, r)
	if err := errors.Join(err, file.Close()); err != nil {
		return badLayout(a, err)
	}
	if blobName.MatchString(name) && got.Hex() != path.Base(name) {
		return fault.New(fault.Invalid, "cannot read image %q: %s has digest %s", a.Name, name, got)
	}
	return nil
}

// badLayout keeps the kind of the store's or the disk's error; else the archive is at fault.
func badLayout(a release.Artifact, err error) error {
	var disk *os.PathError
	var known *fault.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &disk):
		return diskFault("unpack", a.Name, err)
	default:
		return fault.New(fault.Invalid, "cannot read image %q: expected a tar of an OCI image layout: %w", a.Name, err)
	}
}

// readLayout finds what the tags will name: the one entry of index.json, or index.json itself when it lists platforms.
func readLayout(dir string, a release.Artifact) (imageLayout, error) {
	raw, index, err := readIndex(dir, a)
	if err != nil {
		return imageLayout{}, err
	}
	switch {
	case len(index.Manifests) == 1:
		root := index.Manifests[0]
		raw, err = readBlob(dir, root.Digest, a)
		return imageLayout{dir: dir, root: root, raw: raw}, err
	case everyPlatform(index):
		digest := release.DigestOf(raw)
		root := v1.Descriptor{MediaType: mediaType(index), Digest: v1.Hash{Algorithm: "sha256", Hex: digest.Hex()}, Size: int64(len(raw))}
		return imageLayout{dir: dir, root: root, raw: raw}, nil
	default:
		return imageLayout{}, fault.New(fault.Invalid, "cannot read image %q: its index.json names %d images without platforms; expected one image, or one index of platforms",
			a.Name, len(index.Manifests))
	}
}

func readIndex(dir string, a release.Artifact) ([]byte, v1.IndexManifest, error) {
	var index v1.IndexManifest
	raw, err := os.ReadFile(filepath.Join(dir, "index.json")) //nolint:gosec // written by unpackLayout
	if err != nil || len(raw) > maxManifest {
		return nil, index, fault.New(fault.Invalid, "cannot read image %q: the archive has no index.json; expected a tar of an OCI image layout", a.Name)
	}
	if err := json.Unmarshal(raw, &index); err != nil {
		return nil, index, fault.New(fault.Invalid, "cannot read index.json of image %q: %w", a.Name, err)
	}
	return raw, index, nil
}

func everyPlatform(index v1.IndexManifest) bool {
	for _, m := range index.Manifests {
		if m.Platform == nil {
			return false
		}
	}
	return len(index.Manifests) > 1
}

func readBlob(dir string, h v1.Hash, a release.Artifact) ([]byte, error) {
	name := "blobs/sha256/" + h.Hex
	if h.Algorithm != "sha256" || !blobName.MatchString(name) {
		return nil, fault.New(fault.Invalid, "cannot read image %q: %s is not a sha256 digest", a.Name, h)
	}
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))) //nolint:gosec // matched against blobName
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read image %q: its index names %s, which the archive does not have", a.Name, h)
	}
	return b, nil
}
