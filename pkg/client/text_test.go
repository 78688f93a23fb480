package client_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/sluiceci/sluice/pkg/client"
)

func TestLineIsHarmless(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain text":                      "plain text",
		"größer → schön":                  "größer → schön",
		"red \x1b[31mtitle\x1b[0m":        "red title",
		"own title \x1b]0;pwned\a.":       "own title .",
		"link \x1b]8;;http://x\x1b\\here": "link here",
		"\u009b31mC1":                     "C1",
		"\u009d0;t\u009cend":              "end",
		"never ends \x1b]0;abc":           "never ends ",
		"device \x1bP1$r\x1b\\ok":         "device ok",
		"charset \x1b(0 x":                "charset  x",
		"clear\x1bc.":                     "clear.",
		"two\nlines\tand\rmore":           "two lines and more",
		"bell\a back\b del\x7f nul\x00":   "bell back del nul",
		"exe\u202egnp.txt":                "exegnp.txt",
		"broken \xff\xfe bytes":           "broken \ufffd\ufffd bytes",
		"cut \x1b[12":                     "cut ",
		"nested \x1b[1\x1b[31mx":          "nested x",
		"lone \x1b":                       "lone ",
	} {
		if got := client.Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLogLineKeepsColourOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in           string
		colour, bare string
	}{
		{"plain\n", "plain", "plain"},
		{"\x1b[1;31mFAIL\x1b[0m x", "\x1b[1;31mFAIL\x1b[0m x\x1b[0m", "FAIL x"},
		{"\x1b[2K\x1b[1Agone", "gone", "gone"},
		{"10%\r50%\r100%\r\n", "100%", "100%"},
		{"a\tb", "a\tb", "a\tb"},
		{"\x1b]0;t\x07x", "x", "x"},
		{"\x1b[?25lhidden cursor", "hidden cursor", "hidden cursor"},
		{"\x1b[>4;2m", "", ""},
	} {
		if got := client.LogLine(c.in, true); got != c.colour {
			t.Errorf("LogLine(%q, colour) = %q, want %q", c.in, got, c.colour)
		}
		if got := client.LogLine(c.in, false); got != c.bare {
			t.Errorf("LogLine(%q) = %q, want %q", c.in, got, c.bare)
		}
	}
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;:]*m")

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a\x1b[31mb", "\x1b]0;x\a", "\u009b1m", "\x1bP\x1b\\", "\r\n\t", "\xc2", "\u202e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, out := range []string{client.Line(s), client.LogLine(s, false), sgr.ReplaceAllString(client.LogLine(s, true), "")} {
			if !utf8.ValidString(out) {
				t.Fatalf("%q became %q, which is not UTF-8", s, out)
			}
			if i := strings.IndexFunc(out, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }); i >= 0 {
				t.Fatalf("%q became %q, which has a control character at %d", s, out, i)
			}
		}
	})
}
