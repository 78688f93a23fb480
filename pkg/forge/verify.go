package forge

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// proof is what the check of a delivery found: the JSON that may be read, and who vouches for it.
type proof struct {
	payload  []byte
	verified string
	secret   int
}

// tolerance is how far the time of a signature may be from now: the Standard Webhooks' five minutes.
const tolerance = 5 * time.Minute

// verifyGitHub checks the signature over the body as it came, also when the JSON is within a form.
func verifyGitHub(r Request) (proof, error) {
	signature, _ := strings.CutPrefix(r.Header.Get("X-Hub-Signature-256"), "sha256=")
	secret, err := r.signed("X-Hub-Signature-256", signature, hex.DecodeString, r.Body)
	if err != nil {
		return proof{}, err
	}
	payload, err := unform(r.Body)
	return r.proof(payload, "signature", secret), err
}

// verifyGitea checks the signature over the JSON: Gitea signs that also when it sends it within a form, so the form has
// to be taken apart first.
func verifyGitea(r Request) (proof, error) {
	payload, err := unform(r.Body)
	if err != nil {
		return proof{}, err
	}
	name := "X-Gitea-Signature"
	signature := first(r.Header, []string{name, "X-Forgejo-Signature"})
	if signature == "" {
		name = "X-Hub-Signature-256"
		signature, _ = strings.CutPrefix(r.Header.Get(name), "sha256=")
	}
	secret, err := r.signed(name, signature, hex.DecodeString, payload)
	return r.proof(payload, "signature", secret), err
}

// verifyGitLab prefers the signature of the Standard Webhooks, where there is one, to the classic token.
func verifyGitLab(r Request) (proof, error) {
	if r.Header.Get("webhook-signature") != "" {
		secret, err := r.standard()
		return r.proof(r.Body, "signature", secret), err
	}
	secret, err := r.token("X-Gitlab-Token")
	return r.proof(r.Body, "token", secret), err
}

func (r Request) proof(payload []byte, verified string, secret int) proof {
	if secret < 0 {
		verified = ""
	}
	return proof{payload: payload, verified: verified, secret: secret}
}

// signed finds the secret that made a signature. Every secret is tried, whichever matches, so that the time taken tells
// nothing. Without secrets nothing is checked, and the index is -1.
func (r Request) signed(header, signature string, decode func(string) ([]byte, error), text ...[]byte) (int, error) {
	if len(r.Secrets) == 0 {
		return -1, nil
	}
	if signature == "" {
		return -1, fault.New(fault.Denied, "cannot accept the delivery: header %s is missing; set the webhook's secret on the forge", header)
	}
	if err := r.once(header); err != nil {
		return -1, err
	}
	found := -1
	for one := range strings.FieldsSeq(signature) {
		given, err := decode(one)
		if err != nil {
			continue
		}
		for i, secret := range r.Secrets {
			if secret != "" && hmac.Equal(given, sum(secret, text...)) {
				found = i
			}
		}
	}
	if found < 0 {
		return -1, fault.New(fault.Denied, "cannot accept the delivery: %s was made with none of the %d active secrets, or the body was changed on its way",
			header, len(r.Secrets))
	}
	return found, nil
}

func sum(secret string, text ...[]byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	for _, t := range text {
		_, _ = mac.Write(t) // never fails
	}
	return mac.Sum(nil)
}

// standard checks a signature of the Standard Webhooks, which covers the delivery's id and its time as well.
func (r Request) standard() (int, error) {
	id, at := r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if len(r.Secrets) > 0 && (err != nil || r.Now.Sub(time.Unix(seconds, 0)).Abs() > tolerance) {
		return -1, fault.New(fault.Denied, "cannot accept the delivery: webhook-timestamp is %q, expected seconds since 1970 within %s of now; are both clocks right?",
			clip(at, 30), tolerance)
	}
	keyed := r
	keyed.Secrets = make([]string, len(r.Secrets))
	for i, s := range r.Secrets {
		keyed.Secrets[i] = standardKey(s)
	}
	return keyed.signed("webhook-signature", r.Header.Get("webhook-signature"), decodeStandard, []byte(id), []byte("."), []byte(at), []byte("."), r.Body)
}

// standardKey is the key that "whsec_<base64>" stands for; any other secret is a key itself.
func standardKey(secret string) string {
	if text, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if key, err := base64.StdEncoding.DecodeString(text); err == nil {
			return string(key)
		}
	}
	return secret
}

// decodeStandard reads one of a header's signatures, "v1,<base64>".
func decodeStandard(s string) ([]byte, error) {
	text, ok := strings.CutPrefix(s, "v1,")
	if !ok {
		return nil, base64.CorruptInputError(0)
	}
	return base64.StdEncoding.DecodeString(text)
}

// token finds the secret that was sent as it is. Digests are compared, so the time tells nothing of lengths either.
func (r Request) token(header string) (int, error) {
	if len(r.Secrets) == 0 {
		return -1, nil
	}
	given := r.Header.Get(header)
	if given == "" {
		return -1, fault.New(fault.Denied, "cannot accept the delivery: header %s is missing; set the webhook's secret token on the forge", header)
	}
	found, digest := -1, sha256.Sum256([]byte(given))
	for i, secret := range r.Secrets {
		if want := sha256.Sum256([]byte(secret)); subtle.ConstantTimeCompare(digest[:], want[:]) == 1 && secret != "" {
			found = i
		}
	}
	if found < 0 {
		return -1, fault.New(fault.Denied, "cannot accept the delivery: %s is none of the %d active secrets", header, len(r.Secrets))
	}
	return found, nil
}

// formField is how the one field of a forge's form begins.
const formField = "payload="

// unform takes the JSON out of a form; a body that is no form is the JSON. The bytes say which, not the Content-Type: no
// signature covers that, and a form's first byte begins no JSON object. A form of a forge has one field and nothing else,
// so there is one way to read it.
func unform(body []byte) ([]byte, error) {
	text := bytes.TrimLeft(body, " \t\r\n")
	if len(text) == 0 || text[0] == '{' {
		return body, nil
	}
	escaped, is := strings.CutPrefix(string(text), formField)
	if !is {
		return nil, fault.New(fault.Invalid, "cannot read the delivery: its body begins with %q, expected a JSON object or a form that begins with %q",
			clip(string(text[:min(len(text), 40)]), 40), formField)
	}
	if strings.ContainsAny(escaped, "&;") {
		return nil, fault.New(fault.Invalid, "cannot read the delivery: the form has more than the one field \"payload\", which is all that forges send")
	}
	payload, err := url.QueryUnescape(strings.TrimRight(escaped, "\r\n"))
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read the delivery: found a form whose field \"payload\" is not readable: %w", err)
	}
	return []byte(payload), nil
}
