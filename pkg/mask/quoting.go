package mask

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// plain reports whether a text has none of some characters, no control characters and nothing beyond ASCII: most secrets
// look the same in most quotings, and need not be written in them.
func plain(text, special string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || strings.IndexByte(special, c) >= 0 {
			return false
		}
	}
	return true
}

var escape = regexp.MustCompile(`%[0-9A-F]{2}`)

// percent gives the forms of URL encoding: of queries and of paths, as Go, Python's urllib and JavaScript write them, with
// capital and small digits, and encoded a second time.
func percent(text string) []string {
	query := url.QueryEscape(text)
	quote := strings.ReplaceAll(query, "+", "%20")
	script := strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")
	forms := []string{query, url.PathEscape(text), quote, strings.ReplaceAll(quote, "%2F", "/"), script.Replace(quote)}
	for _, form := range forms {
		forms = append(forms, escape.ReplaceAllStringFunc(form, strings.ToLower), strings.ReplaceAll(form, "%", "%25"))
	}
	return forms
}

// maxLevels is how often a string may have been written into a JSON string, or another of that kind.
const maxLevels = 4

// quoted gives the forms within JSON strings: of encoders that escape HTML, slashes, or all that is not ASCII; and the same
// within JSON within JSON.
func quoted(text string) []string {
	if plain(text, `\"<>&/`) {
		return nil
	}
	b, err := json.Marshal(text)
	if err != nil {
		return nil
	}
	html := string(b[1 : len(b)-1])
	raw := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u2028`, "\u2028", `\u2029`, "\u2029").Replace(html)
	ascii := escaped(raw, func(r rune) bool { return r > unicode.MaxASCII }, unit)
	forms := []string{html, raw, strings.ReplaceAll(raw, "/", `\/`), ascii, unicodeEscape.ReplaceAllStringFunc(html, upperDigits)}
	return nested(text, forms, `"`)
}

var unicodeEscape = regexp.MustCompile(`\\u[0-9a-f]{4}`)

func upperDigits(s string) string { return `\u` + strings.ToUpper(s[2:]) }

// nested adds what becomes of forms that are written into strings again and again, while that is not out of all proportion.
func nested(text string, forms []string, quote string) []string {
	again := strings.NewReplacer(`\`, `\\`)
	if quote != "" {
		again = strings.NewReplacer(`\`, `\\`, quote, `\`+quote)
	}
	out := append([]string(nil), forms...)
	for _, form := range forms {
		for range maxLevels - 1 {
			next := again.Replace(form)
			if next == form || len(next) > 8*len(text)+256 {
				break
			}
			out, form = append(out, next), next
		}
	}
	return out
}

// shell gives the forms in which shells write a word: with set -x, printf %q, export -p, declare -p, "${x@Q}", and
// Python's shlex.quote.
func shell(text string) []string {
	if plain(text, shellSpecial+"#~") {
		return nil
	}
	double := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(text)
	forms := []string{
		strings.ReplaceAll(text, "'", `'\''`),
		strings.ReplaceAll(text, "'", `'"'"'`),
		quotes.ReplaceAllString(text, `'"$0"'`),
		double, strings.ReplaceAll(double, "!", `\!`),
		backslashed(text, true), backslashed(text, false),
		dollar(text, false), dollar(text, true),
		spliced(text, false), spliced(text, true),
	}
	return append(forms, strings.ReplaceAll(forms[0], "!", `'\!'`))
}

// shellSpecial are the characters that bash escapes in a word.
const shellSpecial = " \t'\"\\|&;()<>!{}*[]?^$`,"

var quotes = regexp.MustCompile(`'+`)

// backslashed is what printf %q of bash makes of a text: at the beginning of a word, or within one.
func backslashed(text string, begins bool) string {
	var b strings.Builder
	before := byte(0)
	for i := range len(text) {
		c := text[i]
		switch {
		case strings.IndexByte(shellSpecial, c) >= 0,
			c == '#' && i == 0 && begins,
			c == '~' && (i == 0 && begins || before == ':' || before == '='):
			b.WriteByte('\\')
		}
		b.WriteByte(c)
		before = c
	}
	return b.String()
}

