package configured_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// hoursOfWork is a quantity that resource.ParseQuantity would take hours to parse.
const hoursOfWork = "1234567890123456789012e2000000000"

// outOfBounds has, for every kind, a custom resource with a quantity beyond the limits. Our definitions reject it, but
// it may have been stored under another definition. In this case the operator writes the given state into the status,
// and a message that contains the given text.
var outOfBounds = []struct{ crd, object, state, message string }{
	{"sparkapplications.sparkoperator.k8s.io",
		`{"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "spec": {"type": "Scala", "sparkVersion": "4.1.4", "image": "i",
		"mainClass": "M", "mainApplicationFile": "local:///a.jar", "executor": {}, "driver": {"sidecars": [{"name": "s", "resources": {"limits": {"cpu": "` + hoursOfWork + `"}}}]}}}`,
		"FAILED", "spec.driver.sidecars[0].resources.limits[cpu]: the exponent of a quantity has at most 2 digits"},
	{"scheduledsparkapplications.sparkoperator.k8s.io",
		`{"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "ScheduledSparkApplication", "spec": {"schedule": "@every 1s", "template": {
		"type": "Scala", "sparkVersion": "4.1.4", "image": "i", "mainClass": "M", "mainApplicationFile": "local:///a.jar", "driver": {}, "executor": {},
		"volumes": [{"name": "v", "emptyDir": {"sizeLimit": "` + hoursOfWork + `"}}]}}}`,
		"FailedValidation", "spec.template.volumes[0].emptyDir.sizeLimit: the exponent"},
	{"sparkconnects.sparkoperator.k8s.io",
		`{"apiVersion": "sparkoperator.k8s.io/v1alpha1", "kind": "SparkConnect", "spec": {"sparkVersion": "4.1.4", "image": "i", "server": {},
		"executor": {"template": {"spec": {"initContainers": [{"name": "s", "resources": {"requests": {"memory": "` +
			hoursOfWork + `"}}}]}}}}}`,
		"Failed", "spec.executor.template.spec.initContainers[0].resources.requests[memory]: the exponent"},
	{"sparkapplications.spark.apache.org",
		`{"apiVersion": "spark.apache.org/v1", "kind": "SparkApplication", "spec": {"runtimeVersions": {"sparkVersion": "4.1.4"}, "jars": "local:///a.jar",
		"mainClass": "M", "driverSpec": {"podTemplateSpec": {"spec": {"containers": [{"name": "c", "env": [{"name": "e", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu",
		"divisor": "` + hoursOfWork + `"}}}]}]}}}}}`,
		"Failed", "spec.driverSpec.podTemplateSpec.spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: the exponent"},
	{"sparkclusters.spark.apache.org",
		`{"apiVersion": "spark.apache.org/v1", "kind": "SparkCluster", "spec": {"runtimeVersions": {"sparkVersion": "4.1.4"},
		"clusterTolerations": {"instanceConfig": {"initWorkers": 1, "minWorkers": 1, "maxWorkers": 1}},
		"workerSpec": {"statefulSetSpec": {"template": {"spec": {"overhead": {"cpu": "` + hoursOfWork + `"}}}}}}}`,
		"ResourceReleased", "spec.workerSpec.statefulSetSpec.template.spec.overhead[cpu]: the exponent"},
}

// TestStoredObjectsBeyondTheLimits checks objects of each kind that were stored under a definition without limits. The
// operator receives some of them in its first lists and others in its watches, and meanwhile serves another namespace.
// The status of each object reports the problem, and each object can be corrected or deleted. The test is not parallel,
// since it edits the definitions that all tests share.
func TestStoredObjectsBeyondTheLimits(t *testing.T) {
	w, other := world.New(t), world.New(t)
	restore := acceptAnySpec(w)
	defer restore()

	for _, bad := range outOfBounds {
		stored(w, bad.object, "listed")
	}

	w.RunBoth(world.Config(w.Namespace, other.Namespace))
	before := other.Application("before")
	other.WaitPod("before-driver")

	for _, bad := range outOfBounds {
		stored(w, bad.object, "watched")

		for _, name := range []string{"listed", "watched"} {
			waitReported(w, parsedObject(w, bad.object, name), bad.state, bad.message)
		}
	}

	other.Application("after")
	other.WaitPod("after-driver")

	var pods corev1.PodList
	if err := w.API.List(t.Context(), &pods, client.InNamespace(w.Namespace)); err != nil || len(pods.Items) > 0 {
		t.Errorf("%d pods were created from objects that cannot be decoded: %v", len(pods.Items), err)
	}

	app := parsedObject(w, outOfBounds[0].object, "listed")
	w.PatchWith(app, `{"spec": {"driver": {"sidecars": null}}}`)
	w.WaitPod("listed-driver")

	for _, bad := range outOfBounds {
		watched := parsedObject(w, bad.object, "watched")
		w.Remove(watched)
		w.WaitGone(watched)
	}

	// A running application that is edited beyond a limit ends as after any other invalid edit.
	w.PatchWith(parsedObject(w, outOfBounds[0].object, "listed"),
		`{"spec": {"driver": {"sidecars": [{"name": "s", "resources": {"limits": {"cpu": "1e100"}}}]}}}`)
	waitReported(w, app, "FAILED", "at most 2 digits")

	if resources.UIDOf(other, "before-driver") == "" || other.Get("before").UID != before.UID {
		t.Error("the application in the other namespace was changed")
	}
}

