package gateway

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// BenchmarkWebhook takes an accepted webhook and one durable publish of the same fact in turns, so that whatever else
// the machine does is shared by both, and reports the medians and their ratio.
func BenchmarkWebhook(b *testing.B) {
	w := newWorld(b, Config{Projects: []Project{widget()}}, remote{}, bus.Options{})
	var publish, webhook []time.Duration
	for n := 0; b.Loop(); n++ {
		c := release.Change{Kind: release.Push, Repo: "acme/bench", Ref: fmt.Sprint("refs/heads/b", n), Commit: numbered(n), Title: strings.Repeat("x", 100)}
		start := time.Now()
		if err := w.bus.Publish(b.Context(), event.Root(c.RunID(), "/bench/1", start, event.ChangeReceived{Change: c})); err != nil {
			b.Fatal(err)
		}
		publish = append(publish, time.Since(start))
		start = time.Now()
		if got := w.push("acme/widget", "master", numbered(n), "s3cr3t"); got.code != http.StatusAccepted {
			b.Fatal(got.text)
		}
		webhook = append(webhook, time.Since(start))
	}
	limit, took := median(publish), median(webhook)
	b.ReportMetric(float64(limit.Microseconds()), "µs/publish")
	b.ReportMetric(float64(took.Microseconds()), "µs/webhook")
	b.ReportMetric(float64(took)/float64(limit), "ratio")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
