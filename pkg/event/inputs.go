package event

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/sluiceci/sluice/pkg/release"
)

// Inputs is a fingerprint of the artifacts that an attempt was given, with the tasks that left them: 0 for none. Two attempts
// with the same fingerprint were given the same bytes under the same names.
type Inputs uint64

// InputsOf makes the fingerprint.
func InputsOf(all []Produced) Inputs {
	sum, some := sha256.New(), false
	for _, p := range all {
		for _, a := range p.Artifacts {
			some = true
			for _, s := range []string{string(p.Task), a.Type, a.Name, string(a.Digest)} {
				sum.Write(append([]byte(s), 0))
			}
		}
	}
	if !some {
		return 0
	}
	return Inputs(binary.BigEndian.Uint64(sum.Sum(nil)))
}

// Fingerprint is that of the artifacts that the attempt was given, wherever they stand.
func (t TaskDispatched) Fingerprint() Inputs {
	if t.InputsIn == "" {
		return InputsOf(t.Inputs)
	}
	given, _ := strconv.ParseUint(t.Given, 16, 64) // one that is no number is the fingerprint of nothing: the attempt does not count
	return Inputs(given)
}

// Outside is the dispatch with its inputs in a blob.
func (t TaskDispatched) Outside(blob release.Digest) TaskDispatched {
	t.Given, t.InputsIn, t.Inputs = fmt.Sprintf("%016x", uint64(InputsOf(t.Inputs))), blob, nil
	return t
}
