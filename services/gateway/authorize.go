package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// authorize finds the owner of a bearer token. Every token is compared, each in constant time: of digests, so that not
// even a length is told. A token whose value is missing keeps nobody else out.
func (g *gateway) authorize(header string) (string, error) {
	if len(g.config.Tokens) == 0 {
		return "", &refusal{http.StatusForbidden, fault.New(fault.Denied,
			"cannot act: this installation has no tokens, so nobody may; its operator adds one under gateway: tokens:")}
	}
	scheme, shown, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") || shown == "" {
		return "", fault.New(fault.Denied, "cannot act without a token: expected the header \"Authorization: Bearer TOKEN\"")
	}
	digest := sha256.Sum256([]byte(shown))
	found := ""
	var missing error
	for _, t := range g.config.Tokens {
		value, err := g.deps.Secret(t.Secret)
		want := sha256.Sum256([]byte(value))
		missing = errors.Join(missing, err)
		if subtle.ConstantTimeCompare(digest[:], want[:]) == 1 && err == nil && value != "" {
			found = t.Owner
		}
	}
	switch {
	case found != "":
		return found, nil
	case missing != nil:
		return "", fault.New(fault.Internal, "cannot check the token: %w", missing)
	default:
		return "", fault.New(fault.Denied, "cannot act: the token is not one of this installation")
	}
}
