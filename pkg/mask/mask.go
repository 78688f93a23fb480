// Package mask keeps secrets out of what leaves a machine. A Masker replaces every secret by "***", also where it was
// cut by the boundaries of writes, and in the encodings and quotings that tools print secrets in:
//
//   - base64 (standard and URL alphabet, at every alignment within a larger text, and as wrapped by base64 and openssl),
//     and hexadecimal;
//   - percent encoding of queries and paths, as Go, Python and JavaScript write it, and of these again;
//   - JSON strings, with and without escapes for HTML and Unicode, up to four levels within each other;
//   - words of shells: set -x, printf %q, export -p, declare -p, "${x@Q}", $'…', coreutils, shlex;
//   - HTML and XML, with every way to write a quote, also escaped twice;
//   - Python's repr of strings and bytes, ascii, Go's %q, and repr of these.
//
// Of a secret of several lines every line is masked as well.
//
// A line of a secret that is shorter than MinLength is not masked by itself, nor are the one or two characters of
// base64 that a secret shares with its neighbours. What a program does to a secret beyond these encodings (reversing
// it, printing it letter by letter, compressing it) is not seen.
package mask

import (
	"encoding/binary"
	"io"
	"sort"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Mask is what stands where a secret was.
const Mask = "***"

// MinLength is the length of the shortest secret in bytes: anything shorter occurs in texts by chance.
const MinLength = 4

// Masker knows the patterns of some secrets. It does not change and may be used by many at once.
type Masker struct {
	longest  int
	filter   [filterWords]uint64 // by the hash of the first four bytes: most positions cost one look at it
	patterns map[uint32][]string // by the first four bytes, longest first
	starts   map[string]bool     // prefixes of one to three bytes
}

const (
	filterBits  = 15
	filterWords = 1 << filterBits / 64
)

// New makes a Masker. Empty secrets are left out; a secret shorter than MinLength is an error.
func New(secrets []string) (*Masker, error) {
	m := &Masker{patterns: map[uint32][]string{}, starts: map[string]bool{}}
	for i, secret := range secrets {
		if secret == "" {
			continue
		}
		if len(secret) < MinLength {
			return nil, fault.New(fault.Invalid,
				"cannot mask secret number %d: it has %d bytes, expected at least %d", i+1, len(secret), MinLength)
		}
		for _, pattern := range variants(secret) {
			m.add(pattern)
		}
	}
	for _, list := range m.patterns {
		sort.Slice(list, func(i, j int) bool { return len(list[i]) > len(list[j]) })
	}
	return m, nil
}

func (m *Masker) add(pattern string) {
	key := binary.LittleEndian.Uint32([]byte(pattern[:4]))
	for _, known := range m.patterns[key] {
		if known == pattern {
			return
		}
	}
	m.patterns[key] = append(m.patterns[key], pattern)
	bit := hash(key)
	m.filter[bit/64] |= 1 << (bit % 64)
	for n := 1; n < 4; n++ {
		m.starts[pattern[:n]] = true
	}
	m.longest = max(m.longest, len(pattern))
}

func hash(key uint32) uint32 { return key * 0x9e3779b1 >> (32 - filterBits) }

// Text masks a whole text.
func (m *Masker) Text(s string) string {
	out, _, _ := m.scan(nil, []byte(s), 0, true)
	return string(out)
}

// Finds reads r to its end, or to the first secret in it.
func (m *Masker) Finds(r io.Reader) (bool, error) {
	buffer := make([]byte, 0, pieceSize+m.longest)
	for {
		n, err := r.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		if m.holds(buffer) {
			return true, nil
		}
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		// A secret may have begun in the last bytes.
		buffer = buffer[:copy(buffer, buffer[max(0, len(buffer)-m.longest):])]
	}
}

func (m *Masker) holds(b []byte) bool {
	for i := m.skip(b, 0); i < len(b); i = m.skip(b, i+1) {
		if m.match(b[i:]) > 0 {
			return true
		}
	}
	return false
}

// scan appends to out what b becomes, up to the first position that more text can change, and returns that position:
// b[rest:] is to be scanned again with what follows it. The first covered bytes of b belong to a secret that began
// before; the same number is returned for b[rest:].
func (m *Masker) scan(out, b []byte, covered int, last bool) (masked []byte, rest, coveredAfter int) {
	plain := covered // Start of the bytes that are not written yet and are no part of a secret.
	for i := 0; ; {
		i = m.skip(b, i)
		if i >= len(b) || (!last && m.undecided(b[i:])) {
			if plain < i {
				out = append(out, b[plain:i]...)
			}
			return out, i, max(0, covered-i)
		}
		if n := m.match(b[i:]); n > 0 {
			if i >= covered {
				out = append(append(out, b[plain:i]...), Mask...)
			}
			covered = max(covered, i+n)
			plain = covered
		}
		i++
	}
}

// skip returns the next position at which a pattern can begin. Near the end that is every position.
func (m *Masker) skip(b []byte, i int) int {
	for ; i+4 <= len(b); i++ {
		bit := hash(binary.LittleEndian.Uint32(b[i:]))
		if m.filter[bit/64]&(1<<(bit%64)) != 0 {
			return i
		}
	}
	return min(i, len(b))
}

// match returns the length of the longest pattern that b begins with, or 0.
func (m *Masker) match(b []byte) int {
	if len(b) < 4 {
		return 0
	}
	for _, pattern := range m.patterns[binary.LittleEndian.Uint32(b)] {
		if len(pattern) <= len(b) && string(b[:len(pattern)]) == pattern {
			return len(pattern)
		}
	}
	return 0
}

// undecided reports whether b is the beginning of a pattern that goes on beyond b.
func (m *Masker) undecided(b []byte) bool {
	if len(b) < 4 {
		return m.starts[string(b)]
	}
	if len(b) >= m.longest {
		return false
	}
	for _, pattern := range m.patterns[binary.LittleEndian.Uint32(b)] {
		if len(pattern) > len(b) && pattern[:len(b)] == string(b) {
			return true
		}
	}
	return false
}
