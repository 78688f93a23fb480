// Sbom prints the software bill of materials of a binary, CycloneDX as JSON: the modules that it was built of, as the linker wrote
// them into it with their checksums, and the scripts of others that its pages carry. make sbom.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY STATIC-DIRECTORY >sluice.cdx.json")
		os.Exit(64)
	}
	if err := run(os.Args[1], os.Args[2], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(binary, static string, out io.Writer) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("cannot read what %s was built of: %w; build it with make build", binary, err)
	}
	scripts, err := vendored(static)
	if err != nil {
		return err
	}
	bom := bill(info, scripts)
	e := cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON)
	return e.SetPretty(true).SetEscapeHTML(false).Encode(bom)
}

// bill is the same for the same binary: it has no time and no serial number.
func bill(info *buildinfo.BuildInfo, scripts []cdx.Component) *cdx.BOM {
	bom := cdx.NewBOM()
	main := module(&info.Main)
	main.Type = cdx.ComponentTypeApplication
	bom.Metadata = &cdx.Metadata{Component: &main}
	components := []cdx.Component{{
		BOMRef: "go", Type: cdx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion,
		PackageURL: "pkg:golang/std@" + info.GoVersion, Description: "The standard library of Go",
	}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		components = append(components, module(m))
	}
	components = append(components, scripts...)
	bom.Components = &components
	return bom
}

func module(m *debug.Module) cdx.Component {
	url := "pkg:golang/" + m.Path + "@" + m.Version
	c := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: url}
	if m.Sum != "" {
		c.Properties = &[]cdx.Property{{Name: "go:sum", Value: m.Sum}}
	}
	return c
}

// script is how a script of somebody else is named: with its version.
var script = regexp.MustCompile(`^([a-z][a-zA-Z-]*)-(\d+\.\d+\.\d+)\.min\.(js|css)$`)

// vendored lists the scripts of others, by their names.
func vendored(dir string) (out []cdx.Component, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot list the vendored scripts: %w", err)
	}
	for _, e := range entries {
		parts := script.FindStringSubmatch(e.Name())
		if parts == nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		url, sum := "pkg:npm/"+npmName(parts[1])+"@"+parts[2], sha256.Sum256(text)
		out = append(out, cdx.Component{
			BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: parts[1], Version: parts[2], PackageURL: url,
			Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		})
	}
	return out, nil
}

// npmName is what a script's package is called where it comes from.
func npmName(name string) string {
	switch name {
	case "htmx":
		return "htmx.org"
	case "htmx-sse":
		return "htmx-ext-sse"
	}
	return name
}
