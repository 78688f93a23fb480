package mask_test

import (
	"bytes"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/mask"
)

// bashForms writes each secret of its input, which end with NUL, in the ways in which bash shows words.
const bashForms = `
show() { printf '%s\0' "$1"; }
PS4=
exec 9>&1
BASH_XTRACEFD=9
while IFS= read -r -d '' S; do
	show "printf %q	$(printf %q "$S")"
	show "printf %q within	$(printf %q "user:$S@host")"
	show "@Q	${S@Q}"
	show "declare -p	$(declare -p S)"
	show "export -p	$(export S; sh -c 'export -p' | sed -n "/^export S=/,/^export /p" | sed '1n;/^export /d')"
	printf 'set -x	'; { set -x; : "$S"; set +x; } ; printf '\0'
	printf 'set -x within	'; { set -x; : "user:$S@host"; set +x; } ; printf '\0'
	printf 'set -x of an assignment	'; { set -x; X="$S"; set +x; } ; printf '\0'
	show "coreutils printf	$(env printf %q "$S")"
	show "base64	$(printf %s "$S" | base64)"
	show "base64 in a line	$(printf %s "user:$S" | base64 -w0)"
	show "xxd	$(printf %s "$S" | od -An -tx1 -v | tr -d ' \n')"
	show "end"
done
`

// pythonForms does the same with what Python's libraries make of strings.
const pythonForms = `
import ast, base64, html, json, shlex, sys, urllib.parse, xml.sax.saxutils as sax
def show(name, form): sys.stdout.buffer.write((name + "\t" + form).encode("utf-8", "surrogatepass") + b"\0")
for raw in sys.stdin.buffer.read().split(b"\0")[:-1]:
    s = raw.decode()
    show("repr", repr(s)); show("repr of a list", repr(["user:" + s])); show("repr of a repr", repr(repr(s)))
    show("repr of bytes", repr(raw)[1:]); show("ascii", ascii(s)); show("repr of a quote and it", repr("'" + s)); show("repr of both", repr("'\"" + s))
    t = s
    for level in range(1, 5):
        t = json.dumps([t]); show("json %d" % level, t)
    t = s
    for level in range(1, 5):
        t = json.dumps([t], ensure_ascii=False); show("json utf-8 %d" % level, t)
    show("html.escape", html.escape(s)); show("html without quotes", html.escape(s, quote=False)); show("html twice", html.escape(html.escape(s)))
    show("sax", sax.escape(s)); show("quote", urllib.parse.quote(s)); show("quote all", urllib.parse.quote(s, safe=""))
    show("quote_plus", urllib.parse.quote_plus(s)); show("urlencode", urllib.parse.urlencode({"_": s})); show("quote twice", urllib.parse.quote(urllib.parse.quote(s)))
    show("shlex", shlex.quote(s)); show("shlex.join", shlex.join(["curl", "-u", "user:" + s]))
    for before in range(3): show("base64 %d" % before, base64.b64encode(b"<" * before + raw + b">>").decode())
    show("hex", raw.hex()); show("urlsafe", base64.urlsafe_b64encode(raw).decode())
    show("end", "")
`

// known is what of a tool's line is not the secret: its own words, and characters that quote.
var known = regexp.MustCompile(`user:|@host|curl -u|\bcurl\b|declare -+x? S=|declare -- S=|export S=|: |set \+x|X=|\*\*\*|&(amp;)*(quot|#x27);|\\(x27|u0027)`)

var content = regexp.MustCompile(`[A-Za-z0-9é✓𝄞]`)

// secretsFor makes secrets of awkward characters with a known seed.
func secretsFor(seed uint64, n int) []string {
	pieces := []string{
		"'", "''", `"`, `\`, `\\`, "$", "&", "<", ">", "/", "%", "+", " ", "!", "#", "~", "=", ":", "`", "|", ";", "*", "?", "[", "]", "{", "}", "(", ")",
		",", "^", "@", ".", "-", "_", "Q2", "w", "Zk9", "x", "n", "0", "77", "\n", "\t", "\x1b", "\x01", "é", "✓", "𝄞",
	}
	random := rand.New(rand.NewPCG(seed, 8)) //nolint:gosec // tests
	out := []string{`pa'ss"w&rd<9>\x/Q2`, "correct horse battery staple", "-----BEGIN KEY-----\nMIIabcd+/gh==\n-----END KEY-----"}
	for len(out) < n {
		var b strings.Builder
		b.WriteString("Ab")
		for range 6 + random.IntN(14) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		out = append(out, b.String()+"yZ")
	}
	return out
}

// TestToolsDoNotShowSecrets has real tools quote secrets, and looks for what is left of them in the masked text.
func TestToolsDoNotShowSecrets(t *testing.T) {
	list := secretsFor(13, 120)
	for _, tool := range []struct {
		name string
		args []string
		env  string
	}{
		{"bash", []string{"bash", "-c", bashForms}, "LC_ALL=C.UTF-8"},
		{"bash in the locale C", []string{"bash", "-c", bashForms}, "LC_ALL=C"},
		{"python", []string{"python3", "-c", pythonForms}, "PYTHONUTF8=1"},
	} {
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), tool.args[0], tool.args[1:]...)
			cmd.Env = append(cmd.Environ(), tool.env)
			cmd.Stdin = strings.NewReader(strings.Join(list, "\x00") + "\x00")
			said, err := cmd.Output()
			if err != nil {
				t.Fatalf("cannot run %s: %v", tool.name, err)
			}
			of := regexp.MustCompile(`end\t?\x00`).Split(string(said), -1)
			if len(of) != len(list)+1 {
				t.Fatalf("%s says something of %d secrets, expected %d", tool.name, len(of)-1, len(list))
			}
			for i, secret := range list {
				m := masker(t, secret)
				lines := strings.Split(strings.TrimSuffix(of[i], "\x00"), "\x00")
				if len(lines) < 12 {
					t.Fatalf("%s says %q of %q", tool.name, lines, secret)
				}
				for _, line := range lines {
					name, form, _ := strings.Cut(line, "\t")
					judge(t, m.Text(form), name, secret, form)
					judge(t, inPieces(t, m, form), name+" in pieces", secret, form)
				}
			}
		})
	}
}

func judge(t *testing.T, masked, name, secret, form string) {
	t.Helper()
	if strings.HasPrefix(name, "base64") || strings.HasPrefix(name, "urlsafe") { // characters that are shared with neighbours stay
		if left := len(strings.ReplaceAll(masked, "***", "")); left > len(form)/4+14 || !strings.Contains(masked, "***") {
			t.Errorf("%s of %q: %q became %q", name, secret, form, masked)
		}
		return
	}
	if rest := known.ReplaceAllString(masked, ""); content.MatchString(rest) || !strings.Contains(masked, "***") {
		t.Errorf("%s of %q: %q became %q", name, secret, form, masked)
	}
}

// inPieces masks a text that is written a few bytes at a time.
func inPieces(t *testing.T, m *mask.Masker, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := m.NewWriter(&out)
	for i := 0; i < len(text); i += 3 {
		_, _ = w.Write([]byte(text[i:min(i+3, len(text))]))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
