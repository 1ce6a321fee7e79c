package keep_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/record/bucket"
	"github.com/sparkoperator/spark-operator/internal/record/keep"
	"github.com/sparkoperator/spark-operator/internal/record/run"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

func TestMain(m *testing.M) { kit.MainShared(m) }

// ended returns an application that ended at the given time, without storing its status.
func ended(w *scene.World, name string, at time.Time, change ...func(*v1beta2.SparkApplication)) *v1beta2.SparkApplication {
	app := w.Application(name, append(change, scene.WithDriver)...)
	app.Status.Operator = &statusv1.OperatorStatus{Phase: "Done", Attempt: 1, Outcome: "Succeeded", SubmittedAt: &metav1.MicroTime{Time: at.Add(-time.Minute)}, EndedAt: &metav1.MicroTime{Time: at}}
	return app
}

// started returns a recorder that runs. Its records go to the given bucket, or to ConfigMaps.
func started(t *testing.T, w *scene.World, b *store.Bucket, change ...func(*keep.Options)) *keep.Recorder {
	t.Helper()

	o := keep.Options{
		Place:  func(context.Context, string) (*store.Bucket, bool) { return b, true },
		Reader: w.API, Writer: w.API, Clock: time.Now, Failed: func(_ client.Object, message string) { t.Error(message) }, Written: func(bool) {}, Log: testr.New(t),
	}
	for _, c := range change {
		c(&o)
	}

	r := keep.New(o)
	ctx, stop := context.WithCancel(t.Context())

	done := make(chan error, 1)
	go func() { done <- r.Start(ctx) }()

	t.Cleanup(func() {
		stop()

		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return r
}

// TestRecordsInConfigMap checks that the runs of a schedule are in one ConfigMap of the schedule, at most 30 of them,
// and that a run that is recorded again, as after a crash, is there once.
func TestRecordsInConfigMap(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	schedule := w.Schedule("nightly", "0 2 * * *", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.Suspend = new(true) })
	r := started(t, w, nil)

	const runs = 33

	first := time.Now().Add(-50 * time.Minute).Truncate(time.Second)
	for i := range runs {
		app := ended(w, fmt.Sprint("nightly-", i), first.Add(time.Duration(i)*time.Minute), func(app *v1beta2.SparkApplication) {
			app.Labels = map[string]string{v1beta2.ScheduledAppNameLabel: "nightly"}
			app.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(), Kind: "ScheduledSparkApplication", Name: "nightly", UID: schedule.UID, Controller: new(true)}}
		})
		r.Ended(t.Context(), app)
		r.Ended(t.Context(), app)

		if i == runs-1 {
			started(t, w, nil).Ended(t.Context(), app) // another process
		}
	}

	kit.Wait(t, "30 records", func(ctx context.Context) error {
		var maps corev1.ConfigMap
		if err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: keep.NameOf("nightly", schedule.UID)}, &maps); err != nil {
			return err
		}

		keys := run.Keys(maps.Data)
		if len(keys) != 30 || len(maps.Data) != 30 || maps.OwnerReferences[0].UID != schedule.UID || maps.Labels[run.GroupLabel] != "nightly" {
			return fmt.Errorf("%d records, owned by %v", len(keys), maps.OwnerReferences)
		}

		last, err := run.Decode([]byte(maps.Data[keys[29]]), w.Namespace, "nightly")
		if err != nil {
			return err
		}

		if last.Name != fmt.Sprint("nightly-", runs-1) {
			return fmt.Errorf("the last record is that of %s", last.Name)
		}
		return nil
	})
}

// TestTooManyRecords checks that a record for which there is no room is reported once, but not that of a run which had
// ended before the operator started.
func TestTooManyRecords(t *testing.T) {
	t.Parallel()

	var reported []string
	missed := 0
	r := keep.New(keep.Options{ // it is not started, so that all records wait
		Place: func(context.Context, string) (*store.Bucket, bool) { return nil, true }, Clock: time.Now, Log: testr.New(t),
		Failed:  func(_ client.Object, message string) { reported = append(reported, message) },
		Written: func(bool) { missed++ },
	})
	app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi"}}

	app.Status.Operator = &statusv1.OperatorStatus{Phase: "Done", Attempt: 1, Outcome: "Succeeded", EndedAt: &metav1.MicroTime{Time: time.Now()}}
	for i := range 2001 {
		app.UID = types.UID(fmt.Sprint(i))
		r.Ended(t.Context(), app)
	}

	r.Ended(t.Context(), app)

	app.UID, app.Status.Operator.EndedAt = "old", &metav1.MicroTime{Time: time.Now().Add(-time.Minute)}
	r.Ended(t.Context(), app)

	if len(reported) != 1 || missed != 1 || !strings.Contains(reported[0], "can wait (2000)") {
		t.Errorf("%d records were reported as not kept, %d counted: %q", len(reported), missed, reported)
	}
}

