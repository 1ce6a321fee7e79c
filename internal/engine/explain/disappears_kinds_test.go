package explain_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// ownerKind is a kind of custom resources whose dependents TestEachDependentIsRestoredOrNamed changes.
type ownerKind struct {
	gvk schema.GroupVersionKind
	// create creates a custom resource that has as many dependents as possible.
	create func(*world.World, string) client.Object
	// executor returns an executor of a driver; nil for a kind without drivers.
	executor func(*world.World, client.Object, *corev1.Pod) *corev1.Pod
}

var ownerKinds = []ownerKind{
	{v1beta2.GroupVersion.WithKind("SparkApplication"), func(w *world.World, name string) client.Object {
		return w.Application(name, scene.WithDriver, func(app *v1beta2.SparkApplication) {
			app.Spec.SparkVersion, app.Spec.DriverPodDisruptionBudget = "4.2.0", new(true)
		})
	}, func(w *world.World, app client.Object, driver *corev1.Pod) *corev1.Pod {
		return w.Executor(app.(*v1beta2.SparkApplication), driver, 1)
	}},
	{sparkv1.GroupVersion.WithKind("SparkApplication"), func(w *world.World, name string) client.Object {
		return resources.CreateApache(w, name, resources.WithExposure(name+"-door", name+"-door"),
			func(app *resources.ApacheApp) { app.Spec.RuntimeVersions.SparkVersion = "4.2.0" })
	}, func(w *world.World, app client.Object, driver *corev1.Pod) *corev1.Pod {
		return resources.ApacheExecutorPod(w, app, driver, 1)
	}},
	{v1alpha1.GroupVersion.WithKind("SparkConnect"), func(w *world.World, name string) client.Object {
		return resources.Server(w, name, func(sc *v1alpha1.SparkConnect) { sc.Spec.SparkVersion = "4.2.0" })
	}, func(w *world.World, _ client.Object, server *corev1.Pod) *corev1.Pod {
		return resources.ServerExecutor(w, server, 1)
	}},
	{sparkv1.GroupVersion.WithKind("SparkCluster"), func(w *world.World, name string) client.Object {
		return resources.CreateCluster(w, name, resources.Workers(1, 1, 3),
			func(sc *resources.SparkCluster) { sc.Spec.SparkConf["spark.authenticate.secret"] = "hush" })
	}, nil},
}

// edits change the content of a dependent, by its kind: the operation, path and value of a JSON patch. The API server
// rejects other edits, because the data of ConfigMaps and Secrets are immutable, and so is nearly everything in a pod.
var edits = map[string][3]string{
	"Service":                 {"add", "/spec/selector/edited", "yes"},
	"NetworkPolicy":           {"add", "/spec/podSelector/matchLabels/edited", "yes"},
	"PodDisruptionBudget":     {"add", "/spec/selector/matchLabels/edited", "yes"},
	"HorizontalPodAutoscaler": {"replace", "/spec/maxReplicas", "99"},
	"StatefulSet":             {"replace", "/spec/template/spec/containers/0/image", "edited"},
	"Ingress":                 {"replace", "/spec/ingressClassName", "edited"},
}

