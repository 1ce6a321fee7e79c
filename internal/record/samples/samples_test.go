package samples_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
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

// counting counts the lists of namespaces that found a given number of objects.
type counting struct {
	client.Reader

	mu    sync.Mutex
	lists map[string]map[int]int
}

func (c *counting) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := c.Reader.List(ctx, list, options...)
	if err != nil {
		return err
	}

	asked := (&client.ListOptions{}).ApplyOptions(options)

	c.mu.Lock()
	defer c.mu.Unlock()

	of := c.lists[asked.Namespace]
	if of == nil {
		of = map[int]int{}
		c.lists[asked.Namespace] = of
	}

	of[meta.LenList(list)]++
	return nil
}

// count returns the number of lists of a namespace that found a number of objects.
func (c *counting) count(namespace string, found int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lists[namespace][found]
}

// TestSamples checks samples of the metrics API: before the API exists nothing fails, the containers of a pod are added
// up, executors and driver are apart, and pods of others do not count. The namespace is sampled while an attempt runs
// there, also if the metrics API has no figures at first: an empty list once ended the samples of a driver whose status
// did not change any more.
func TestSamples(t *testing.T) {
	api, namespace := kit.Client(t), kit.Namespace(t)
	reader := &counting{Reader: api, lists: map[string]map[int]int{}}
	sampler := samples.New(reader, 50*time.Millisecond, testr.New(t))

	ctx, stop := context.WithCancel(t.Context())

	done := make(chan error, 1)
	go func() { done <- sampler.Start(ctx) }()

	app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pi", UID: "app"}}
	if driver, _ := sampler.Of(app, 1); driver != (statusv1.UsageSamples{}) {
		t.Errorf("samples without a metrics API: %+v", driver)
	}

	running, stopped := types.NamespacedName{Namespace: namespace, Name: "pi"}, types.NamespacedName{Namespace: "a-stopped", Name: "pi"}
	sampler.SetRunning("app", running, true)
	sampler.SetRunning("app", stopped, true)
	serveMetrics(t)

	lists := func(found, more int) {
		t.Helper()

		want := reader.count(namespace, found) + more
		kit.Wait(t, fmt.Sprint("lists with ", found), func(context.Context) error {
			if n := reader.count(namespace, found); n < want {
				return fmt.Errorf("%d, want %d", n, want)
			}
			return nil
		})
	}
	lists(0, 2)
	sampler.SetRunning("other kind", running, false)
	sampler.SetRunning("app", stopped, false)
	lists(0, 1) // the namespaces of the next interval are known

	before := reader.count(stopped.Namespace, 0)

	lists(0, 2)

	if after := reader.count(stopped.Namespace, 0); before == 0 || after != before {
		t.Errorf("%d lists of a namespace until its attempt ended, and %d in all", before, after)
	}

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

	lists(4, 2)
	stop()

	if err := <-done; err != nil {
		t.Error(err)
	}

	driver, executors := sampler.Of(app, 1)
	if driver.PeakMemoryMiB != 800 || executors.Count < 2 {
		t.Errorf("the driver: %+v, the executors: %+v", driver, executors)
	}

	if diff := cmp.Diff(statusv1.UsageSamples{}, first(sampler.Of(app, 2))); diff != "" {
		t.Errorf("samples of another attempt: %s", diff)
	}
}

func first(driver, _ statusv1.UsageSamples) statusv1.UsageSamples { return driver }
