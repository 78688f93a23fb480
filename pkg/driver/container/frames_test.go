package container

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func frame(kind byte, text string) []byte {
	header := make([]byte, 8)
	header[0] = kind
	binary.BigEndian.PutUint32(header[4:], uint32(len(text)))
	return append(header, text...)
}

func TestSplit(t *testing.T) {
	big := strings.Repeat("x", 3*frameSize+1)
	stream := bytes.Join([][]byte{frame(1, "a"), frame(2, "ready\n"), frame(1, ""), frame(1, big), frame(2, "oom 1\n")}, nil)
	for name, r := range map[string]io.Reader{"whole": bytes.NewReader(stream), "byte by byte": iotest.OneByteReader(bytes.NewReader(stream))} {
		var out, talk bytes.Buffer
		failed, err := split(r, &out, &talk)
		if failed != nil || err != nil || out.String() != "a"+big || talk.String() != "ready\noom 1\n" {
			t.Errorf("%s: %v, %v, %d bytes, %q", name, failed, err, out.Len(), talk.String())
		}
	}
	if _, err := split(bytes.NewReader(stream[:20]), io.Discard, io.Discard); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a frame gives %v", err)
	}
	if _, err := split(strings.NewReader("a raw terminal"), io.Discard, io.Discard); err == nil {
		t.Error("a stream without frames is no error")
	}
}

func FuzzSplit(f *testing.F) {
	f.Add(append(frame(1, "out"), frame(2, "ready\n")...))
	f.Add([]byte("\x01\x00\x00\x00\xff\xff\xff\xffx"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		var out, talk bytes.Buffer
		_, err := split(bytes.NewReader(stream), &out, &talk)
		if out.Len()+talk.Len() > len(stream) || err == nil && out.Len()+talk.Len() > 0 && len(stream) < 8 {
			t.Errorf("%d and %d bytes of %d, %v", out.Len(), talk.Len(), len(stream), err)
		}
	})
}

func FuzzNews(f *testing.F) {
	f.Add("ready\noom 2\n")
	f.Add("sh: missing\nmissing\n" + strings.Repeat("z", 5000))
	f.Fuzz(func(t *testing.T, said string) {
		n := newNews()
		n.read(strings.NewReader(said))
		if len(n.complaint()) > maxLine {
			t.Errorf("kept %d bytes", len(n.complaint()))
		}
	})
}
