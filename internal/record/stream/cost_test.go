package stream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/sparkoperator/spark-operator/internal/ground/nodelog"
	"github.com/sparkoperator/spark-operator/internal/record/bucket"
	"github.com/sparkoperator/spark-operator/internal/record/capture"
	"github.com/sparkoperator/spark-operator/internal/record/store"
)

// The load of BenchmarkStreams: each driver writes some lines a second.
const (
	drivers  = 1000
	perLine  = 100 * time.Millisecond
	interval = 15 * time.Second
	serve    = "STREAM_COST_SERVE" // makes the test binary the servers
)

func TestMain(m *testing.M) {
	if os.Getenv(serve) != "" {
		serveAll()
		return
	}

	os.Exit(m.Run())
}

// lineAt returns the line of a driver's log that is written at a time.
func lineAt(at time.Time) string {
	i := at.UnixMilli()
	return fmt.Sprintf("%s 26/11/29 10:00:00 INFO TaskSetManager: Finished task %d.0 in stage %d.0 (TID %d) in %d ms on 10.0.%d.%d (executor %d) (%d/200)\n",
		at.UTC().Format("2006-01-02T15:04:05.000000000Z07:00"), i%200, i/200%1000, i%100000, i*7919%5000, i%256, i*31%256, i%20, i%200)
}

// past is when the log of BenchmarkRead begins. Each read of it has the lines of an interval, whenever it comes.
var past = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// serveLog serves the log of a driver as an API server does.
func serveLog(w http.ResponseWriter, r *http.Request) {
	since, _ := time.Parse(time.RFC3339, r.URL.Query().Get("sinceTime"))
	if since.IsZero() {
		since = time.Now().Add(-interval)
	}

	out := bufio.NewWriter(w)
	next, now := since.Truncate(perLine), time.Now()

	if since.Before(past.Add(10 * 365 * 24 * time.Hour)) {
		now = since.Add(interval + time.Second) // for BenchmarkRead
	}

	for ; next.Before(now); next = next.Add(perLine) {
		_, _ = out.WriteString(lineAt(next))
	}

	_ = out.Flush()

	for r.URL.Query().Get("follow") == "true" && r.Context().Err() == nil {
		w.(http.Flusher).Flush()
		time.Sleep(time.Until(next))
		_, _ = io.WriteString(w, lineAt(next))
		next = next.Add(perLine)
	}
}

