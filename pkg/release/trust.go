package release

// Trust says how far an installation trusts a change. It follows from facts of the forge and from the installation's
// file, never from the definition at the commit that it judges.
type Trust string

// The levels of trust, from the highest to the lowest.
const (
	TrustRelease   Trust = "release"   // a verified commit of a ref that may publish
	TrustTrusted   Trust = "trusted"   // written, or approved, by somebody with write permission
	TrustUntrusted Trust = "untrusted" // everything else: forks, and authors without write permission
)

// Trusts lists the levels, highest first.
func Trusts() []Trust { return []Trust{TrustRelease, TrustTrusted, TrustUntrusted} }

// Covers reports whether a change of level t may have what needs the level given. An unknown level is untrusted.
func (t Trust) Covers(need Trust) bool { return t.rank() >= need.rank() }

// Secrets reports whether a run of a kind of change may be given secrets, and if not why. Runs of pull requests never are,
// whether a push or a comment asked for them: what they run was read by nobody yet, whoever wrote it.
func (t Trust) Secrets(kind ChangeKind) (bool, string) {
	switch {
	case kind == PullRequest || kind == Comment:
		return false, "a run of a pull request gets no secrets"
	case !t.Covers(TrustTrusted):
		return false, "a run of an untrusted change gets no secrets"
	}
	return true, ""
}

// Valid reports whether t is one of the levels.
func (t Trust) Valid() bool { return t == TrustUntrusted || t.rank() > 0 }

func (t Trust) rank() int {
	switch t {
	case TrustRelease:
		return 2
	case TrustTrusted:
		return 1
	default:
		return 0
	}
}
