package wrapper

import "time"

// Backoff is a span from which waits are drawn, so that tests that failed together do not come back together.
type Backoff struct{ Least, Most time.Duration }

// Draw gives the wait after attempt n: the same for the same seed, spread evenly over the span, both ends included.
func (b Backoff) Draw(seed uint64, n int) time.Duration {
	span := uint64(b.Most-b.Least)/uint64(time.Second) + 1
	return b.Least + time.Duration(mix(seed+uint64(n))%span)*time.Second
}

// mix is the finaliser of SplitMix64: every bit of x changes every bit of the answer.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