// serveAll serves an API server's logs with HTTP/2 and a store of S3, and writes their addresses.
func serveAll() {
	api := httptest.NewUnstartedServer(http.HandlerFunc(serveLog))
	api.EnableHTTP2 = true
	api.StartTLS()

	s3 := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)

		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>`)
		}
	}))

	fmt.Println(api.URL, s3.URL)
	fmt.Print(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})))

	_ = os.Stdout.Close()

	_, _ = io.Copy(io.Discard, os.Stdin) // until the benchmark ends
}

// servers starts the servers in a process of their own, so that the benchmark measures only the operator's part.
func servers(b *testing.B) (*rest.Config, string) {
	b.Helper()

	cmd := exec.CommandContext(b.Context(), os.Args[0])

	cmd.Env = append(os.Environ(), serve+"=1")

	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()

	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}

	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })

	text, err := io.ReadAll(out)
	if err != nil {
		b.Fatal(err)
	}

	first, ca, _ := bytes.Cut(text, []byte("\n"))
	api, s3, _ := strings.Cut(string(first), " ")
	return &rest.Config{Host: api, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: ca, ServerName: "example.com"}}, s3
}

// counted are the observed reads.
type counted struct {
	reads, failed atomic.Int64
	longest       atomic.Int64
}

func (*counted) LogStreams(int) {}
func (c *counted) LogStreamed(seconds float64) {
	c.reads.Add(1)

	if ms := int64(seconds * 1000); ms > c.longest.Load() {
		c.longest.Store(ms)
	}
}
func (c *counted) LogStreamFailed() { c.failed.Add(1) }

// sure reads logs through the API server, and does not check the pods.
type sure struct{ API }

func (sure) UID(_ context.Context, pod types.NamespacedName) (types.UID, error) {
	return types.UID(pod.Name), nil
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measure reports the CPU time and the memory of a minute.
func measure(b *testing.B, c *counted) {
	b.Helper()

	time.Sleep(5 * interval) // all logs are read in turns

	before, reads, begin := cpu(), c.reads.Load(), time.Now()

	c.longest.Store(0)
	time.Sleep(4 * interval)

	took := time.Since(begin).Seconds()

	var m runtime.MemStats

	runtime.GC()
	runtime.ReadMemStats(&m)
	b.ReportMetric(100*(cpu()-before).Seconds()/took, "%core")
	b.ReportMetric(float64(c.reads.Load()-reads)/took, "reads/s")
	b.ReportMetric(float64(c.longest.Load())/1000, "longest-s")
	b.ReportMetric(float64(c.failed.Load()), "failed")
	b.ReportMetric(float64(m.HeapInuse+m.StackInuse)/(1<<20), "MiB")
}

// connect starts the servers and returns their clients.
func connect(b *testing.B) (Source, *store.Bucket) {
	b.Helper()
	b.Setenv("AWS_ACCESS_KEY_ID", "tester")
	b.Setenv("AWS_SECRET_ACCESS_KEY", "secret")

	config, s3 := servers(b)

	source, err := NewAPI(config, nil)
	if err != nil {
		b.Fatal(err)
	}

	opened, err := store.OpenBucket(b.Context(), "s3://bucket?region=us-east-1&use_path_style=true&endpoint="+s3, bucket.Hints{})
	if err != nil {
		b.Fatal(err)
	}

	b.Cleanup(func() { _ = opened.Close() })
	return sure{source}, opened
}

// logOf returns the log of a driver.
func logOf(i int, in *store.Bucket) *Log {
	name := fmt.Sprintf("driver-%d", i)
	return &Log{
		Attempt: store.Attempt{Namespace: "jobs", Name: name, UID: appUID, Number: 1}, Pod: types.NamespacedName{Namespace: "jobs", Name: name},
		UID: types.UID(name), Node: path.Join("node", fmt.Sprint(i%100)), Container: "spark", Bucket: in, Head: 1 << 20, Limit: 16 << 20, Interval: interval,
	}
}

// BenchmarkRead measures the CPU time of one read with the lines of 15 seconds, while the processor's caches are warm.
func BenchmarkRead(b *testing.B) {
	runtime.GOMAXPROCS(1) // as the operator sets it

	source, opened := connect(b)
	l := logOf(1, opened)
	l.memory, l.loaded, l.at = capture.NewMemory(maxMemory), true, nodelog.Cursor{Time: past, Lines: 1}

	b.ReportAllocs()
	b.ResetTimer()

	before := cpu()

	for b.Loop() {
		if err := l.read(b.Context(), source); err != nil {
			b.Fatal(err)
		}
	}

	b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-us/op")
	b.ReportMetric(float64(l.total)/float64(b.N), "bytes/op")
}

// BenchmarkStreams measures the CPU time of the operator for the logs of 1,000 running drivers, of which each writes
// ten lines a second: with reads in intervals, and for comparison with a request that stays open for each driver,
// without any upload. It lasts three minutes: go test -bench Streams -benchtime 1x -run none ./internal/record/stream.
func BenchmarkStreams(b *testing.B) {
	runtime.GOMAXPROCS(1) // as the operator sets it

	source, opened := connect(b)

	b.Run("intervals", func(b *testing.B) {
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()

		c := &counted{}
		s := New(source, c, logr.Discard())

		var run sync.WaitGroup
		run.Go(func() { s.Run(ctx) })

		for i := range drivers {
			s.Begin(logOf(i, opened))
		}

		measure(b, c)
		cancel()
		run.Wait()
	})

	b.Run("open", func(b *testing.B) {
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()

		var run sync.WaitGroup
		for i := range drivers {
			run.Go(func() {
				l := logOf(i, nil)

				in, err := source.Open(ctx, Request{Pod: l.Pod, Container: "spark", Follow: true, Times: true, Since: time.Now()})
				if err != nil {
					b.Error(err)
					return
				}
				defer func() { _ = in.Close() }()

				_, _ = io.Copy(io.Discard, in)
			})
		}

		measure(b, &counted{})
		cancel()
		run.Wait()
	})
}