// TestDefinitionsRefuseWhatExceedsALimit checks that a real API server rejects objects with quantities beyond the
// limits, and that its error names the field.
func TestDefinitionsRefuseWhatExceedsALimit(t *testing.T) {
	w := world.New(t)
	for _, bad := range outOfBounds[:2] { // the API server does not look into templates
		err := w.API.Create(t.Context(), parsedObject(w, bad.object, "refused"))
		if !apierrors.IsInvalid(err) ||
			!strings.Contains(err.Error(), strings.Split(strings.Split(bad.message, ":")[0], "[cpu]")[0]) {
			t.Errorf("%s: %v", bad.crd, err)
		}
	}
}

// storedBefore calls the function create while the definitions accept any spec and any status, as older definitions do.
// A test must call storedBefore before it becomes parallel, because all tests share the definitions.
func storedBefore(w *world.World, create func()) {
	w.T.Helper()
	restore := acceptAnySpec(w)
	defer restore()

	create()
}

// parsedObject returns the custom resource that a JSON text describes, with the given name and the test's namespace.
func parsedObject(w *world.World, text, name string) *unstructured.Unstructured {
	w.T.Helper()

	object := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &object.Object); err != nil {
		w.T.Fatal(err)
	}

	object.SetNamespace(w.Namespace)
	object.SetName(name)
	return object
}

// stored creates the object that a JSON text describes. It retries until the API server accepts the object.
func stored(w *world.World, text, name string) {
	w.T.Helper()
	object := parsedObject(w, text, name)
	kit.Wait(w.T, object.GetKind()+" to be stored", func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(w.API.Create(ctx, object.DeepCopy()))
	})
}

// waitReported waits until an object's status has the given state, and both the status and an event contain the given
// text.
func waitReported(w *world.World, object *unstructured.Unstructured, state, why string) {
	w.T.Helper()
	kit.Wait(w.T, fmt.Sprintf("%s %s to be %s", object.GetKind(), object.GetName(), state),
		func(ctx context.Context) error {
			if err := w.API.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}

			text, err := json.Marshal(object.Object["status"])
			if err != nil {
				return err
			}

			var events []string
			for _, message := range w.EventsOf(object) {
				events = append(events, message)
			}

			got := strings.Contains(string(text), why) && strings.Contains(strings.Join(events, "\n"), why)
			if !got || !strings.Contains(string(text), `"`+state+`"`) {
				return fmt.Errorf("its status is %s, its events %q", text, events)
			}
			return nil
		})
}

// acceptAnySpec makes the definitions accept any spec and any status, until the test calls the returned function. Older
// definitions, or those of another operator, may accept any spec as well.
func acceptAnySpec(w *world.World) (restore func()) {
	w.T.Helper()
	definitions := kit.Client(w.T, apiextensionsv1.AddToScheme)

	var before []*apiextensionsv1.CustomResourceDefinition
	for _, bad := range outOfBounds {
		var original *apiextensionsv1.CustomResourceDefinition
		// The status of the definition may be written meanwhile.
		kit.Wait(w.T, bad.crd+" to accept any spec", func(ctx context.Context) error {
			definition := &apiextensionsv1.CustomResourceDefinition{}
			if err := definitions.Get(ctx, client.ObjectKey{Name: bad.crd}, definition); err != nil {
				return err
			}

			original = definition.DeepCopy()
			for i := range definition.Spec.Versions {
				definition.Spec.Versions[i].Schema.OpenAPIV3Schema.XValidations = nil
				for _, part := range []string{"spec", "status"} {
					definition.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties[part] = apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
				}
			}
			return definitions.Update(ctx, definition)
		})

		before = append(before, original)
	}
	return func() {
		for _, definition := range before {
			kit.Wait(w.T, definition.Name+" to be restored", func(ctx context.Context) error {
				live := &apiextensionsv1.CustomResourceDefinition{}
				if err := definitions.Get(ctx, client.ObjectKeyFromObject(definition), live); err != nil {
					return err
				}

				live.Spec = definition.Spec
				return definitions.Update(ctx, live)
			})
		}

		for _, bad := range outOfBounds[:2] { // the API server does not look into templates
			kit.Wait(w.T, bad.crd+" to reject objects again", func(ctx context.Context) error {
				if err := w.API.Create(ctx, parsedObject(w, bad.object, "probe"),
					client.DryRunAll); !apierrors.IsInvalid(err) {
					return fmt.Errorf("the definition accepts any spec: %w", err)
				}
				return nil
			})
		}
	}
}
