package publisher

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"
)

// faulty stands before a server and misbehaves as told. It counts the writes that the server accepted.
type faulty struct {
	next http.Handler

	mu       sync.Mutex
	mode     string // "", "500", "429", "401", "403", "read-only", "hang", "corrupt"
	wait     string // Retry-After of failures, in seconds
	dieAfter int    // the n-th accepted write from now on is not answered: the connection dies; 0 never
	accepted []string
	stop     chan struct{}
	hanging  chan struct{} // closed when a write hangs
	freeze   func()        // called in mode "freeze PATH" when somebody reads what ends so
}

// awaitHanging waits until a write hangs.
func (f *faulty) awaitHanging(t *testing.T) {
	t.Helper()
	select {
	case <-f.hanging:
	case <-time.After(time.Minute):
		t.Fatal("no upload came")
	}
}

// serveFaulty starts a server on loopback behind a faulty front.
func serveFaulty(t *testing.T, next http.Handler) (*faulty, string) {
	t.Helper()
	f := &faulty{next: next, wait: "7", stop: make(chan struct{}), hanging: make(chan struct{})}
	server := httptest.NewServer(f)
	t.Cleanup(func() {
		close(f.stop)
		server.CloseClientConnections()
		server.Close()
	})
	return f, server.URL
}

func (f *faulty) set(mode string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mode = mode
}

func (f *faulty) die(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dieAfter = n
}

func (f *faulty) writes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.accepted...)
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	mode := f.mode
	f.mu.Unlock()
	switch mode {
	case "hang":
		select {
		case <-f.stop:
		case <-r.Context().Done():
		}
		return
	case "500", "429", "401", "403":
		w.Header().Set("Retry-After", f.wait)
		w.WriteHeader(map[string]int{"500": 500, "429": 429, "401": 401, "403": 403}[mode])
		_, _ = fmt.Fprintf(w, "you sent %s", r.Header.Get("Authorization"))
		return
	}
	if strings.HasPrefix(mode, "freeze ") && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, strings.TrimPrefix(mode, "freeze ")) {
		f.freeze()
	}
	if mode == "hang-writes" && r.Method == http.MethodPost && r.ContentLength > 1000 {
		close(f.hanging)
		select {
		case <-f.stop:
		case <-r.Context().Done():
		}
		return
	}
	if mode == "read-only" && r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	f.pass(w, r, mode)
}

