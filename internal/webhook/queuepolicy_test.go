package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestQueueOfRunningResourcesStays checks the chart's policy for the label of a queue: it can be changed before pods
// run and while a resource is suspended, and at no other time. Everything else of the resource can be changed.
func TestQueueOfRunningResourcesStays(t *testing.T) {
	t.Parallel()
	w := scene.New(t)

	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + "-queue"}}
	if err := yaml.UnmarshalStrict([]byte(readFile(t, "../../charts/spark-operator/files/queue-policy.yaml")), &policy.Spec); err != nil {
		t.Fatal(err)
	}

	policy.Spec.MatchConstraints.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.Namespace}}
	for _, object := range []client.Object{policy, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}} {
		w.Create(object)
		t.Cleanup(func() {
			if err := client.IgnoreNotFound(w.API.Delete(context.Background(), object)); err != nil {
				t.Error(err)
			}
		})
	}

	created := func(kind, version, name, spec, status string) *unstructured.Unstructured {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(fmt.Sprintf(`{"spec":%s,"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"a"}}}`, spec)), &object.Object); err != nil {
			t.Fatal(err)
		}

		object.SetAPIVersion(version)
		object.SetKind(kind)
		object.SetNamespace(w.Namespace)
		object.SetName(name)
		w.Create(object)

		if status != "" {
			if err := w.API.Status().Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`))); err != nil {
				t.Fatal(err)
			}
		}
		return object
	}
	patch := func(object *unstructured.Unstructured, metadata string) error {
		return w.API.Patch(t.Context(), object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":`+metadata+`}`)))
	}
	state := func(name string) string {
		return `{"currentState":{"currentStateSummary":"` + name + `","lastTransitionTime":"2026-01-02T12:00:00Z"}}`
	}

	const (
		app     = `{"runtimeVersions":{"sparkVersion":"4.1.4"},"applicationTolerations":{}}`
		cluster = `{"runtimeVersions":{"sparkVersion":"4.1.4"},"clusterTolerations":{"instanceConfig":{"initWorkers":1,"minWorkers":1,"maxWorkers":1}}}`
		connect = `{"sparkVersion":"4.1.4","server":{},"executor":{}}`
		apache  = "spark.apache.org/v1"
	)

	probe := created("SparkApplication", apache, "probe", app, state("DriverReady"))

	// Each try writes another value: a value that is already there changes nothing, so the policy would allow it.
	tries := 0
	kit.Wait(t, "the policy to be in force", func(context.Context) error {
		tries++
		if err := patch(probe, fmt.Sprintf(`{"labels":{"kueue.x-k8s.io/queue-name":"try-%d"}}`, tries)); err == nil {
			return errors.New("the label was changed")
		}
		return nil
	})

	for i, test := range []struct {
		kind, version, spec, status string
		allowed                     bool
	}{
		{"SparkApplication", apache, app, "", true},
		{"SparkApplication", apache, app, state("Submitted"), true},
		{"SparkApplication", apache, app, state("ScheduledToRestart"), true},
		{"SparkApplication", apache, app, state("Suspended"), true},
		{"SparkApplication", apache, app, state("DriverRequested"), false},
		{"SparkApplication", apache, app, state("RunningHealthy"), false},
		{"SparkApplication", apache, app, state("ResourceReleased"), false},
		{"SparkApplication", "spark.apache.org/v1beta1", app, state("RunningHealthy"), false},
		{"SparkCluster", apache, cluster, "", true},
		{"SparkCluster", apache, cluster, state("Suspended"), true},
		{"SparkCluster", apache, cluster, state("RunningHealthy"), false},
		{"SparkConnect", "sparkoperator.k8s.io/v1alpha1", connect, "", true},
		{"SparkConnect", "sparkoperator.k8s.io/v1alpha1", connect, `{"state":"Ready"}`, false},
		{"SparkConnect", "sparkoperator.k8s.io/v1alpha1", connect,
			`{"state":"NotReady","conditions":[{"type":"Suspended","status":"True","reason":"Suspended","message":"","lastTransitionTime":"2026-01-02T12:00:00Z"}]}`, true},
	} {
		object := created(test.kind, test.version, fmt.Sprintf("probe-%d", i), test.spec, test.status)
		for _, metadata := range []string{`{"labels":{"kueue.x-k8s.io/queue-name":"b"}}`, `{"labels":null}`} {
			err := patch(object, metadata)
			if (err == nil) != test.allowed || err != nil && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "suspend the resource first")) {
				t.Errorf("%s %s: a patch to %s: %v", test.kind, test.status, metadata, err)
			}
		}

		if err := patch(object, `{"annotations":{"a":"b"}}`); err != nil {
			t.Errorf("%s %s: a patch of an annotation: %v", test.kind, test.status, err)
		}
	}
}
