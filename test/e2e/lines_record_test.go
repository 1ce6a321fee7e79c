package e2e

import (
	"bufio"
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
	"github.com/sparkoperator/spark-operator/test/e2e/stored"
)

// recorder stores the first version of every object in the default namespace. It must watch during the run, because the
// driver deletes its executors, the executors' claims and its own Service before the application ends.
type recorder struct {
	mu      sync.Mutex
	objects map[string]*recorded // keyed by UID
}

type recorded struct {
	*unstructured.Unstructured
	deleted bool
}

// recordedKinds lists the kinds of all objects that a submission or a driver creates.
var recordedKinds = []schema.GroupVersionResource{
	{Version: "v1", Resource: "pods"},
	{Version: "v1", Resource: "configmaps"},
	{Version: "v1", Resource: "services"},
	{Version: "v1", Resource: "secrets"},
	{Version: "v1", Resource: "persistentvolumeclaims"},
	{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"},
}

// record starts a recorder that watches until the end of the test.
func (w *suite) record(t *testing.T) *recorder {
	t.Helper()

	c, err := dynamic.NewForConfig(w.Config)
	if err != nil {
		t.Fatal(err)
	}

	r := &recorder{objects: map[string]*recorded{}}

	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(c, 0, "default", nil)
	for _, kind := range recordedKinds {
		if _, err := factory.ForResource(kind).Informer().AddEventHandler(r); err != nil {
			t.Fatal(err)
		}
	}

	stop := make(chan struct{})
	factory.Start(stop)
	t.Cleanup(func() {
		close(stop)
		factory.Shutdown()
	})
	factory.WaitForCacheSync(t.Context().Done())
	return r
}

// OnAdd stores a new object.
func (r *recorder) OnAdd(object any, _ bool) {
	o := object.(*unstructured.Unstructured)

	r.mu.Lock()
	defer r.mu.Unlock()

	if r.objects[string(o.GetUID())] == nil {
		r.objects[string(o.GetUID())] = &recorded{Unstructured: o.DeepCopy()}
	}
}

// OnUpdate does nothing, because the comparison uses objects as created.
func (r *recorder) OnUpdate(_, _ any) {}

// OnDelete marks an object as deleted.
func (r *recorder) OnDelete(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}

	o := object.(*unstructured.Unstructured)

	r.mu.Lock()
	defer r.mu.Unlock()

	if known := r.objects[string(o.GetUID())]; known != nil {
		known.deleted = true
	}
}

// runObjects holds the objects of one run.
type runObjects struct {
	recorder *recorder
	driver   *recorded
	all      []*recorded
}

// application returns the objects of a run: the driver pod, the objects with the same owner, and the driver's
// dependents. It omits auxiliary objects such as the UI Service, because they are not part of a submission.
func (r *recorder) application(t *testing.T, driver string) *runObjects {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()

	own := &runObjects{recorder: r}
	for _, o := range r.objects {
		if o.GetKind() == "Pod" && o.GetName() == driver {
			own.driver = o
		}
	}

	if own.driver == nil {
		t.Fatalf("the driver pod %s was never seen", driver)
	}

	owners := []string{string(own.driver.GetUID())}
	for _, owner := range own.driver.GetOwnerReferences() {
		owners = append(owners, string(owner.UID))
	}

	for _, o := range r.objects {
		if _, beside := o.GetLabels()[labelContent]; beside {
			continue
		}

		for _, ref := range o.GetOwnerReferences() {
			if slices.Contains(owners, string(ref.UID)) && !slices.Contains(own.all, o) && o != own.driver {
				own.all = append(own.all, o)
			}
		}
	}
	// The order puts the first executor and its claim before the others.
	slices.SortFunc(own.all, func(a, b *recorded) int {
		return cmp.Or(cmp.Compare(len(a.GetName()), len(b.GetName())), cmp.Compare(a.GetName(), b.GetName()))
	})
	return own
}

// role returns the role of an object in its run.
func role(o *recorded) string {
	executor := o.GetLabels()[submit.RoleLabel] == submit.RoleExecutor
	switch {
	case executor:
		return "executor " + o.GetKind()
	case o.GetKind() == "PersistentVolumeClaim":
		return "executor " + o.GetKind() // drivers of these programs have no claims
	case o.GetKind() == "ConfigMap" && strings.HasSuffix(o.GetName(), "-podspec-conf-map"):
		return "executor template"
	}
	return "driver " + o.GetKind()
}

