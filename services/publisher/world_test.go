package publisher

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	ggcrregistry "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

const secretValue = "hunter2-token"

// world is one kind's real place, seen from both sides.
type world struct {
	build  func(*testing.T) *world // makes another, empty
	name   string
	target plan.Target
	front  *faulty // before a server; nil for a directory
	dir    string  // of a directory

	// release makes files to publish: the same names for every content.
	release func(t *testing.T, content string) map[string][]byte
	// visible is what an ordinary client finds, without knowing digests.
	visible func(t *testing.T) map[string]release.Digest
	// received counts how often a file was taken, by name.
	received func() map[string]int
	// corrupt damages what users download.
	corrupt func(t *testing.T)
	staging bool // Stage writes
}

// worlds are all kinds, in every form that behaves differently.
func worlds() map[string]func(*testing.T) *world {
	return map[string]func(*testing.T) *world{
		"pypi-index":      pypiIndexWorld,
		"pypi html":       func(t *testing.T) *world { return pypiWorld(t, false) },
		"pypi json":       func(t *testing.T) *world { return pypiWorld(t, true) },
		"maven directory": mavenFolderWorld,
		"maven gitea":     func(t *testing.T) *world { return mavenServerWorld(t, true) },
		"maven put":       func(t *testing.T) *world { return mavenServerWorld(t, false) },
		"oci":             func(t *testing.T) *world { return ociWorld(t, false) },
		"oci index":       func(t *testing.T) *world { return ociWorld(t, true) },
	}
}

func pypiIndexWorld(t *testing.T) *world {
	dir := t.TempDir()
	w := &world{name: "pypi-index", dir: dir, staging: true, release: wheels}
	w.target = plan.Target{Name: "index", Kind: "pypi-index", Select: []string{"file"}, Options: map[string]string{"directory": dir}}
	w.visible = func(t *testing.T) map[string]release.Digest {
		out := map[string]release.Digest{}
		for _, file := range glob(t, dir, "simple/*/index.html") {
			page, err := parseSimpleHTML(contentOf(t, file))
			check(t, err)
			for _, f := range page.Files {
				out[f.Filename] = release.DigestOf(contentOf(t, filepath.Join(filepath.Dir(file), f.URL)))
			}
		}
		return out
	}
	w.corrupt = func(t *testing.T) { damage(t, glob(t, dir, "files/*/*/*.whl")[0]) }
	return w
}

func pypiWorld(t *testing.T, json bool) *world {
	server := newPypiServer(secretValue)
	server.json = json
	front, address := serveFaulty(t, server)
	w := &world{name: "pypi", front: front, release: wheels}
	w.target = plan.Target{Name: "pypi", Kind: "pypi", Select: []string{"file"}, Options: map[string]string{
		"url": address + "/legacy/", "index": address + "/simple/", "password": "$TOKEN", "timeout": "5s",
	}}
	w.visible = func(*testing.T) map[string]release.Digest { return digests(server.files, "") }
	w.received = func() map[string]int { return server.received }
	w.corrupt = func(*testing.T) { front.set("corrupt") }
	return w
}

func mavenFolderWorld(t *testing.T) *world {
	dir := t.TempDir()
	w := &world{name: "maven", dir: dir, staging: true, release: jars}
	w.target = plan.Target{Name: "maven", Kind: "maven", Select: []string{"file"}, Options: map[string]string{"directory": dir, "group": "org.acme"}}
	w.visible = func(t *testing.T) map[string]release.Digest {
		out := map[string]release.Digest{}
		for _, file := range glob(t, dir, "org/acme/*/*/*.jar") {
			out[filepath.Base(file)] = release.DigestOf(contentOf(t, file))
		}
		return out
	}
	w.corrupt = func(t *testing.T) { damage(t, glob(t, dir, "org/acme/*/*/*.jar")[0]) }
	return w
}

