package blob_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/blob/blobtest"
	"github.com/sluiceci/sluice/pkg/blob/bucket"
	"github.com/sluiceci/sluice/pkg/release"
)

// benchVariable makes the test's binary a process that does one thing and tells what it took: memory can be measured
// only of a process that does nothing else.
const benchVariable = "BLOB_BENCH"

func TestMain(m *testing.M) {
	if job := os.Getenv(benchVariable); job != "" {
		if err := bench(job); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// job is what a bench process does.
type job struct {
	What, Endpoint, Key string
	Size                int64
}

// took is what it cost.
type took struct {
	Seconds  float64
	CPU      float64 // seconds, of this process
	Resident int64   // bytes at most
}

func bench(text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	do, err := j.prepare(context.Background())
	if err != nil {
		return err
	}
	start := time.Now()
	if err := do(); err != nil {
		return err
	}
	t := took{Seconds: time.Since(start).Seconds()}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	t.Resident = usage.Maxrss << 10
	t.CPU = time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
	return json.NewEncoder(os.Stdout).Encode(t)
}

// stream gives size bytes that are never the same for two keys.
func (j job) stream() io.Reader {
	block := make([]byte, 1<<20)
	seed := sha256.Sum256([]byte(j.Key))
	for i := range block {
		block[i] = seed[i%32] ^ byte(i>>8) ^ byte(i)
	}
	return io.LimitReader(&repeat{block: block}, j.Size)
}

type repeat struct {
	block []byte
	at    int
}

func (r *repeat) Read(p []byte) (int, error) {
	n := copy(p, r.block[r.at:])
	r.at = (r.at + n) % len(r.block)
	return n, nil
}

func (j job) prepare(ctx context.Context) (func() error, error) {
	b, err := bucket.Open(ctx, (&blobtest.Server{Endpoint: j.Endpoint}).Config("bench", ""))
	if err != nil {
		return nil, err
	}
	switch j.What {
	case "sha256":
		return func() error { _, err := io.Copy(sha256.New(), j.stream()); return err }, nil
	case "manager":
		return func() error { return j.manager(ctx) }, nil
	case "put":
		return func() error { _, _, err := blob.S3(b).Put(ctx, j.stream()); return err }, nil
	case "known":
		sum := sha256.New()
		_, _ = io.Copy(sum, j.stream())
		d := release.DigestFrom(sum.Sum(nil))
		return func() error { return blob.PutKnown(ctx, blob.S3(b), d, j.Size, j.stream()) }, nil
	}
	return nil, fmt.Errorf("cannot do %q", j.What)
}

// manager is the limit: the SDK's transfer manager as it comes.
func (j job) manager(ctx context.Context) error {
	client := s3.New(s3.Options{
		BaseEndpoint: aws.String(j.Endpoint), Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(blobtest.AccessKey, blobtest.SecretKey, ""),
	})
	_, err := transfermanager.New(client).UploadObject(ctx, &transfermanager.UploadObjectInput{
		Bucket: aws.String("bench"), Key: aws.String(j.Key), Body: j.stream(), ContentLength: aws.Int64(j.Size),
	})
	return err
}

// BenchmarkS3 takes 1 GiB into S3, each way in a process of its own, and compares:
//
//	go test -run '^$' -bench S3 -benchtime 3x ./pkg/blob
//
// The ratios are to the SDK's transfer manager and to sha256 alone in the same run, each the best of its tries; CPU time
// is told too, since it can be compared on a machine that has other work.
func BenchmarkS3(b *testing.B) {
	server := blobtest.Serve(b)
	bucket := server.Bucket(b, "bench", "")
	best := map[string]took{}
	for i := range b.N {
		ways := []string{"sha256", "manager", "known", "put"}
		for turn := range ways {
			what := ways[(turn+i)%len(ways)] // what the one before left to the disk falls on each in turn
			j := job{What: what, Endpoint: server.Endpoint, Key: fmt.Sprintf("%s-%d", what, i), Size: 1 << 30}
			t := inProcess(b, j)
			if old, ok := best[what]; ok {
				t = took{min(t.Seconds, old.Seconds), min(t.CPU, old.CPU), max(t.Resident, old.Resident)}
			}
			best[what] = t
			empty(b, bucket)
		}
	}
	for what, t := range best {
		b.ReportMetric(1024/t.Seconds, what+"-MiB/s")
		b.ReportMetric(t.CPU, what+"-cpu-s")
	}
	for _, what := range []string{"known", "put"} {
		b.ReportMetric(best["manager"].Seconds/best[what].Seconds, what+"/manager")
		b.ReportMetric(best["sha256"].Seconds/best[what].Seconds, what+"/sha256")
	}
	for _, what := range []string{"manager", "known", "put"} {
		b.ReportMetric(float64(best[what].Resident)/(1<<20), what+"-MiB-resident")
	}
}

func inProcess(b *testing.B, j job) (t took) {
	b.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), benchVariable+"="+string(text))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s: %v: %s", j.What, err, errs.Bytes())
	}
	if err := json.Unmarshal(out.Bytes(), &t); err != nil {
		b.Fatal(err)
	}
	return t
}

func empty(b *testing.B, from *bucket.Bucket) {
	b.Helper()
	err := from.Each(b.Context(), "", func(i bucket.Info) error { return from.Remove(b.Context(), i.Name) })
	if err != nil {
		b.Fatal(err)
	}
}
