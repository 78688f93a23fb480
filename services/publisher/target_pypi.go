package publisher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

func pypiKind() Kind {
	return Kind{
		Name:   "pypi",
		Doc:    "Python wheels and source distributions in PyPI, or any index with its upload API (Gitea, devpi, Artifactory, Nexus).",
		Rank:   3,
		Staged: "The API has no staging area: every file and its metadata are read and checked here, and every name is free or taken by the same bytes.",
		Committed: "Every file is uploaded and listed. It cannot be undone: a file can be yanked in the web pages, " +
			"but its name can never be used again.",
		HardStop: "The index has the same file name with another digest. It can never be replaced: raise the version and release again.",
		Options: append([]Option{
			{Name: "url", Doc: "the upload API: https://upload.pypi.org/legacy/ for PyPI", Required: true, Place: true},
			{Name: "index", Doc: "the simple index that serves what was uploaded: https://pypi.org/simple/ for PyPI", Required: true, Place: true},
		}, remoteOptions("__token__")...),
		New: newPypi,
	}
}

// pypi uploads one file per request; the simple index says what is there.
type pypi struct {
	upload *remote
	index  *remote
	temp   string
}

func newPypi(setup Setup) (Target, error) {
	upload, err := newRemote(setup, "url")
	if err != nil {
		return nil, err
	}
	index, err := newRemote(setup, "index")
	if err != nil {
		return nil, err
	}
	if !index.owns(upload.base) {
		index.password = "" // it belongs to the server that takes the uploads
	}
	return &pypi{upload: upload, index: index, temp: setup.Temp}, nil
}

const simpleAccept = "application/vnd.pypi.simple.v1+json, text/html;q=0.2, application/vnd.pypi.simple.v1+html;q=0.3"

