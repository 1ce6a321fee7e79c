package operator_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/hostile"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

const (
	// hostileDelay bounds the additional time that an application may wait for its driver while another namespace is
	// hostile, apart from the time that the API server needs.
	hostileDelay = 2 * time.Second
	// The operator's heap may grow by hostileHeap, and by heapPerByte for each byte of the objects of another
	// namespace. Once these are deleted, it may have grown by hostileHeap only.
	hostileHeap = 96 << 20
	heapPerByte = 2
)

// TestHostileNamespaceDelaysNobody fills one namespace with expensive objects of all kinds. It checks that an ordinary
// application in another namespace gets its driver with hardly more delay than before, and that the operator's memory
// stays within a bound.
func TestHostileNamespaceDelaysNobody(t *testing.T) {
	w, theirs := world.New(t), kit.Namespace(t)
	serveHostile(w, theirs)
	measureLaunches(w, "first", 1) // waits for the caches
	baseline := measureLaunches(w, "before", 3)
	heap := heapInUse()

	crowd := createHostile(w, t, theirs, hostileCount(150))
	during := measureLaunches(w, "during", 5)

	crowd.wait()

	after := measureLaunches(w, "after", 3)
	t.Logf("drivers after %v; beside hostile objects that were being created %v, that were there %v", baseline, during, after)
	t.Logf("%d objects of %d KiB were created, %d were refused by the API server", crowd.created, crowd.bytes>>10, crowd.refused)

	for _, launches := range [][]launch{during, after} {
		if late := typical(launches) - typical(baseline); late > hostileDelay {
			t.Errorf("a hostile namespace delays a driver by %v; the bound is %v", late, hostileDelay)
		}
	}

	if crowd.created < hostileCount(150)/3 {
		t.Errorf("only %d objects were created: %v", crowd.created, crowd.last)
	}

	grown := heapInUse() - heap
	t.Logf("the heap grew by %d MiB", grown>>20)

	if grown > hostileHeap+heapPerByte*crowd.bytes {
		t.Errorf("the heap grew by %d MiB for %d MiB of objects", grown>>20, crowd.bytes>>20)
	}

	crowd.delete()

	var left int64
	for range 20 { // until the caches have it
		if left = heapInUse() - heap; left <= hostileHeap/2 {
			break
		}

		time.Sleep(500 * time.Millisecond)
	}

	t.Logf("the heap is %d MiB larger once they are gone", left>>20)

	if left > hostileHeap {
		t.Errorf("the heap still contains %d MiB after the objects were deleted", left>>20)
	}
}

// TestObjectsStoredUnderAnotherDefinition stores objects that our definitions reject. An older definition, or another
// operator's, could have admitted them. The test checks that these objects stop neither a running operator nor an
// operator that starts. It runs before the parallel tests, since all tests share the definitions.
func TestObjectsStoredUnderAnotherDefinition(t *testing.T) {
	w, theirs := world.New(t), kit.Namespace(t)
	if err := apiextensionsv1.AddToScheme(w.API.Scheme()); err != nil {
		t.Fatal(err)
	}

	restore := admitAnything(w, "sparkapplications.sparkoperator.k8s.io", "sparkconnects.sparkoperator.k8s.io", "sparkapplications.spark.apache.org")
	stop := serveHostile(w, theirs)
	measureLaunches(w, "first", 1) // waits for the caches
	baseline := measureLaunches(w, "before", 3)

	var stored []client.Object
	for i, quantity := range []string{"1e2000000000", "1234567890123456789012e2000000000", strings.Repeat("9", 300_000), "1e-2000000000"} {
		stored = append(stored, storeUnbounded(w, theirs, fmt.Sprintf("huge-%d", i), quantity)...)
	}

	deleteAtEnd(w, stored)
	during := measureLaunches(w, "during", 3)

	stop()
	serveHostile(w, theirs)
	restarted := measureLaunches(w, "restarted", 1)
	t.Logf("drivers after %v; beside unbounded quantities %v, of an operator that started with them %v", baseline, during, restarted)

	if late := typical(during) - typical(baseline); late > hostileDelay {
		t.Errorf("unbounded quantities delay a driver by %v; the bound is %v", late, hostileDelay)
	}

	for _, object := range stored {
		if err := w.API.Delete(t.Context(), object); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	}

	for _, object := range stored {
		w.WaitGone(object)
	}

	restore()
}

// deleteAtEnd deletes objects at the end of the test. Later tests may decode without limits, and would otherwise list
// these objects.
func deleteAtEnd(w *world.World, objects []client.Object) {
	w.T.Cleanup(func() {
		for _, object := range objects {
			if err := w.API.Delete(context.Background(), object); client.IgnoreNotFound(err) != nil {
				w.T.Error(err)
			}
		}
	})
}

