package forge

import (
	"net/http"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Precheck refuses a delivery for what its headers say, before anybody reads its body: it is of another forge, it is not
// signed, or its token is wrong. A delivery that passes may still be refused by Parse.
func Precheck(name string, h http.Header, secrets []string) error {
	f, err := find(name)
	if err != nil {
		return err
	}
	if sender := Detect(h); sender != name {
		return notFrom(f, sender)
	}
	if len(secrets) == 0 || first(h, f.signed) != "" {
		return nil
	}
	bare := h.Clone()
	bare.Del("Content-Type") // there is no form to take apart yet
	if _, err := f.verify(Request{Header: bare, Secrets: secrets}); !fault.Is(err, fault.Invalid) {
		return err
	}
	return nil // it is the body's to decide
}
