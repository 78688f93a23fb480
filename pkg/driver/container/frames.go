package container

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/sluiceci/sluice/pkg/fault"
)

// The streams of a container's output.
const (
	stdout = 1
	stderr = 2
)

// frameSize bounds what is read at once; frames of any length are passed on in pieces.
const frameSize = 64 << 10

// split takes the engine's one stream apart: each frame says which stream it belongs to and how long it is. A write that
// fails is told of at the end, and what follows is read and dropped, so that the command does not block.
func split(r io.Reader, out, talk io.Writer) (failed error, err error) {
	buffer := make([]byte, frameSize)
	var header [8]byte
	for {
		if _, err := io.ReadFull(r, header[:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return failed, err
		}
		w, err := destination(header, out, talk)
		if err != nil {
			return failed, err
		}
		for left := int64(binary.BigEndian.Uint32(header[4:])); left > 0; {
			n, err := r.Read(buffer[:min(left, frameSize)])
			left -= int64(n)
			if n > 0 && (failed == nil || w != out) {
				if _, err := w.Write(buffer[:n]); err != nil {
					failed = err
				}
			}
			if err != nil && left > 0 {
				return failed, io.ErrUnexpectedEOF
			}
		}
	}
}

func destination(header [8]byte, out, talk io.Writer) (io.Writer, error) {
	switch {
	case header[0] == stdout && header[1]|header[2]|header[3] == 0:
		return out, nil
	case header[0] == stderr && header[1]|header[2]|header[3] == 0:
		return talk, nil
	}
	return nil, fault.New(fault.Transient, "cannot read the output of the container: a frame begins with %x, expected 01000000 or 02000000", header[:4])
}
