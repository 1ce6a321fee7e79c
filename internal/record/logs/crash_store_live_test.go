package logs_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit/crashrig"
	"github.com/sparkoperator/spark-operator/test/kit/stores"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// front is a server between an operator that crashes and its S3 server. Each request that changes the store is a crash
// point. If the operator crashes before the end of such a request, the S3 server receives the first half of the
// content.
type front struct {
	server string // the address of the S3 server
	crash  *crashrig.Crashing
}

// serve starts a front, and returns its address.
func (f *front) serve(t *testing.T) (address string) {
	t.Helper()

	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}

	answer := httptest.NewRecorder()
	forward := func() error { return f.forward(answer, r, bytes.NewReader(content)) }

	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		err = forward()
	} else {
		err = f.crash.Write(forward, func() {
			if len(content) > 0 {
				_ = f.forward(answer, r, half(content))
			}
		})
	}

	if err != nil {
		panic(http.ErrAbortHandler) // closes the connection, as the end of a process does
	}

	maps.Copy(w.Header(), answer.Header())

	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// half returns the first half of a content, and then an error.
func half(content []byte) io.Reader {
	broken, end := io.Pipe()
	_ = end.CloseWithError(errors.New("the operator has crashed"))
	return io.MultiReader(bytes.NewReader(content[:len(content)/2]), broken)
}

// forward sends a request to the S3 server. The signature of the request needs its original headers.
func (f *front) forward(w http.ResponseWriter, r *http.Request, content io.Reader) error {
	next := r.Clone(context.Background()) // the request of a crashed operator that arrived is carried out

	next.URL.Scheme, next.URL.Host, next.RequestURI, next.Body = "http", f.server, "", io.NopCloser(content)
	if next.ContentLength == 0 {
		next.Body = http.NoBody
	}

	answer, err := http.DefaultTransport.RoundTrip(next)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()

	maps.Copy(w.Header(), answer.Header)

	w.WriteHeader(answer.StatusCode)
	_, err = io.Copy(w, answer.Body)
	return err
}

// TestCrashesAroundStore plays a life with two attempts in which the operator dies in the middle of or after each of
// its writes. They include those of an S3 server: the uploaded part, the files, the indexes, the deletion of the part,
// and the record of the run. A file that an index lists is whole at all times. Afterwards, the logs and the record are
// there.
func TestCrashesAroundStore(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an S3 server")
	}

	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "bucket"), 0o755); err != nil {
		t.Fatal(err)
	}

	server := stores.S3(t, root)

	crashrig.ForCrashPoints(t, 76, 11, func(t *testing.T, crash *crashrig.Crashing) bool {
		t.Helper()
		return lifeWithStore(t, crash, server)
	})
}

// lifeWithStore plays a life of TestCrashesAroundStore, in which the operator crashes at a point.
func lifeWithStore(t *testing.T, crash *crashrig.Crashing, server string) (died bool) {
	t.Helper()

	k := keep(t, stores.URL("bucket", server), streams)
	address := (&front{server: server, crash: crash}).serve(t)
	life := crashrig.StartCrashLife(k.World, crash, func(change ...func(*operator.Environment)) (stop func()) {
		cfg := k.cfg
		if len(change) > 0 { // the operator that crashes
			cfg.Logs = slices.Clone(cfg.Logs)
			cfg.Logs[0].Store = stores.URL("bucket", address)
		}
		return k.RunWith(cfg, time.Now, change...)
	})

	one := strings.Repeat("one\n", 5000)
	app := k.Application("pi", world.OnFailure(1))
	life.CheckSingle(app, identity.RoleDriver)

	whole := k.staysWhole(app, map[int]string{1: one, 2: "two\nthree\n"})

	k.Execute(k.running(app, 1, one), done(1))

	driver, log := k.streamed(app, 2)
	log.write("two\n")
	k.waitUploaded(app, 2, 4)
	log.write("three\n")
	k.Execute(driver, done(0))

	k.waitText(app, 2, "", "two\nthree\n")
	k.waitText(app, 1, "", one)
	k.waitStatus("pi", 2, "")
	k.WaitState("pi", v1beta2.ApplicationStateCompleted)

	if r := k.waitRecord(app); r.Outcome != "Succeeded" || r.Attempts != 2 {
		t.Errorf("the record is %+v", r)
	}

	whole()
	return life.End(2)
}

// staysWhole checks until the returned function is called that the log of each attempt is whole as soon as an index
// lists it.
func (k *keeping) staysWhole(app *v1beta2.SparkApplication, want map[int]string) (end func()) {
	ctx, cancel := context.WithCancel(k.T.Context())
	checks, ended := 0, make(chan struct{})

	go func() {
		defer close(ended)

		for ctx.Err() == nil {
			for number, whole := range want {
				if x, err := k.logs.Index(ctx, attemptOf(app, number)); err != nil || x == nil || x.Driver == nil {
					continue
				}

				text, file, err := k.text(app, number, "")
				if text != whole || err != nil || file.Partial+file.Missing != "" {
					k.T.Errorf("the index of attempt %d lists %+v, and the log is %.100q, %v", number, file, text, err)
				}

				checks++
			}

			time.Sleep(10 * time.Millisecond) // between two observations
		}
	}()

	return func() {
		cancel()
		<-ended

		if checks == 0 {
			k.T.Error("no log was observed")
		}
	}
}
