package world

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
)

// Servers are a whole surrounding on loopback: a forge, a Python index that takes uploads, an image registry, and a
// folder "published" that a web server shows, as static indexes are.
type Servers struct {
	Forge *Forge
	PyPI  *PyPI

	dir     string
	urls    map[string]string
	serving []*http.Server
}

// Hooks is where a forge sends its webhooks, and the secret that it signs them with.
type Hooks struct{ URL, Secret string }

// Serve starts the servers over a directory. They end with Close.
func Serve(dir string, hooks Hooks, uploadToken string) (*Servers, error) {
	s := &Servers{dir: dir, urls: map[string]string{}, PyPI: NewPyPI(uploadToken)}
	listener, err := s.listen("forge")
	if err != nil {
		return nil, err
	}
	s.Forge = NewForge(filepath.Join(dir, "forge"), s.urls["forge"], hooks.URL, hooks.Secret)
	s.serve(listener, s.Forge.Handler())
	for name, handler := range map[string]http.Handler{
		"pypi": s.PyPI.Handler(), "registry": Registry(), "files": http.FileServer(http.Dir(s.Path("published"))),
	} {
		listener, err := s.listen(name)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.serve(listener, handler)
	}
	return s, nil
}

func (s *Servers) listen(name string) (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot listen on loopback for the %s: %w", name, err)
	}
	s.urls[name] = "http://" + l.Addr().String()
	return l, nil
}

func (s *Servers) serve(l net.Listener, h http.Handler) {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 0}
	s.serving = append(s.serving, server)
	go func() { _ = server.Serve(l) }() // ends with Close
}

// Close ends the servers. What they hold stays in the directory.
func (s *Servers) Close() {
	for _, server := range s.serving {
		_ = server.Close()
	}
}

// URL is where a server answers: "forge", "pypi", "registry" or "files".
func (s *Servers) URL(name string) string { return s.urls[name] }

// Path is a file of the surrounding, by its name with slashes.
func (s *Servers) Path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// Folders makes folders of the surrounding.
func (s *Servers) Folders(names ...string) error {
	for _, name := range names {
		if err := os.MkdirAll(s.Path(name), 0o755); err != nil {
			return err
		}
	}
	return nil
}