func mavenServerWorld(t *testing.T, gitea bool) *world {
	server := newMavenHost(gitea, secretValue)
	front, address := serveFaulty(t, server)
	w := &world{name: "maven", front: front, release: jars}
	w.target = plan.Target{Name: "maven", Kind: "maven", Select: []string{"file"}, Options: map[string]string{
		"url": address + "/maven", "group": "org.acme", "username": "acme", "password": "$TOKEN", "timeout": "5s",
	}}
	w.visible = func(*testing.T) map[string]release.Digest { return digests(server.files, ".jar") }
	w.received = func() map[string]int { return server.received }
	w.corrupt = func(*testing.T) { front.set("corrupt") }
	return w
}

func ociWorld(t *testing.T, platforms bool) *world {
	return ociWorldOf(t, ggcrregistry.New(ggcrregistry.Logger(log.New(io.Discard, "", 0))), platforms)
}

func ociWorldOf(t *testing.T, server http.Handler, platforms bool) *world {
	front, address := serveFaulty(t, server)
	w := &world{name: "oci", front: front, staging: true}
	w.release = func(t *testing.T, content string) map[string][]byte {
		return map[string][]byte{"app.oci.tar": imageTar(t, content, platforms)}
	}
	host := strings.TrimPrefix(address, "http://")
	w.target = plan.Target{Name: "oci", Kind: "oci", Select: []string{"file"}, Options: map[string]string{
		"repository": host + "/acme/{name}", "tags": "latest, 1.0", "username": "acme", "password": "$TOKEN", "timeout": "5s",
	}}
	w.visible = func(t *testing.T) map[string]release.Digest {
		out := map[string]release.Digest{}
		for _, tag := range []string{"1.0", "latest"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/v2/acme/app/manifests/"+tag, nil)
			check(t, err)
			req.SetBasicAuth("acme", secretValue)
			req.Header.Add("Accept", string(types.OCIImageIndex))
			req.Header.Add("Accept", string(types.OCIManifestSchema1))
			resp, err := http.DefaultClient.Do(req)
			check(t, err)
			b, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				out[tag] = release.DigestOf(b)
			}
		}
		return out
	}
	w.corrupt = func(*testing.T) { front.set("corrupt") }
	w.received = func() map[string]int {
		count := map[string]int{}
		for _, write := range front.writes() {
			if strings.HasPrefix(write, "PUT /v2/acme/app/manifests/") {
				count[path.Base(write)]++
			}
		}
		return count
	}
	return w
}

// open makes the world's target as a fresh publisher would.
func (w *world) open(t *testing.T) Target {
	t.Helper()
	secrets := func(name string) (string, error) {
		if name == "TOKEN" {
			return secretValue, nil
		}
		return "", fault.New(fault.Denied, "no secret %q", name)
	}
	target, err := Open(w.target, Setup{Temp: t.TempDir(), Now: func() time.Time { return time.Unix(1e9, 0) }}, secrets)
	check(t, err)
	return target
}

// candidate makes a release of files.
func candidate(t *testing.T, files map[string][]byte) Release {
	t.Helper()
	var artifacts []release.Artifact
	stored := map[release.Digest][]byte{}
	for name, b := range files {
		d := release.DigestOf(b)
		stored[d] = b
		artifacts = append(artifacts, release.Artifact{Name: name, Type: "file", Job: "build", Task: release.TaskID(release.Slug(name)), Digest: d, Size: int64(len(b))})
	}
	commit := release.Commit(strings.Repeat("ab", 20))
	c := release.NewCandidate("abababab-r", commit, artifacts)
	open := func(_ context.Context, d release.Digest) (io.ReadCloser, error) {
		if b, ok := stored[d]; ok {
			return io.NopCloser(bytes.NewReader(b)), nil
		}
		return nil, fs.ErrNotExist
	}
	items, err := Select(c, plan.Target{Name: "t", Select: []string{"file"}}, open)
	check(t, err)
	return Release{Run: c.Run, Project: "demo", Commit: commit, Branch: "master", Candidate: c, Items: items}
}

