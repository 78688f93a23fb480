package event

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// FuzzScan holds what is read in the quick way to what a reader of any JSON reads.
func FuzzScan(f *testing.F) {
	good := encoded(f)
	for _, body := range [][]byte{
		good,
		bytes.Replace(good, []byte(`"data":{`), []byte(`"data": {`), 1),
		bytes.Replace(good, []byte(`,"data":`), []byte(`,"extra":"\u0041","data":`), 1),
		bytes.Replace(good, []byte(`,"id":"`), []byte(`,"id":"\u0041`), 1),
		append(bytes.TrimSuffix(good, []byte("}")), []byte(`,"id":"another"}`)...),
		append(bytes.TrimSuffix(good, []byte("}")), []byte(`}}`)...),
		append(bytes.TrimSuffix(good, []byte("}")), []byte(` } `)...),
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		quick, err := decodeStructured(body)
		slow, refused := decodeAny(body)
		if (err == nil) != (refused == nil) || !reflect.DeepEqual(quick, slow) {
			t.Fatalf("%q is read as %+v, %v, want %+v, %v", body, quick, err, slow, refused)
		}
	})
}

func TestScanReadsWhatIsWritten(t *testing.T) {
	if _, ok := scan(encoded(t)); !ok {
		t.Fatal("what Encode writes is read in the slow way")
	}
	hasty := Root("4f2a9c1d-k3m2pa7q", "/x", time.Time{}, GateClosed{Reason: "nothing but <this>"})
	text, err := Encode(hasty)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := scan(text); !ok {
		t.Fatalf("%s is read in the slow way", text)
	}
}

func encoded(t testing.TB) []byte {
	t.Helper()
	cause := Root("4f2a9c1d-k3m2pa7q", "/builder/host-1", time.Unix(1, 2), TaskRequested{Task: "t", Pool: "p", Kind: release.Build})
	text, err := Encode(New(cause, "/executor/host-1", time.Unix(3, 4), TaskFinished{
		Task: "t", Attempt: 1, Pool: "p", Outcome: release.Success, LastLines: []string{`"quoted", <b> \ and é`},
	}))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
