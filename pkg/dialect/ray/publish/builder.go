package publish

import (
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// WheelSteps are the commands that build the wheels of a Python in the build container.
func WheelSteps(python, buildType string) ([]string, error) {
	var steps []string
	switch buildType {
	case "optimized":
	case "debug":
		steps = append(steps, "export RAY_DEBUG_BUILD=debug")
	default:
		return nil, fault.New(fault.Invalid, "cannot build %q wheels, expected optimized or debug", buildType)
	}
	tag := "cp" + strings.ReplaceAll(python, ".", "")
	return append(steps,
		"./ci/build/build-manylinux-ray.sh",
		"./ci/build/build-manylinux-wheel.sh "+tag+"-"+tag,
		"chown -R 2000:100 /artifact-mount"), nil
}
