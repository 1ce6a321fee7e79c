package cli

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/doctor"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/engine/kueue"
	"github.com/sparkoperator/spark-operator/test/kit"
	queues "github.com/sparkoperator/spark-operator/test/kit/kueue"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestUnqueued checks what explain says about applications that name a queue of Kueue, with and without a
// Workload.
func TestUnqueued(t *testing.T) {
	w := scene.New(t)
	queues.Install(t)

	c, err := kube.New(kit.Rest(t), w.Namespace)
	if err != nil {
		t.Fatal(err)
	}

	for name, want := range map[string]string{"queued": "", "unqueued": "SparkApplicationIntegration"} {
		app := w.Application(name, func(app *v1beta2.SparkApplication) {
			app.Labels = map[string]string{kueue.QueueLabel: "research"}
		})

		if name == "queued" {
			createWorkload(t, app)
		}

		app.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Minute))

		var said []string
		for _, f := range doctor.Unqueued(t.Context(), c, app) {
			said = append(said, f.Text)
		}

		if got := strings.Join(said, "\n"); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// createWorkload creates the Workload of an application. The application must exist, because the garbage collector of
// Kubernetes deletes what has an unknown owner.
func createWorkload(t *testing.T, app *v1beta2.SparkApplication) {
	t.Helper()

	pod := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "spark", Image: "spark"}}}}
	workload := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkApplication", Name: app.Name, UID: app.UID, Controller: new(true),
		}}},
		Spec: kueue.WorkloadSpec{QueueName: "research", PodSets: []kueue.PodSet{{Name: "driver", Count: 1, Template: pod}}},
	}

	if err := kit.Client(t, kueue.AddToScheme).Create(t.Context(), workload); err != nil {
		t.Fatal(err)
	}
}