// finished returns an application that no API server has, and whose run ended now.
func finished(namespace string, uid types.UID) *v1beta2.SparkApplication {
	app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pi", UID: uid}}
	app.Status.Operator = &statusv1.OperatorStatus{Phase: "Done", Attempt: 1, Outcome: "Succeeded", EndedAt: &metav1.MicroTime{Time: time.Now()}}
	return app
}

// hung is a client whose requests are answered only when the test ends. It counts them in its channel.
type hung struct {
	client.Client
	requests chan struct{}
	release  <-chan struct{}
}

func (h *hung) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	select {
	case h.requests <- struct{}{}:
	case <-h.release:
	}

	<-h.release
	return errors.New("the test has ended")
}

// TestHungStoreDelaysOnlyItsRecords checks that the records of a healthy store are written while those of another store
// wait for it, and have as much room as without it. Two writers wrote to all stores: a few runs of a store that did not
// answer occupied both of them, and its records filled the only queue.
func TestHungStoreDelaysOnlyItsRecords(t *testing.T) {
	t.Parallel()
	directory, release := t.TempDir(), make(chan struct{})

	healthy, err := store.OpenBucket(t.Context(), "file://"+directory, bucket.Hints{})
	if err != nil {
		t.Fatal(err)
	}

	const more = 2001 // than can wait

	h := &hung{requests: make(chan struct{}, more), release: release}

	var refused []string
	r := started(t, &scene.World{}, nil, func(o *keep.Options) {
		o.Reader, o.Writer = h, h
		o.Failed = func(object client.Object, _ string) { refused = append(refused, object.GetNamespace()) }
		o.Place = func(_ context.Context, namespace string) (*store.Bucket, bool) {
			if namespace == "healthy" {
				return healthy, true
			}
			return nil, true
		}
	})
	t.Cleanup(func() { close(release) }) // before the recorder stops

	for i := range more {
		r.Ended(t.Context(), finished("hung", types.UID(fmt.Sprint("hung-", i))))
	}

	for range 2 { // its writers wait
		<-h.requests
	}

	r.Ended(t.Context(), finished("healthy", "healthy"))

	if diff := cmp.Diff([]string{"hung"}, refused); diff != "" {
		t.Errorf("the namespaces of the runs whose records were refused: %s", diff)
	}

	kit.Wait(t, "the record in the healthy store", func(context.Context) error {
		found, err := filepath.Glob(filepath.Join(directory, "healthy", store.Runs, "pi", "*.json"))
		if err != nil || len(found) != 1 {
			return fmt.Errorf("%v, %w", found, err)
		}
		return nil
	})
}

// TestRecordsInStore checks the key and the content of a record in a store. Runs that have not ended, or that ended
// long ago, are not recorded.
func TestRecordsInStore(t *testing.T) {
	t.Parallel()
	w, directory := scene.New(t), t.TempDir()

	b, err := store.OpenBucket(t.Context(), "file://"+directory, bucket.Hints{})
	if err != nil {
		t.Fatal(err)
	}

	r, at := started(t, w, b), time.Now().Add(-time.Minute).UTC().Truncate(time.Second)
	app, old, runs := ended(w, "pi", at), ended(w, "old", at.Add(-2*time.Hour)), ended(w, "runs", at)

	runs.Status.Operator.Phase = "Running"
	for _, each := range []*v1beta2.SparkApplication{old, runs, app} {
		r.Ended(t.Context(), each)
	}

	key := store.RunKey(w.Namespace, "pi", at.Format("20060102T150405Z"), app.UID+"-1")
	if !store.IsOwn(key) {
		t.Errorf("the retention would not delete %s", key)
	}

	kit.Wait(t, "the record", func(context.Context) error {
		text, err := os.ReadFile(filepath.Join(directory, key))
		if err != nil {
			return err
		}

		record, err := run.Decode(text, w.Namespace, "pi")
		if err == nil && (record.Outcome != "Succeeded" || !record.Ended.Equal(at) || record.Duration(time.Now()) != time.Minute || record.Attempts != 1) {
			t.Errorf("the record is %s", text)
		}
		return err
	})

	if found, _ := filepath.Glob(filepath.Join(directory, w.Namespace, store.Runs, "*")); len(found) != 1 {
		t.Errorf("records of %v", found)
	}
}