func (o *runObjects) byRole(want string) (found []*recorded) {
	for _, object := range o.all {
		if role(object) == want {
			found = append(found, object)
		}
	}
	return found
}

func (o *runObjects) executors() []*recorded { return o.byRole("executor Pod") }

func (o *runObjects) claims() []*recorded { return o.byRole("executor PersistentVolumeClaim") }

// comparedObjects returns the first object of every role. It also returns placeholders for the generated names, which
// differ between the two runs. The argument is the application's name.
func (o *runObjects) comparedObjects(t *testing.T, name string) (stored.Set, *stored.Names) {
	t.Helper()

	set := stored.Set{"driver Pod": o.driver.Object}
	for _, object := range o.all {
		if _, ok := set[role(object)]; !ok {
			set[role(object)] = object.Object
		}
	}

	first := func(role string) string {
		if found := o.byRole(role); len(found) > 0 {
			return found[0].GetName()
		}
		return ""
	}
	service, executor := first("driver Service"), first("executor Pod")
	prefix := strings.TrimSuffix(service, "-driver-svc")

	names := map[string]string{
		name:               "name",
		o.driver.GetName(): "driver",
		o.driver.GetLabels()[submit.SelectorLabel]: "app id",
		prefix:                                  "prefix",
		first("driver ConfigMap"):               "conf map",
		strings.TrimSuffix(executor, "-exec-1"): "executors",
	}
	if service == "" || prefix == service {
		t.Errorf("no driver Service among %v", slices.Sorted(maps.Keys(set)))
	}
	return set, stored.NewNames(names)
}

// claimsGone checks that the driver pod owns the claims of its executors. The driver must also delete these claims
// itself when it stops, while its pod still exists.
func (p *lineProof) claimsGone(t *testing.T, own *runObjects) {
	t.Helper()

	claims := own.claims()
	if len(claims) == 0 {
		t.Fatal("no claim was made on demand")
	}

	for _, claim := range claims {
		owner := claim.GetOwnerReferences()
		if len(owner) != 1 || owner[0].UID != own.driver.GetUID() {
			t.Errorf("claim %s is owned by %v, want the driver pod", claim.GetName(), owner)
		}
	}

	eventually(t, time.Minute, "the claims to be gone", func() (string, bool) {
		own.recorder.mu.Lock()
		defer own.recorder.mu.Unlock()

		left := slices.DeleteFunc(slices.Clone(claims), func(c *recorded) bool { return c.deleted })
		return namesOf(left), len(left) == 0
	})

	if own.driver.deleted {
		t.Error("the driver pod is gone, so that its claims would have gone in any case")
	}

	if !p.Embedded() {
		t.Log("who deleted the claims is not checked: only the embedded Kubernetes has an audit log")
		return
	}

	selector := submit.SelectorLabel + "%3D" + own.driver.GetLabels()[submit.SelectorLabel]
	var who []string
	eventually(t, time.Minute, "a request that deletes the claims in the audit log", func() (string, bool) {
		who = p.requests(t, "deletecollection", "persistentvolumeclaims", selector)
		return "none with " + selector, len(who) > 0
	})

	if want := "system:serviceaccount:default:" + cluster.ServiceAccount; slices.ContainsFunc(who,
		func(user string) bool { return user != want }) {
		t.Errorf("the claims were deleted by %v, want %s alone", who, want)
	}
}

func namesOf(left []*recorded) string {
	var names []string
	for _, o := range left {
		names = append(names, o.GetName())
	}
	return strings.Join(names, ", ")
}

// requests finds requests in the audit log by verb and resource, and by a text that the URI must contain. It returns
// the user of each matching request.
func (w *suite) requests(t *testing.T, verb, resource, text string) (users []string) {
	t.Helper()

	file, err := os.Open(w.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)

	for lines.Scan() {
		var event struct {
			Verb, RequestURI string
			User             struct{ Username string }
			ObjectRef        struct{ Resource string }
		}
		// The last line may be incomplete.
		if json.Unmarshal(lines.Bytes(), &event) == nil && event.Verb == verb && event.ObjectRef.Resource == resource &&
			strings.Contains(event.RequestURI, text) {
			users = append(users, event.User.Username)
		}
	}
	return users
}
