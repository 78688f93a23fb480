package access

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
)

// FuzzPermissions feeds answers of forges to what reads permissions from them: each grants one of the levels, or nothing.
func FuzzPermissions(f *testing.F) {
	f.Add([]byte(`{"permissions": {"admin": false, "push": true, "pull": true}}`))
	f.Add([]byte(`{"permissions": {"project_access": {"access_level": 30}, "group_access": null}}`))
	f.Add([]byte(`{"permissions": []}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, read := range []func([]byte) string{flags, levels} {
			if level := read(text); !slices.Contains([]string{"", "read", "write", "admin"}, level) {
				t.Errorf("%q grants %q", text, level)
			}
		}
	})
}

// FuzzBegunLogin feeds cookies and answers to what finds the login that they belong to: none of another state or method is found.
func FuzzBegunLogin(f *testing.F) {
	f.Add([]byte(`{"State": "s", "Method": "m", "Next": "/"}`), "s", "m")
	f.Add([]byte(`{}`), "", "")
	f.Add([]byte(`null`), "", "m")
	f.Fuzz(func(t *testing.T, cookie []byte, state, method string) {
		l := &login{}
		r := httptest.NewRequest(http.MethodGet, "/login/x/back?"+url.Values{"state": {state}}.Encode(), nil)
		r.SetPathValue("method", method)
		r.AddCookie(&http.Cookie{Name: l.named("sluice-login"), Value: base64.RawURLEncoding.EncodeToString(cookie)})
		a, err := l.begun(r)
		if err == nil && (a.State == "" || a.State != state || a.Method != method) {
			t.Errorf("cookie %q is taken for state %q of method %q", cookie, state, method)
		}
	})
}
