package gateway

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// BenchmarkWebhook takes, in turns, a durable publish of a change, an HTTP request that is answered at once, and an
// accepted webhook: whatever else the machine does is shared by all three. It reports their medians, how many publishes
// long a webhook is for its sender (x-publish), and how many of both a webhook is, which it cannot be without (x-floor).
func BenchmarkWebhook(b *testing.B) {
	w := newWorld(b, Config{Projects: []Project{widget()}}, remote{}, bus.Options{})
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"run":"00000000-aaaaaaaa","event":"aaaaaaaaaaaaaaaaaaaaaaaaaa"}`)
	}))
	b.Cleanup(echo.Close)
	var publish, roundTrip, webhook []time.Duration
	for n := 0; b.Loop(); n++ {
		c := release.Change{Kind: release.Push, Repo: "acme/bench", Ref: fmt.Sprint("refs/heads/b", n), Commit: numbered(n), Title: strings.Repeat("x", 100)}
		publish = append(publish, timed(func() {
			if err := w.bus.Publish(b.Context(), event.Root(c.RunID(), "/bench/1", time.Now(), event.ChangeReceived{Change: c})); err != nil {
				b.Fatal(err)
			}
		}))
		header, body := pushed("acme/widget", "master", numbered(n), "s3cr3t")
		roundTrip = append(roundTrip, timed(func() { accepted(b, echo.URL, header, body) }))
		webhook = append(webhook, timed(func() { accepted(b, w.url+"/hooks/gitea", header, body) }))
	}
	limit, floor, took := median(publish), median(roundTrip), median(webhook)
	b.ReportMetric(float64(limit.Microseconds()), "µs/publish")
	b.ReportMetric(float64(floor.Microseconds()), "µs/http")
	b.ReportMetric(float64(took.Microseconds()), "µs/webhook")
	b.ReportMetric(float64(took)/float64(limit), "x-publish")
	b.ReportMetric(float64(took)/float64(limit+floor), "x-floor")
}

func timed(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}

// accepted posts as a forge does: it looks at the status and reads the answer.
func accepted(b *testing.B, url string, header http.Header, body string) {
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header = header
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	text, _ := io.ReadAll(got.Body)
	_ = got.Body.Close()
	if got.StatusCode != http.StatusAccepted {
		b.Fatalf("%d %s", got.StatusCode, text)
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
