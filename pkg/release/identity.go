package release

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// RunID names a run; it is made of the letters, digits and dashes that a bus subject, a file name and a URL all take.
// It begins with the first eight digits of the commit: "4f2a9c1d-k3m2pa7q".
type RunID string

// TaskID names a task within a run: letters, digits, "-" and "_" only.
type TaskID string

// Digest is "sha256:" and 64 lower-case hexadecimal digits.
type Digest string

// Commit is a full git object name: 40 hexadecimal digits (or 64, for SHA-256 repositories).
type Commit string

var (
	commitPattern = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	runPattern    = regexp.MustCompile(`^[0-9a-f]{8}-[a-z2-7]{8}$`)
	digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// Whole reports whether a run's name is one that Change.RunID makes, and not the beginning of one.
func (r RunID) Whole() bool { return runPattern.MatchString(string(r)) }

// Token reports whether s can be one token of a bus subject: 1 to 120 letters, digits, "-" and "_".
func Token(s string) bool {
	for i := range len(s) { // Every name of every event comes by: a pattern takes ten times as long.
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= 120
}

// ValidRef reports whether s is the full name of a git ref, by the rules of git check-ref-format: "refs/heads/master".
func ValidRef(s string) bool {
	if !strings.HasPrefix(s, "refs/") || len(s) > 512 || strings.HasSuffix(s, ".") {
		return false
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	forbidden := func(r rune) bool { return r <= 0x20 || r == 0x7f || strings.ContainsRune("~^:?*[\\", r) }
	return !strings.Contains(s, "..") && !strings.Contains(s, "@{") && !strings.ContainsFunc(s, forbidden)
}

// Valid reports whether c is a full object name that is not all zeros (forges say "no commit" with zeros).
func (c Commit) Valid() bool {
	return commitPattern.MatchString(string(c)) && strings.Trim(string(c), "0") != ""
}

// Short is the first eight digits.
func (c Commit) Short() string { return string(c[:min(8, len(c))]) }

// Valid reports whether d has the form of a digest.
func (d Digest) Valid() bool { return digestPattern.MatchString(string(d)) }

// Hex is the digest without its algorithm.
func (d Digest) Hex() string { return strings.TrimPrefix(string(d), "sha256:") }

// DigestOf hashes b.
func DigestOf(b []byte) Digest {
	sum := sha256.Sum256(b)
	return DigestFrom(sum[:])
}

// DigestFrom makes a digest of a finished SHA-256 sum.
func DigestFrom(sum []byte) Digest { return Digest("sha256:" + hex.EncodeToString(sum)) }

var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Derive makes an identifier of 26 lower-case letters and digits from what caused it. The same parts give the same
// identifier, today and after a restart; that is what makes every effect idempotent.
func Derive(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		// The length goes first so that ("ab","c") and ("a","bc") differ.
		_, _ = fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return encoding.EncodeToString(h.Sum(nil))[:26]
}

// Slug makes a token of any text: what a token cannot hold becomes "_", and where that lost something, or the text is
// long, eight letters derived from the whole text keep two texts apart.
func Slug(s string) string {
	if Token(s) && len(s) <= 80 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if r < 128 && (r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			b.WriteRune(r)
		} else {
			b.WriteByte('_')
		}
	}
	out := b.String()
	return out[:min(len(out), 70)] + "-" + Derive(s)[:8]
}
