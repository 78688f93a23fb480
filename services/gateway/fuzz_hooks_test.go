package gateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
)

// FuzzHooks posts deliveries, signed and not, to the whole of the HTTP side before a real bus: whatever comes is taken,
// ignored or refused; it never ends in an error of ours, and what is not signed is never taken.
// A server's coverage is never twice the same: give -fuzzminimizetime=5x, or all time is spent on making inputs small.
func FuzzHooks(f *testing.F) {
	for name := range deliveries() {
		h, body := captured(f, name+".json")
		f.Add("gitea", h.Get("X-Gitea-Event"), h.Get("Content-Type"), body, true)
	}
	f.Add("github", "push", "application/json", "{}", true)
	f.Add("gitlab", "Push Hook", "", "{", false)
	github, gitlab := widget(), widget()
	github.Name, github.Forge, github.Repo = "hub", "github", "acme/hub"
	gitlab.Name, gitlab.Forge, gitlab.Repo = "lab", "gitlab", "acme/lab"
	w := newWorld(f, Config{Projects: []Project{widget(), github, gitlab}}, remote{}, bus.Options{})
	w.gateway.patience = 20 * time.Second // a busy machine is no finding
	mux := http.NewServeMux()
	for _, e := range w.gateway.endpoints() {
		mux.Handle(e.Pattern, e.Handler)
	}
	f.Fuzz(func(t *testing.T, forge, event, kind, body string, sign bool) {
		if forge != "github" && forge != "gitlab" {
			forge = "gitea"
		}
		h := signed(forge, event, []byte(body))
		if !sign {
			for _, name := range []string{"X-Gitea-Signature", "X-Hub-Signature-256", "X-Gitlab-Token"} {
				h.Del(name)
			}
		}
		h.Set("Content-Type", kind)
		r := httptest.NewRequest(http.MethodPost, "/hooks/"+forge, strings.NewReader(body))
		r.Header = h
		got := httptest.NewRecorder()
		mux.ServeHTTP(got, r)
		switch {
		case got.Code != 202 && got.Code != 400 && got.Code != 401:
			t.Errorf("%d %s", got.Code, got.Body)
		case got.Code == 202 && !sign:
			t.Errorf("taken without a signature: %s", got.Body)
		}
	})
}
