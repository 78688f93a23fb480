package pages

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestColours(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":                      "plain",
		"\x1b[31mred\x1b[0m plain":   `<span class="f1">red</span> plain`,
		"\x1b[1;4;92mx":              `<span class="f10 bold under">x</span>`,
		"\x1b[38;5;9mx\x1b[39my":     `<span class="f9">x</span>y`,
		"\x1b[38;5;200mx":            "x",
		"\x1b[38;2;1;2;3mx":          "x",
		"\x1b[41mx\x1b[49my":         `<span class="b1">x</span>y`,
		"\x1b[2Ja\x1b[10;20Hb":       "ab",
		"\x1b]0;a title\x07x":        "x",
		"\x1b]8;;http://a\x1b\\link": "link",
		"<b>&\"'":                    "&lt;b&gt;&amp;&#34;&#39;",
		"a\x00b\x08c\td":             "abc\td",
		"\x1b[31;<b>mx":              "&gt;mx",
		"\x1b":                       "",
		"a\x1b[":                     "a",
		"\u202eevil\u202c":           "evil",
		"\x1b[;mx":                   "x",
	} {
		var c colours
		if got := c.line(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestColoursLastOverLines(t *testing.T) {
	t.Parallel()
	var c colours
	_ = c.line("\x1b[31mred")
	if got := c.line("still"); got != `<span class="f1">still</span>` {
		t.Fatalf("the next line is %q", got)
	}
}

func TestLongLinesAreCut(t *testing.T) {
	t.Parallel()
	var c colours
	if got := c.line(strings.Repeat("x", 10*maxLine)); len(got) > maxLine+200 || !strings.Contains(got, "goes on") {
		t.Fatalf("a long line has %d bytes", len(got))
	}
}

// FuzzColours shows that whatever a task prints, the markup has spans of the known classes and nothing else.
func FuzzColours(f *testing.F) {
	for _, seed := range []string{"\x1b[31mred\x1b[0m", "<script>", "\x1b]0;x\x07", "\x1b[38;5;1m", "a\xffb", "\x1b[9999999999999999999m"} {
		f.Add(seed, "next")
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		var c colours
		for _, line := range []string{one, two} {
			z := html.NewTokenizer(strings.NewReader(c.line(line)))
			for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
				token := z.Token()
				switch kind {
				case html.StartTagToken:
					if token.Data != "span" || len(token.Attr) != 1 || token.Attr[0].Key != "class" {
						t.Fatalf("%q gives %v", line, token)
					}
				case html.EndTagToken, html.TextToken:
				default:
					t.Fatalf("%q gives %v", line, token)
				}
			}
		}
	})
}
