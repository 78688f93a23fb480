package bus

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ServerConf is the configuration of a nats-server that knows the identities. It holds public keys only.
type ServerConf struct {
	Name       string // of the server; unique in a cluster
	Listen     string // "0.0.0.0:4222"
	Store      string // directory of the streams
	Identities []Identity
	TLS        TLS // files on the server's machine; with CA, clients must show a certificate
}

// WriteTo writes the configuration in the server's own format.
func (c ServerConf) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# nats-server configuration for Sluice, written by \"sluice nats config\". It holds public keys only.\n")
	fmt.Fprintf(&b, "server_name: %s\nlisten: %s\nmax_payload: %d\n", quote(c.Name), quote(c.Listen), maxPayload)
	fmt.Fprintf(&b, "jetstream {\n  store_dir: %s\n  sync_interval: always # what was acknowledged survives a power cut\n}\n", quote(c.Store))
	c.tls(&b)
	accountsConf(&b, c.Identities)
	b.WriteString(clusterConf)
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

// clusterConf is a template: only the operator knows the names of the other servers.
const clusterConf = `# For a cluster of three servers, give each a server_name of its own and the same of this, with its peers as routes.
# The servers must trust each other: protect this port with TLS or a private network.
# cluster {
#   name: sluice
#   listen: 0.0.0.0:6222
#   routes: [nats://nats-1:6222, nats://nats-2:6222, nats://nats-3:6222]
#   tls { cert_file: "...", key_file: "...", ca_file: "...", verify: true }
# }
`

func (c ServerConf) tls(b *strings.Builder) {
	if c.TLS.Cert == "" {
		return
	}
	fmt.Fprintf(b, "tls {\n  cert_file: %s\n  key_file: %s\n", quote(c.TLS.Cert), quote(c.TLS.Key))
	if c.TLS.CA != "" {
		fmt.Fprintf(b, "  ca_file: %s\n  verify: true # clients show a certificate\n", quote(c.TLS.CA))
	}
	b.WriteString("}\n")
}

func (i Identity) conf(b *strings.Builder) {
	fmt.Fprintf(b, "      { # %s\n        nkey: %s\n        permissions {\n", i.Rights.Identity, i.Public)
	fmt.Fprintf(b, "          publish {\n            allow: [%s]\n", subjectList(i.Rights.Publish))
	if len(i.Rights.Deny) > 0 {
		fmt.Fprintf(b, "            deny: [%s]\n", subjectList(i.Rights.Deny))
	}
	fmt.Fprintf(b, "          }\n          subscribe {\n            allow: [%s]\n          }\n        }\n      }\n", subjectList(i.Rights.Subscribe))
}

func subjectList(subjects []string) string {
	var b strings.Builder
	for _, s := range subjects {
		b.WriteString("\n              " + quote(s))
	}
	return b.String() + "\n            "
}

// quote writes a string as the server's configuration reads it: a bare "$" would name a variable.
func quote(s string) string { return strconv.Quote(s) }