// changesOfDependents are the ways in which others change a dependent. Each returns whether the API server permits it.
var changesOfDependents = []struct {
	name string
	make func(context.Context, client.Client, *unstructured.Unstructured) (permitted bool, err error)
}{
	{"deleted", func(ctx context.Context, api client.Client, object *unstructured.Unstructured) (bool, error) {
		return true, api.Delete(ctx, object, client.GracePeriodSeconds(0))
	}},
	{"edited", func(ctx context.Context, api client.Client, object *unstructured.Unstructured) (bool, error) {
		edit, known := edits[object.GetKind()]
		if !known {
			edit = [3]string{"add", "/data/edited", "eWVz"}
		}

		value := any(edit[2])
		if number, err := strconv.Atoi(edit[2]); err == nil {
			value = number
		}

		patch, err := json.Marshal([]any{map[string]any{"op": edit[0], "path": edit[1], "value": value}})
		if err == nil {
			err = api.Patch(ctx, object.DeepCopy(), client.RawPatch(types.JSONPatchType, patch))
		}

		if !known && apierrors.IsInvalid(err) {
			return false, nil
		}
		return true, err
	}},
	{"without its labels", func(ctx context.Context, api client.Client, object *unstructured.Unstructured) (bool,
		error) {
		if object.GetKind() == "Secret" { // found by its name
			return false, nil
		}
		return true, api.Patch(ctx, object.DeepCopy(),
			client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/metadata/labels"}]`)))
	}},
	{"replaced by another", func(ctx context.Context, api client.Client, object *unstructured.Unstructured) (bool,
		error) {
		other := &unstructured.Unstructured{Object: map[string]any{}}
		other.SetGroupVersionKind(object.GroupVersionKind())
		other.SetNamespace(object.GetNamespace())
		other.SetName(object.GetName())

		for _, part := range []string{"spec", "data"} {
			if content, found := object.Object[part]; found {
				other.Object[part] = content
			}
		}

		unstructured.RemoveNestedField(other.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(other.Object, "spec", "clusterIPs")

		for { // the operator may have created the object again in between
			if err := api.Delete(ctx, object.DeepCopy(),
				client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
				return true, err
			}

			if err := api.Create(ctx, other.DeepCopy()); !apierrors.IsAlreadyExists(err) {
				return true, err
			}
		}
	}},
}

// picture is the state of all custom resources and dependents in some namespaces at one moment.
type picture struct {
	objects map[string]*unstructured.Unstructured      // by pictureKey
	of      map[types.UID][]*unstructured.Unstructured // dependents by their owner
	reports map[types.UID][]string                     // what a user can read about a custom resource
}

func pictureKey(object *unstructured.Unstructured) string {
	return object.GetNamespace() + " " + object.GetKind() + " " + object.GetName()
}

// takePicture reads the state of some namespaces.
func takePicture(ctx context.Context, api client.Client, dependentKinds []schema.GroupVersionKind,
	namespaces ...string) (*picture, error) {
	p := &picture{objects: map[string]*unstructured.Unstructured{}, of: map[types.UID][]*unstructured.Unstructured{},
		reports: map[types.UID][]string{}}
	each := func(kind schema.GroupVersionKind, visit func(*unstructured.Unstructured)) error {
		for _, namespace := range namespaces {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(kind)

			err := api.List(ctx, list, client.InNamespace(namespace))
			if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
				return nil // another test has just deleted the definition of an optional kind
			}

			if err != nil {
				return err
			}

			for i := range list.Items {
				visit(&list.Items[i])
			}
		}
		return nil
	}

	var errs []error
	for _, kind := range dependentKinds {
		errs = append(errs, each(kind, func(object *unstructured.Unstructured) {
			p.objects[pictureKey(object)] = object
			uid := types.UID(object.GetLabels()[identity.AppUIDLabel])
			p.of[uid] = append(p.of[uid], object)
		}))
	}

	for _, owner := range ownerKinds {
		errs = append(errs, each(owner.gvk, func(object *unstructured.Unstructured) {
			conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
			for _, c := range conditions {
				fields := c.(map[string]any)
				p.reports[object.GetUID()] = append(p.reports[object.GetUID()],
					fmt.Sprintf("%s=%s %s: %s", fields["type"], fields["status"], fields["reason"], fields["message"]))
			}
		}))
	}

	errs = append(errs, each(corev1.SchemeGroupVersion.WithKind("Event"), func(event *unstructured.Unstructured) {
		uid, _, _ := unstructured.NestedString(event.Object, "involvedObject", "uid")
		p.reports[types.UID(uid)] = append(p.reports[types.UID(uid)],
			fmt.Sprintf("%s: %s", event.Object["reason"], event.Object["message"]))
	}))
	return p, errors.Join(errs...)
}

// changed is one dependent that the test has changed.
type changed struct {
	what   string
	shape  string
	owner  client.Object
	before *unstructured.Unstructured
	said   []string // reported before
	since  time.Time
	over   bool
}

// outcome returns how the change was handled: the dependent has its content again, or a report names it.
func (c *changed) outcome(p *picture) string {
	for _, text := range p.reports[c.owner.GetUID()] {
		role := cmp.Or(c.before.GetLabels()[identity.RoleLabel], c.before.GetName())
		if !slices.Contains(c.said, text) &&
			(strings.Contains(text, c.before.GetName()) || c.before.GetKind() == "Pod" &&
				strings.Contains(text, role)) {
			return "named: " + text
		}
	}

	now := p.objects[pictureKey(c.before)]
	switch {
	case now == nil, now.GetLabels()[identity.AppUIDLabel] != string(c.owner.GetUID()),
		now.GetDeletionTimestamp() != nil:
		return ""
	case now.GetUID() == c.before.GetUID() && now.GetResourceVersion() == c.before.GetResourceVersion():
		return ""
	}

	if c.before.GetKind() == "Pod" {
		return "restored"
	}

	for _, part := range []string{"spec", "data"} {
		if !equality.Semantic.DeepEqual(withoutAddresses(now.Object[part]), withoutAddresses(c.before.Object[part])) {
			return ""
		}
	}
	return "restored"
}

// withoutAddresses returns a spec without the fields that the API server assigns at the creation.
func withoutAddresses(spec any) any {
	fields, ok := spec.(map[string]any)
	if !ok {
		return spec
	}

	kept := maps.Clone(fields)
	for _, assigned := range []string{"clusterIP", "clusterIPs", "replicas"} {
		delete(kept, assigned)
	}
	return kept
}

// TestEachDependentIsRestoredOrNamed changes each dependent of each kind of custom resource in each way, before and
// after the pods have started. The dependents are those that the operator created for a first custom resource. Each
// change has a custom resource of its own, so that no other change starts the pass that handles it. The operator must
// restore the dependent, or name it in a condition or an event.
func TestEachDependentIsRestoredOrNamed(t *testing.T) {
	t.Parallel()
	kit.NeedsControllers(t, resources.PodsOfSets)
	pending, started := world.New(t), world.New(t)
	cfg := world.Config(pending.Namespace, started.Namespace)
	pending.GrantSparkRights()
	started.GrantSparkRights()

	op, err := operator.NewOperator(t.Context(), cfg, pending.Environment())
	if err != nil {
		t.Fatal(err)
	}

	op.Optional.Interval = 100 * time.Millisecond
	pending.Run(op)
	resources.Kubelets(started)

	all := dependentKinds(pending, cfg)
	look := func(ctx context.Context) (*picture, error) {
		return takePicture(ctx, pending.API, all, pending.Namespace, started.Namespace)
	}

	var firsts []client.Object
	for i, kind := range ownerKinds {
		for _, w := range []*world.World{pending, started} {
			firsts = append(firsts, kind.create(w, fmt.Sprintf("k%d-first", i)))
		}
	}

	executorsOf(t, look, started, firsts)
	shapes := shapesOf(t, look, firsts)

	var cases []*changed
	var makes []func(context.Context, client.Client, *unstructured.Unstructured) (bool, error)

	var owners []client.Object
	for i, kind := range ownerKinds {
		// Each change of each dependent has its turn in one of the phases. An executor exists in one phase only.
		for d, dependent := range shapes[2*i+1] {
			for c, change := range changesOfDependents {
				if leftOut(dependent, change.name) {
					continue
				}

				w := started
				if (d+c)%2 == 0 && slices.Contains(shapes[2*i], dependent) {
					w = pending
				}

				owner := kind.create(w, fmt.Sprintf("k%d-%d-%d", i, d, c))
				owners, makes = append(owners, owner), append(makes, change.make)
				cases = append(cases, &changed{what: fmt.Sprintf("%s of %s, %s", dependent, kind.gvk.GroupKind(),
					change.name), shape: dependent, owner: owner})
			}
		}
	}

	executorsOf(t, look, started, owners)
	kit.Wait(t, "the dependents of all", func(ctx context.Context) error {
		p, err := look(ctx)
		if err != nil {
			return err
		}

		var missing []error
		for _, c := range cases {
			c.said, c.before = p.reports[c.owner.GetUID()], nil
			for _, object := range p.of[c.owner.GetUID()] {
				if shapeOf(object) == c.shape {
					c.before = object
				}
			}

			if c.before == nil {
				missing = append(missing, fmt.Errorf("%s: it does not exist yet: %s", c.what, c.owner.GetName()))
			}
		}
		return errors.Join(missing...)
	})
	testChanges(t, look, cases, makes)
}

// leftOut reports whether nothing has to follow a change within seconds, or nothing does yet.
func leftOut(dependent, change string) bool {
	kind, name, _ := strings.Cut(dependent, " ")
	switch {
	case strings.HasSuffix(name, "-exec-1"):
		return true // the driver replaces its executors, and no driver runs here
	case kind == "Secret":
		return true // found by its name when a pod waits for it, because the operator reads no Secrets
	case kind == "ConfigMap" && change == "edited":
		return true // additions by others are kept, and the data of the others are immutable
	case kind == "Pod" && change == "without its labels":
		return strings.HasSuffix(name, "-server") // the unlabelled pod keeps the name that the next server needs
	case kind == "Pod" && change == "replaced by another":
		return strings.HasSuffix(name, "-worker-0") // the StatefulSet reports it in its own Events
	}
	return false
}

// testChanges makes each change, and waits until each is handled.
func testChanges(t *testing.T, look func(context.Context) (*picture, error), cases []*changed,
	makes []func(context.Context, client.Client, *unstructured.Unstructured) (bool, error)) {
	t.Helper()
	api := kit.Client(t)
	dependents.InParallel(len(cases), func(i int) {
		c := cases[i]
		c.since = time.Now()

		permitted, err := makes[i](t.Context(), api, c.before)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		}

		c.over = !permitted || err != nil
	})

	var open []*changed
	for _, c := range cases {
		if !c.over {
			open = append(open, c)
		}
	}

	t.Logf("%d changes, %d of which the API server permits", len(cases), len(open))
	kit.Wait(t, "each dependent to be restored or named", func(ctx context.Context) error {
		p, err := look(ctx)
		if err != nil {
			return err
		}
		var missing []error
		open = slices.DeleteFunc(open, func(c *changed) bool {
			outcome := c.outcome(p)
			if outcome == "" {
				missing = append(missing, fmt.Errorf("%s (%s %s) after %s; reported are:\n\t%s", c.what,
					c.owner.GetName(), c.before.GetName(), time.Since(c.since).Round(time.Second),
					strings.Join(p.reports[c.owner.GetUID()], "\n\t")))
				return false
			}

			t.Logf("%s: within %s: %s", c.what, time.Since(c.since).Round(100*time.Millisecond), outcome)
			return true
		})
		return errors.Join(missing...)
	})
}

