package access

import (
	"context"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/sluiceci/sluice/pkg/fault"
)

// OIDC is a provider of OpenID Connect.
type OIDC struct {
	Issuer       string   `yaml:"issuer"`
	ClientID     string   `yaml:"client_id"`
	ClientSecret string   `yaml:"client_secret"` // name of the secret; none for a public client
	Scopes       []string `yaml:"scopes"`        // besides openid; [profile, email] when empty
	NameClaim    string   `yaml:"name_claim"`    // what people are called here: "email" when empty, which must be verified
	GroupsClaim  string   `yaml:"groups_claim"`  // "groups" when empty
}

type oidcMethod struct {
	c      OIDC
	secret func(string) (string, error)

	mu       sync.Mutex
	provider *oidc.Provider // once it has answered
}

func newOIDC(c OIDC, secret func(string) (string, error)) *oidcMethod {
	if len(c.Scopes) == 0 {
		c.Scopes = []string{"profile", "email"}
	}
	if c.NameClaim == "" {
		c.NameClaim = "email"
	}
	if c.GroupsClaim == "" {
		c.GroupsClaim = "groups"
	}
	return &oidcMethod{c: c, secret: secret}
}

// discovered asks the provider for its endpoints, once. Its keys are fetched later too, so the context is none of a request.
func (o *oidcMethod) discovered() (*oidc.Provider, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.provider != nil {
		return o.provider, nil
	}
	p, err := oidc.NewProvider(oidc.ClientContext(context.Background(), outward()), o.c.Issuer)
	if err != nil {
		return nil, fault.New(fault.Transient, "cannot ask the OIDC provider %s: %w", o.c.Issuer, err)
	}
	o.provider = p
	return p, nil
}

func (o *oidcMethod) config(_ context.Context, callback string) (*oauth2.Config, error) {
	p, err := o.discovered()
	if err != nil {
		return nil, err
	}
	secret := ""
	if o.c.ClientSecret != "" {
		if secret, err = o.secret(o.c.ClientSecret); err != nil {
			return nil, fault.New(fault.Internal, "cannot sign in with OIDC: %w", err)
		}
	}
	return &oauth2.Config{
		ClientID: o.c.ClientID, ClientSecret: secret, Endpoint: p.Endpoint(), RedirectURL: callback,
		Scopes: append([]string{oidc.ScopeOpenID}, o.c.Scopes...),
	}, nil
}

func (o *oidcMethod) who(ctx context.Context, _ *oauth2.Config, t *oauth2.Token, nonce string) (person, error) {
	p, err := o.discovered()
	if err != nil {
		return person{}, err
	}
	raw, ok := t.Extra("id_token").(string)
	if !ok {
		return person{}, fault.New(fault.Denied, "cannot sign in: the OIDC provider sent no id_token")
	}
	id, err := p.Verifier(&oidc.Config{ClientID: o.c.ClientID}).Verify(ctx, raw)
	if err != nil {
		return person{}, fault.New(fault.Denied, "cannot sign in: the id_token does not hold: %w", err)
	}
	if id.Nonce != nonce {
		return person{}, fault.New(fault.Denied, "cannot sign in: the id_token belongs to another login")
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return person{}, fault.New(fault.Denied, "cannot sign in: the id_token's claims cannot be read")
	}
	return person{subject: "oidc:" + id.Subject, name: o.name(id.Subject, claims), groups: texts(claims[o.c.GroupsClaim])}, nil
}

// name is what a person is called. An address that the provider has not verified is anybody's to claim.
func (o *oidcMethod) name(subject string, claims map[string]any) string {
	name, _ := claims[o.c.NameClaim].(string)
	if verified, _ := claims["email_verified"].(bool); o.c.NameClaim == "email" && !verified || name == "" || len(name) > 200 {
		return subject
	}
	return name
}

const maxGroups = 500

func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, one := range list[:min(len(list), maxGroups)] {
		if s, ok := one.(string); ok && len(s) <= 200 {
			out = append(out, s)
		}
	}
	return out
}