// failing is a client whose first writes fail.
type failing struct {
	client.Client
	left atomic.Int64
}

func (f *failing) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if f.left.Add(-1) >= 0 {
		return errors.New("the store does not answer")
	}
	return f.Client.Create(ctx, object, options...)
}

// TestRecordIsWrittenAgain checks that a failed write is repeated, and that a ConfigMap of somebody else is not
// changed.
func TestRecordIsWrittenAgain(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	c := &failing{Client: w.API}
	c.left.Store(1)

	r := started(t, w, nil, func(o *keep.Options) { o.Writer = c })
	app := ended(w, "pi", time.Now())
	r.Ended(t.Context(), app)

	name := client.ObjectKey{Namespace: w.Namespace, Name: keep.NameOf("pi", app.UID)}
	kit.Wait(t, "the record", func(ctx context.Context) error { return w.API.Get(ctx, name, &corev1.ConfigMap{}) })

	other := ended(w, "other", time.Now())
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: keep.NameOf("other", other.UID)}, Data: map[string]string{"a": "b"}}
	w.Create(theirs)

	failed := make(chan string, 1)
	started(t, w, nil, func(o *keep.Options) {
		o.MaxTries = 2
		o.Failed = func(_ client.Object, message string) { failed <- message }
	}).Ended(t.Context(), other)

	if message := <-failed; message == "" {
		t.Error("no message")
	}

	kept := &corev1.ConfigMap{}
	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(theirs), kept); err != nil || len(kept.Data) != 1 {
		t.Errorf("%v, %v", kept.Data, err)
	}
}

// TestOperatorRecordsRuns checks that an operator that keeps logs records a finished run with its usage, and that an
// operator that starts after the end, as after a crash between the status and the record, records it too.
func TestOperatorRecordsRuns(t *testing.T) {
	t.Parallel()
	w, directory := world.New(t), t.TempDir()
	w.GrantSparkRights()

	cfg := world.Config(w.Namespace)
	stop := w.RunWith(cfg, time.Now)

	finish := func(name string) *v1beta2.SparkApplication {
		t.Helper()

		app := w.Application(name, scene.WithDriver)
		driver := w.DriverOf(app, 1)
		w.BindAway(driver)
		w.Execute(driver, scene.Exited(0, ""))
		return w.WaitState(name, v1beta2.ApplicationStateCompleted)
	}
	before := finish("before")

	stop()

	cfg.Logs = []keptlogs.Entry{{Store: "file://" + directory, Executors: keptlogs.ExecutorsFailed, MaxBytes: "16Mi", ExecutorMaxBytes: "256Ki", MaxExecutors: new(20), Wait: &metav1.Duration{Duration: time.Second}}}
	w.RunWith(cfg, time.Now)

	for _, app := range []*v1beta2.SparkApplication{before, finish("after")} {
		kit.Wait(t, "the record of "+app.Name, func(context.Context) error {
			found, err := filepath.Glob(filepath.Join(directory, w.Namespace, store.Runs, app.Name, "*.json"))
			if err != nil || len(found) != 1 {
				return fmt.Errorf("%v, %w", found, err)
			}

			text, err := os.ReadFile(found[0])
			if err != nil {
				return err
			}

			record, err := run.Decode(text, w.Namespace, app.Name)
			if err == nil && (record.Outcome != "Succeeded" || record.UID != app.UID || record.Driver.Requested.MemoryMiB == 0) {
				t.Errorf("the record is %s", text)
			}
			return err
		})
	}
}

// mirrored is the image of a driver after admission, and digest is how its node identifies it.
const (
	mirrored = "mirror.example.com/spark:4.1.4"
	digest   = "mirror.example.com/spark@sha256:7d5e0a3b"
)