// digests are the parts of names that differ from one custom resource to the next.
var digests = regexp.MustCompile(`k[0-9]-(first|[0-9]+-[0-9]+)|[0-9a-f]{8,}|-[0-9a-f]{4}-`)

// shapeOf returns the kind and name of a dependent, without the parts that differ between custom resources.
func shapeOf(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + digests.ReplaceAllString(object.GetName(), "*")
}

// shapesOf returns the shapes of the dependents that each custom resource has, when all of them exist.
func shapesOf(t *testing.T, look func(context.Context) (*picture, error), owners []client.Object) (shapes [][]string) {
	t.Helper()

	same := 0
	kit.Wait(t, "the dependents of the first custom resources", func(ctx context.Context) error {
		p, err := look(ctx)
		if err != nil {
			return err
		}

		before := shapes

		shapes = nil
		for _, owner := range owners {
			var names []string
			for _, object := range p.of[owner.GetUID()] {
				names = append(names, shapeOf(object))
			}

			slices.Sort(names)
			shapes = append(shapes, slices.Compact(names))
		}

		if same++; !equality.Semantic.DeepEqual(before, shapes) {
			same = 0
		}

		if same < 8 { // the last steps of the wait are long
			return fmt.Errorf("they still change: %v", shapes)
		}
		return nil
	})
	return shapes
}