func (f *faulty) pass(w http.ResponseWriter, r *http.Request, mode string) {
	rec := httptest.NewRecorder()
	f.next.ServeHTTP(rec, r)
	isWrite := r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch
	if isWrite && rec.Code < 300 && f.accept(r) {
		panic(http.ErrAbortHandler)
	}
	body := rec.Body.Bytes()
	if mode == "corrupt" && r.Method == http.MethodGet && len(body) > 0 && isDownload(r.URL.Path) {
		body[len(body)/2] ^= 1
	}
	for k, v := range rec.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(rec.Code)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// accept notes a write and says whether the connection dies now.
func (f *faulty) accept(r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.accepted = append(f.accepted, r.Method+" "+r.URL.Path)
	if f.dieAfter > 0 {
		f.dieAfter--
		return f.dieAfter == 0
	}
	return false
}

func isDownload(p string) bool {
	return strings.HasPrefix(p, "/files/") || strings.HasSuffix(p, ".jar") || strings.Contains(p, "/blobs/")
}

// pypiServer behaves as Gitea's: an upload of a name that is there is 409 whatever its bytes, pages are HTML only.
type pypiServer struct {
	password string
	json     bool // PEP 691 instead

	mu       sync.Mutex
	files    map[string][]byte
	forms    map[string]map[string][]string
	received map[string]int
}

func newPypiServer(password string) *pypiServer {
	return &pypiServer{password: password, files: map[string][]byte{}, forms: map[string]map[string][]string{}, received: map[string]int{}}
}

func (s *pypiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/legacy/":
		w.WriteHeader(s.upload(r))
	case strings.HasPrefix(r.URL.Path, "/simple/"):
		s.page(w, path.Base(r.URL.Path))
	case strings.HasPrefix(r.URL.Path, "/files/"):
		if b, ok := s.files[path.Base(r.URL.Path)]; ok {
			_, _ = w.Write(b)
			return
		}
		http.NotFound(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *pypiServer) upload(r *http.Request) int {
	if user, password, _ := r.BasicAuth(); user != "__token__" || password != s.password {
		return http.StatusUnauthorized
	}
	if err := r.ParseMultipartForm(1 << 20); err != nil { //nolint:gosec // a test's server
		return http.StatusBadRequest
	}
	file, header, err := r.FormFile("content")
	if err != nil || r.FormValue(":action") != "file_upload" || r.FormValue("protocol_version") != "1" || r.ContentLength <= 0 {
		return http.StatusBadRequest
	}
	b, _ := io.ReadAll(file)
	if sum := sha256.Sum256(b); r.FormValue("sha256_digest") != hex.EncodeToString(sum[:]) {
		return http.StatusBadRequest
	}
	if _, there := s.files[header.Filename]; there {
		return http.StatusConflict
	}
	s.files[header.Filename] = b
	s.forms[header.Filename] = r.MultipartForm.Value
	s.received[header.Filename]++
	return http.StatusCreated
}

func (s *pypiServer) page(w http.ResponseWriter, project string) {
	page := simplePage{Name: project, Files: []simpleFile{}}
	var links strings.Builder
	for name, b := range s.files {
		if d, err := parseDistribution(name); err != nil || d.Project != project {
			continue
		}
		sum := sha256.Sum256(b)
		_, _ = fmt.Fprintf(&links, "<a href=\"../../files/%s#sha256=%x\" data-requires-python=\"%s\">%s</a><br/>\n", name, sum, html.EscapeString(">=3.8"), name)
		page.add(simpleFile{Filename: name, URL: "../../files/" + name, Hashes: map[string]string{"sha256": hex.EncodeToString(sum[:])}}, "1.0")
	}
	switch {
	case links.Len() == 0:
		w.WriteHeader(http.StatusNotFound)
	case s.json:
		w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
		b, _ := page.json()
		_, _ = w.Write(b)
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, "<!DOCTYPE html><html><body>%s</body></html>", links.String())
	}
}

// mavenHost is a Maven repository over HTTP PUT. As Gitea it makes checksums and maven-metadata.xml itself, compares
// uploaded checksums to the byte, and refuses a file that is there; else it stores what it gets.
type mavenHost struct {
	gitea    bool
	password string

	mu       sync.Mutex
	files    map[string][]byte
	received map[string]int
}

func newMavenHost(gitea bool, password string) *mavenHost {
	return &mavenHost{gitea: gitea, password: password, files: map[string][]byte{}, received: map[string]int{}}
}

func (s *mavenHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.TrimPrefix(r.URL.Path, "/maven/")
	switch r.Method {
	case http.MethodPut:
		if _, password, _ := r.BasicAuth(); password != s.password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		b, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest) // it was cut off
			return
		}
		w.WriteHeader(s.put(name, b))
	case http.MethodGet:
		b, ok := s.get(name)
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(b)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (s *mavenHost) put(name string, b []byte) int {
	if s.gitea {
		if path.Base(name) == "maven-metadata.xml" {
			return http.StatusOK
		}
		if made, ok := s.checksum(name); ok {
			if string(made) != string(b) {
				return http.StatusBadRequest
			}
			return http.StatusOK
		}
		if _, there := s.files[name]; there {
			return http.StatusConflict
		}
	}
	s.files[name] = b
	s.received[name]++
	return http.StatusCreated
}

func (s *mavenHost) get(name string) ([]byte, bool) {
	if b, ok := s.files[name]; ok {
		return b, true
	}
	if !s.gitea {
		return nil, false
	}
	if path.Base(name) == "maven-metadata.xml" {
		return s.metadata(path.Dir(name))
	}
	return s.checksum(name)
}

func (s *mavenHost) checksum(name string) ([]byte, bool) {
	ending := path.Ext(name)
	b, ok := s.get0(strings.TrimSuffix(name, ending))
	if !ok {
		return nil, false
	}
	sum, ok := textContent(b).sums[ending]
	return []byte(sum), ok
}

func (s *mavenHost) get0(name string) ([]byte, bool) {
	if path.Base(name) == "maven-metadata.xml" {
		return s.metadata(path.Dir(name))
	}
	b, ok := s.files[name]
	return b, ok
}

func (s *mavenHost) metadata(home string) ([]byte, bool) {
	var m mavenMetadata
	for name := range s.files {
		if version := path.Base(path.Dir(name)); path.Dir(path.Dir(name)) == home && !m.lists(version) {
			m.Versioning.Versions = append(m.Versioning.Versions, version)
		}
	}
	if len(m.Versioning.Versions) == 0 {
		return nil, false
	}
	return fmt.Appendf(nil, "<metadata><versioning><versions><version>%s</version></versions></versioning></metadata>",
		strings.Join(m.Versioning.Versions, "</version><version>")), true
}
