package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

const (
	answerTimeout = 30 * time.Second // for an answer that is no stream
	longTimeout   = 90 * time.Second // for one that is long in the making: others are asked for it
	maxAnswer     = 64 << 20         // bytes of an answer that is read whole
)

// Client speaks to one Sluice. It is safe for concurrent use.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
}

// New makes a client; it connects to nothing yet.
func New(at Connection) (*Client, error) {
	base, err := serverURL(at.URL)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = longTimeout
	return &Client{base: base, token: at.Token, http: &http.Client{Transport: transport, CheckRedirect: sameHost}}, nil
}

// sameHost follows redirections within the server only: the token goes nowhere else.
func sameHost(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if req.URL.Host != first.Host || req.URL.Scheme != first.Scheme || len(via) > 5 {
		return fault.New(fault.Denied, "the server redirects to %s; name that server with --server if it is the one meant", req.URL.Host)
	}
	return nil
}

// URL is where the server is.
func (c *Client) URL() string { return c.base.String() }

// call is one request to the API.
type call struct {
	method string
	path   []string // below /api/v1, not yet escaped
	query  url.Values
	body   any    // JSON, unless nil
	key    string // Idempotency-Key
	accept string
}

// send makes the request; whoever gets the answer closes it. An answer that is no success is an error.
func (c *Client) send(ctx context.Context, in call) (*http.Response, error) {
	req, err := c.request(ctx, in)
	if err != nil {
		return nil, err
	}
	answer, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fault.As(fault.Transient, context.Cause(ctx))
		}
		return nil, unreachable(c.base, err)
	}
	if answer.StatusCode >= 300 {
		defer func() { _ = answer.Body.Close() }()
		return nil, refused(answer, c.token != "")
	}
	return answer, nil
}

func (c *Client) request(ctx context.Context, in call) (*http.Request, error) {
	var body io.Reader
	if in.body != nil {
		text, err := json.Marshal(in.body)
		if err != nil {
			return nil, fault.New(fault.Internal, "cannot encode the request: %w", err)
		}
		body = bytes.NewReader(text)
	}
	u := c.base.JoinPath("api", "v1")
	for _, p := range in.path {
		u = u.JoinPath(url.PathEscape(p))
	}
	u.RawQuery = in.query.Encode()
	req, err := http.NewRequestWithContext(ctx, in.method, u.String(), body)
	if err != nil {
		return nil, fault.New(fault.Internal, "cannot make the request: %w", err)
	}
	c.head(req, in)
	return req, nil
}

func (c *Client) head(req *http.Request, in call) {
	req.Header.Set("User-Agent", "sluice-cli")
	req.Header.Set("Accept", "application/json")
	if in.accept != "" {
		req.Header.Set("Accept", in.accept)
	}
	if in.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if in.key != "" {
		req.Header.Set("Idempotency-Key", in.key)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
}

// ask makes a request and decodes its answer.
func ask[A any](ctx context.Context, c *Client, in call) (A, error) {
	return askWithin[A](ctx, c, in, answerTimeout)
}

func askWithin[A any](ctx context.Context, c *Client, in call, patience time.Duration) (A, error) {
	var a A
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := c.send(ctx, in)
	if err != nil {
		return a, err
	}
	defer func() { _ = answer.Body.Close() }()
	return a, decode(answer.Body, &a)
}

// get asks a question.
func get[A any](ctx context.Context, c *Client, query url.Values, path ...string) (A, error) {
	return ask[A](ctx, c, call{method: http.MethodGet, path: path, query: query})
}

// decode reads one JSON document of a limited size. An empty answer leaves v as it is.
func decode(r io.Reader, v any) error {
	text, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	switch {
	case err != nil:
		return fault.New(fault.Transient, "cannot read the server's answer: %w", err)
	case len(text) > maxAnswer:
		return fault.New(fault.Invalid, "cannot read the server's answer: it is larger than %d bytes", maxAnswer)
	case len(bytes.TrimSpace(text)) == 0:
		return nil
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fault.New(fault.Invalid, "cannot read the server's answer: expected the JSON of this API: %w", err)
	}
	return nil
}
