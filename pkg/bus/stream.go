package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The streams.
const (
	Facts = "FACTS" // what happened, for ever
	Fleet = "FLEET" // who lives, now
	Logs  = "LOGS"  // what tasks print, for a day; the whole log is a blob
	Dead  = "DEAD"  // messages that could not be handled
)

func streams(o Options) []jetstream.StreamConfig {
	replicas := max(1, o.Replicas)
	limit := o.MaxBytes
	if limit == 0 {
		limit = -1
	}
	return []jetstream.StreamConfig{
		{
			Name: Facts, Description: "facts, one message per place", Subjects: []string{"sluice.fact.>"},
			Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
			MaxMsgsPerSubject: 1, DiscardNewPerSubject: true, // whoever forgets to expect an empty place is refused too
			DenyDelete: true, DenyPurge: true, AllowDirect: true, Duplicates: 2 * time.Minute, Replicas: replicas,
			MaxBytes: limit, MaxMsgSize: maxPayload, AllowAtomicPublish: true,
		},
		{
			Name: Fleet, Description: "the newest heartbeat of each executor", Subjects: []string{"sluice.fleet.>"},
			Storage: fleetStorage(replicas), Discard: jetstream.DiscardOld, MaxMsgsPerSubject: 1, MaxAge: time.Minute,
			AllowDirect: true, Replicas: replicas, PersistMode: logPersistence(replicas),
		},
		{
			Name: Logs, Description: "what tasks print, for a day", Subjects: []string{"sluice.log.>"},
			Storage: jetstream.FileStorage, Discard: jetstream.DiscardOld, MaxAge: 24 * time.Hour, MaxBytes: 1 << 30,
			AllowDirect: true, Replicas: replicas, PersistMode: logPersistence(replicas),
		},
		{
			Name: Dead, Description: "messages that could not be handled, with the reason",
			Subjects: []string{"sluice.dead.>"}, Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew,
			AllowDirect: true, Replicas: replicas, Duplicates: 2 * time.Minute,
		},
	}
}

// fleetStorage keeps the stream of heartbeats itself over the restart of a server that has no replica of it: few identities may
// declare a stream, and a stream in memory is gone then. What it holds is a minute old at most and needs no fsync.
func fleetStorage(replicas int) jetstream.StorageType {
	if replicas > 1 {
		return jetstream.MemoryStorage
	}
	return jetstream.FileStorage
}

// logPersistence spares the live log an fsync for each chunk. The whole log is stored as a blob when the attempt ends,
// so what a power cut takes from the stream is not lost. JetStream has this mode for unreplicated streams only.
func logPersistence(replicas int) jetstream.PersistModeType {
	if replicas > 1 {
		return jetstream.DefaultPersistMode
	}
	return jetstream.AsyncPersistMode
}

// declare makes the streams and the consumers that it is told of, or brings their limits up to date. A stream whose kind differs is an error: nothing is
// ever deleted to make room for a configuration.
func (b *Bus) declare(ctx context.Context) error {
	for _, cfg := range streams(b.options) {
		if _, err := b.js.CreateOrUpdateStream(ctx, cfg); err != nil {
			return fmt.Errorf("cannot declare stream %s: %w", cfg.Name, err)
		}
	}
	for _, s := range b.options.Durables {
		if err := b.declareConsumer(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// checkStreams says what is missing where somebody else declares the streams.
func (b *Bus) checkStreams(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	for _, stream := range []string{Facts, Fleet, Logs, Dead} {
		_, err := b.request(ctx, &nats.Msg{Subject: directGet(stream, probe)})
		if errors.Is(err, nats.ErrNoResponders) {
			return fmt.Errorf("cannot use NATS: there is no stream %s; run \"sluice setup\" once, with the identity that may create streams", stream)
		}
		if err != nil {
			return fmt.Errorf("cannot see whether stream %s exists, as identity %s: %w; does the server give it the rights that "+
				"\"sluice topology --permissions\" prints?", stream, b.whoAmI(), err)
		}
	}
	return nil
}
