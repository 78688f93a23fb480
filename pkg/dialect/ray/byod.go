package ray

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// NameDigest is what Ray puts behind "-" at the end of a custom image's tag: a digest of the name of its script, whatever the
// script does. It is empty for a test that uses an image as it is.
func (b Byod) NameDigest() string {
	if b.PostBuildScript == "" {
		return ""
	}
	name, _ := json.Marshal(b.PostBuildScript) // a string always has a form
	sum := sha256.Sum256([]byte(`{"post_build_script": ` + string(name) + `}`))
	return hex.EncodeToString(sum[:])
}

// ContentDigest tells images apart whose scripts have one name and different contents.
func (b Byod) ContentDigest(script []byte) string {
	if b.PostBuildScript == "" {
		return ""
	}
	sum := sha256.Sum256(append([]byte(b.PostBuildScript+"\x00"), script...))
	return hex.EncodeToString(sum[:])
}

// AsSmoke is the test as its smoke test.
func (t *Test) AsSmoke() (*Test, error) {
	if t.Smoke == nil {
		return nil, fault.New(fault.Invalid, "cannot run the smoke test of %s: it has none; add smoke_test to its definition", t.Name)
	}
	return t.Smoke, nil
}

var pythonForm = regexp.MustCompile(`^[0-9]{2,3}$|^[0-9]\.[0-9]{1,2}$`)

// ParsePython reads a Python version: "3.11" or "311".
func ParsePython(s string) (major, minor int, err error) {
	if !pythonForm.MatchString(s) {
		return 0, 0, fault.New(fault.Invalid, "Invalid Python version string: %s", s)
	}
	digits := strings.Replace(s, ".", "", 1)
	major, _ = strconv.Atoi(digits[:1])
	minor, _ = strconv.Atoi(digits[1:])
	return major, minor, nil
}
