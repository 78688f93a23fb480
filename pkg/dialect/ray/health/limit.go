package health

// LabelBlocker marks issues that keep a release from happening.
const LabelBlocker = "weekly-release-blocker"

// BisectsPerDay is how many bisections of a kind of test may begin on a day: "release", or the platform of a CI test.
func BisectsPerDay(kind string) int {
	switch kind {
	case "release":
		return 10
	case "linux", "macos", "windows":
		return 3
	default:
		return 0
	}
}

// Blockers counts the open issues that keep a release from happening, by team.
func Blockers(issues []Issue, teamOf func(Issue) string) map[string]int {
	out := map[string]int{}
	for _, i := range issues {
		for _, label := range i.Labels {
			if i.Open && label == LabelBlocker {
				out[teamOf(i)]++
			}
		}
	}
	return out
}

// BlockedExit is what a check for blockers exits with when there are some: a code that no CI tries again.
const BlockedExit = 42
