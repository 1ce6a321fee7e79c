package store_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/sparkoperator/spark-operator/internal/record/bucket"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/stores"
)

func TestMain(m *testing.M) { kit.MainShared(m) }

var hints = bucket.Hints{Setting: "logs[0].store", AWS: "give the operator credentials"}

func attempt(namespace string, number int32) store.Attempt {
	return store.Attempt{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: "app", UID: "6b1f7a52-94f5-4a5a-8d5e-5d5d0a3b7f10", Number: number,
	}
}

func compressed(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer

	w := gzip.NewWriter(&out)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// keepsLogs checks the rules that hold for every place: what was saved is read back, an attempt without an index shows
// nothing, and a later save adds to an earlier one.
func keepsLogs(t *testing.T, logs store.Logs, namespace string, owner func(store.Attempt) store.Attempt) {
	t.Helper()
	ctx := t.Context()
	a, second := owner(attempt(namespace, 1)), owner(attempt(namespace, 2))

	if x, err := logs.Index(ctx, a); x != nil || err != nil {
		t.Fatalf("an empty place has the index %v, %v", x, err)
	}

	index := store.Index{Attempt: a, KeptAt: metav1.Unix(1700000000, 0)}
	index.Set(store.File{Name: store.ExecutorFile("7"), Pod: "e7", PodUID: "u7", Executor: "7", Bytes: 5, Kept: 5})

	if err := logs.Save(ctx, &index, map[string][]byte{store.ExecutorFile("7"): compressed(t, "seven")}); err != nil {
		t.Fatal(err)
	}

	index.Set(store.File{Name: store.DriverFile, Pod: "d", PodUID: "ud", Bytes: 6, Kept: 6})
	index.Set(store.File{Pod: "e9", PodUID: "u9", Executor: "9", Missing: "the pod was gone"})

	if err := logs.Save(ctx, &index, map[string][]byte{store.DriverFile: compressed(t, "driver")}); err != nil {
		t.Fatal(err)
	}

	last := store.Index{Attempt: second}
	if err := logs.Save(ctx, &last, nil); err != nil {
		t.Fatal(err)
	}

	found, err := logs.Index(ctx, a)
	if err != nil {
		t.Fatal(err)
	}

	if found.KeptAt = index.KeptAt; !cmp.Equal(&index, found) {
		t.Error(cmp.Diff(&index, found))
	}

	for name, want := range map[string]string{store.ExecutorFile("7"): "seven", store.DriverFile: "driver"} {
		in, err := logs.Open(ctx, a, name)
		if err != nil {
			t.Fatal(err)
		}

		plain, err := gzip.NewReader(in)
		if err != nil {
			t.Fatal(err)
		}

		if text, err := io.ReadAll(plain); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v", name, text, err)
		}

		_ = in.Close()
	}

	if _, err := logs.Open(ctx, second, store.DriverFile); err == nil {
		t.Error("a file that was never written was opened")
	}

	if numbers, err := logs.Attempts(ctx, a); err != nil || !cmp.Equal(numbers, []int32{1, 2}) {
		t.Errorf("the attempts are %v, %v", numbers, err)
	}
}

func itself(a store.Attempt) store.Attempt { return a }

func open(t *testing.T, url string) *store.Bucket {
	t.Helper()

	b, err := store.OpenBucket(t.Context(), url, hints)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = b.Close() })
	return b
}

func TestDirectoryKeepsLogs(t *testing.T) {
	keepsLogs(t, open(t, "file://"+filepath.Join(t.TempDir(), "made")), "jobs", itself)
}

// TestDirectoryIsListedDuringWrites checks that the list of a directory is complete while other objects are written and
// deleted.
func TestDirectoryIsListedDuringWrites(t *testing.T) {
	t.Parallel()
	b := open(t, "file://"+t.TempDir())

	const kept = "jobs/kept"
	if err := b.Write(t.Context(), kept, []byte("a")); err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	var writer sync.WaitGroup

	writer.Go(func() {
		for ctx.Err() == nil {
			if err := errors.Join(b.Write(t.Context(), "jobs/other", []byte("b")), b.Delete(t.Context(), "jobs/other")); err != nil {
				t.Error(err)
				return
			}
		}
	})

	defer writer.Wait()
	defer stop()

	for range 2000 {
		found := false

		for object, err := range b.List(t.Context(), "jobs/") {
			if err != nil {
				t.Fatal(err)
			}

			found = found || object.Key == kept
		}

		if !found {
			t.Fatal("the object is not listed")
		}
	}
}

