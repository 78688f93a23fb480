package bus

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strconv"

	"github.com/nats-io/nats.go"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

// A batch costs the stream a few writes to the disk, however many messages it holds; without one each message costs a
// write. From batchMin messages on the batch is the cheaper way. Batches of one call grow, so that what follows from its
// first events gets between them.
const (
	batchMin  = 64
	batchMost = 500 // the server takes at most 1000
	batchHead = 8   // events that go ahead of the first batch, so that whoever waits for the first need not wait for all
)

// The headers of a message in a batch.
const (
	headerBatch       = "Nats-Batch-Id"
	headerBatchNumber = "Nats-Batch-Sequence"
	headerBatchCommit = "Nats-Batch-Commit"
)

// publishBatch stores events all at once, or none of them: then some place is taken, or the server knows no batches,
// and one by one is the way.
func (b *Bus) publishBatch(ctx context.Context, events []event.Event) (stored bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	id := rand.Text()
	var last *nats.Msg
	for i, e := range events {
		if last, err = b.message(e); err != nil {
			return false, err
		}
		last.Header[headerBatch] = []string{id}
		last.Header[headerBatchNumber] = []string{strconv.Itoa(i + 1)}
		if i == len(events)-1 {
			break
		}
		if err := b.conn.PublishMsg(last); err != nil {
			return false, publishError(err)
		}
	}
	last.Header[headerBatchCommit] = []string{"1"}
	reply, err := b.request(ctx, last)
	if err != nil {
		return false, publishError(err)
	}
	var ack struct {
		Error *json.RawMessage `json:"error"`
		Batch string           `json:"batch"`
		Count int              `json:"count"`
	}
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		return false, fault.New(fault.Transient, "the stream's answer to a batch is no JSON: %w", err)
	}
	return ack.Error == nil && ack.Batch == id && ack.Count == len(events), nil
}
