package logs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/record/run"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/stores"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestClouds checks logs, uploads, records and retention with the servers of S3 and of Google Cloud Storage.
// TestAzurite does the same with Azure.
func TestClouds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds servers of object stores")
	}

	t.Run("S3", func(t *testing.T) {
		root := t.TempDir()
		if err := os.Mkdir(filepath.Join(root, "bucket"), 0o755); err != nil {
			t.Fatal(err)
		}

		keepsInCloud(t, stores.URL("bucket/of/logs", stores.S3(t, root)))
	})
	t.Run("Google", func(t *testing.T) {
		stores.Google(t, "bucket")
		keepsInCloud(t, "gs://bucket/of/logs")
	})
}

// keepsInCloud plays an application with a failed executor, a retry, and an upload of the second driver's log, and
// then the end of its retention.
func keepsInCloud(t *testing.T, url string) {
	k := keep(t, url, streams)
	k.RunWith(k.cfg, time.Now)
	app := k.Application("pi", world.OnFailure(1))
	driver := k.running(app, 1, "one\n")

	executor := k.Executor(app, driver, 1)
	k.Create(executor)
	k.Bind(executor, k.node.Name)
	k.node.Log(executor.Name, "of the executor\n")
	k.Kubelet(executor.Name, corev1.PodFailed, done(1))
	k.waitText(app, 1, "1", "of the executor\n")
	k.Execute(driver, done(1))
	k.waitText(app, 1, "", "one\n")

	driver, log := k.streamed(app, 2)
	log.write("two\n")
	k.waitUploaded(app, 2, 4)
	log.write("three\n")
	k.waitUploaded(app, 2, 10)
	log.rotate(1)
	k.Execute(driver, done(0))
	k.waitText(app, 2, "", "two\nthree\n")
	k.waitText(app, 1, "", "one\n")
	k.waitText(app, 1, "1", "of the executor\n")

	app = k.waitStatus("pi", 2, "")
	if place := app.Status.Operator.Logs.Place; place != k.logs.Place(attemptOf(app, 2)) {
		t.Errorf("the place is %s", place)
	}

	bucket := k.logs.(*store.Bucket)
	record := k.waitRecord(app)

	if record.Outcome != "Succeeded" || record.Attempts != 2 || record.UID != app.UID || record.Links.Logs != k.logs.Place(attemptOf(app, 2)) {
		t.Errorf("the record is %+v", record)
	}

	kit.Wait(t, "the deletion of the uploaded parts", func(ctx context.Context) error {
		offsets, err := bucket.Parts(ctx, attemptOf(app, 2))
		if err == nil && len(offsets) > 0 {
			err = fmt.Errorf("these are left: %v", offsets)
		}
		return err
	})
	k.sweeps(t, bucket, app)
}

// waitRecord waits for the record of an application's only run, and returns it.
func (k *keeping) waitRecord(app *v1beta2.SparkApplication) (record *run.Record) {
	k.T.Helper()
	kit.Wait(k.T, "the record of the run", func(ctx context.Context) error {
		var found []string
		for object, err := range k.logs.(*store.Bucket).List(ctx, app.Namespace+"/"+store.Runs+"/"+app.Name+"/") {
			if err != nil {
				return err
			}

			found = append(found, object.Key)
		}

		if len(found) != 1 {
			return fmt.Errorf("the records are %v", found)
		}

		text, err := k.logs.(*store.Bucket).Read(ctx, found[0], run.MaxSize)
		if err != nil {
			return err
		}

		record, err = run.Decode(text, app.Namespace, app.Name)
		return err
	})
	return record
}

// sweeps checks that a sweep deletes the logs and the record of an application when their retention of a day is over,
// and an object of somebody else never.
func (k *keeping) sweeps(t *testing.T, bucket *store.Bucket, app *v1beta2.SparkApplication) {
	t.Helper()

	const foreign = "eventLogs/application_1"
	if err := bucket.Write(t.Context(), foreign, []byte("of Spark")); err != nil {
		t.Fatal(err)
	}

	keys := func() (all []string) {
		for object, err := range bucket.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}

			all = append(all, object.Key)
		}
		return all
	}

	// Two attempts with an index and a driver's log each, the log of an executor, the record, and the foreign object.
	if all := keys(); len(all) != 7 {
		t.Errorf("the store has %v", all)
	}

	sweep(t, k, time.Now())
	k.waitText(app, 1, "", "one\n")
	sweep(t, k, time.Now().Add(25*time.Hour))

	if all := keys(); len(all) != 1 || all[0] != foreign {
		t.Errorf("after the retention, the store has %v", all)
	}
}
