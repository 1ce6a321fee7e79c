package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/record/bucket"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

// historyOnS3 runs Spark's History Server on a bucket of S3.
func (w *suite) historyOnS3(t *testing.T) {
	w.needsEmbedded(t, "a directory of its node")
	t.Setenv("AWS_ACCESS_KEY_ID", storeUser)
	t.Setenv("AWS_SECRET_ACCESS_KEY", storeSecret)

	const name = "event-store"

	jars := s3aJars(t)
	w.startStore(t, name)
	w.makeDirectory(t, name, func(address string) string {
		return "s3://bucket?region=us-east-1&use_path_style=true&endpoint=http://" + address
	})
	w.historyOn(t, "history-s3", jars, "s3a://bucket/spark-events", map[string]string{
		"spark.hadoop.fs.s3a.endpoint":          fmt.Sprintf("http://%s.default.svc:%d", name, storePort),
		"spark.hadoop.fs.s3a.endpoint.region":   "us-east-1",
		"spark.hadoop.fs.s3a.path.style.access": "true",

		"spark.kubernetes.driver.secretKeyRef.AWS_ACCESS_KEY_ID":     name + ":user",
		"spark.kubernetes.driver.secretKeyRef.AWS_SECRET_ACCESS_KEY": name + ":secret",
	}, corev1.EnvVar{Name: "AWS_ACCESS_KEY_ID", Value: storeUser}, corev1.EnvVar{Name: "AWS_SECRET_ACCESS_KEY", Value: storeSecret})
}

// historyOnGCS runs Spark's History Server on a bucket of Google Cloud Storage's API. The emulator checks no
// credentials, so there are none.
func (w *suite) historyOnGCS(t *testing.T) {
	w.needsEmbedded(t, "a directory of its node")

	const name = "google-store"

	jars := mavenJars(t, "gcs", "testdata/history/gcs.xml")
	w.startGoogleStore(t, name)
	w.makeDirectory(t, name, func(address string) string {
		t.Setenv("STORAGE_EMULATOR_HOST", address)
		return "gs://bucket"
	})
	w.historyOn(t, "history-gcs", jars, "gs://bucket/spark-events", map[string]string{
		"spark.hadoop.fs.gs.impl":                    "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
		"spark.hadoop.fs.AbstractFileSystem.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFS",
		"spark.hadoop.fs.gs.auth.type":               "UNAUTHENTICATED",
		"spark.hadoop.fs.gs.storage.root.url":        fmt.Sprintf("http://%s.default.svc:%d/", name, storePort),
		"spark.hadoop.fs.gs.operation.move.enable":   "false", // the emulator cannot rename an object in one request
	})
}

// historyOn runs Spark's History Server on a bucket, as the documentation has it. An application ends and loses its
// pods, and its stages and SQL plans must be visible through the link in its status. Users put the jars of the bucket's
// client into their image, but this test mounts them from the node.
//
// It upgrades the release and does not undo this change.
func (w *suite) historyOn(t *testing.T, name, jars, directory string, conf map[string]string, env ...corev1.EnvVar) {
	t.Helper()
	w.jarsVolume(t, name, jars)

	front := newHistoryFront(t)
	w.upgradeHistory(t, bucketHistory(name, jars, directory, front.URL, conf, env))

	program := configMapOf(t, name, "testdata/history/main.py")
	w.create(t, program)

	app := w.historyApp(t, name)
	app.Spec.Volumes[0].ConfigMap.Name = program.Name
	w.create(t, app)
	w.awaitEnd(t, app, patience, v1beta2.ApplicationStateCompleted)

	if err := w.Client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace("default"), client.MatchingLabels{labelAppUID: string(app.UID)}); err != nil {
		t.Fatal(err)
	}

	address, stop, err := w.Forward(t.Context(), cluster.Namespace, historyServerName, 18080)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()

	front.leadTo(t, address)

	if want := front.URL + "/history/" + app.Status.SparkApplicationID + "/"; app.Status.Operator.HistoryServerURL != want {
		t.Fatalf("the link is %q, want %q", app.Status.Operator.HistoryServerURL, want)
	}

	checkHistory(t, app.Status.Operator.HistoryServerURL, app.Status.SparkApplicationID, true)
	w.remove(t, app)
}

// bucketHistory returns the chart's values for a server and drivers that have the jars of a bucket's client in a
// directory of the node. The server has them by the claim with the given name.
func bucketHistory(claim, jars, directory, address string, conf map[string]string, env []corev1.EnvVar) map[string]any {
	const mounted = "/opt/store-jars"

	conf = maps.Clone(conf)
	conf["spark.driver.extraClassPath"] = mounted + "/*"
	conf["spark.kubernetes.driver.volumes.hostPath.jars.mount.path"] = mounted
	conf["spark.kubernetes.driver.volumes.hostPath.jars.options.path"] = jars

	return map[string]any{
		"enable": true, "logDirectory": directory, "url": address, "sparkConf": conf,
		"metrics":      map[string]any{"jmxExporterJar": ""},
		"properties":   map[string]string{"spark.history.fs.update.interval": "2s"},
		"env":          append(env, corev1.EnvVar{Name: "SPARK_DAEMON_CLASSPATH", Value: mounted + "/*"}),
		"volumes":      []map[string]any{{"name": "jars", "persistentVolumeClaim": map[string]string{"claimName": claim}}},
		"volumeMounts": []corev1.VolumeMount{{Name: "jars", MountPath: mounted, ReadOnly: true}},
	}
}

// jarsVolume creates the volume of the server. The server's namespace forbids directories of the node in pods.
func (w *suite) jarsVolume(t *testing.T, name, jars string) {
	t.Helper()

	size := resource.MustParse("1Gi")
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}

	w.createAll(t,
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
			AccessModes: modes, Capacity: corev1.ResourceList{corev1.ResourceStorage: size},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: jars}},
		}},
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: new(""), VolumeName: name,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		}})
}

// upgradeHistory upgrades the release so that it runs a History Server with the given values, and waits until the
// server answers.
func (w *suite) upgradeHistory(t *testing.T, values map[string]any) {
	t.Helper()

	text, err := json.Marshal(map[string]any{"historyServer": values})
	if err != nil {
		t.Fatal(err)
	}

	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}

	w.upgrade(t, "--values", file)
}

// makeDirectory creates an empty object in the place of a directory, without which Spark refuses the bucket. The
// argument url returns the URL of the bucket in the store at an address.
func (w *suite) makeDirectory(t *testing.T, store string, url func(address string) string) {
	t.Helper()

	address, stop, err := w.Forward(t.Context(), "default", store, storePort)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()

	opened, _, _, err := bucket.Open(t.Context(), url(address), false, bucket.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()

	if err := opened.WriteAll(t.Context(), "spark-events/", nil, nil); err != nil {
		t.Fatal(err)
	}
}
