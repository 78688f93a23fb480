package bus

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// TestTheNextConsumerReadsOn: the consumer that takes the place of a lost one begins after what was read, also when nothing was
// there to read yet: what was stored in between is not skipped.
func TestTheNextConsumerReadsOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source Following
		read   uint64
		policy jetstream.DeliverPolicy
		start  uint64
	}{
		"everything, nothing read": {Following{}, 0, jetstream.DeliverAllPolicy, 0},
		"everything":               {Following{}, 7, jetstream.DeliverByStartSequencePolicy, 8},
		"new, after nothing":       {Following{New: true}, 0, jetstream.DeliverByStartSequencePolicy, 1},
		"new":                      {Following{New: true}, 7, jetstream.DeliverByStartSequencePolicy, 8},
		"latest":                   {Following{Latest: true}, 7, jetstream.DeliverByStartSequencePolicy, 8},
		"latest, in memory":        {Following{Latest: true, Stream: Fleet}, 7, jetstream.DeliverLastPerSubjectPolicy, 0},
	} {
		cfg := (&Follower{source: c.source, read: c.read, begun: true}).config()
		if cfg.DeliverPolicy != c.policy || cfg.OptStartSeq != c.start {
			t.Errorf("%s: from %v %d, want %v %d", name, cfg.DeliverPolicy, cfg.OptStartSeq, c.policy, c.start)
		}
	}
}
