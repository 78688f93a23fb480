package cell

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// socket is one end between a program and its cell. It blocks: its readers are threads that have nothing else to do.
type socket struct{ fd int }

func (s socket) Read(b []byte) (int, error) {
	n, err := retry(func() (int, error) { return unix.Read(s.fd, b) })
	if err == nil && n == 0 {
		return 0, io.EOF
	}
	return max(n, 0), err
}

// send writes a frame, with an open file beside it unless that is negative.
func (s socket) send(kind byte, payload []byte, file int) error {
	b := frame(kind, payload)
	var rights []byte
	if file >= 0 {
		rights = unix.UnixRights(file)
	}
	for len(b) > 0 {
		n, err := retry(func() (int, error) { return unix.SendmsgN(s.fd, b, rights, nil, unix.MSG_NOSIGNAL) })
		if err != nil {
			return os.NewSyscallError("sendmsg", err)
		}
		b, rights = b[n:], nil
	}
	return nil
}

// receive reads a frame, and the file beside it; -1 when there is none.
func (s socket) receive() (kind byte, body []byte, file int, err error) {
	header, rights := make([]byte, headerSize), make([]byte, unix.CmsgSpace(4))
	var size int
	n, err := retry(func() (int, error) {
		n, oob, _, _, err := unix.Recvmsg(s.fd, header, rights, unix.MSG_CMSG_CLOEXEC)
		size = oob
		return n, err
	})
	if err != nil || n == 0 {
		return 0, nil, -1, firstOf(err, io.EOF)
	}
	file = fileIn(rights[:size])
	if _, err = io.ReadFull(s, header[n:]); err == nil {
		body, err = payload(header, s)
	}
	return header[0], body, file, err
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