// page reads a project's page in the form that the index has; a project that is not there has no files.
func (t *pypi) page(ctx context.Context, project string) (page simplePage, err error) {
	err = t.index.get(ctx, t.index.at(project)+"/", simpleAccept, maxIndexPage, func(resp *http.Response) error {
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		if strings.HasSuffix(kind, "json") {
			page, err = parseSimpleJSON(b)
		} else {
			page, err = parseSimpleHTML(b)
		}
		page.resolve(resp.Request.URL)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return simplePage{Name: project}, nil
	}
	return page, err
}

// resolve makes links absolute; the page's address is the one after redirects.
func (p *simplePage) resolve(base *url.URL) {
	for i, f := range p.Files {
		if u, err := base.Parse(f.URL); err == nil {
			p.Files[i].URL = u.String()
		}
	}
}

// pages reads the pages of all projects of a release.
func (t *pypi) pages(ctx context.Context, r Release) (map[string]simplePage, error) {
	byProject, err := distributions(r.Items)
	if err != nil {
		return nil, err
	}
	pages := map[string]simplePage{}
	for _, project := range slices.Sorted(maps.Keys(byProject)) {
		page, err := t.page(ctx, project)
		if err != nil {
			return nil, err
		}
		for _, item := range byProject[project] {
			pages[item.Artifact.Name] = page
		}
	}
	return pages, nil
}

// missing returns the items that are still to be uploaded.
func (t *pypi) missing(ctx context.Context, r Release) (missing []Item, probe Probe, err error) {
	pages, err := t.pages(ctx, r)
	if err != nil {
		return nil, probe, err
	}
	for _, item := range r.Items {
		page := pages[item.Artifact.Name]
		there, err := page.holds(clean(t.index.base), item.Artifact)
		if err != nil {
			return nil, probe, err
		}
		if name := clean(t.index.base) + page.Name; !slices.Contains(probe.Shared, name) {
			probe.Shared = append(probe.Shared, name)
		}
		probe.add(item.Artifact.Name, item.Artifact.Digest, clean(t.index.base), there)
		if !there {
			missing = append(missing, item)
		}
	}
	return missing, probe, nil
}

func (t *pypi) Probe(ctx context.Context, r Release) (Probe, error) {
	_, probe, err := t.missing(ctx, r)
	return probe, err
}

// login sends an upload without a file. Every server refuses it: for its credentials when these are wrong, else as no upload.
func (t *pypi) login(ctx context.Context) error {
	contentType, length, body, err := (uploadForm{fields: []metadataField{{":action", "file_upload"}, {"protocol_version", "1"}}}).encode(strings.NewReader(""), 0)
	if err != nil {
		return err
	}
	err = t.upload.send(ctx, http.MethodPost, t.upload.base.String(), contentType, length, body)
	if fault.Is(err, fault.Denied) {
		return fmt.Errorf("the credentials are refused: %w", err)
	}
	if statusOf(err) == http.StatusBadGateway || statusOf(err) == http.StatusServiceUnavailable || statusOf(err) == http.StatusTooManyRequests || err != nil && statusOf(err) == 0 {
		return err // nobody has looked at the credentials
	}
	return nil
}

func (t *pypi) Stage(ctx context.Context, r Release) error {
	missing, _, err := t.missing(ctx, r)
	if err != nil {
		return err
	}
	for _, item := range missing {
		if err := t.spool(ctx, item, func(*os.File, int64, uploadForm) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

func (t *pypi) Commit(ctx context.Context, r Release) error {
	missing, _, err := t.missing(ctx, r)
	if err != nil {
		return err
	}
	for _, item := range missing {
		if err := t.commit(ctx, item); err != nil {
			return err
		}
	}
	return nil
}

func (t *pypi) commit(ctx context.Context, item Item) error {
	err := t.spool(ctx, item, func(file *os.File, size int64, form uploadForm) error {
		contentType, length, body, err := form.encode(file, size)
		if err != nil {
			return err
		}
		return t.upload.send(ctx, http.MethodPost, t.upload.base.String(), contentType, length, body)
	})
	if status := statusOf(err); status == http.StatusConflict || status == http.StatusBadRequest {
		return t.refused(ctx, item, err)
	}
	return err
}

// takenText is how servers say with a 400 that a name is taken: PyPI, GitLab, Nexus, Artifactory.
var takenText = regexp.MustCompile(`(?i)already (been|exist|taken|uploaded|in use)|exists already|duplicate|does not allow updating|cannot be (updated|replaced|overwritten)|conflict`)

// refused finds out what a 400 or 409 means: somebody else (or this publisher, before a connection died) uploaded the
// same bytes, or other bytes, or the file itself is not wanted.
func (t *pypi) refused(ctx context.Context, item Item, refused error) error {
	d, err := parseDistribution(item.Artifact.Name)
	if err != nil {
		return err
	}
	page, err := t.page(ctx, d.Project)
	if err != nil {
		return err
	}
	there, err := page.holds(clean(t.index.base), item.Artifact)
	if err != nil || there {
		return err
	}
	if statusOf(refused) == http.StatusConflict || takenText.MatchString(refused.Error()) {
		return fault.New(fault.Transient, "cannot publish %q yet: %s says that the name is taken and does not list it; it may be behind: %w", item.Artifact.Name, t.upload.base.Host, refused)
	}
	return refused
}

// Verify downloads every file over the links of the index.
func (t *pypi) Verify(ctx context.Context, r Release) error {
	pages, err := t.pages(ctx, r)
	if err != nil {
		return err
	}
	for _, item := range r.Items {
		if err := t.verify(ctx, pages[item.Artifact.Name], item.Artifact); err != nil {
			return err
		}
	}
	return nil
}

func (t *pypi) verify(ctx context.Context, page simplePage, a release.Artifact) error {
	there, err := page.holds(clean(t.index.base), a)
	if err != nil {
		return err
	}
	if !there {
		return fault.New(fault.Transient, "cannot verify %q: %s does not list it yet", a.Name, clean(t.index.base))
	}
	f, _ := page.find(a.Name)
	got, err := t.index.digest(ctx, f.URL, a.Size)
	if err != nil {
		return err
	}
	return sameDownload(a.Name, got, a.Digest)
}

// digest downloads and hashes. More bytes than expected are other bytes, whatever they hash to.
func (r *remote) digest(ctx context.Context, address string, size int64) (d release.Digest, err error) {
	err = r.get(ctx, address, "", unknownSize(size), func(resp *http.Response) error {
		d, err = digestOf(resp.Body)
		return err
	})
	return d, err
}

// unknownSize bounds the download of an artifact whose size nobody stated.
func unknownSize(size int64) int64 {
	if size <= 0 {
		return 64 << 30
	}
	return size
}

// uploadForm has the fields of the upload API, in order; a name may be there several times.
type uploadForm struct {
	file   string
	fields []metadataField
}

// spool prepares an upload and gives it to fn.
func (t *pypi) spool(ctx context.Context, item Item, fn func(*os.File, int64, uploadForm) error) error {
	d, err := parseDistribution(item.Artifact.Name)
	if err != nil {
		return err
	}
	return spooled(ctx, t.temp, item, func(file *os.File, size int64) error {
		text, err := readMetadata(d, file, size)
		if err != nil {
			return err
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return diskFault("rewind", file.Name(), err)
		}
		return fn(file, size, newUploadForm(d, item.Artifact.Digest, parseMetadata(text)))
	})
}

func newUploadForm(d distribution, digest release.Digest, m metadata) uploadForm {
	form := uploadForm{file: d.File, fields: []metadataField{
		{":action", "file_upload"},
		{"protocol_version", "1"},
		{"sha256_digest", digest.Hex()},
		{"filetype", d.FileType},
		{"pyversion", d.Python},
	}}
	for _, f := range m.Fields {
		form.fields = append(form.fields, metadataField{formName(f.Name), f.Value})
	}
	if m.Description != "" {
		form.fields = append(form.fields, metadataField{"description", m.Description})
	}
	return form
}

// encode writes the form around the file, which is streamed; the length is known beforehand.
func (f uploadForm) encode(content io.Reader, size int64) (contentType string, length int64, body io.Reader, err error) {
	var buffer bytes.Buffer
	w := multipart.NewWriter(&buffer)
	for _, field := range f.fields {
		if err := w.WriteField(field.Name, field.Value); err != nil {
			return "", 0, nil, err
		}
	}
	if f.file == "" {
		err = w.Close()
		return w.FormDataContentType(), int64(buffer.Len()), &buffer, err
	}
	if _, err := w.CreateFormFile("content", f.file); err != nil {
		return "", 0, nil, fmt.Errorf("cannot write the upload form of %q: %w", f.file, err)
	}
	head := bytes.Clone(buffer.Bytes())
	buffer.Reset()
	if err := w.Close(); err != nil {
		return "", 0, nil, err
	}
	tail := buffer.Bytes()
	return w.FormDataContentType(), int64(len(head)) + size + int64(len(tail)), io.MultiReader(bytes.NewReader(head), content, bytes.NewReader(tail)), nil
}