// executorsOf plays Spark: it creates an executor of each driver in a world.
func executorsOf(t *testing.T, look func(context.Context) (*picture, error), w *world.World, owners []client.Object) {
	t.Helper()

	for _, owner := range owners {
		gvk, err := apiutil.GVKForObject(owner, w.API.Scheme())
		if err != nil {
			t.Fatal(err)
		}

		i := slices.IndexFunc(ownerKinds, func(kind ownerKind) bool { return kind.gvk == gvk })
		if ownerKinds[i].executor == nil || owner.GetNamespace() != w.Namespace {
			continue
		}

		kit.Wait(t, "the driver of "+owner.GetName(), func(ctx context.Context) error {
			p, err := look(ctx)
			if err != nil {
				return err
			}

			for _, object := range p.of[owner.GetUID()] {
				driver := &corev1.Pod{}
				if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, driver); err == nil &&
					object.GetKind() == "Pod" && identity.IsDriver(driver) {
					return w.API.Create(ctx, ownerKinds[i].executor(w, owner, driver))
				}
			}
			return errors.New("it does not exist yet")
		})
	}
}

// dependentKinds returns the kinds of all dependents that an operator with a configuration creates, as far as the API
// server serves them.
func dependentKinds(w *world.World, cfg config.Configuration) []schema.GroupVersionKind {
	core := corev1.SchemeGroupVersion
	all := slices.Concat(dependents.Kinds, configured.Optional(cfg),
		[]schema.GroupVersionKind{core.WithKind("Secret"), core.WithKind("Pod")})
	return slices.DeleteFunc(all, func(kind schema.GroupVersionKind) bool {
		_, err := w.API.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		return meta.IsNoMatchError(err)
	})
}