// hostileCount returns the number of objects to create: the given number in a full measurement, and otherwise a third
// of it.
func hostileCount(all int) int {
	if os.Getenv(hostile.SoakVariable) != "" {
		return all
	}
	return all / 3
}

// serveHostile starts an operator that serves the test's namespace and the namespace with the given name.
func serveHostile(w *world.World, theirs string) (stop func()) {
	w.T.Helper()
	cfg := world.Config(w.Namespace, theirs)
	env := w.Environment()
	log := env.Log
	env.Log = log.V(0)

	op, err := operator.NewOperator(w.T.Context(), cfg, env)
	if err != nil {
		w.T.Fatal(err)
	}
	return w.Run(op)
}

// launch has two durations. The field driver is the time that an application waited for its driver pod. The field plain
// is the time that a plain client needed for the same requests at the same time. A busy API server lengthens both, so
// only their difference is a delay by the operator.
type launch struct{ driver, plain time.Duration }

func (l launch) String() string { return fmt.Sprintf("%v (%v)", l.driver, l.plain) }

// measureLaunches starts the given number of applications, one after the other, and returns how long each launch took.
func measureLaunches(w *world.World, name string, count int) []launch {
	w.T.Helper()

	var took []launch
	for i := range count {
		name := fmt.Sprintf("%s-%d", name, i)

		plain := make(chan time.Duration, 1)
		go func() { plain <- plainLaunch(w, "plain-"+name) }()

		began := time.Now()

		w.DriverOf(w.Application(name, func(a *v1beta2.SparkApplication) { scene.WithDriver(a) }), 1)

		took = append(took, launch{driver: time.Since(began).Round(time.Millisecond), plain: <-plain})
	}
	return took
}

// plainLaunch sends the same requests as the launch of an application: it creates a long object, a ConfigMap, a Service
// and a pod, and writes a status. It returns the time that the requests took.
func plainLaunch(w *world.World, name string) time.Duration {
	began := time.Now()
	pod := scene.ForeignPod(w.Namespace, name)

	meta := metav1.ObjectMeta{Namespace: w.Namespace, Name: name}
	for _, object := range []client.Object{
		&corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"spec": strings.Repeat("x", 1000)}}, &corev1.ConfigMap{ObjectMeta: meta},
		&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}, pod,
	} {
		if err := w.API.Create(w.T.Context(), object); err != nil {
			w.T.Error(err)
		}
	}

	if err := w.API.Status().Patch(w.T.Context(), pod, client.RawPatch(types.MergePatchType, []byte(`{"status":{"message":"x"}}`))); err != nil {
		w.T.Error(err)
	}
	return time.Since(began).Round(time.Millisecond)
}

// typical returns the median of the delays that the operator added to the given launches. The delay of one launch l is
// l.driver - l.plain.
func typical(launches []launch) time.Duration {
	var later []time.Duration
	for _, l := range launches {
		later = append(later, l.driver-l.plain)
	}
	return median(later)
}

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// heapInUse returns the size of the heap after a garbage collection.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc)
}

// hostileObjects contains the hostile objects that a test creates in a namespace.
type hostileObjects struct {
	w       *world.World
	all     sync.WaitGroup
	mu      sync.Mutex
	objects []client.Object
	created int
	refused int
	bytes   int64
	last    error
}

// createHostile starts to create the given number of hostile objects in a namespace, and returns them. It creates equal
// shares of the objects that expensiveObjects returns.
func createHostile(w *world.World, t *testing.T, namespace string, count int) *hostileObjects {
	t.Helper()

	c := &hostileObjects{w: w}
	cases := expensiveObjects(w, t)

	next := make(chan int)
	go func() {
		defer close(next)

		for i := range count {
			next <- i
		}
	}()

	for range 3 {
		c.all.Go(func() {
			for i := range next {
				c.create(namespace, fmt.Sprintf("hostile-%d", i), cases[i*len(cases)/count])
			}
		})
	}
	return c
}

// expensiveObjects returns the valid objects that are most expensive for the operator, as JSON. For each kind these are
// objects with one very long list, and objects with values in all lists.
func expensiveObjects(w *world.World, t *testing.T) [][]byte {
	t.Helper()
	var all [][]byte

	g := hostile.Cases(t)
	for _, d := range g.Definitions {
		var lists []*hostile.Case
		for c := range g.Of(d) {
			if strings.HasPrefix(c.Field, "spec.") && !strings.Contains(c.Field, "[]") && strings.Contains(c.Value, "distinct items") {
				lists = append(lists, c)
			}
		}

		few := slices.Collect(g.Filled(d))
		for i := range 16 {
			few = append(few, lists[i*len(lists)/16])
		}

		for _, c := range few {
			object, err := c.JSON()
			if err != nil {
				t.Fatal(err)
			}

			all = append(all, object)
		}
	}
	return all
}

