package report

import (
	"encoding/json"
	"testing"
)

func TestFinite(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a": NaN, "b": [Infinity, -Infinity, 1]}`: `{"a": null, "b": [null, null, 1]}`,
		`{"NaN": "Infinity \" NaN", "c": NaN}`:      `{"NaN": "Infinity \" NaN", "c": null}`,
		`{"a": 1}`:                                  `{"a": 1}`, "": "", `"NaN`: `"NaN`, `"NaN\`: `"NaN\`, "not JSON": "not JSON",
	} {
		if got := string(Finite([]byte(in))); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

func FuzzFinite(f *testing.F) {
	f.Add([]byte(`{"a": NaN, "b": "Infinity"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := Finite(text)
		if json.Valid(text) && string(got) != string(text) {
			t.Errorf("%s was JSON and became %s", text, got)
		}
	})
}
