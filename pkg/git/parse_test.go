package git

import (
	"net/url"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/release"
)

func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{"https://u:p@host/x.git", "git@host:o/n.git", "ext::sh -c x", "-x", "/abs", "file:///x", "ssh://u:p@h:22/x", "https://h/%2e%2e"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		r, err := parseURL(raw)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "cannot use git URL") {
				t.Errorf("%q: %v", raw, err)
			}
			return
		}
		if strings.HasPrefix(r.url, "-") || strings.Contains(r.url, "::") && !strings.Contains(r.url, "[") {
			t.Errorf("%q became %q", raw, r.url)
		}
		if u, err := url.Parse(r.url); err == nil && u.User != nil {
			if _, password := u.User.Password(); password {
				t.Errorf("%q keeps its password as %q", raw, r.url)
			}
		}
		if again, err := parseURL(r.url); err != nil || again.url != r.url {
			t.Errorf("%q became %q, which becomes %q, %v", raw, r.url, again.url, err)
		}
	})
}

func FuzzParseRefs(f *testing.F) {
	f.Add("0123456789012345678901234567890123456789\trefs/tags/v1\n0123456789012345678901234567890123456780\trefs/tags/v1^{}\n")
	f.Fuzz(func(t *testing.T, out string) {
		refs, err := parseRefs(out, []string{"refs/heads/*", "refs/tags/*"})
		for ref, commit := range refs {
			if err != nil || !commit.Valid() || !strings.HasPrefix(ref, "refs/") {
				t.Errorf("%q gave %q %q", out, ref, commit)
			}
		}
	})
}

func FuzzParseObject(f *testing.F) {
	f.Add([]byte("blob 3\nabc\n"))
	f.Add([]byte("x missing\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		got, err := parseObject(out, "sluice.yaml", release.Commit(strings.Repeat("a", 40)), 10)
		if err == nil && len(got) > 10 {
			t.Errorf("%q gave %d bytes", out, len(got))
		}
	})
}
