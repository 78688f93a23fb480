package mask_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/mask"
	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/test/property"
)

func masker(t testing.TB, secrets ...string) *mask.Masker {
	t.Helper()
	m, err := mask.New(secrets)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func ExampleNewWriter() {
	var out strings.Builder
	w, err := mask.NewWriter(&out, []string{"hunter22"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = io.WriteString(w, "password is hunt")
	_, _ = io.WriteString(w, "er22, or aHVudGVyMjI= in base64\n")
	_ = w.Flush()
	fmt.Print(out.String())
	// Output: password is ***, or ***I= in base64
}

func TestText(t *testing.T) {
	const pem = "-----BEGIN KEY-----\nMIIabcdefgh\nxy\nMIIzzzzzz99\n-----END KEY-----\n"
	for _, one := range []struct{ name, secret, text, want string }{
		{"plain", "s3cret", "a s3cret here", "a *** here"},
		{"twice in a row", "s3cret", "s3crets3cret", "******"},
		{"at the ends", "s3cret", "s3cret.s3cret", "***.***"},
		{"beginning only", "s3cret", "s3cre", "s3cre"},
		{"overlapping itself", "abab", "xababab.", "x***."},
		{"white space around it", "  s3cret\n", "a s3cret here", "a *** here"},
		{"one line of several", pem, "key MIIabcdefgh!", "key ***!"},
		{"all of several lines", pem, "key\n" + pem + "end", "key\n***end"},
		{"carriage returns", pem, strings.ReplaceAll(pem, "\n", "\r\n"), "***\r\n***\r\nxy\r\n***\r\n***\r\n"},
		{"query", "a b/c&d", "?q=" + url.QueryEscape("a b/c&d"), "?q=***"},
		{"path", "a b/c&d", "/" + url.PathEscape("a b/c&d"), "/***"},
		{"small percent", "a b/c&d", "?q=a+b%2fc%26d", "?q=***"},
		{"hex", "s3cret", "0x" + hex.EncodeToString([]byte("s3cret")), "0x***"},
		{"capital hex", "s3cret", strings.ToUpper(hex.EncodeToString([]byte("s3cret"))), "***"},
		{"json", `a"b<c>\d`, `{"k":"a\"b\u003cc\u003e\\d"}`, `{"k":"***"}`},
		{"json of python", `a"b<c>\d`, `{"k":"a\"b<c>\\d"}`, `{"k":"***"}`},
		{"not UTF-8", "\xff\xfe\x00\x01", "x\xff\xfe\x00\x01y", "x***y"},
	} {
		t.Run(one.name, func(t *testing.T) {
			if got := masker(t, one.secret).Text(one.text); got != one.want {
				t.Errorf("masked to %q, expected %q", got, one.want)
			}
		})
	}
}

func TestLongestWins(t *testing.T) {
	if got := masker(t, "abcd", "abcdefgh", "cdef").Text("abcdefgh abcdef abcdefgx"); got != "*** *** ***gx" {
		t.Errorf("masked to %q", got)
	}
}

func TestShortSecretsAreRefused(t *testing.T) {
	_, err := mask.New([]string{"", "long enough", "abc"})
	if !fault.Is(err, fault.Invalid) || strings.Contains(err.Error(), "abc") {
		t.Errorf("got %v", err)
	}
}

// TestBase64 looks for what a reader could decode of a secret within a larger encoded text.
func TestBase64(t *testing.T) {
	const secret = "correct horse battery staple, and 57 more bytes so that tools break the line: 0123456789"
	m := masker(t, secret)
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding} {
		for before := range 7 {
			for after := range 4 {
				text := encoding.EncodeToString([]byte(strings.Repeat("<", before) + secret + strings.Repeat(">", after)))
				if got := m.Text(text); strings.Count(got, "***") != 1 || len(got) > before*2+after*2+11 {
					t.Errorf("%d before, %d after: masked to %q", before, after, got)
				}
			}
		}
	}
	for _, width := range []int{64, 76} {
		encoded := base64.StdEncoding.EncodeToString([]byte(secret))
		if got := m.Text(encoded[:width] + "\n" + encoded[width:] + "\n"); got != "***\n***==\n" {
			t.Errorf("wrapped after %d: masked to %q", width, got)
		}
	}
}

// naive masks by looking for every pattern at every position: what the Masker must do, slowly.
func naive(secrets []string, text string) string {
	inside := make([]bool, len(text))
	starts := make([]bool, len(text))
	for _, secret := range secrets {
		for i := 0; i+len(secret) <= len(text); i++ {
			if text[i:i+len(secret)] == secret {
				starts[i] = true
				for j := range secret {
					inside[i+j] = true
				}
			}
		}
	}
	ends := 0 // Where the secrets that began so far end.
	var out strings.Builder
	for i := range text {
		if starts[i] {
			if i >= ends {
				out.WriteString(mask.Mask)
			}
			for _, secret := range secrets {
				if strings.HasPrefix(text[i:], secret) {
					ends = max(ends, i+len(secret))
				}
			}
		}
		if !inside[i] {
			out.WriteByte(text[i])
		}
	}
	return out.String()
}

func TestSplitsDoNotMatter(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		// No letter of the alphabet occurs in an encoding of another: the naive masker knows the plain form only.
		secrets := rapid.SliceOfN(rapid.StringMatching(`[~!]{4,9}`), 1, 4).Draw(t, "secrets")
		words := append([]string{"~", "!", "~!", "-", "\n"}, secrets...)
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(words)).Draw(t, "words"), "")
		m, err := mask.New(secrets)
		if err != nil {
			t.Fatal(err)
		}
		want := naive(secrets, text)
		if got := m.Text(text); got != want {
			t.Fatalf("%q masked to %q, expected %q", text, got, want)
		}
		var out bytes.Buffer
		w := m.NewWriter(&out)
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			_, _ = io.WriteString(w, rest[:n])
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil || out.String() != want {
			t.Fatalf("%q in pieces masked to %q (%v), expected %q", text, out.String(), err, want)
		}
	})
}

