package publisher

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// remote is the edge to a registry over HTTP: every request has a deadline, every answer a bound, every refusal a kind,
// and no error has a credential in it.
type remote struct {
	base     *url.URL // without userinfo
	user     string
	password string
	timeout  time.Duration
	plain    bool // http to a host that is not this machine is wanted
	client   *http.Client
	now      func() time.Time
}

const (
	maxRedirects = 5
	maxErrorBody = 2 << 10
	userAgent    = "sluice-publisher"
)

// remoteOptions are the options that every kind over HTTP has.
func remoteOptions(user string) []Option {
	return []Option{
		{Name: "username", Doc: "user of the registry; needs a password", Default: user},
		{Name: "password", Doc: "name of the secret with the password or token: \"$NAME\"", Secret: true},
		{Name: "timeout", Doc: "the longest that one request may take", Default: "10m"},
		{Name: "max_size", Doc: "the largest file that the registry takes, such as \"100MB\"; by default any. Larger ones are refused before anything is committed"},
		{Name: "plain_http", Doc: "\"true\" allows http to a host other than this machine"},
	}
}

// newRemote makes the edge to the server at an option's URL.
func newRemote(setup Setup, option string) (*remote, error) {
	base, err := parseURL(option, setup.Options[option])
	if err != nil {
		return nil, err
	}
	r := &remote{base: base, user: setup.Options["username"], password: setup.Options["password"], now: setup.Now}
	if r.timeout, err = setup.Options.duration("timeout"); err != nil {
		return nil, err
	}
	if r.plain, err = setup.Options.flag("plain_http"); err != nil {
		return nil, err
	}
	r.client = &http.Client{Transport: newTransport(), CheckRedirect: r.redirect}
	return r, r.mayUse(base)
}

func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: 5 * time.Second, MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// parseURL takes no userinfo: a password in a definition would be in the plan, and from there in every event.
func parseURL(option, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return nil, fault.New(fault.Invalid, "cannot use option %q: expected a URL such as https://host/path", option)
	case u.User != nil:
		return nil, fault.New(fault.Invalid, "cannot use option %q: the URL of host %s has credentials in it; use the options username and password", option, u.Host)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fault.New(fault.Invalid, "cannot use option %q: the URL of host %s has a query or fragment", option, u.Host)
	}
	return u, nil
}

func (r *remote) mayUse(u *url.URL) error {
	switch {
	case u.Scheme == "https" || r.plain && u.Scheme == "http" || u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	case u.Scheme == "http":
		return fault.New(fault.Denied, "cannot use %s without encryption: use https, or set option plain_http: \"true\"", u.Host)
	default:
		return fault.New(fault.Denied, "cannot use scheme %q: expected http or https", u.Scheme)
	}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// redirect follows reads for a few hops, and writes never: a followed POST arrives as a GET, and its 200 says nothing.
func (r *remote) redirect(next *http.Request, via []*http.Request) error {
	if via[0].Method != http.MethodGet && via[0].Method != http.MethodHead {
		return http.ErrUseLastResponse
	}
	if len(via) >= maxRedirects {
		return fault.New(fault.Invalid, "cannot read %s: more than %d redirects", clean(via[0].URL), maxRedirects)
	}
	if !r.owns(next.URL) {
		next.Header.Del("Authorization")
	}
	return r.mayUse(next.URL)
}

// owns reports whether credentials may go to a URL: only to the server that they were given for.
func (r *remote) owns(u *url.URL) bool { return u.Scheme == r.base.Scheme && u.Host == r.base.Host }

// at joins a path to the base.
func (r *remote) at(elements ...string) string { return r.base.JoinPath(elements...).String() }

// get reads what is at a URL; the answer has at most limit bytes. What is not there is fs.ErrNotExist.
func (r *remote) get(ctx context.Context, address, accept string, limit int64, read func(*http.Response) error) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fault.New(fault.Invalid, "cannot read: the address is not a URL")
	}
	if err := r.mayUse(req.URL); err != nil {
		return err
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	resp, err := r.do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	resp.Body = &bounded{ReadCloser: resp.Body, left: limit, what: clean(req.URL)}
	if err := read(resp); err != nil {
		return r.broken(req, err)
	}
	return nil
}

