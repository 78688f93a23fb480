package publisher

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// registry is one repository of an OCI registry, logged in.
type registry struct {
	repo   name.Repository
	remote *remote
	login  http.RoundTripper // *transport.Wrapper
}

// openRegistry logs in as the registry asks for it: basic, bearer token or nothing.
func openRegistry(ctx context.Context, setup Setup, repository string) (*registry, error) {
	repo, err := parseRepository(repository, setup.Options["plain_http"] == "true")
	if err != nil {
		return nil, err
	}
	setup.Options = Options{
		"url": "https://" + repo.RegistryStr() + "/", "username": setup.Options["username"], "password": setup.Options["password"],
		"timeout": setup.Options["timeout"], "plain_http": setup.Options["plain_http"],
	}
	edge, err := newRemote(setup, "url")
	if err != nil {
		return nil, err
	}
	auth := authn.Anonymous
	if edge.password != "" {
		auth = &authn.Basic{Username: edge.user, Password: edge.password}
	}
	front := &registryEdge{remote: edge}
	login, err := transport.NewWithContext(ctx, repo.Registry, auth, front, []string{repo.Scope(transport.PushScope)})
	if refused := front.refusal.Load(); err != nil && refused != nil {
		return nil, *refused // of two attempts, https and http, the one that was answered tells more
	}
	if err != nil {
		return nil, edge.registryFault("log in to "+repo.RegistryStr(), err)
	}
	return &registry{repo: repo, remote: edge, login: login}, nil
}

func parseRepository(text string, plain bool) (name.Repository, error) {
	options := []name.Option{name.StrictValidation}
	if plain {
		options = append(options, name.Insecure)
	}
	repo, err := name.NewRepository(text, options...)
	if err != nil || strings.Contains(text, "@") {
		return repo, fault.New(fault.Invalid, "cannot use repository %q: expected HOST/PATH in lower case, such as registry.example.org/acme/app", text)
	}
	return repo, nil
}

// registryEdge bounds what the registry client does and gives its failures kinds.
type registryEdge struct {
	remote  *remote
	refusal atomic.Pointer[error] // the last
}

func (e *registryEdge) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := e.remote.mayUse(req.URL); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(req.Context(), e.remote.timeout)
	req = req.WithContext(ctx)
	if err := fenced(req); err != nil {
		cancel()
		return nil, err
	}
	resp, err := e.remote.client.Transport.RoundTrip(req)
	if err != nil {
		cancel()
		return nil, e.remote.broken(req, err)
	}
	if kindOfStatus(resp.StatusCode) == fault.Transient {
		defer cancel()
		defer func() { _ = resp.Body.Close() }()
		refused := e.remote.refused(req, resp)
		e.refusal.Store(&refused)
		return nil, refused
	}
	limit := int64(maxManifest)
	if strings.Contains(req.URL.Path, "/blobs/") {
		limit = unknownSize(resp.ContentLength)
	}
	resp.Body = &cancelled{&bounded{ReadCloser: resp.Body, left: limit, what: clean(req.URL)}, cancel}
	return resp, nil
}

// cancelled ends a request's deadline with its body.
type cancelled struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c *cancelled) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}

// registryFault gives an error of the registry client its kind.
func (r *remote) registryFault(what string, err error) error {
	var known *fault.Error
	var answer *transport.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answer): // before everything else: over plain http the client tries https first, and fails
		return fault.New(kindOfStatus(answer.StatusCode), "cannot %s: the registry answered %d: %w", what, answer.StatusCode, masked{answer, r.mask(answer.Error())})
	case errors.As(err, &known):
		return known
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.Invalid, "cannot %s: the archive lacks a blob that its manifest names: %w", what, err)
	default:
		return fault.New(fault.Transient, "cannot %s: %w", what, masked{err, r.mask(err.Error())})
	}
}

