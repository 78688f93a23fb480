package enginetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/driver/drivertest"
)

// busyboxImage is a root file system with busybox and a link for each of its commands, as tar.
func busyboxImage() ([]byte, error) {
	program := drivertest.Program("busybox")
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	names, err := exec.Command(program, "--list").Output()
	if err != nil {
		return nil, err
	}
	var image bytes.Buffer
	out := tar.NewWriter(&image)
	for _, dir := range []string{"bin/", "etc/", "dev/", "proc/", "sys/", "tmp/"} {
		if err := out.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o777}); err != nil {
			return nil, err
		}
	}
	if err := out.WriteHeader(&tar.Header{Name: "bin/busybox", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}); err != nil {
		return nil, err
	}
	if _, err := out.Write(content); err != nil {
		return nil, err
	}
	for _, name := range strings.Fields(string(names)) {
		if name == "busybox" {
			continue
		}
		if err := out.WriteHeader(&tar.Header{Name: "bin/" + name, Typeflag: tar.TypeSymlink, Linkname: "busybox", Mode: 0o777}); err != nil {
			return nil, err
		}
	}
	return image.Bytes(), out.Close()
}

// pushed is an image as a registry has it: its blobs by digest, one of them the manifest.
type pushed struct {
	manifest string
	blobs    map[string][]byte
}

// descriptor names a blob in an OCI manifest.
type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int    `json:"size"`
}

const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// push makes an image of one layer.
func push(layer []byte) (*pushed, error) {
	p := &pushed{blobs: map[string][]byte{}}
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := zip.Write(layer); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	config, err := p.addJSON(configType, map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "config": map[string]any{},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digestOf(layer)}},
	})
	if err != nil {
		return nil, err
	}
	manifest, err := p.addJSON(manifestType, map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": config, "layers": []descriptor{p.add(layerType, packed.Bytes())},
	})
	p.manifest = manifest.Digest
	return p, err
}

func (p *pushed) addJSON(mediaType string, value any) (descriptor, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return descriptor{}, err
	}
	return p.add(mediaType, text), nil
}

func (p *pushed) add(mediaType string, content []byte) descriptor {
	d := descriptor{mediaType, digestOf(content), len(content)}
	p.blobs[d.Digest] = content
	return d
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ServeHTTP is a registry that has the image under any name.
func (p *pushed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	digest := p.manifest
	switch _, blob, ok := strings.Cut(r.URL.Path, "/blobs/"); {
	case r.URL.Path == "/v2/":
		return
	case strings.Contains(r.URL.Path, "/ghost/"):
		refuse(w, http.StatusNotFound, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`)
		return
	case strings.Contains(r.URL.Path, "/secret/"):
		refuse(w, http.StatusForbidden, `{"errors":[{"code":"DENIED","message":"requested access to the resource is denied"}]}`)
		return
	case ok:
		digest = blob
	default:
		w.Header().Set("Content-Type", manifestType)
	}
	content, ok := p.blobs[digest]
	if !ok {
		refuse(w, http.StatusNotFound, `{"errors":[{"code":"BLOB_UNKNOWN","message":"blob unknown"}]}`)
		return
	}
	w.Header().Set("Docker-Content-Digest", digest)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}