// read gets a whole small answer.
func (r *remote) read(ctx context.Context, address string, limit int64) ([]byte, error) {
	var b []byte
	err := r.get(ctx, address, "", limit, func(resp *http.Response) (err error) {
		b, err = io.ReadAll(resp.Body)
		return err
	})
	return b, err
}

// send writes a body of a known size; any 2xx is success.
func (r *remote) send(ctx context.Context, method, address, contentType string, size int64, body io.Reader) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, io.NopCloser(body))
	if err != nil {
		return fault.New(fault.Invalid, "cannot write: the address is not a URL")
	}
	req.ContentLength = size
	if size == 0 {
		req.Body = http.NoBody
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := r.do(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxErrorBody))
	return resp.Body.Close()
}

// do makes one request and turns everything but 2xx into an error with a kind.
func (r *remote) do(req *http.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", userAgent)
	if r.password != "" && r.owns(req.URL) {
		req.SetBasicAuth(r.user, r.password)
	}
	if err := fenced(req); err != nil {
		return nil, err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, r.broken(req, err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	return nil, r.refused(req, resp)
}

// broken is an exchange that did not end: the other side may or may not have taken what was sent.
func (r *remote) broken(req *http.Request, err error) error {
	var known *fault.Error
	if errors.As(err, &known) {
		return known
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // its text has the address of the last hop, which may be presigned
	}
	return fault.New(fault.Transient, "cannot %s %s: %w", req.Method, clean(req.URL), masked{err, r.mask(err.Error())})
}

// refusal is an answer other than 2xx.
type refusal struct {
	status int
	text   string
}

func (e *refusal) Error() string { return e.text }

// Is makes "not there" the same for servers and directories.
func (e *refusal) Is(target error) bool {
	return target == fs.ErrNotExist && e.status == http.StatusNotFound
}

// statusOf returns the HTTP status that an error came from, or 0.
func statusOf(err error) int {
	var e *refusal
	if errors.As(err, &e) {
		return e.status
	}
	return 0
}

func (r *remote) refused(req *http.Request, resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	said := strings.Join(strings.Fields(r.mask(string(body))), " ")
	text := fmt.Sprintf("cannot %s %s: the server answered %s", req.Method, clean(req.URL), resp.Status)
	if to, err := resp.Location(); err == nil && resp.StatusCode/100 == 3 {
		text += ", redirecting to " + clean(to) + "; use that address"
	}
	if said != "" {
		text += ": " + said[:min(len(said), 300)]
	}
	return &fault.Error{Kind: kindOfStatus(resp.StatusCode), After: retryAfter(resp, r.now()), Err: &refusal{resp.StatusCode, text}}
}

func kindOfStatus(status int) fault.Kind {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fault.Denied
	case status == http.StatusConflict:
		return fault.Conflict
	case status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests || status >= 500:
		return fault.Transient
	default:
		return fault.Invalid
	}
}

// retryAfter reads the header in both its forms, and believes no wait of more than an hour.
func retryAfter(resp *http.Response, now time.Time) time.Duration {
	text := resp.Header.Get("Retry-After")
	wait := time.Duration(0)
	if seconds, err := strconv.Atoi(text); err == nil && seconds < 1<<20 {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), time.Hour)
}

// mask takes the credentials out of what a server said.
func (r *remote) mask(s string) string {
	if r.password == "" {
		return s
	}
	basic := base64.StdEncoding.EncodeToString([]byte(r.user + ":" + r.password))
	return strings.NewReplacer(basic, "***", r.password, "***", url.QueryEscape(r.password), "***", url.PathEscape(r.password), "***").Replace(s)
}

// masked keeps an error's chain and replaces its text.
type masked struct {
	error
	text string
}

func (e masked) Error() string { return e.text }
func (e masked) Unwrap() error { return e.error }

// clean is a URL for people: no userinfo, no query, which is where presigned addresses carry their keys.
func clean(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// bounded fails where io.LimitReader would end: a cut-off page must not look like a short one.
type bounded struct {
	io.ReadCloser
	left int64
	what string
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fault.New(fault.Invalid, "cannot read %s: the answer is larger than expected", b.what)
	}
	return n, err
}
