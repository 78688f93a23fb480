package world

import (
	"io"
	"log"
	"net/http"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Registry is an OCI registry that keeps images in memory.
func Registry() http.Handler { return registry.New(registry.Logger(log.New(io.Discard, "", 0))) }
