package cli

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/cli/doctor"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/engine/kueue"
	"github.com/sparkoperator/spark-operator/test/kit"
	queues "github.com/sparkoperator/spark-operator/test/kit/kueue"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// TestUnqueued checks what explain says about applications that name a queue of Kueue: one of them has a Workload, and
// the other has none.
func TestUnqueued(t *testing.T) {
	w := scene.New(t)
	queues.Install(t)

	c, err := kube.New(kit.Rest(t), w.Namespace)
	if err != nil {
		t.Fatal(err)
	}

	controller, pod := true, corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "spark", Image: "spark"}}}}

	queued := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "queued", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkApplication", Name: "queued", UID: "queued", Controller: &controller,
	}}}, Spec: kueue.WorkloadSpec{QueueName: "research", PodSets: []kueue.PodSet{{Name: "driver", Count: 1, Template: pod}}}}
	if err := kit.Client(t, kueue.AddToScheme).Create(t.Context(), queued); err != nil {
		t.Fatal(err)
	}

	for uid, want := range map[string]string{"queued": "", "unqueued": "SparkApplicationIntegration"} {
		app := sparkapp.Sample()
		app.Namespace, app.Name, app.UID = w.Namespace, uid, types.UID(uid)
		app.CreationTimestamp, app.Labels = metav1.NewTime(time.Now().Add(-time.Minute)), map[string]string{kueue.QueueLabel: "research"}

		var said []string
		for _, f := range doctor.Unqueued(t.Context(), c, app) {
			said = append(said, f.Text)
		}

		if got := strings.Join(said, "\n"); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q", uid, got)
		}
	}
}
