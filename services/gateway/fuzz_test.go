package gateway

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
)

// FuzzAction feeds headers and bodies to what reads actions: they are somebody's who may act, or refused with a reason.
func FuzzAction(f *testing.F) {
	f.Add("Bearer t0ken", "key", `{"project": "widget", "branch": "master"}`)
	f.Add("Bearer x", "", "")
	f.Add("bearer t0ken", "", `{"tasks": ["a"]} {}`)
	g, err := newGateway(Config{Tokens: tokens()}, service.Deps{Secret: values, Now: time.Now}, remote{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, authorization, key, text string) {
		r := httptest.NewRequest("POST", "/api/v1/runs", strings.NewReader(text))
		r.Header["Authorization"], r.Header["Idempotency-Key"] = []string{authorization}, []string{key}
		read, err := g.decodeAction(access.With(t.Context(), access.Identity{Subject: "token:ada", Name: "ada"}, ""), r)
		if err != nil {
			if kind := fault.Of(err); kind != fault.Denied && kind != fault.Invalid || !strings.HasPrefix(err.Error(), "cannot ") {
				t.Errorf("%v is %s", err, kind)
			}
			return
		}
		if in := read.(request); in.by != "ada" || !release.Token(in.id) {
			t.Errorf("%+v", in)
		}
	})
}
