package retention

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"github.com/sparkoperator/spark-operator/internal/record/bucket"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/test/kit/stores"
)

// silent returns the URL of a store that accepts connections and never answers.
func silent(t *testing.T) string {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", stores.User)
	t.Setenv("AWS_SECRET_ACCESS_KEY", stores.Secret)

	end := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-end:
		}
	}))

	t.Cleanup(func() { close(end); server.Close() })
	return stores.URL("bucket/logs", strings.TrimPrefix(server.URL, "http://"))
}

// entry returns an entry for all namespaces.
func entry(t *testing.T, url string, retention time.Duration) Entry {
	t.Helper()

	b, err := store.OpenBucket(t.Context(), url, bucket.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	return Entry{URL: url, Bucket: b, Retention: retention, Governs: func(string) bool { return true }}
}

// run runs a sweeper until the test ends.
func run(t *testing.T, s *Sweeper) {
	t.Helper()

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})

	go func() {
		defer close(ended)

		s.Run(ctx)
	}()

	t.Cleanup(func() { cancel(); <-ended })
}

func noUploads(string) bool { return false }

// TestSweepBesideSilentStore checks that a store that does not answer delays the sweep of no other store.
func TestSweepBesideSilentStore(t *testing.T) {
	const old = -time.Hour // everything is older

	answers := entry(t, "file://"+t.TempDir(), old)

	key := store.Attempt{Namespace: "jobs", Name: "pi", UID: "6b1f7a52-94f5-4a5a-8d5e-5d5d0a3b7f10", Number: 1}.Dir() + store.DriverFile
	if err := answers.Bucket.Write(t.Context(), key, nil); err != nil {
		t.Fatal(err)
	}

	s := New([]Entry{entry(t, silent(t), old), answers}, noUploads, logr.Discard())
	s.silence = time.Hour

	run(t, s)

	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if found, err := answers.Bucket.Read(t.Context(), key, 1); err == nil && found == nil {
			return
		}

		if time.Now().After(end) {
			t.Fatal("the old log is still there")
		}
	}
}

// TestSweepOfSilentStore checks that a sweep ends if its store does not answer, and that the operator logs it.
func TestSweepOfSilentStore(t *testing.T) {
	logged := make(chan string, 10)

	s := New([]Entry{entry(t, silent(t), time.Hour)}, noUploads, funcr.New(func(_, args string) { logged <- args }, funcr.Options{}))
	s.silence = time.Millisecond

	run(t, s)

	select {
	case line := <-logged:
		if !strings.Contains(line, "Could not delete old logs") || !strings.Contains(line, "did not answer within") {
			t.Errorf("the operator logs %s", line)
		}
	case <-time.After(time.Minute):
		t.Error("the operator logs nothing")
	}
}
