package idtoken

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Where the documents stand below the issuer's URL.
const (
	DiscoveryPath = "/.well-known/openid-configuration"
	KeysPath      = "/.well-known/jwks"
)

// discovery is the document that tells where the keys are.
type discovery struct {
	Issuer        string   `json:"issuer"`
	JWKS          string   `json:"jwks_uri"`
	ResponseTypes []string `json:"response_types_supported"`
	SubjectTypes  []string `json:"subject_types_supported"`
	Algorithms    []string `json:"id_token_signing_alg_values_supported"`
	Scopes        []string `json:"scopes_supported"`
	Claims        []string `json:"claims_supported"`
}

// Discovery serves the document of the issuer.
func (i Issuer) Discovery() http.Handler {
	return serve(func() (any, error) {
		return discovery{
			Issuer: i.URL, JWKS: i.URL + KeysPath, ResponseTypes: []string{"id_token"}, SubjectTypes: []string{"public"},
			Algorithms: []string{string(jose.ES256)}, Scopes: []string{"openid"},
			Claims: []string{
				"iss", "sub", "aud", "exp", "iat", "nbf", "jti", "project", "repo", "ref", "ref_type", "commit", "event", "run", "task",
				"attempt", "kind", "environment", "pool", "trust",
			},
		}, nil
	})
}

// PublicKeys serves the keys.
func (i Issuer) PublicKeys(now func() time.Time) http.Handler {
	return serve(func() (any, error) { return i.Keys.Set(now()) })
}

func serve(document func() (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		what, err := document()
		if err != nil {
			http.Error(w, "cannot read the keys of identity tokens", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "public, max-age=900")
		_ = json.NewEncoder(w).Encode(what) // whoever asked is gone
	})
}
