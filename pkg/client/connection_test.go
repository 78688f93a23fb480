package client_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/fault"
)

func place(t *testing.T, connection string) client.Place {
	t.Helper()
	dir := t.TempDir()
	if connection != "" {
		if err := os.WriteFile(filepath.Join(dir, client.ConnectionFile), []byte(connection), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return client.Place{Dir: dir}
}

const local = `{"url":"http://127.0.0.1:8030","token":"local-token","nats":"nats://127.0.0.1:4222","nats_seed":"n"}`

func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		file          string
		server, token string
		url, gotToken string
		nats          string
	}{
		{"the local one", local, "", "", "http://127.0.0.1:8030", "local-token", "nats://127.0.0.1:4222"},
		{"the local one by name", local, "http://127.0.0.1:8030/", "", "http://127.0.0.1:8030", "local-token", "nats://127.0.0.1:4222"},
		{"another one gets no local token", local, "https://sluice.example", "", "https://sluice.example", "", ""},
		{"another one with its token", local, "https://sluice.example", "theirs", "https://sluice.example", "theirs", ""},
		{"the file's server gets the file's token", local, "", "mine", "http://127.0.0.1:8030", "local-token", "nats://127.0.0.1:4222"},
		{"the variable wins where the server is named", local, "http://127.0.0.1:8030", "mine", "http://127.0.0.1:8030", "mine", "nats://127.0.0.1:4222"},
		{"no file", "", "https://sluice.example", "", "https://sluice.example", "", ""},
		{"a broken file of no use", "{", "https://sluice.example", "", "https://sluice.example", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := place(t, c.file)
			p.Server, p.Token = c.server, c.token
			at, err := client.Find(p)
			if err != nil {
				t.Fatal(err)
			}
			if at.URL != c.url || at.Token != c.gotToken || at.NATS != c.nats {
				t.Errorf("found %+v, want URL %s, token %q, NATS %q", at, c.url, c.gotToken, c.nats)
			}
		})
	}
}

func TestFindSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, server, says string }{
		{"", "", "sluice up"},
		{`{"url": "http://x", "token": "s3cret`, "", "start it again"},
		{`{"url": 7, "token": "s3cret"}`, "", "start it again"},
		{"", "ftp://x", "expected something like"},
		{"", "127.0.0.1:8030", "expected something like"},
		{"", "http://user:s3cret@host", "$SLUICE_TOKEN"},
		{"", "http://%zz:s3cret@host", "expected something like"},
	} {
		p := place(t, c.file)
		p.Server = c.server
		_, err := client.Find(p)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("Find(%q, %q): %v, want an invalid fault that says %q", c.file, c.server, err, c.says)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error tells a secret: %v", err)
		}
	}
}

func FuzzConnection(f *testing.F) {
	f.Add([]byte(local))
	f.Add([]byte(`{"url":7}`))
	f.Add([]byte(`{"url":"http://[::1"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, client.ConnectionFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
		at, err := client.Find(client.Place{Dir: dir})
		if err != nil {
			return
		}
		if _, err := client.New(at); err != nil {
			t.Fatalf("found %+v, but cannot use it: %v", at, err)
		}
	})
}

// TestCheckoutNamesNoServer is attack 14: a repository that holds a connection file takes nobody's token, and sends nobody
// to another machine.
func TestCheckoutNamesNoServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file string
		mode       os.FileMode
		token      string
		says       string
	}{
		{"as git checks a file out", `{"url":"http://127.0.0.1:1"}`, 0o644, "mine", "its mode is 0644, expected 0600"},
		{"readable by the group", local, 0o640, "", "its mode is 0640"},
		{"no token of its own", `{"url":"http://127.0.0.1:1"}`, 0o600, "mine", "--server or $SLUICE_SERVER"},
		{"another machine", `{"url":"http://attacker.example","token":"x"}`, 0o600, "", "not on this machine"},
		{"another machine by address", `{"url":"http://192.0.2.7:80","token":"x"}`, 0o600, "mine", "not on this machine"},
		{"another machine in other clothes", `{"url":"http://127.0.0.1.attacker.example","token":"x"}`, 0o600, "", "not on this machine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := place(t, c.file)
			p.Token = c.token
			if err := os.Chmod(filepath.Join(p.Dir, client.ConnectionFile), c.mode); err != nil {
				t.Fatal(err)
			}
			at, err := client.Find(p)
			if !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "mine") {
				t.Errorf("found %+v, %v; want it denied, with words of %q", at, err, c.says)
			}
		})
	}
}

// TestConnectionIsNoLink keeps a repository from naming another file of the user's.
func TestConnectionIsNoLink(t *testing.T) {
	t.Parallel()
	real, p := place(t, local), client.Place{Dir: t.TempDir()}
	if err := os.Symlink(filepath.Join(real.Dir, client.ConnectionFile), filepath.Join(p.Dir, client.ConnectionFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Find(p); !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), "no plain file") {
		t.Errorf("a link gives %v, want it denied", err)
	}
}
