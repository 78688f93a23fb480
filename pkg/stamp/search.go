package stamp

import (
	"bytes"
	"errors"
	"io"

	"github.com/sluiceci/sluice/pkg/release"
)

// search finds a commit in streams, and notes another one that stands alone there.
type search struct {
	want   []byte
	buffer []byte
}

func newSearch(commit release.Commit) *search {
	return &search{want: []byte(commit), buffer: make([]byte, 64<<10)}
}

// scan reads until the commit is found or the stream ends. The end of what was read is kept in front of what is read
// next, so that nothing is missed between.
func (s *search) scan(r io.Reader) (found bool, other release.Commit, err error) {
	keep, from := 0, 0 // from is the first byte of the window that is certain not to be the middle of a run
	for {
		n, err := r.Read(s.buffer[keep:])
		window := s.buffer[:keep+n]
		if bytes.Contains(window, s.want) {
			return true, "", nil
		}
		last := errors.Is(err, io.EOF)
		if other == "" {
			other = s.alone(window, from, last)
		}
		if last {
			return false, other, nil
		}
		if err != nil {
			return false, other, err
		}
		// One digit before and one after a commit tell whether it stands alone.
		keep = min(len(window), len(s.want)+1)
		if keep < len(window) {
			from = 1
		}
		copy(s.buffer, window[len(window)-keep:])
	}
}

// alone returns the first run of exactly as many hexadecimal digits as a commit has. A run that touches the end of the
// window may go on beyond it; it is seen again in the next window, unless this is the last.
func (s *search) alone(window []byte, from int, last bool) release.Commit {
	start := 0
	for i := 0; i <= len(window); i++ {
		if i < len(window) && hexDigit(window[i]) {
			continue
		}
		if i-start == len(s.want) && start >= from && (i < len(window) || last) {
			if c := release.Commit(window[start:i]); c.Valid() {
				return c
			}
		}
		start = i + 1
	}
	return ""
}

func hexDigit(b byte) bool { return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' }
