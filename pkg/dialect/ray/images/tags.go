package images

import (
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Image is one image of the build matrix.
type Image struct {
	Type     string // "ray", "ray-ml"
	Python   string // "3.9"
	Platform string // "cpu", "cu12.1.1-cudnn8"
	Arch     string // "x86_64"
}

// Matrix is what images are built for.
type Matrix struct {
	Types         []TypeMatrix
	DefaultPython string // its images have tags without a Python too
	DefaultArch   string
	GPUPlatform   string // the one that "gpu" means
}

// TypeMatrix is the matrix of one type.
type TypeMatrix struct {
	Type      string
	Pythons   []string
	Platforms []string
	Archs     []string
	Bare      string // the platform that no platform in a tag means: "cpu", or Matrix.GPUPlatform
}

// Release2024 is the matrix of November 2024.
func Release2024() Matrix {
	const gpu = "cu12.1.1-cudnn8"
	return Matrix{
		DefaultPython: "3.9", DefaultArch: "x86_64", GPUPlatform: gpu,
		Types: []TypeMatrix{
			{
				Type: "ray", Bare: "cpu", Pythons: []string{"3.9", "3.10", "3.11", "3.12"}, Archs: []string{"x86_64", "aarch64"},
				Platforms: []string{"cpu", "cu11.7.1-cudnn8", "cu11.8.0-cudnn8", gpu, "cu12.3.2-cudnn9"},
			},
			{Type: "ray-ml", Bare: gpu, Pythons: []string{"3.9", "3.10", "3.11"}, Archs: []string{"x86_64"}, Platforms: []string{"cpu", gpu}},
		},
	}
}

// of is the matrix of a type, and refuses what it is not built for.
func (m Matrix) of(i Image) (TypeMatrix, error) {
	for _, t := range m.Types {
		if t.Type != i.Type {
			continue
		}
		for _, check := range []struct {
			what, got string
			may       []string
		}{{"Python", i.Python, t.Pythons}, {"platform", i.Platform, t.Platforms}, {"architecture", i.Arch, t.Archs}} {
			if !slices.Contains(check.may, check.got) {
				return TypeMatrix{}, fault.New(fault.Invalid, "cannot name an image %s for %s %q, expected one of %v", i.Type, check.what, check.got, check.may)
			}
		}
		return t, nil
	}
	return TypeMatrix{}, fault.New(fault.Invalid, "cannot name an image of type %q: the matrix has none", i.Type)
}

// Suffixes lists what follows the version in the tags of an image, the most complete first.
func (m Matrix) Suffixes(i Image) ([]string, error) {
	t, err := m.of(i)
	if err != nil {
		return nil, err
	}
	pythons := []string{pythonPart(i.Python)}
	if i.Python == m.DefaultPython {
		pythons = append(pythons, "")
	}
	platforms := []string{platformPart(i.Platform)}
	if i.Platform == m.GPUPlatform {
		platforms = append(platforms, "-gpu")
	}
	if i.Platform == t.Bare {
		platforms = append(platforms, "")
	}
	arch := ""
	if i.Arch != m.DefaultArch {
		arch = "-" + i.Arch
	}
	var out []string
	for _, platform := range platforms {
		for _, python := range pythons {
			out = append(out, python+platform+arch)
		}
	}
	return out, nil
}

func pythonPart(version string) string { return "-py" + strings.ReplaceAll(version, ".", "") }

// platformPart is "-cpu", or the first two numbers of a CUDA version: "-cu121".
func platformPart(platform string) string {
	version, _, _ := strings.Cut(platform, "-")
	parts := strings.Split(version, ".")
	return "-" + strings.Join(parts[:min(2, len(parts))], "")
}

// Build is what an image is built from.
type Build struct {
	Commit      string // 40 digits
	Branch      string
	PullRequest string // its number; empty for a branch
	Nightly     string // date of the nightly build, "241105"; empty otherwise
}

const short = 6 // digits of a commit in a tag

// Versions lists the version parts of a build's tags, the canonical one first. Only a nightly build of master has the
// moving tag "nightly", so that nothing unmerged is ever behind it.
func (b Build) Versions() ([]string, error) {
	if len(b.Commit) < short {
		return nil, fault.New(fault.Invalid, "cannot name an image: commit is %q, expected at least %d digits", b.Commit, short)
	}
	commit := b.Commit[:short]
	line, released := strings.CutPrefix(b.Branch, "releases/")
	switch {
	case b.PullRequest != "":
		return []string{"pr-" + b.PullRequest + "." + commit}, nil
	case released:
		return []string{line + "." + commit}, nil
	case b.Branch == "master" && b.Nightly != "":
		return []string{"nightly." + b.Nightly + "." + commit, "nightly"}, nil
	default:
		return []string{commit}, nil
	}
}

// Tags lists all tags of an image of a build. The first is the canonical one: no other image and no other build has it.
func (m Matrix) Tags(i Image, b Build) ([]string, error) {
	suffixes, err := m.Suffixes(i)
	if err != nil {
		return nil, err
	}
	versions, err := b.Versions()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, version := range versions {
		for _, suffix := range suffixes {
			out = append(out, version+suffix)
		}
	}
	return out, nil
}

// All lists every tag of a version over the matrix of a type: what a check of a nightly has to look at.
func (m Matrix) All(kind, version string) []string {
	var out []string
	for _, t := range m.Types {
		if t.Type != kind {
			continue
		}
		for _, i := range t.images() {
			suffixes, _ := m.Suffixes(i) // the matrix holds its own images
			for _, s := range suffixes {
				out = append(out, version+s)
			}
		}
	}
	slices.Sort(out)
	return out
}

func (t TypeMatrix) images() []Image {
	var out []Image
	for _, python := range t.Pythons {
		for _, platform := range t.Platforms {
			for _, arch := range t.Archs {
				out = append(out, Image{t.Type, python, platform, arch})
			}
		}
	}
	return out
}