// pulled runs a driver on a node. Before, it replaces the image, as the admission of a cluster with a mirror does.
func pulled(w *world.World, driver *corev1.Pod) {
	w.T.Helper()

	before := driver.DeepCopy()

	driver.Spec.Containers[0].Image = mirrored
	if err := w.API.Patch(w.T.Context(), driver, client.StrategicMergeFrom(before)); err != nil {
		w.T.Fatal(err)
	}

	w.BindAway(driver)

	driver = w.WaitPod(driver.Name)
	before = driver.DeepCopy()
	driver.Status.Phase = corev1.PodRunning

	driver.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: driver.Spec.Containers[0].Name, Image: mirrored, ImageID: digest, State: world.Running()}}
	if err := w.API.Status().Patch(w.T.Context(), driver, client.StrategicMergeFrom(before)); err != nil {
		w.T.Fatal(err)
	}
}

// TestDeletedRunIsRecorded checks that the run of an application that is deleted before its end has a record, with its
// usage and the image that its driver ran, and that the deletion of a run that has ended adds none.
func TestDeletedRunIsRecorded(t *testing.T) {
	t.Parallel()
	w, directory := world.New(t), t.TempDir()
	w.GrantSparkRights()

	cfg := world.Config(w.Namespace)
	cfg.Logs = []keptlogs.Entry{{Store: "file://" + directory, Executors: keptlogs.ExecutorsFailed, MaxBytes: "16Mi", ExecutorMaxBytes: "256Ki", MaxExecutors: new(20), Wait: &metav1.Duration{Duration: time.Second}}}
	w.RunWith(cfg, time.Now)

	records := func(name string) (texts []string, _ error) {
		found, err := filepath.Glob(filepath.Join(directory, w.Namespace, store.Runs, name, "*.json"))
		for _, file := range found {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}

			texts = append(texts, string(text))
		}
		return texts, err
	}

	over := w.Application("over", scene.WithDriver)
	driver := w.DriverOf(over, 1)
	pulled(w, driver)
	w.WaitState("over", v1beta2.ApplicationStateRunning)
	w.Execute(driver, scene.Exited(0, ""))
	w.WaitState("over", v1beta2.ApplicationStateCompleted)
	w.Remove(over)

	app := w.Application("cut", scene.WithDriver)
	pulled(w, w.DriverOf(app, 1))
	w.WaitState("cut", v1beta2.ApplicationStateRunning)
	w.Remove(app)

	kit.Wait(t, "the record of the run that was cut", func(context.Context) error {
		texts, err := records(app.Name)
		if err != nil || len(texts) != 1 {
			return fmt.Errorf("%q, %w", texts, err)
		}

		record, err := run.Decode([]byte(texts[0]), w.Namespace, app.Name)
		if err == nil && (record.Outcome != run.Deleted || record.UID != app.UID || record.Attempts != 1 || record.Driver.Requested.MemoryMiB == 0 || record.Links.Logs == "" ||
			record.Image != mirrored || record.ImageID != digest) {
			t.Errorf("the record is %s", texts[0])
		}
		return err
	})

	texts, err := records("over")
	if err != nil || len(texts) != 1 || !strings.Contains(texts[0], `"outcome":"Succeeded"`) || !strings.Contains(texts[0], `"image":"`+mirrored+`","imageID":"`+digest+`"`) {
		t.Errorf("the run that had ended has the records %q, %v", texts, err)
	}
}

// TestDeletedRunWithoutStore checks that a run whose records are in ConfigMaps is recorded after its deletion only if a
// schedule owns the ConfigMap.
func TestDeletedRunWithoutStore(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	schedule := w.Schedule("nightly", "0 2 * * *", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.Suspend = new(true) })
	r := started(t, w, nil)

	single := ended(w, "single", time.Now())
	scheduled := ended(w, "nightly-1", time.Now(), func(app *v1beta2.SparkApplication) {
		app.Labels = map[string]string{v1beta2.ScheduledAppNameLabel: "nightly"}
		app.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(), Kind: "ScheduledSparkApplication", Name: "nightly", UID: schedule.UID, Controller: new(true)}}
	})

	for _, app := range []*v1beta2.SparkApplication{single, scheduled} {
		app.Status.Operator.Phase, app.Status.Operator.Outcome = "Running", ""
		r.Deleted(t.Context(), app)
	}

	kit.Wait(t, "the record", func(ctx context.Context) error {
		return w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: keep.NameOf("nightly", schedule.UID)}, &corev1.ConfigMap{})
	})

	var maps corev1.ConfigMapList
	if err := w.API.List(t.Context(), &maps, client.InNamespace(w.Namespace), client.HasLabels{run.GroupLabel}); err != nil || len(maps.Items) != 1 {
		t.Errorf("%d ConfigMaps, %v", len(maps.Items), err)
	}
}
