package mask

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
)

// variants lists every pattern of a secret that is long enough to be one.
func variants(secret string) []string {
	var all []string
	for _, text := range texts(secret) {
		all = append(all, text, hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text))))
		all = append(all, percent(text)...)
		all = append(all, quoted(text)...)
		all = append(all, aligned(base64.RawStdEncoding, text)...)
		all = append(all, aligned(base64.RawURLEncoding, text)...)
		all = append(all, wrapped(text)...)
	}
	long := all[:0]
	for _, one := range all {
		if len(one) >= MinLength {
			long = append(long, one)
		}
	}
	return long
}

// texts are the secret itself, without the white space around it, and its lines.
func texts(secret string) []string {
	list := []string{secret}
	if trimmed := strings.TrimSpace(secret); trimmed != secret && len(trimmed) >= MinLength {
		list = append(list, trimmed)
	}
	if !strings.ContainsAny(secret, "\r\n") {
		return list
	}
	for _, line := range strings.FieldsFunc(secret, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = strings.TrimSpace(line); len(line) >= MinLength {
			list = append(list, line)
		}
	}
	return list
}

var escape = regexp.MustCompile(`%[0-9A-F]{2}`)

// percent gives the forms of URL encoding: of queries and of paths, everything else than letters and digits escaped,
// with capital and small digits.
func percent(text string) []string {
	forms := []string{url.QueryEscape(text), url.PathEscape(text), strings.ReplaceAll(url.QueryEscape(text), "+", "%20")}
	for _, form := range forms {
		forms = append(forms, escape.ReplaceAllStringFunc(form, strings.ToLower))
	}
	return forms
}

// quoted gives the forms within JSON strings, as encoders that escape HTML and those that do not write them.
func quoted(text string) []string {
	b, err := json.Marshal(text)
	if err != nil {
		return nil
	}
	html := string(b[1 : len(b)-1])
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(html)
	return []string{html, plain, strings.ReplaceAll(plain, "/", `\/`)}
}

// aligned gives the characters of base64 that a text determines alone when it begins zero, one or two bytes after a
// multiple of three within a larger text.
func aligned(encoding *base64.Encoding, text string) []string {
	var forms []string
	for before := range 3 {
		encoded := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + text))
		first := []int{0, 2, 3}[before] // characters that share bits with what comes before
		last := len(encoded)
		if (before+len(text))%3 != 0 {
			last-- // and the one that shares bits with what follows
		}
		if first < last {
			forms = append(forms, encoded[first:last])
		}
	}
	return forms
}

// wrapped gives the lines of a long text in base64 as tools break them: base64 after 76 characters, openssl and PEM
// after 64.
func wrapped(text string) []string {
	var forms []string
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		encoded := encoding.EncodeToString([]byte(text))
		for _, width := range []int{64, 76} {
			for rest := encoded; len(encoded) > width && rest != ""; {
				line := rest[:min(width, len(rest))]
				rest = rest[len(line):]
				if len(line) >= 8 {
					forms = append(forms, strings.TrimRight(line, "="))
				}
			}
		}
	}
	return forms
}