func TestS3KeepsLogs(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an S3 server")
	}

	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "bucket"), 0o755); err != nil {
		t.Fatal(err)
	}

	url := strings.Replace(stores.URL("bucket", stores.S3(t, root)), "?", "/some/prefix?", 1)
	b := open(t, url)
	keepsLogs(t, b, "jobs", itself)

	if place := b.Place(attempt("jobs", 1)); place != "s3://bucket/some/prefix/jobs/app/6b1f7a52-94f5-4a5a-8d5e-5d5d0a3b7f10/1" {
		t.Error(place)
	}

	if _, err := os.Stat(filepath.Join(root, "bucket/some/prefix/jobs/app/6b1f7a52-94f5-4a5a-8d5e-5d5d0a3b7f10/1", store.IndexFile)); err != nil {
		t.Error(err)
	}

	for object, err := range b.List(t.Context(), "jobs/") {
		if err != nil || !store.IsOwn(object.Key) {
			t.Errorf("%s is not one of our keys: %v", object.Key, err)
		}
	}

	missing := open(t, strings.Replace(url, "bucket", "missing", 1))

	err := missing.Write(t.Context(), "k", nil)
	if err == nil || !strings.Contains(err.Error(), "create the bucket, or correct its name in logs[0].store") {
		t.Error(err)
	}
}

// owned creates an object that can own a ConfigMap, and returns attempts that name it as their custom resource.
func owned(t *testing.T, namespace string) func(store.Attempt) store.Attempt {
	t.Helper()

	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"}}
	if err := kit.Client(t).Create(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	return func(a store.Attempt) store.Attempt {
		a.UID = owner.UID
		return a
	}
}

func TestConfigMapsKeepLogs(t *testing.T) {
	c, namespace, config := kit.Client(t), kit.Namespace(t), kit.Rest(t)

	http, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}

	w, err := store.NewWriter(config, http, c.Scheme(), c, "tester")
	if err != nil {
		t.Fatal(err)
	}

	keepsLogs(t, store.ConfigMaps{Reader: c, Writer: w}, namespace, owned(t, namespace))

	stale := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app", ResourceVersion: "1"}}
	if err := w.Update(t.Context(), stale); !apierrors.IsConflict(err) {
		t.Errorf("an update of an old version: %v", err)
	}

	if err := w.Create(t.Context(), stale); err == nil {
		t.Error("an object was created twice")
	}
}

// TestConfigMapDropsOldAttempts checks that a ConfigMap never exceeds its limit: old attempts go first, and a new file
// that is too large by itself is an error that names the way out and leaves what was there.
func TestConfigMapDropsOldAttempts(t *testing.T) {
	c, namespace := kit.Client(t), kit.Namespace(t)
	logs, as := store.ConfigMaps{Reader: c, Writer: c}, owned(t, namespace)
	save := func(ctx context.Context, number int32, bytes int) error {
		index := store.Index{Attempt: as(attempt(namespace, number))}
		index.Set(store.File{Name: store.DriverFile, Pod: "d", PodUID: "u"})
		return logs.Save(ctx, &index, map[string][]byte{store.DriverFile: make([]byte, bytes)})
	}

	for number := range int32(4) {
		if err := save(t.Context(), number+1, 200<<10); err != nil {
			t.Fatal(err)
		}
	}

	if err := save(t.Context(), 5, store.MaxConfigMap); err == nil || !strings.Contains(err.Error(), "set an object store in logs[].store") {
		t.Error(err)
	}

	if numbers, err := logs.Attempts(t.Context(), as(attempt(namespace, 1))); err != nil || !cmp.Equal(numbers, []int32{3, 4}) {
		t.Errorf("the attempts are %v, %v", numbers, err)
	}
}

// TestForeignConfigMap checks that a ConfigMap with the right name of somebody else is neither read nor changed.
func TestForeignConfigMap(t *testing.T) {
	c, namespace := kit.Client(t), kit.Namespace(t)
	a := attempt(namespace, 1)

	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: store.ConfigMapName(a)}}
	if err := c.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}

	logs := store.ConfigMaps{Reader: c, Writer: c}
	if _, err := logs.Index(t.Context(), a); err == nil || !strings.Contains(err.Error(), "delete it") {
		t.Error(err)
	}

	if err := logs.Save(t.Context(), &store.Index{Attempt: a}, nil); err == nil {
		t.Error("somebody else's ConfigMap was changed")
	}
}

// TestOwnKeys checks which keys the clean-up may delete: those of the layout and no others.
func TestOwnKeys(t *testing.T) {
	a := attempt("jobs", 3)
	for _, own := range []string{
		a.Dir() + store.DriverFile, a.Dir() + store.IndexFile, a.Dir() + store.ExecutorFile("12"),
		store.RunKey("jobs", "nightly", "2026-01-02T03:04:05Z", a.UID),
	} {
		if !store.IsOwn(own) {
			t.Errorf("%s is not one of our keys", own)
		}
	}

	for _, other := range []string{
		"", "jobs/app/driver.log.gz", "jobs/app/uid/1/driver.log.gz", a.Dir() + "other.txt", a.Dir() + "driver.log.gz.bak", "x/" + a.Dir() + store.IndexFile,
		"jobs/_runs/x/y.txt", "eventLogs/application_1",
	} {
		if store.IsOwn(other) {
			t.Errorf("%s is one of our keys", other)
		}
	}
}
