package report

import "bytes"

// Finite puts null in the place of NaN and infinite numbers, which Python writes into what it calls JSON, and JSON has not. All
// else stays as it is, whether it is JSON or not.
func Finite(text []byte) []byte {
	if !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		n, null := token(text[i:])
		if null {
			out = append(out, "null"...)
		} else {
			out = append(out, text[i:i+n]...)
		}
		i += n
	}
	return out
}

// token is the length of what begins here, at least one byte: a string whole; and whether it is a number that is none.
func token(text []byte) (n int, null bool) {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(text, []byte(word)) {
			return len(word), true
		}
	}
	if text[0] != '"' {
		return 1, false
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1, false
		}
	}
	return len(text), false
}
