package publisher

import (
	"crypto/sha256"
	"io"
	"sync"

	"github.com/sluiceci/sluice/pkg/release"
)

// layouts remember what the tags of images name: the root of each archive that was read whole, by the archive's digest. An image of
// a gigabyte is read once to know it and once to push it, not once a step. What is remembered follows from the digest alone, so it
// is never stale. A nil one remembers nothing.
type layouts struct {
	mu    sync.Mutex
	of    map[release.Digest]imageLayout
	bytes int
}

// maxLayouts bounds what is remembered, in bytes of manifests.
const maxLayouts = 16 << 20

func newLayouts() *layouts { return &layouts{of: map[release.Digest]imageLayout{}} }

func (l *layouts) find(archive release.Digest) (imageLayout, bool) {
	if l == nil {
		return imageLayout{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	found, known := l.of[archive]
	return found, known
}

// keep remembers the root of an archive. What was unpacked of it is not kept.
func (l *layouts) keep(archive release.Digest, found imageLayout) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.of[archive]; known {
		return
	}
	if l.bytes += len(found.raw); l.bytes > maxLayouts {
		clear(l.of) // cheaper than to know which were used last, and as good
		l.bytes = len(found.raw)
	}
	l.of[archive] = imageLayout{root: found.root, raw: found.raw}
}

// copyHashed copies and hashes what it copies. The hash is made beside the copy: what is read is hashed already, as a part of the
// whole archive, and one core does not do both as fast as a disk reads.
func copyHashed(to io.Writer, from io.Reader) (release.Digest, error) {
	sum, beside := sha256.New(), make(chan []byte, 2)
	free := make(chan []byte, 3)
	for range cap(free) {
		free <- make([]byte, 256<<10)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for b := range beside {
			sum.Write(b)
			free <- b[:cap(b)]
		}
	}()
	err := copyBeside(to, from, free, beside)
	close(beside)
	<-done
	if err != nil {
		return "", err
	}
	return release.DigestFrom(sum.Sum(nil)), nil
}

func copyBeside(to io.Writer, from io.Reader, free <-chan []byte, beside chan<- []byte) error {
	for {
		buffer := <-free
		n, err := io.ReadFull(from, buffer)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return err
			}
			beside <- buffer[:n]
		}
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF: //nolint:errorlint // what ReadFull itself says of an end
			return nil
		default:
			return err
		}
	}
}
