package samples_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/record/samples"
	"github.com/sparkoperator/spark-operator/test/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }

// serveMetrics lets the API server serve pods of metrics.k8s.io, which tests create.
func serveMetrics(t *testing.T) {
	t.Helper()

	api := kit.Client(t, apiextensionsv1.AddToScheme)
	whole := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}

	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "pods.metrics.k8s.io", Annotations: map[string]string{"api-approved.kubernetes.io": "unapproved, for a test"}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "metrics.k8s.io", Scope: apiextensionsv1.NamespaceScoped,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: "pods", Kind: "PodMetrics", ListKind: "PodMetricsList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1beta1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: whole}}},
		},
	}
	if err := api.Create(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
}

// TestSamples checks samples of the metrics API: before the API exists nothing fails, the containers of a pod are added
// up, executors and driver are apart, and pods of others do not count.
func TestSamples(t *testing.T) {
	api, namespace := kit.Client(t), kit.Namespace(t)
	sampler := samples.New(api, 50*time.Millisecond, testr.New(t))

	ctx, stop := context.WithCancel(t.Context())

	done := make(chan error, 1)
	go func() { done <- sampler.Start(ctx) }()

	app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pi", UID: "app"}}
	if driver, _ := sampler.Of(app, 1); driver != (statusv1.UsageSamples{}) {
		t.Errorf("samples without a metrics API: %+v", driver)
	}

	serveMetrics(t)

	metrics := func(name, role, uid string, memory ...string) {
		t.Helper()

		var containers []any
		for _, each := range memory {
			containers = append(containers, map[string]any{"name": "c", "usage": map[string]any{"cpu": "250m", "memory": each}})
		}

		item := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics", "containers": containers}}
		item.SetNamespace(namespace)
		item.SetName(name)
		item.SetLabels(map[string]string{identity.AppUIDLabel: uid, identity.AttemptLabel: "1", identity.RoleLabel: role})
		kit.Wait(t, "the metrics of "+name, func(ctx context.Context) error { return client.IgnoreAlreadyExists(api.Create(ctx, item)) })
	}
	metrics("driver", identity.RoleDriver, "app", "700Mi", "100Mi")
	metrics("e-1", identity.RoleExecutor, "app", "2Gi")
	metrics("e-2", identity.RoleExecutor, "app", "3Gi")
	metrics("other", identity.RoleExecutor, "another", "9Gi")

	var driver, executors statusv1.UsageSamples
	kit.Wait(t, "samples of all pods", func(context.Context) error {
		d, e := sampler.Of(app, 1)
		if driver, executors = d, e; driver.PeakMemoryMiB == 0 || executors.PeakMemoryMiB != 3072 {
			return context.DeadlineExceeded
		}
		return nil
	})
	stop()

	if err := <-done; err != nil {
		t.Error(err)
	}

	if driver.PeakMemoryMiB != 800 || executors.Count < 2 {
		t.Errorf("the driver: %+v, the executors: %+v", driver, executors)
	}

	if diff := cmp.Diff(statusv1.UsageSamples{}, first(sampler.Of(app, 2))); diff != "" {
		t.Errorf("samples of another attempt: %s", diff)
	}
}

func first(driver, _ statusv1.UsageSamples) statusv1.UsageSamples { return driver }