// get asks for a manifest or a blob; it follows redirects, and the login stays with the registry.
func (g *registry) get(ctx context.Context, kind, reference string, read func(*http.Response) error) error {
	address := &url.URL{Scheme: g.repo.Scheme(), Host: g.repo.RegistryStr(), Path: "/v2/" + g.repo.RepositoryStr() + "/" + kind + "/" + reference}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return fault.New(fault.Invalid, "cannot read %s: %w", address, err)
	}
	for _, accepted := range []types.MediaType{types.OCIImageIndex, types.OCIManifestSchema1, types.DockerManifestList, types.DockerManifestSchema2} {
		req.Header.Add("Accept", string(accepted))
	}
	client := http.Client{Transport: g.login, CheckRedirect: g.remote.redirect}
	resp, err := client.Do(req)
	if err != nil {
		return g.remote.broken(req, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return g.remote.refused(req, resp)
	}
	if err := read(resp); err != nil {
		return g.remote.broken(req, err)
	}
	return nil
}

// manifest reads what a tag or digest names; its digest is that of the bytes, whatever the headers say.
func (g *registry) manifest(ctx context.Context, reference string) (b []byte, err error) {
	err = g.get(ctx, "manifests", reference, func(resp *http.Response) error {
		b, err = io.ReadAll(resp.Body)
		return err
	})
	return b, err
}

// blob downloads and hashes; more bytes than the manifest says are other bytes.
func (g *registry) blob(ctx context.Context, blob v1.Descriptor) (d release.Digest, err error) {
	err = g.get(ctx, "blobs", blob.Digest.String(), func(resp *http.Response) error {
		d, err = digestOf(io.LimitReader(resp.Body, blob.Size+1))
		return err
	})
	return d, err
}

func (g *registry) options(ctx context.Context) []ggcr.Option {
	// The bus retries, with growing waits and a reason that people can see; nothing retries in here.
	never := func(error) bool { return false }
	return []ggcr.Option{ggcr.WithContext(ctx), ggcr.WithTransport(g.login), ggcr.WithRetryPredicate(never), ggcr.WithJobs(2)}
}

// push uploads blobs and manifests by digest; nothing has a name yet.
func (g *registry) push(ctx context.Context, l imageLayout) error {
	pusher, err := ggcr.NewPusher(g.options(ctx)...)
	if err != nil {
		return fault.New(fault.Internal, "cannot push to %s: %w", g.repo, err)
	}
	content, err := l.pushable()
	if err != nil {
		return err
	}
	return g.remote.registryFault("push to "+g.repo.Name(), pusher.Push(ctx, g.repo.Digest(l.root.Digest.String()), content))
}

// tag names what push uploaded.
func (g *registry) tag(ctx context.Context, tag string, l imageLayout) error {
	return g.remote.registryFault("tag "+g.repo.Name()+":"+tag, ggcr.Put(g.repo.Tag(tag), l, g.options(ctx)...))
}

// RawManifest and its siblings make a layout something that can be tagged.
func (l imageLayout) RawManifest() ([]byte, error) { return l.raw, nil }

// Digest is the root's.
func (l imageLayout) Digest() (v1.Hash, error) { return l.root.Digest, nil }

// Size is the root's.
func (l imageLayout) Size() (int64, error) { return int64(len(l.raw)), nil }

// MediaType is the root's.
func (l imageLayout) MediaType() (types.MediaType, error) { return l.root.MediaType, nil }

// pushable is the root with everything below it.
func (l imageLayout) pushable() (ggcr.Taggable, error) {
	index, err := layout.ImageIndexFromPath(l.dir)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read image layout: %w", err)
	}
	var content ggcr.Taggable
	switch own, _ := index.Digest(); {
	case own == l.root.Digest:
		return index, nil
	case l.root.MediaType.IsIndex():
		content, err = index.ImageIndex(l.root.Digest)
	default:
		content, err = index.Image(l.root.Digest)
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read image layout: %w", err)
	}
	return content, nil
}

func mediaType(index v1.IndexManifest) types.MediaType {
	if index.MediaType != "" {
		return index.MediaType
	}
	return types.OCIImageIndex
}

// references are what a manifest or an index names: manifests below it, and blobs.
func references(raw []byte) (manifests, blobs []v1.Descriptor, err error) {
	var m struct {
		Manifests []v1.Descriptor `json:"manifests"`
		Config    *v1.Descriptor  `json:"config"`
		Layers    []v1.Descriptor `json:"layers"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, nil, fault.New(fault.Invalid, "cannot read an image manifest: %w", err)
	}
	if m.Config != nil {
		blobs = append(blobs, *m.Config)
	}
	return m.Manifests, append(blobs, m.Layers...), nil
}
