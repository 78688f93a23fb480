package pages

import (
	"embed"
	"net/http"
	"path"

	"github.com/sluiceci/sluice/pkg/release"
)

//go:embed static
var staticFiles embed.FS

//go:embed templates
var templateFiles embed.FS

// static serves the files that pages load. A page names each with its digest, so a browser keeps it for ever.
func static() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("file")
		content, err := staticFiles.ReadFile(path.Join("static", path.Base(name)))
		kind, known := map[string]string{
			".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
		}[path.Ext(name)]
		if err != nil || !known {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		_, _ = w.Write(content) // the client is gone when this fails
	})
}

// asset is the address of a static file.
func asset(name string) (string, error) {
	content, err := staticFiles.ReadFile("static/" + name)
	if err != nil {
		return "", err
	}
	return "/static/" + name + "?" + release.DigestOf(content).Hex()[:12], nil
}
