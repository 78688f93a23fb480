package world

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// PipInstall installs requirements from an index with pip into a new virtual environment below dir, runs a statement
// there and returns what it printed. python must have pip.
func PipInstall(ctx context.Context, python, index, dir, statement string, requirements ...string) (string, error) {
	room := filepath.Join(dir, "venv")
	if _, err := command(ctx, dir, python, "-m", "venv", "--without-pip", room); err != nil {
		return "", err
	}
	install := append([]string{
		"-m", "pip", "--isolated", "--disable-pip-version-check", "--python=" + room, "install", "-q", "--no-compile",
		"--no-cache-dir", "--index-url=" + index,
	}, requirements...)
	if _, err := command(ctx, dir, python, install...); err != nil {
		return "", err
	}
	return command(ctx, dir, filepath.Join(room, "bin", "python"), "-c", statement)
}

// ResolveJAR finds a version of group:artifact in a Maven repository as Maven does, by its metadata and checksum,
// downloads the JAR into dir and returns what `java -jar` with the words printed.
func ResolveJAR(ctx context.Context, repository, group, artifact, version, dir string, words ...string) (string, error) {
	base := repository + "/" + strings.ReplaceAll(group, ".", "/") + "/" + artifact
	text, err := get(ctx, base+"/maven-metadata.xml")
	if err != nil {
		return "", err
	}
	var metadata struct {
		Versions []string `xml:"versioning>versions>version"`
	}
	if err := xml.Unmarshal(text, &metadata); err != nil {
		return "", fmt.Errorf("cannot read the Maven metadata: %w", err)
	}
	if !strings.Contains(" "+strings.Join(metadata.Versions, " ")+" ", " "+version+" ") {
		return "", fmt.Errorf("cannot find %s:%s:%s: the metadata lists %v", group, artifact, version, metadata.Versions)
	}
	url := fmt.Sprintf("%s/%s/%s-%s.jar", base, version, artifact, version)
	jar, err := get(ctx, url)
	if err != nil {
		return "", err
	}
	sum, err := get(ctx, url+".sha256")
	if err != nil {
		return "", err
	}
	if digest := sha256.Sum256(jar); hex.EncodeToString(digest[:]) != strings.TrimSpace(string(sum)) {
		return "", fmt.Errorf("cannot use %s: its checksum is %x, the repository says %s", url, digest, sum)
	}
	file := filepath.Join(dir, "resolved.jar")
	if err := os.WriteFile(file, jar, 0o644); err != nil {
		return "", err
	}
	return command(ctx, dir, "java", append([]string{"-jar", file}, words...)...)
}

// PullImage pulls an image from a registry with every layer, checks each digest, and returns the digest of its manifest
// and the commit that it carries.
func PullImage(ctx context.Context, reference string) (digest, commit string, err error) {
	ref, err := name.ParseReference(reference, name.Insecure)
	if err != nil {
		return "", "", err
	}
	image, err := remote.Image(ref, remote.WithContext(ctx))
	if err != nil {
		return "", "", fmt.Errorf("cannot pull %s: %w", reference, err)
	}
	layers, err := image.Layers()
	if err != nil {
		return "", "", err
	}
	for _, layer := range layers {
		r, err := layer.Uncompressed()
		if err != nil {
			return "", "", fmt.Errorf("cannot pull a layer of %s: %w", reference, err)
		}
		_, err = io.Copy(io.Discard, r) // the reader compares the digest at the end
		_ = r.Close()
		if err != nil {
			return "", "", fmt.Errorf("cannot pull a layer of %s: %w", reference, err)
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return "", "", err
	}
	sum, err := image.Digest()
	return sum.String(), config.Config.Labels["org.opencontainers.image.revision"], err
}

func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("cannot get %s: %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}

// command runs a program with as little of this process's environment as programs can do with.
func command(ctx context.Context, dir, program string, words ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, words...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8", "PIP_CONFIG_FILE=" + os.DevNull}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("cannot run %s %s: %w: %s", filepath.Base(program), strings.Join(words, " "), err,
			bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
}
