package cell

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// link is one end between a program and its cell.
type link struct {
	fd   int
	read []byte // what came and was not taken
	file int    // that came beside it; -1 for none
}

// send writes a frame, with an open file beside it unless that is negative. It blocks where the socket does.
func (l *link) send(kind byte, payload []byte, file int) error {
	_, err := l.write(frame(kind, payload), file)
	return os.NewSyscallError("sendmsg", err)
}

// write writes as much as the socket takes. The file goes with the first byte.
func (l *link) write(b []byte, file int) (rest []byte, err error) {
	var rights []byte
	if file >= 0 {
		rights = unix.UnixRights(file)
	}
	for len(b) > 0 {
		n, err := retry(func() (int, error) { return unix.SendmsgN(l.fd, b, rights, nil, unix.MSG_NOSIGNAL) })
		if err != nil {
			return b, err
		}
		b, rights = b[n:], nil
	}
	return nil, nil
}

// receive takes a frame, and the file beside it; -1 when there is none. EAGAIN says that it has not come yet.
func (l *link) receive() (kind byte, body []byte, file int, err error) {
	for {
		kind, body, rest, ok, err := takeFrame(l.read)
		if err != nil {
			return 0, nil, -1, err
		}
		if !ok {
			if err := l.fill(); err != nil {
				return 0, nil, -1, err
			}
			continue
		}
		l.read, file = rest, -1
		if kind == frameRun { // No other has a file, and there is one of these at a time.
			file, l.file = l.file, -1
		}
		return kind, body, file, nil
	}
}

// fill reads what has come. A frame seldom needs more than one read.
func (l *link) fill() error {
	const usual = 8 << 10
	if cap(l.read)-len(l.read) < usual/2 {
		l.read = append(make([]byte, 0, max(usual, 2*len(l.read)+usual)), l.read...)
	}
	rights := make([]byte, unix.CmsgSpace(4))
	var size int
	n, err := retry(func() (int, error) {
		n, oob, _, _, err := unix.Recvmsg(l.fd, l.read[len(l.read):cap(l.read)], rights, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
		size = oob
		return n, err
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return io.EOF
	}
	l.read = l.read[:len(l.read)+n]
	if file := fileIn(rights[:size]); file >= 0 {
		if l.file >= 0 {
			return errors.Join(errFrame, unix.Close(file))
		}
		l.file = file
	}
	return nil
}

func fileIn(rights []byte) int {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) == 0 {
		return -1
	}
	files, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(files) == 0 {
		return -1
	}
	return files[0]
}

// retry does a system call again that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR { //nolint:errorlint // a system call returns the number itself
			return n, err
		}
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