func (c *hostileObjects) create(namespace, name string, text []byte) {
	object := &unstructured.Unstructured{}

	err := yaml.Unmarshal(text, &object.Object)
	if err == nil {
		for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "ownerReferences", "managedFields"} {
			unstructured.RemoveNestedField(object.Object, "metadata", field)
		}

		object.SetNamespace(namespace)
		object.SetName(name)
		err = c.w.API.Create(c.w.T.Context(), object)
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	if err != nil {
		c.refused++
		c.last = fmt.Errorf("%.300s", err.Error())
		return
	}
	c.created++
	c.bytes += int64(len(text))

	unstructured.RemoveNestedField(object.Object, "spec")
	c.objects = append(c.objects, object)
}

func (c *hostileObjects) wait() { c.all.Wait() }

// delete deletes all objects and waits until they are gone.
func (c *hostileObjects) delete() {
	c.w.T.Helper()

	for _, object := range c.objects {
		if err := c.w.API.Delete(c.w.T.Context(), object); client.IgnoreNotFound(err) != nil {
			c.w.T.Fatal(err)
		}
	}

	for _, object := range c.objects {
		c.w.WaitGone(object)
	}

	c.objects = nil
}

// admitAnything replaces the schemas of the named definitions with schemas that admit anything. The original schemas
// return when the test ends or calls the returned function.
func admitAnything(w *world.World, names ...string) (restore func()) {
	w.T.Helper()

	original := map[string]apiextensionsv1.CustomResourceDefinitionSpec{}

	change := func(ctx context.Context, name string, to func(*apiextensionsv1.CustomResourceDefinitionSpec)) error {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := w.API.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
			return err
		}

		if _, known := original[name]; !known {
			original[name] = *crd.Spec.DeepCopy()
		}

		to(&crd.Spec)
		return w.API.Update(ctx, crd)
	}
	for _, name := range names {
		if err := change(w.T.Context(), name, func(spec *apiextensionsv1.CustomResourceDefinitionSpec) {
			for i := range spec.Versions {
				spec.Versions[i].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
			}
		}); err != nil {
			w.T.Fatal(err)
		}
	}

	restore = sync.OnceFunc(func() {
		for _, name := range slices.Sorted(maps.Keys(original)) {
			if err := change(context.Background(), name, func(spec *apiextensionsv1.CustomResourceDefinitionSpec) { spec.Versions = original[name].Versions }); err != nil {
				w.T.Error(err)
			}
		}
	})
	w.T.Cleanup(restore)
	return restore
}

// storeUnbounded stores custom resources of several kinds, with the given quantity in some of their fields, and returns
// them. The quantity exceeds our limits. storeUnbounded retries, since the API server may need a moment to serve the
// changed definitions.
func storeUnbounded(w *world.World, namespace, name, quantity string) []client.Object {
	w.T.Helper()

	limits := map[string]any{"limits": map[string]any{"cpu": quantity}}
	container := map[string]any{"name": "c", "image": "i", "resources": limits}
	conf := map[string]any{"spark.kubernetes.container.image": "i", "spark.kubernetes.driver.limit.cores": quantity, "spark.kubernetes.executor.request.cores": quantity}

	var all []client.Object
	for suffix, object := range map[string]map[string]any{
		"sidecar": {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "spec": map[string]any{
			"type": "Java", "mode": "cluster", "sparkVersion": "4.1.4", "image": "i", "mainClass": "M", "mainApplicationFile": "local:///a.jar",
			"driver":   map[string]any{"sidecars": []any{container}, "coreLimit": quantity, "coreRequest": quantity, "memoryLimit": quantity},
			"executor": map[string]any{"instances": int64(1), "initContainers": []any{container}},
		}},
		"connect": {"apiVersion": "sparkoperator.k8s.io/v1alpha1", "kind": "SparkConnect", "spec": map[string]any{
			"sparkVersion": "4.1.4", "image": "i", "server": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{container}}}},
			"executor": map[string]any{"instances": int64(1)},
		}},
		"apache": {"apiVersion": "spark.apache.org/v1", "kind": "SparkApplication", "spec": map[string]any{
			"mainClass": "M", "jars": "local:///a.jar", "runtimeVersions": map[string]any{"sparkVersion": "4.1.4"}, "sparkConf": conf,
			"driverSpec": map[string]any{"podTemplateSpec": map[string]any{"spec": map[string]any{"containers": []any{container}}}},
		}},
	} {
		stored := &unstructured.Unstructured{Object: object}
		stored.SetNamespace(namespace)
		stored.SetName(name + "-" + suffix)
		kit.Wait(w.T, "the API server to store "+stored.GetName(), func(ctx context.Context) error {
			if err := w.API.Create(ctx, stored.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
				return err
			}
			return nil
		})
		all = append(all, stored)
	}
	return all
}