// leaks are the forms that a reader of a log would recognise.
func leaks(secret string) map[string]string {
	quoted, _ := json.Marshal(secret)
	return map[string]string{
		"plain": secret, "std": base64.StdEncoding.EncodeToString([]byte(secret)),
		"url": base64.URLEncoding.EncodeToString([]byte(secret)), "hex": hex.EncodeToString([]byte(secret)),
		"query": url.QueryEscape(secret), "path": url.PathEscape(secret), "json": string(quoted[1 : len(quoted)-1]),
	}
}

func FuzzNoSecretSurvives(f *testing.F) {
	f.Add("s3cret", "before", "after", 3)
	f.Add("a b&c%d", "x", "", 1)
	f.Add("abababab", "aba", "bab", 2)
	f.Fuzz(func(t *testing.T, secret, before, after string, size int) {
		m, err := mask.New([]string{secret})
		if err != nil || secret == "" || size <= 0 || len(secret)+len(before)+len(after) > 4096 || strings.Contains(secret, "*") {
			return
		}
		for name, form := range leaks(secret) {
			text := before + form + after
			var out bytes.Buffer
			w := m.NewWriter(&out)
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				_, _ = io.WriteString(w, rest[:n])
				rest = rest[n:]
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out.String(), secret) || !strings.Contains(out.String(), mask.Mask) {
				t.Errorf("%s: %q became %q", name, text, out.String())
			}
			if out.String() != m.Text(text) {
				t.Errorf("%s: in pieces %q, whole %q", name, out.String(), m.Text(text))
			}
		}
	})
}

func TestFinds(t *testing.T) {
	m := masker(t, "s3cret", strings.Repeat("long", 500))
	for _, one := range []struct {
		text string
		want bool
	}{
		{"", false},
		{"s3cre", false},
		{"s3cret", true},
		{strings.Repeat("x", 100_000) + hex.EncodeToString([]byte("s3cret")), true},
		{strings.Repeat("y", 64<<10-3) + "s3cret" + strings.Repeat("y", 70_000), true},
		{strings.Repeat("z", 200_000), false},
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(one.text), "byte by byte": iotest.OneByteReader(strings.NewReader(one.text))} {
			if name == "whole" || len(one.text) < 1000 {
				if got, err := m.Finds(r); got != one.want || err != nil {
					t.Errorf("%s, %d bytes: %v, %v", name, len(one.text), got, err)
				}
			}
		}
	}
	if _, err := m.Finds(iotest.ErrReader(errors.New("gone"))); err == nil {
		t.Error("the reader's error is lost")
	}
}

type failing struct{ calls int }

func (f *failing) Write([]byte) (int, error) { f.calls++; return 0, errors.New("full") }

func TestErrorOfTheWriterStops(t *testing.T) {
	to := &failing{}
	w := masker(t, "s3cret").NewWriter(to)
	if _, err := io.WriteString(w, "hello"); err == nil {
		t.Error("the error is lost")
	}
	if _, err := io.WriteString(w, "hello"); err == nil || w.Flush() == nil || to.calls != 1 {
		t.Errorf("written on after an error: %d calls", to.calls)
	}
}

func TestNothingIsHeldBackWithoutReason(t *testing.T) {
	var out bytes.Buffer
	w := masker(t, "s3cret").NewWriter(&out)
	_, _ = io.WriteString(w, "Continue? ")
	if out.String() != "Continue? " {
		t.Errorf("only %q was passed on", out.String())
	}
}

type counter struct{ n int }

func (c *counter) Write(b []byte) (int, error) { c.n += len(b); return len(b), nil }

func TestMemoryIsBounded(t *testing.T) {
	var out counter
	w := masker(t, strings.Repeat("s", 1000)+"!").NewWriter(&out)
	piece := bytes.Repeat([]byte("s"), 1<<16)
	if n := testing.AllocsPerRun(50, func() { _, _ = w.Write(piece) }); n > 2 {
		t.Errorf("%.0f allocations for each write", n)
	}
}

func BenchmarkWriter(b *testing.B) {
	line := []byte("2026-11-21T11:34:57Z INFO compiling src/module_42.c with -O2 -fPIC -Wall (17 of 340)\n")
	text := bytes.Repeat(line, 32<<10/len(line))
	for _, secrets := range [][]string{
		{"ghp_abcdefghijklmnopqrstuvwxyz0123456789"},
		{
			"ghp_abcdefghijklmnopqrstuvwxyz0123456789", "pypi-AgEIcHlwaS5vcmcCJDU", "correct horse battery staple",
			"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		},
		{strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n", 40)},
	} {
		b.Run(fmt.Sprintf("%d secrets of %d bytes", len(secrets), len(secrets[0])), func(b *testing.B) {
			w := masker(b, secrets...).NewWriter(io.Discard)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				_, _ = w.Write(text)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	secret := strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n", 40)
	for b.Loop() {
		masker(b, secret)
	}
}
