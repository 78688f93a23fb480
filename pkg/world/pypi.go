package world

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// PyPI is a Python index that takes uploads by the legacy API and serves the simple API, HTML and JSON. Like the real
// one it takes the same bytes again, and refuses other bytes under a name that it has.
type PyPI struct {
	token string

	mu      sync.Mutex
	files   map[string][]byte // by file name
	project map[string]string // file name → normalised project
	uploads map[string]int    // file name → how often it was stored
}

// NewPyPI makes an empty index whose uploads need the token (user "__token__").
func NewPyPI(token string) *PyPI {
	return &PyPI{token: token, files: map[string][]byte{}, project: map[string]string{}, uploads: map[string]int{}}
}

// Uploads tells how often each file was stored: more than once would be a publication made twice.
func (p *PyPI) Uploads() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string]int, len(p.uploads))
	for name, n := range p.uploads {
		out[name] = n
	}
	return out
}

// Handler serves POST /legacy/, /simple/ and /files/.
func (p *PyPI) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /legacy/", p.upload)
	mux.HandleFunc("GET /simple/{$}", p.projects)
	mux.HandleFunc("GET /simple/{project}/{$}", p.simple)
	mux.HandleFunc("GET /files/{name}", p.file)
	return mux
}

func (p *PyPI) upload(w http.ResponseWriter, r *http.Request) {
	if _, password, ok := r.BasicAuth(); !ok || password != p.token {
		http.Error(w, "Invalid or non-existent authentication information.", http.StatusForbidden)
		return
	}
	if err := r.ParseMultipartForm(64 << 20); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	file, header, err := r.FormFile("content")
	if err != nil {
		http.Error(w, "no content", http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(file)
	if err != nil || r.FormValue("sha256_digest") != sum(body) {
		http.Error(w, "The digest supplied does not match a digest calculated from the uploaded file.", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	known, exists := p.files[header.Filename]
	switch {
	case !exists:
		p.files[header.Filename], p.project[header.Filename] = body, normal(r.FormValue("name"))
		p.uploads[header.Filename]++
	case sum(known) != sum(body):
		http.Error(w, "File already exists.", http.StatusBadRequest)
	}
}

func sum(b []byte) string {
	digest := sha256.Sum256(b)
	return hex.EncodeToString(digest[:])
}

func normal(name string) string {
	return strings.ToLower(regexp.MustCompile(`[-_.]+`).ReplaceAllString(name, "-"))
}

func (p *PyPI) projects(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for _, project := range p.project {
		names = append(names, project)
	}
	slices.Sort(names)
	fmt.Fprintln(w, "<!DOCTYPE html><html><body>")
	for _, name := range slices.Compact(names) {
		fmt.Fprintf(w, "<a href=\"/simple/%s/\">%s</a>\n", name, html.EscapeString(name))
	}
	fmt.Fprintln(w, "</body></html>")
}

func (p *PyPI) simple(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for file, project := range p.project {
		if project == r.PathValue("project") {
			names = append(names, file)
		}
	}
	if len(names) == 0 {
		http.NotFound(w, r)
		return
	}
	slices.Sort(names)
	if strings.Contains(r.Header.Get("Accept"), "application/vnd.pypi.simple.v1+json") {
		p.simpleJSON(w, r.PathValue("project"), names)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintln(w, "<!DOCTYPE html><html><body>")
	for _, name := range names {
		fmt.Fprintf(w, "<a href=\"/files/%s#sha256=%s\">%s</a>\n", name, sum(p.files[name]), html.EscapeString(name))
	}
	fmt.Fprintln(w, "</body></html>")
}

func (p *PyPI) simpleJSON(w http.ResponseWriter, project string, names []string) {
	files := []map[string]any{}
	for _, name := range names {
		files = append(files, map[string]any{
			"filename": name, "url": "/files/" + name, "hashes": map[string]string{"sha256": sum(p.files[name])}, "size": len(p.files[name]),
		})
	}
	w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"meta": map[string]string{"api-version": "1.0"}, "name": project, "files": files,
	})
}

func (p *PyPI) file(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	body, ok := p.files[r.PathValue("name")]
	p.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(body)
}
