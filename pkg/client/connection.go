package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Connection is where a Sluice is reached and what it demands. `sluice up` writes one for the clients of its machine.
type Connection struct {
	URL      string `json:"url"`
	Token    string `json:"token,omitempty"`     // of the API
	NATS     string `json:"nats,omitempty"`      // URL of the bus; empty when it has no socket
	NATSSeed string `json:"nats_seed,omitempty"` // of an identity that only looks
}

// ConnectionFile is the name of the file, in the directory of a Sluice, that holds its Connection.
const ConnectionFile = "connection.json"

// maxConnection bounds the file, in bytes.
const maxConnection = 1 << 16

// Place says where to look for a Sluice.
type Place struct {
	Server string // URL, as --server and $SLUICE_SERVER give it; it wins
	Token  string // $SLUICE_TOKEN; it goes to Server only
	Dir    string // of a Sluice on this machine: its connection file is read
}

// Find finds the Sluice that is meant. The token of a connection file goes to the server of that file only, and the token
// of the environment to a server that was named only: a checkout may hold a connection file of anybody's making.
func Find(p Place) (Connection, error) {
	local, err := readConnection(filepath.Join(p.Dir, ConnectionFile))
	switch {
	case p.Server == "" && errors.Is(err, fs.ErrNotExist):
		return Connection{}, fault.New(fault.Invalid,
			"cannot find a Sluice: there is no %s; start one here with \"sluice up\", or name one with --server, $SLUICE_SERVER or --dir",
			filepath.Join(p.Dir, ConnectionFile))
	case p.Server == "" && err != nil:
		return Connection{}, err
	}
	at := local
	if p.Server != "" && (err != nil || strings.TrimRight(p.Server, "/") != strings.TrimRight(local.URL, "/")) {
		at = Connection{URL: p.Server}
	}
	if _, err := serverURL(at.URL); err != nil {
		return at, err
	}
	return p.withToken(at)
}

func readConnection(name string) (Connection, error) {
	var c Connection
	info, err := os.Lstat(name)
	if err != nil {
		return c, err
	}
	if err := trusted(name, info); err != nil {
		return c, err
	}
	if info.Size() > maxConnection {
		return c, fault.New(fault.Invalid, "cannot read %s: it has %d bytes, expected at most %d", name, info.Size(), maxConnection)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return c, fault.New(fault.Invalid, "cannot find the Sluice of this directory: %w", err)
	}
	if err := decodeConnection(name, text, &c); err != nil {
		return c, err
	}
	return c, onThisMachine(name, c)
}

func decodeConnection(name string, text []byte, c *Connection) error {
	if err := json.Unmarshal(text, c); err != nil {
		// The decoder's words may quote the file, and the file holds tokens.
		return fault.New(fault.Invalid, "cannot read %s: it is not the JSON that \"sluice up\" writes; start it again", name)
	}
	return nil
}

// serverURL checks the URL of a server. One that holds a password is refused: it would stand in the process list.
func serverURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot use the server's URL: expected something like http://127.0.0.1:8030")
	}
	if u.User != nil {
		return nil, fault.New(fault.Invalid, "cannot use the server's URL: it holds a user or a password; give the token as $SLUICE_TOKEN")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fault.New(fault.Invalid, "cannot use the server's URL %q: expected something like http://127.0.0.1:8030", Line(text))
	}
	u.RawQuery, u.Fragment = "", ""
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

// unreachable says that nothing answers, in words that help.
func unreachable(base *url.URL, err error) error {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return fault.New(fault.Transient, "cannot reach Sluice at %s: %w; is it running? start it with \"sluice up\"", base, dial.Err)
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fault.As(fault.Transient, fmt.Errorf("cannot ask Sluice at %s: %w", base, err))
}
