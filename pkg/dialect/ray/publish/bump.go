package publish

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Versions are those that a tree says: Python's and Java's.
type Versions struct{ Python, Java string }

// Master is what master says.
func Master() Versions { return Versions{"3.0.0.dev0", "2.0.0-SNAPSHOT"} }

// pythonFiles hold Python's version.
func pythonFiles() []string {
	return []string{"ci/ray_ci/utils.py", "python/ray/_version.py", "src/ray/common/constants.h"}
}

// Bumped reports whether a file holds a version, by its path.
func Bumped(file string) bool { return slices.Contains(pythonFiles(), file) || isPOM(file) }

func isPOM(file string) bool {
	base := path.Base(file)
	return base == "pom.xml" || base == "pom_template.xml"
}

// Bump puts new versions in the place of old ones and gives the files that changed. A file that is not there, or that
// does not hold the version which it is to lose, is an error: a release would be called by two names.
func Bump(files map[string]string, old, now Versions) (map[string]string, error) {
	if now.Python == "" || now.Java == "" || strings.Contains(now.Python, "dev0") {
		return nil, fault.New(fault.Invalid, "cannot change the version to %q and %q: expected those of a release", now.Python, now.Java)
	}
	changed := map[string]string{}
	for _, name := range pythonFiles() {
		text, ok := files[name]
		if !ok {
			return nil, fault.New(fault.Invalid, "cannot change the version: there is no %s", name)
		}
		if !strings.Contains(text, old.Python) {
			return nil, fault.New(fault.Invalid, "cannot change the version: %s does not hold %s", name, old.Python)
		}
		changed[name] = strings.ReplaceAll(text, old.Python, now.Python)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if isPOM(name) && strings.Contains(files[name], old.Java) {
			changed[name] = strings.ReplaceAll(files[name], old.Java, now.Java)
		}
	}
	return changed, nil
}
