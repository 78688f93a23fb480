package event

import (
	"crypto/sha256"
	"encoding/binary"
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
