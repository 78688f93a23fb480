package publisher

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	ggcrregistry "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// BenchmarkLargeImage publishes an image of 1 GB, from the gate to verified, beside what the registry's client library needs to
// push the same unpacked layout once and to download and hash its layer once.
func BenchmarkLargeImage(b *testing.B) {
	dir := b.TempDir()
	archive, folder, layer := largeImage(b, dir, 1<<30)
	for b.Loop() {
		b.StopTimer()
		limit := libraryPush(b, folder, layer)
		w := serveDisk(b)
		known := newLayouts()
		r := archived(b, archive)
		target := func() Target {
			made, err := Open(plan.Target{Name: "oci", Kind: "oci", Select: []string{"file"}, Options: map[string]string{"repository": w + "/acme/app", "tags": "1.0"}},
				Setup{Temp: dir, Layouts: known}, nil)
			must(b, err)
			return made
		}
		_, err := target().Probe(b.Context(), r) // as when the candidate is assembled, long before the gate opens
		must(b, err)
		b.StartTimer()
		began := time.Now()
		_, err = target().Probe(b.Context(), r)
		must(b, err)
		must(b, target().Stage(b.Context(), r))
		must(b, target().Commit(b.Context(), r))
		must(b, target().Verify(b.Context(), r))
		took := time.Since(began)
		b.ReportMetric(took.Seconds(), "s/release")
		b.ReportMetric(limit.Seconds(), "s/push+download")
		b.ReportMetric(took.Seconds()/limit.Seconds(), "ratio")
	}
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func serveDisk(b *testing.B) string {
	server := httptest.NewServer(ggcrregistry.New(ggcrregistry.Logger(log.New(io.Discard, "", 0)), ggcrregistry.WithBlobHandler(ggcrregistry.NewDiskBlobHandler(b.TempDir()))))
	b.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// largeImage writes a layout with one layer of random bytes, and the archive of it.
func largeImage(b *testing.B, dir string, size int64) (archive, folder string, layer v1.Descriptor) {
	folder = filepath.Join(dir, "layout")
	must(b, os.MkdirAll(filepath.Join(folder, "blobs/sha256"), 0o750))
	add := func(kind types.MediaType, from io.Reader) v1.Descriptor {
		temp, err := os.Create(filepath.Join(folder, "new")) //nolint:gosec // below the benchmark's directory
		must(b, err)
		sum := sha256.New()
		n, err := io.Copy(io.MultiWriter(temp, sum), from)
		must(b, err)
		must(b, temp.Close())
		d := release.DigestFrom(sum.Sum(nil))
		must(b, os.Rename(temp.Name(), filepath.Join(folder, "blobs/sha256", d.Hex())))
		return v1.Descriptor{MediaType: kind, Size: n, Digest: v1.Hash{Algorithm: "sha256", Hex: d.Hex()}}
	}
	text := func(v any) io.Reader {
		t, err := json.Marshal(v)
		must(b, err)
		return strings.NewReader(string(t))
	}
	layer = add(types.OCILayer, io.LimitReader(rand.NewChaCha8([32]byte{7}), size))
	config := add(types.OCIConfigJSON, text(v1.ConfigFile{OS: "linux", Architecture: "amd64"}))
	manifest := add(types.OCIManifestSchema1, text(v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: config, Layers: []v1.Descriptor{layer}}))
	index, err := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{manifest}})
	must(b, err)
	must(b, os.WriteFile(filepath.Join(folder, "index.json"), index, 0o600))
	must(b, os.WriteFile(filepath.Join(folder, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o600))
	archive = filepath.Join(dir, "app.oci.tar")
	file, err := os.Create(archive) //nolint:gosec // below the benchmark's directory
	must(b, err)
	w := tar.NewWriter(file)
	must(b, w.AddFS(os.DirFS(folder)))
	must(b, w.Close())
	must(b, file.Close())
	return archive, folder, layer
}

// archived is a release of one archive, which the build has hashed.
func archived(b *testing.B, archive string) Release {
	file, err := os.Open(archive) //nolint:gosec // the benchmark's own
	must(b, err)
	digest, err := digestOf(file)
	must(b, err)
	info, err := file.Stat()
	must(b, err)
	must(b, file.Close())
	c := release.NewCandidate("abababab-r", release.Commit(strings.Repeat("ab", 20)), []release.Artifact{{Name: "app.oci.tar", Type: "file", Job: "build", Task: "build", Digest: digest, Size: info.Size()}})
	items, err := Select(c, plan.Target{Name: "t", Select: []string{"file"}}, func(context.Context, release.Digest) (io.ReadCloser, error) { return os.Open(archive) }) //nolint:gosec // the benchmark's own
	must(b, err)
	return Release{Run: c.Run, Project: "demo", Commit: c.Commit, Branch: "master", Candidate: c, Items: items}
}

// libraryPush is what nobody can do without: the bytes go to the registry once, and come back once.
func libraryPush(b *testing.B, folder string, layer v1.Descriptor) time.Duration {
	host := serveDisk(b)
	index, err := layout.ImageIndexFromPath(folder)
	must(b, err)
	to, err := name.NewTag(host + "/acme/app:1.0")
	must(b, err)
	began := time.Now()
	must(b, ggcr.WriteIndex(to, index))
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://"+host+"/v2/acme/app/blobs/"+layer.Digest.String(), nil)
	must(b, err)
	resp, err := http.DefaultClient.Do(req)
	must(b, err)
	got, err := digestOf(resp.Body)
	must(b, err)
	must(b, resp.Body.Close())
	if got != release.Digest(layer.Digest.String()) {
		b.Fatalf("the registry gives %s for %s", got, layer.Digest)
	}
	return time.Since(began)
}