// dollar is the text within $'…', as bash writes what has control characters; where its locale knows no others than ASCII
// all that is not is written in octal.
func dollar(text string, ascii bool) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch c := text[i]; {
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(c))
		case strings.IndexByte("\a\b\f\n\r\t\v\x1b", c) >= 0:
			b.WriteString(`\` + string("abfnrtvE"[strings.IndexByte("\a\b\f\n\r\t\v\x1b", c)]))
		case c < utf8.RuneSelf && unicode.IsPrint(r), c >= utf8.RuneSelf && !ascii && r != utf8.RuneError && unicode.IsPrint(r):
			b.WriteString(text[i : i+size])
		default:
			for _, c := range []byte(text[i : i+size]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		}
		i += size
	}
	return b.String()
}

// spliced is what coreutils make of a text within '…': what cannot stand there is put between as $'…'.
func spliced(text string, ascii bool) string {
	var b strings.Builder
	within := false
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		piece := text[i : i+size]
		i += size
		odd := r < ' ' || r == 0x7f || r >= utf8.RuneSelf && (ascii || r == utf8.RuneError || !unicode.IsPrint(r))
		switch {
		case odd && !within:
			b.WriteString(`'$'`)
		case !odd && within && piece != "'": // a quote closes it by itself
			b.WriteString(`''`)
		}
		within = odd
		switch {
		case odd:
			b.WriteString(strings.ReplaceAll(dollar(piece, true), `\E`, `\033`))
		case piece == "'":
			b.WriteString(`'\''`)
		default:
			b.WriteString(piece)
		}
	}
	return b.String()
}

// markup gives the forms in HTML and XML: there is more than one way to write a quote.
func markup(text string) []string {
	if plain(text, "&<>'\"/`=") {
		return nil
	}
	var forms []string
	for _, one := range [][]string{
		{},
		{"'", "&#x27;", `"`, "&quot;"},
		{"'", "&#39;", `"`, "&#34;"},
		{"'", "&#39;", `"`, "&quot;"},
		{"'", "&#039;", `"`, "&quot;"},
		{"'", "&apos;", `"`, "&quot;"},
		{`"`, "&quot;"},
		{"'", "&#x27;", `"`, "&quot;", "/", "&#x2F;"},
		{"'", "&#39;", `"`, "&quot;", "/", "&#x2F;", "`", "&#x60;", "=", "&#x3D;"},
	} {
		form := strings.NewReplacer(append(one, "&", "&amp;", "<", "&lt;", ">", "&gt;")...).Replace(text)
		forms = append(forms, form, strings.ReplaceAll(form, "&", "&amp;"))
	}
	return forms
}

// repr gives the forms within quotes of a language: Python's repr of a string, in either quotes, and of bytes, its ascii,
// and Go's %q. Each within another string too.
func repr(text string) []string {
	if plain(text, `\'"`) {
		return nil
	}
	hidden := func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }
	beyond := func(r rune) bool { return r > unicode.MaxASCII || r < ' ' || r == 0x7f }
	var forms []string
	for _, quote := range []string{"", "'"} {
		base := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(text)
		if quote != "" {
			base = strings.ReplaceAll(base, quote, `\`+quote)
		}
		forms = append(forms, escaped(base, hidden, python), escaped(base, beyond, python), bytesOf(base))
	}
	q := strconv.Quote(text)
	forms = append(forms, q[1:len(q)-1])
	return slices.Concat(nested(text, forms, ""), nested(text, forms, "'"), nested(text, forms, `"`))
}

// escaped writes some characters of a text in another way.
func escaped(text string, some func(rune) bool, write func(rune) string) string {
	var b strings.Builder
	for _, r := range text {
		if some(r) {
			b.WriteString(write(r))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// unit writes a character as JSON does: one beyond 16 bits in two halves.
func unit(r rune) string {
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

func python(r rune) string {
	switch {
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	case r > 0xff:
		return fmt.Sprintf(`\u%04x`, r)
	default:
		return fmt.Sprintf(`\x%02x`, r)
	}
}

// bytesOf writes every byte that is not printable ASCII in hexadecimal.
func bytesOf(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < ' ' || c >= 0x7f {
			fmt.Fprintf(&b, `\x%02x`, c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
