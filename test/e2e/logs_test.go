package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

// keptLogs checks for each way in which a driver can end that its log is kept in a ConfigMap, or that the status has
// the reason why it is not. It upgrades the release and does not undo this change.
func (w *suite) keptLogs(t *testing.T) {
	if err := w.Helm(t.Context(), "upgrade", cluster.Release, filepath.Join(root, "charts/spark-operator"), "--namespace", cluster.Namespace,
		"--reuse-values", "--wait", "--timeout", "4m", "--set-json", `logs=[{"executors":"Failed"}]`); err != nil {
		t.Fatal(err)
	}

	w.lifeProgram(t)

	running := func(steps ...string) []string { return append([]string{"session"}, steps...) }
	for _, test := range []struct {
		name  string
		steps []string
		spec  func(*v1beta2.SparkApplication)
		end   func(*testing.T, *v1beta2.SparkApplication) // of a driver that runs; nil: it ends by itself
		lost  bool                                        // the log cannot be kept
	}{
		{"success", running(), nil, nil, false},
		{"exit-code", running("fail"), nil, nil, false},
		{"deadline", running("sleep"), func(a *v1beta2.SparkApplication) {
			a.Spec.Timeouts = &v1beta2.Timeouts{RunSeconds: new(int64(60))}
		}, nil, false},
		{"pod-deleted", running("sleep"), nil, func(t *testing.T, a *v1beta2.SparkApplication) {
			w.deleteDriver(t, a)
		}, false},
		{"pod-killed", running("sleep"), nil, func(t *testing.T, a *v1beta2.SparkApplication) {
			w.deleteDriver(t, a, client.GracePeriodSeconds(0))
		}, true},
		{"suspended", running("sleep"), nil, func(t *testing.T, a *v1beta2.SparkApplication) {
			w.patch(t, a, `{"spec":{"suspend":true}}`)
		}, false},
		{"edited", running("sleep"), nil, func(t *testing.T, a *v1beta2.SparkApplication) {
			w.patch(t, a, `{"spec":{"arguments":["session"]}}`)
		}, false},
	} {
		w.parallel(t, test.name, func(t *testing.T) {
			app := w.scriptedApp(t, "logs-"+test.name, test.steps, test.spec)
			app.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyNever}
			w.create(t, app)

			if test.end != nil {
				w.await(t, app, patience, "an executor that ran", func(a *v1beta2.SparkApplication) bool {
					return a.Status.AppState.State == v1beta2.ApplicationStateRunning && a.Status.Executors != nil && a.Status.Executors.Running > 0
				})
				test.end(t, app)
			}

			w.awaitLog(t, app, test.lost)
		})
	}
}

// deleteDriver deletes the driver of an application, as a user does.
func (w *suite) deleteDriver(t *testing.T, app *v1beta2.SparkApplication, options ...client.DeleteOption) {
	t.Helper()

	driver := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Status.DriverInfo.PodName}}
	if err := w.Client.Delete(t.Context(), driver, options...); err != nil {
		t.Fatal(err)
	}
}

// awaitLog waits until the log of the first attempt is kept, with the line that Spark logs at its start. If lost is
// true, the reason why it is not kept is enough.
func (w *suite) awaitLog(t *testing.T, app *v1beta2.SparkApplication, lost bool) {
	t.Helper()

	eventually(t, patience, "the log of "+app.Name, func() (string, bool) {
		files := w.keptFiles(t, app)
		if lost && strings.Contains(string(files["1.index.json"]), `"missing"`) {
			return "", true
		}

		if files["1.driver.log.gz"] == nil {
			return fmt.Sprintf("index %s\n%s", files["1.index.json"], w.describe(t, app)), false
		}

		plain, err := gzip.NewReader(bytes.NewReader(files["1.driver.log.gz"]))
		if err != nil {
			t.Fatal(err)
		}

		text, err := io.ReadAll(plain)
		return fmt.Sprintf("%v\n%s", err, text), err == nil && strings.Contains(string(text), "SparkContext: Running Spark version")
	})

	w.await(t, app, time.Minute, "the result in the status", func(a *v1beta2.SparkApplication) bool {
		l := a.Status.Operator.Logs
		return l != nil && (l.KeptAt != nil || lost && l.Reason != "")
	})
}

// keptFiles returns the files of the ConfigMap with the logs of an application; nil if there is none.
func (w *suite) keptFiles(t *testing.T, app *v1beta2.SparkApplication) map[string][]byte {
	t.Helper()

	var maps corev1.ConfigMapList
	if err := w.Client.List(t.Context(), &maps, client.InNamespace(app.Namespace), client.MatchingLabels{"app.kubernetes.io/managed-by": "spark-operator"}); err != nil {
		t.Fatal(err)
	}

	for _, m := range maps.Items {
		if len(m.OwnerReferences) == 1 && m.OwnerReferences[0].UID == app.UID && m.BinaryData != nil {
			return m.BinaryData
		}
	}
	return nil
}
