package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Client fetches by the rules of an installation. It is safe for concurrent use.
type Client struct {
	rules Rules
	http  *http.Client
}

// New makes a client. The TLS configuration is the system's when nil.
func New(rules Rules, trust *tls.Config) *Client {
	rules = rules.orDefault()
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	transport := &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: trust, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
		ResponseHeaderTimeout: rules.Silence, MaxResponseHeaderBytes: 64 << 10, DisableCompression: true,
		MaxIdleConnsPerHost: 4, IdleConnTimeout: 90 * time.Second,
	}
	if rules.Private {
		transport.Proxy = http.ProxyFromEnvironment
	} else {
		dialer.Control = control
	}
	return &Client{rules: rules, http: &http.Client{Transport: transport, CheckRedirect: checkRedirect}}
}

// checkRedirect bounds redirects: in number, and to what is no less safe than where they came from.
func checkRedirect(next *http.Request, way []*http.Request) error {
	switch {
	case len(way) > redirects:
		return &refused{fmt.Sprintf("it is redirected more than %d times", redirects)}
	case next.URL.Scheme != "https" && way[len(way)-1].URL.Scheme == "https":
		return &refused{"it is redirected from https to " + next.URL.Scheme}
	case next.URL.Scheme != "http" && next.URL.Scheme != "https":
		return &refused{"it is redirected to " + next.URL.Scheme}
	}
	return nil
}

// Body is what was found. Whoever has it closes it.
type Body struct {
	io.ReadCloser
	From string // where it was found in the end, redirects followed
	Size int64  // as the server says; -1 when it does not
}

// Open opens what stands at a URL. Its bytes end in an error when they are more than most (0: as the rules say), fewer than
// the server promised, or do not come.
func (c *Client) Open(ctx context.Context, address string, most int64) (*Body, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read %.200q as a URL", address)
	}
	if most <= 0 || most > c.rules.MaxSize {
		most = c.rules.MaxSize
	}
	switch u.Scheme {
	case "file":
		return c.openFile(u, most)
	case "http", "https":
		return c.get(ctx, u, most)
	}
	return nil, fault.New(fault.Denied, "cannot fetch from %.40q: expected http, https or file", u.Scheme)
}

func (c *Client) get(ctx context.Context, u *url.URL, most int64) (*Body, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	answer, err := c.ask(ctx, http.MethodGet, u.String())
	if err != nil {
		cancel(nil)
		return nil, err
	}
	if answer.ContentLength > most {
		cancel(nil)
		_ = answer.Body.Close() // nothing of it is read
		return nil, tooLarge(most)
	}
	body := &bounded{body: answer.Body, left: most, most: most, silence: c.rules.Silence, ctx: ctx, cancel: cancel}
	return &Body{ReadCloser: body, From: shown(answer.Request.URL), Size: answer.ContentLength}, nil
}

// shown is a URL for people: what a redirect may have put behind it is a key at times.
func shown(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }

// Exists asks whether something stands at a URL, and takes none of it.
func (c *Client) Exists(ctx context.Context, address string) (bool, error) {
	if strings.HasPrefix(address, "file:") {
		body, err := c.Open(ctx, address, 0)
		if Absent(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return true, body.Close()
	}
	ctx, cancel := context.WithTimeout(ctx, 2*c.rules.Silence)
	defer cancel()
	answer, err := c.ask(ctx, http.MethodHead, address)
	if Absent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, answer.Body.Close()
}

// Locate asks where a URL leads to. A redirect to what has a query, often a key that is soon over, stays where it began.
func (c *Client) Locate(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*c.rules.Silence)
	defer cancel()
	answer, err := c.ask(ctx, http.MethodHead, address)
	if err != nil {
		return "", err
	}
	final := answer.Request.URL
	if final.RawQuery != "" {
		return address, answer.Body.Close()
	}
	return final.String(), answer.Body.Close()
}

// ask returns an answer that is 200, or what another means.
func (c *Client) ask(ctx context.Context, method, address string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot ask for %.200q: %w", address, err)
	}
	request.Header.Set("User-Agent", "sluice")
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, unanswered(err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	_ = answer.Body.Close() // it is not read: what a server says beside its status has no bound
	return nil, meaning(answer)
}

// meaning is what a status other than 200 says of the file.
func meaning(answer *http.Response) error {
	text := strconv.Itoa(answer.StatusCode) + " " + http.StatusText(answer.StatusCode)
	switch code := answer.StatusCode; {
	case code == http.StatusNotFound, code == http.StatusForbidden, code == http.StatusGone:
		return absence(text)
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code == http.StatusTooEarly, code/100 == 2:
		return fault.Later(retryAfter(answer.Header), "%s", text)
	case code == http.StatusUnauthorized, code == http.StatusProxyAuthRequired:
		return fault.New(fault.Denied, "%s: it is not to be had without a credential, and none is ever sent", text)
	}
	return fault.New(fault.Invalid, "%s", text)
}

// retryAfter is what a server asks to be waited for, within reason. Zero leaves it to the caller.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, 600)) * time.Second
}

// unanswered is what it means that there is no answer.
func unanswered(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err // without the URL, which everybody who hears this knows
	}
	var no *refused
	if errors.As(err, &no) {
		return fault.New(fault.Denied, "%w", no)
	}
	var untrusted *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &untrusted) || errors.As(err, &unknown) {
		return fault.New(fault.Denied, "its certificate is not to be trusted: %w", err)
	}
	return fault.New(fault.Transient, "%w", err)
}

func tooLarge(most int64) error {
	return fault.New(fault.Invalid, "it has more than %d bytes, which is the most that is taken", most)
}
