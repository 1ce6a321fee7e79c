package e2e

import (
	"encoding/json"
	"fmt"
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

// eventStore is the object store with event logs, and jarsClaim the volume of the server with the jars of its client.
const (
	eventStore = "event-store"
	jarsClaim  = "s3a-jars"
)

// historyOnS3 runs Spark's History Server on a bucket, as the documentation has it. An application ends and loses its
// pods, and its stages and SQL plans must be visible through the link in its status. Users put hadoop-aws into their
// image, but this test mounts its jars from the node.
//
// It upgrades the release and does not undo this change.
func (w *suite) historyOnS3(t *testing.T) {
	w.needsEmbedded(t, "a directory of its node")
	t.Setenv("AWS_ACCESS_KEY_ID", storeUser)
	t.Setenv("AWS_SECRET_ACCESS_KEY", storeSecret)

	jars := s3aJars(t)

	w.startStore(t, eventStore)
	w.makeDirectory(t, eventStore, "spark-events/")

	w.jarsVolume(t, jars)

	front := newHistoryFront(t)
	w.upgradeHistory(t, s3History(jars, front.URL))

	w.create(t, configMapOf(t, "event-program", "testdata/history/main.py"))

	app := w.historyApp(t, "history-s3")
	app.Spec.Volumes[0].ConfigMap.Name = "event-program"
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

// s3History returns the chart's values for a server and drivers that have hadoop-aws in a directory of the node.
func s3History(jars, address string) map[string]any {
	const mounted = "/opt/s3a"

	conf := map[string]string{
		"spark.hadoop.fs.s3a.endpoint":          fmt.Sprintf("http://%s.default.svc:%d", eventStore, storePort),
		"spark.hadoop.fs.s3a.endpoint.region":   "us-east-1",
		"spark.hadoop.fs.s3a.path.style.access": "true",
		"spark.driver.extraClassPath":           mounted + "/*",

		"spark.kubernetes.driver.volumes.hostPath.s3a.mount.path":    mounted,
		"spark.kubernetes.driver.volumes.hostPath.s3a.options.path":  jars,
		"spark.kubernetes.driver.secretKeyRef.AWS_ACCESS_KEY_ID":     eventStore + ":user",
		"spark.kubernetes.driver.secretKeyRef.AWS_SECRET_ACCESS_KEY": eventStore + ":secret",
	}

	return map[string]any{
		"enable": true, "logDirectory": "s3a://bucket/spark-events", "volume": nil, "url": address, "sparkConf": conf,
		"metrics":    map[string]any{"jmxExporterJar": ""},
		"properties": map[string]string{"spark.history.fs.update.interval": "2s"},
		"env": []corev1.EnvVar{
			{Name: "AWS_ACCESS_KEY_ID", Value: storeUser}, {Name: "AWS_SECRET_ACCESS_KEY", Value: storeSecret},
			{Name: "SPARK_DAEMON_CLASSPATH", Value: mounted + "/*"},
		},
		"volumes":      []map[string]any{{"name": "s3a", "persistentVolumeClaim": map[string]string{"claimName": jarsClaim}}},
		"volumeMounts": []corev1.VolumeMount{{Name: "s3a", MountPath: mounted, ReadOnly: true}},
	}
}

// jarsVolume creates the volume of the server. The server's namespace forbids directories of the node in pods.
func (w *suite) jarsVolume(t *testing.T, jars string) {
	t.Helper()

	size := resource.MustParse("1Gi")
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}

	w.createAll(t,
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: jarsClaim}, Spec: corev1.PersistentVolumeSpec{
			AccessModes: modes, Capacity: corev1.ResourceList{corev1.ResourceStorage: size},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: jars}},
		}},
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: jarsClaim}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: new(""), VolumeName: jarsClaim,
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

// makeDirectory creates an empty object in the place of a directory, without which Spark refuses the bucket.
func (w *suite) makeDirectory(t *testing.T, name, key string) {
	t.Helper()

	address, stop, err := w.Forward(t.Context(), "default", name, storePort)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()

	url := "s3://bucket?region=us-east-1&use_path_style=true&endpoint=http://" + address

	opened, _, _, err := bucket.Open(t.Context(), url, false, bucket.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()

	if err := opened.WriteAll(t.Context(), key, nil, nil); err != nil {
		t.Fatal(err)
	}
}