func wheels(t *testing.T, content string) map[string][]byte {
	out := map[string][]byte{}
	for _, project := range []string{"Demo_Pkg", "other"} {
		name := project + "-1.0-py3-none-any.whl"
		out[name] = wheel(t, project, "1.0", content)
	}
	return out
}

// wheel is one that pip installs.
func wheel(t *testing.T, project, version, content string) []byte {
	t.Helper()
	info := project + "-" + version + ".dist-info/"
	files := []struct{ name, text string }{
		{project + "/__init__.py", fmt.Sprintf("content = %q\n", content)},
		{info + "METADATA", "Metadata-Version: 2.1\nName: " + project + "\nVersion: " + version +
			"\nSummary: a demo\nClassifier: Topic :: A\nClassifier: Topic :: B\nRequires-Python: >=3.8\n\nIt says " + content + ".\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
	}
	record := ""
	for _, f := range files {
		sum := sha256.Sum256([]byte(f.text))
		record += fmt.Sprintf("%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.text))
	}
	files = append(files, struct{ name, text string }{info + "RECORD", record + info + "RECORD,,\n"})
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		w, err := z.Create(f.name)
		check(t, err)
		_, err = io.WriteString(w, f.text)
		check(t, err)
	}
	check(t, z.Close())
	return b.Bytes()
}

func jars(t *testing.T, content string) map[string][]byte {
	return map[string][]byte{
		"demo-1.0.jar":              jar(t, map[string]string{"META-INF/MANIFEST.MF": "Manifest-Version: 1.0\n", "demo.txt": content}),
		"demo-1.0-linux-x86_64.jar": jar(t, map[string]string{"META-INF/MANIFEST.MF": "Manifest-Version: 1.0\n", "native.so": content}),
	}
}

func jar(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := z.Create(name)
		check(t, err)
		_, err = io.WriteString(w, files[name])
		check(t, err)
	}
	check(t, z.Close())
	return b.Bytes()
}

// imageTar is an OCI image layout of one image, or of an index of two platforms.
func imageTar(t *testing.T, content string, platforms bool) []byte {
	t.Helper()
	dir := t.TempDir()
	var index v1.ImageIndex = empty.Index
	if platforms {
		both := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex),
			mutate.IndexAddendum{Add: imageOf(t, content, "amd64"), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}},
			mutate.IndexAddendum{Add: imageOf(t, content, "arm64"), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm64"}}})
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: both})
	} else {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: imageOf(t, content, "amd64")})
	}
	_, err := layout.Write(dir, index)
	check(t, err)
	return tarOf(t, dir)
}

func imageOf(t *testing.T, content, architecture string) v1.Image {
	t.Helper()
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	for _, text := range []string{"base", content + architecture} {
		dir := t.TempDir()
		check(t, os.WriteFile(filepath.Join(dir, "file"), []byte(text), 0o600))
		check(t, os.Chtimes(filepath.Join(dir, "file"), time.Unix(1e9, 0), time.Unix(1e9, 0)))
		packed := tarOf(t, dir)
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil }, tarball.WithMediaType(types.OCILayer))
		check(t, err)
		img, err = mutate.AppendLayers(img, layer)
		check(t, err)
	}
	config, err := img.ConfigFile()
	check(t, err)
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", architecture
	img, err = mutate.ConfigFile(img, config)
	check(t, err)
	return img
}

func tarOf(t *testing.T, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	check(t, w.AddFS(os.DirFS(dir)))
	check(t, w.Close())
	return b.Bytes()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	check(t, err)
	return names
}

func contentOf(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	check(t, err)
	return b
}

func damage(t *testing.T, name string) {
	t.Helper()
	b := contentOf(t, name)
	b[len(b)/2] ^= 1
	check(t, os.WriteFile(name, b, 0o644)) //nolint:gosec // as a web server wants it
}

func digests(files map[string][]byte, ending string) map[string]release.Digest {
	out := map[string]release.Digest{}
	for name, b := range files {
		if strings.HasSuffix(name, ending) {
			out[path.Base(name)] = release.DigestOf(b)
		}
	}
	return out
}
