package definition

import "github.com/bmatcuk/doublestar/v4"

// The bounds of a glob: the matcher tries every combination of the alternatives in braces, here and wherever the
// paths of a plan are matched later.
const (
	maxGlob         = 500 // bytes
	maxAlternatives = 256 // combinations of alternatives in braces
)

// validGlob reports whether a glob can be read, and matched in bounded time.
func validGlob(glob string) bool {
	return len(glob) <= maxGlob && alternatives(glob) <= maxAlternatives && doublestar.ValidatePattern(glob)
}

// alternatives counts the combinations that the braces of a glob give, too high rather than too low.
func alternatives(glob string) int {
	product, open := 1, []int{}
	for i := 0; i < len(glob) && product <= maxAlternatives; i++ {
		switch {
		case glob[i] == '\\':
			i++
		case glob[i] == '{':
			open = append(open, 1)
		case glob[i] == ',':
			for j := range open {
				open[j]++
			}
		case glob[i] == '}' && len(open) > 0:
			product *= open[len(open)-1]
			open = open[:len(open)-1]
		}
	}
	return product
}
