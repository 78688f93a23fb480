package access

// Rule is what a route needs: a role, and where.
type Rule struct {
	Role  Role
	Where Where
}

// Where is in which projects a role is needed.
type Where string

// The places of a rule. The zero value is the strictest: a route without a rule is the operators' alone.
const (
	Installation Where = ""          // in all of them
	OfRun        Where = "run"       // in the project of the run that the path names
	Somewhere    Where = "somewhere" // in one at least; the handler shows, or does, only what belongs to those
	Public       Where = "public"    // nowhere: anybody
)

// To is the rule of a route that needs a role in the project of the run in its path.
func To(r Role) Rule { return Rule{r, OfRun} }

// Any is the rule of a route whose handler chooses by project.
func Any(r Role) Rule { return Rule{r, Somewhere} }

// Whole is the rule of a route that is of the whole installation.
func Whole(r Role) Rule { return Rule{r, Installation} }

// Open is the rule of a route for everybody: health, deliveries that prove themselves, the login.
func Open() Rule { return Rule{None, Public} }

// needed is the role that a rule really needs: a rule that says nothing needs all.
func (r Rule) needed() Role {
	if r.Role == None && r.Where != Public {
		return Operator
	}
	return r.Role
}

// String tells a rule for the table in the documentation.
func (r Rule) String() string {
	switch r.Where {
	case Public:
		return "anybody"
	case OfRun:
		return r.needed().String() + " of the run's project"
	case Somewhere:
		return r.needed().String() + " of the project"
	default:
		return r.needed().String() + " of all projects"
	}
}
