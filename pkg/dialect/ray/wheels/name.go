package wheels

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Python is a version of Python: 3.9.
type Python struct{ Major, Minor int }

var pythonPattern = regexp.MustCompile(`^(\d)\.?(\d{1,2})$`)

// ParsePython reads "3.9" and "39".
func ParsePython(s string) (Python, error) {
	m := pythonPattern.FindStringSubmatch(s)
	if m == nil {
		return Python{}, fault.New(fault.Invalid, "cannot read Python version %q: expected a form such as 3.9 or 39", s)
	}
	return Python{int(m[1][0] - '0'), small(m[2])}, nil
}

// small reads one or two digits.
func small(digits string) int {
	n := 0
	for _, d := range digits {
		n = 10*n + int(d-'0')
	}
	return n
}

func (p Python) String() string { return fmt.Sprintf("%d.%d", p.Major, p.Minor) }

// Tag is the version as wheels name it: "cp39-cp39"; up to 3.7 the second has an "m".
func (p Python) Tag() string {
	tag := fmt.Sprintf("cp%d%d", p.Major, p.Minor)
	if p.Major == 3 && p.Minor <= 7 {
		return tag + "-" + tag + "m"
	}
	return tag + "-" + tag
}

// LinuxX86 is the platform that tests run on.
const LinuxX86 = "manylinux2014_x86_64"

// File is the file name of a wheel.
func File(product, version string, p Python, platform string) string {
	return product + "-" + version + "-" + p.Tag() + "-" + platform + ".whl"
}

// Matrix is what a release builds wheels for.
type Matrix struct {
	Pythons   []Python
	Platforms []string
	Products  []string
}

// Release2024 is the matrix of November 2024: 4 × 5 × 2 = 40.
func Release2024() Matrix {
	return Matrix{
		Pythons:   []Python{{3, 9}, {3, 10}, {3, 11}, {3, 12}},
		Platforms: []string{LinuxX86, "manylinux2014_aarch64", "macosx_10_15_x86_64", "macosx_11_0_arm64", "win_amd64"},
		Products:  []string{"ray", "ray_cpp"},
	}
}

// Files lists the wheels of a version, by Python, platform, product.
func (m Matrix) Files(version string) []string {
	var files []string
	for _, py := range m.Pythons {
		for _, platform := range m.Platforms {
			for _, product := range m.Products {
				files = append(files, File(product, version, py, platform))
			}
		}
	}
	return files
}

// Compare says what a set of files lacks of a version, and what it has that is not the version's. Both are empty when
// it is whole; only then may any of it be published.
func (m Matrix) Compare(version string, have []string) (missing, extra []string) {
	want := m.Files(version)
	for _, f := range want {
		if !slices.Contains(have, f) {
			missing = append(missing, f)
		}
	}
	for _, f := range have {
		if !slices.Contains(want, f) {
			extra = append(extra, f)
		}
	}
	return missing, extra
}

// Complete refuses a set that is not exactly the version's.
func (m Matrix) Complete(version string, have []string) error {
	missing, extra := m.Compare(version, have)
	if len(missing) == 0 && len(extra) == 0 && len(have) == len(m.Files(version)) {
		return nil
	}
	return fault.New(fault.Invalid, "cannot release %s: found %d wheels, expected %d; missing %v, not expected %v",
		version, len(have), len(m.Files(version)), missing, extra)
}

var wheelPattern = regexp.MustCompile(`^([A-Za-z0-9_.]+-[^-/]+)-cp\d{2,3}-cp\d{2,3}m?-([^-/]+)\.whl$`)

// ForPython gives the URL of the same wheel for another Python. A file whose name says no Python stays as it is, and the
// warning says so.
func ForPython(address string, p Python) (rewritten, warning string) {
	u, err := url.Parse(address)
	if err != nil {
		return address, fmt.Sprintf("cannot read %q as a URL; it is used as it is", address)
	}
	m := wheelPattern.FindStringSubmatch(path.Base(u.Path))
	if m == nil {
		return address, fmt.Sprintf("cannot tell the Python of %s by its name; it is used for Python %s as it is", path.Base(u.Path), p)
	}
	dir := strings.TrimSuffix(u.Path, path.Base(u.Path))
	u.Path, u.RawPath = dir+m[1]+"-"+p.Tag()+"-"+m[2]+".whl", ""
	return u.String(), ""
}
