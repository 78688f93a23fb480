package mask

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// variants lists every pattern of a secret that is long enough to be one, each once.
func variants(secret string) []string {
	seen := map[string]bool{}
	var all []string
	add := func(forms ...string) {
		for _, form := range forms {
			if len(form) >= MinLength && !seen[form] {
				seen[form] = true
				all = append(all, form)
			}
		}
	}
	for _, text := range texts(secret) {
		add(text, hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text))))
		add(percent(text)...)
		add(quoted(text)...)
		add(shell(text)...)
		add(markup(text)...)
		add(repr(text)...)
		add(aligned(base64.RawStdEncoding, text)...)
		add(aligned(base64.RawURLEncoding, text)...)
		add(wrapped(text)...)
	}
	return all
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
