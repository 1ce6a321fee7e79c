package access_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/checkout"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// chartRules returns the rules that the chart gives to the operator if everything is enabled.
func chartRules(t *testing.T) (rules []rbacv1.PolicyRule) {
	t.Helper()

	root, err := checkout.Root()
	if err != nil {
		t.Fatal(err)
	}

	text, err := os.ReadFile(filepath.Join(root, "charts/spark-operator/templates/controller/_rules.tpl"))
	if err != nil {
		t.Fatal(err)
	}

	plain := regexp.MustCompile(`(?s)\{\{.*?\}\}`).ReplaceAllString(string(text), "")
	if err := yaml.UnmarshalStrict([]byte(plain), &rules); err != nil || len(rules) < 10 {
		t.Fatalf("%d rules, %v:\n%s", len(rules), err, plain)
	}
	return rules
}

// limited is an operator that acts as a user with no more rights than the chart gives to the operator.
type limited struct {
	*world.World // its log, its metrics and its probes
	t            *testing.T
	user         string
	cfg          config.Configuration
	writes       writesTo
}

// writesTo counts the requests that are no reads, by their namespace.
type writesTo struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *writesTo) in(namespace string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[namespace]
}

func newLimited(t *testing.T, names ...string) *limited {
	t.Helper()
	w := world.New(t)
	l := &limited{World: w, t: t, user: "system:serviceaccount:" + w.Namespace + ":operator",
		cfg: world.Config(names...)}
	l.cfg.Health.BindAddress = kit.FreeAddress(t)
	// A leader catches up with its predecessor.
	l.cfg.LeaderElection.Enabled, l.cfg.LeaderElection.Namespace = new(true), w.Namespace
	w.Grant("lease", l.user, rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"},
		Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
		rbacv1.PolicyRule{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"},
			Verbs: []string{"create", "patch"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch"}})
	return l
}

// start starts the operator and waits until it is ready.
func (l *limited) start(change ...func(*operator.Environment)) (op *operator.Operator, stop func()) {
	l.t.Helper()

	env := l.Environment()
	for _, c := range change {
		c(&env)
	}

	env.Rest.Impersonate.UserName = l.user
	// The manager logs the end of the lease late, when the test may have ended.
	env.Log = logr.FromSlogHandler(slog.NewTextHandler(l.Log, nil))
	env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return world.RoundTrip(func(request *http.Request) (*http.Response, error) {
			if _, rest, found := strings.Cut(request.URL.Path, "/namespaces/"); found &&
				request.Method != http.MethodGet {
				namespace, _, _ := strings.Cut(rest, "/")

				l.writes.mu.Lock()
				if l.writes.counts == nil {
					l.writes.counts = map[string]int{}
				}
				l.writes.counts[namespace]++
				l.writes.mu.Unlock()
			}
			return next.RoundTrip(request)
		})
	})

	op, err := operator.NewOperator(l.t.Context(), l.cfg, env)
	if err != nil {
		l.t.Fatal(err)
	}

	op.Watches.Retry, op.Watches.Probe, op.Optional.Interval = 200*time.Millisecond, 200*time.Millisecond,
		100*time.Millisecond
	stop = l.Run(op)
	l.OperatorReady(l.cfg.Health.BindAddress)
	return op, stop
}

// stillReady fails the test if the operator is not ready.
func (l *limited) stillReady() {
	l.t.Helper()

	if status, text, err := world.Fetch(l.t.Context(), "http://"+l.cfg.Health.BindAddress+"/readyz"); err != nil ||
		status != http.StatusOK {
		l.t.Errorf("/readyz: %d %s %v", status, text, err)
	}
}

// allow gives the operator its rights in the namespace of a world, as the chart does.
func (l *limited) allow(w *world.World) {
	l.t.Helper()
	w.Grant("operator", l.user, chartRules(l.t)...)
}

// forbid does what an administrator of the namespace may do: it deletes the operator's RoleBinding and Role there.
func (l *limited) forbid(w *world.World) {
	l.t.Helper()

	meta := metav1.ObjectMeta{Namespace: w.Namespace, Name: "operator"}
	for _, object := range []client.Object{&rbacv1.RoleBinding{ObjectMeta: meta}, &rbacv1.Role{ObjectMeta: meta}} {
		if err := w.API.Delete(l.t.Context(), object); err != nil {
			l.t.Fatal(err)
		}
	}
}

// allowAll gives the operator its rights in the whole cluster, as the chart does for a selector and for dynamic
// settings.
func (l *limited) allowAll() {
	l.t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: l.Namespace}, Rules: append(chartRules(l.t),
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"},
			Verbs: []string{"list", "watch"}})}

	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: role.ObjectMeta,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: l.user}}}
	for _, object := range []client.Object{role, binding} {
		l.Create(object)
		l.t.Cleanup(func() { _ = l.API.Delete(context.Background(), object) })
	}
}

// reported waits until the metric shows whether the operator lacks rights in a namespace.
func (l *limited) reported(w *world.World, lacks bool) {
	l.t.Helper()
	kit.Wait(l.t, fmt.Sprintf("the report that rights are missing in %s: %t", w.Namespace, lacks),
		func(context.Context) error {
			kinds := l.MetricWhere("sparkoperator_namespace_unwatched_kinds",
				func(labels []*dto.LabelPair) bool { return labels[0].GetValue() == w.Namespace })
			return world.Want(kinds > 0, lacks)
		})
}

// serves checks that a new application in a namespace gets its driver.
func serves(w *world.World, name string) *v1beta2.SparkApplication {
	w.T.Helper()
	app := w.Application(name, scene.WithDriver)
	w.DriverOf(app, 1)
	return w.WaitState(name, v1beta2.ApplicationStateSubmitted)
}

// deleteNamespace deletes the namespace of a world, and waits until it is gone.
func deleteNamespace(w *world.World) {
	w.T.Helper()

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	if err := w.API.Delete(w.T.Context(), namespace); err != nil {
		w.T.Fatal(err)
	}

	w.WaitGone(namespace)
}

// createNamespace creates the namespace of a world again.
func createNamespace(w *world.World, labels map[string]string) {
	w.T.Helper()
	w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace, Labels: labels}})
	kit.Wait(w.T, "the default service account", func(ctx context.Context) error {
		return w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: "default"}, &corev1.ServiceAccount{})
	})
}

// TestNamespaceWhoseListsFailStopsNobody checks that the operator serves all other namespaces while the API server
// fails to list one kind in one namespace, and that it serves this namespace once the lists succeed.
func TestNamespaceWhoseListsFailStopsNobody(t *testing.T) {
	t.Parallel()
	good, broken := world.New(t), world.New(t)
	l := newLimited(t, good.Namespace, broken.Namespace)
	l.allow(good)
	l.allow(broken)
	waiting := broken.Get(broken.Application("waiting", scene.WithDriver).Name)
	var repaired atomic.Bool
	l.start(func(env *operator.Environment) {
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return world.RoundTrip(func(request *http.Request) (*http.Response, error) {
				if strings.HasSuffix(request.URL.Path, "/namespaces/"+broken.Namespace+"/services") &&
					request.Method == http.MethodGet && !repaired.Load() {
					return &http.Response{StatusCode: http.StatusInternalServerError, Body: http.NoBody,
						Request: request, Header: http.Header{}}, nil
				}
				return next.RoundTrip(request)
			})
		})
	})
	serves(good, "first")
	l.reported(broken, true)
	broken.Untouched(waiting, 0)
	repaired.Store(true)
	broken.DriverOf(waiting, 1)
	l.reported(broken, false)
}

// TestKindWithoutRightsInOneNamespace checks an operator that may not list one kind of custom resources in one
// namespace. It serves the kind in the other namespaces, and the other kinds in this namespace.
func TestKindWithoutRightsInOneNamespace(t *testing.T) {
	t.Parallel()
	good, partly := world.New(t), world.New(t)
	l := newLimited(t, good.Namespace, partly.Namespace)
	l.allow(good)
	partly.Grant("operator", l.user,
		slices.DeleteFunc(chartRules(t),
			func(r rbacv1.PolicyRule) bool { return r.Resources[0] == "sparkconnects" })...)
	served, later := resources.Server(good, "server"), resources.Server(partly, "server")

	l.start()
	resources.ServerPod(good, served, 1)
	serves(partly, "pi")
	l.reported(partly, true)

	if !strings.Contains(l.Log.String(), "kinds=SparkConnect.sparkoperator.k8s.io ") {
		t.Errorf("the log does not name the kind:\n%s", l.Log)
	}

	l.forbid(partly)
	l.allow(partly)
	resources.ServerPod(partly, later, 1)
	l.reported(partly, false)
}

const namespaceDeletion = "the deletion of namespaces"

// TestNamespaceWithoutRightsStopsNobody checks an operator with a list of namespaces. It has no rights in one of them
// when it starts, and loses them in another while it runs. The other namespaces are served, and the operator is ready.
// It writes nothing into a namespace without rights, keeps the state of the applications there, and continues when the
// rights are back. The same holds after a restart in each state.
func TestNamespaceWithoutRightsStopsNobody(t *testing.T) {
	t.Parallel()
	good, never, loses := world.New(t), world.New(t), world.New(t)
	l := newLimited(t, good.Namespace, never.Namespace, loses.Namespace, "there-is-none-"+good.Namespace)
	l.allow(good)
	l.allow(loses)

	waiting := never.Get(never.Application("waiting", scene.WithDriver).Name)

	_, stop := l.start()

	serves(good, "first")
	kept := serves(loses, "kept")
	loses.Kubelet("kept-driver", corev1.PodRunning, world.Running())
	kept = loses.WaitState(kept.Name, v1beta2.ApplicationStateRunning)

	l.reported(never, true)
	never.Untouched(waiting, 0)

	report := regexp.MustCompile(`msg="Cannot watch [^\n]* namespace=` + never.Namespace + ` `)
	if n := len(report.FindAllString(l.Log.String(), -1)); n != 1 {
		t.Errorf("the missing rights in one namespace were logged %d times:\n%s", n, l.Log)
	}

	l.forbid(loses)
	l.reported(loses, true)
	before := l.writes.in(loses.Namespace)
	loses.Kubelet("kept-driver", corev1.PodSucceeded, scene.Exited(0, ""))
	late := loses.Get(loses.Application("late", scene.WithDriver).Name)

	serves(good, "second")
	l.stillReady()
	loses.Untouched(loses.Get(late.Name), 1)

	if now := loses.Get(kept.Name); now.Status.AppState.State != v1beta2.ApplicationStateRunning {
		t.Errorf("the state of an application is %q without rights", now.Status.AppState.State)
	}

	if after := l.writes.in(loses.Namespace); after != before {
		t.Errorf("%d writes into a namespace without rights", after-before)
	}

	stop()
	_, stop = l.start()

	serves(good, "third")
	l.reported(never, true)
	l.reported(loses, true)

	l.allow(loses)
	loses.WaitState(kept.Name, v1beta2.ApplicationStateCompleted)
	loses.DriverOf(late, 1)
	l.reported(loses, false)
	l.allow(never)
	never.DriverOf(waiting, 1)
	l.reported(never, false)

	// The rights come back while the watches are still open.
	l.forbid(loses)
	l.reported(loses, true)
	later := loses.Application("later", scene.WithDriver)

	serves(good, "fourth")
	l.allow(loses)
	loses.DriverOf(later, 1)
	l.reported(loses, false)
	l.stillReady()
	stop()
	l.start()

	for i, w := range []*world.World{good, never, loses} {
		serves(w, fmt.Sprintf("last-%d", i))
	}
}

// TestDeletedNamespaceStopsNobody deletes a served namespace and creates it again, for each way to choose namespaces:
// by a list, by labels, and by dynamic settings. The others are served and the operator is ready, also if it starts
// while the namespace does not exist.
func TestDeletedNamespaceStopsNobody(t *testing.T) {
	kit.NeedsControllers(t, namespaceDeletion)

	for _, mode := range []string{"list", "selector", "dynamic"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			good, goes := world.New(t), world.New(t)
			l := newLimited(t, good.Namespace, goes.Namespace)
			var labels map[string]string

			restore := func() {}
			switch mode {
			case "list":
				l.allow(good)
				l.allow(goes)

				restore = func() { l.allow(goes) }
			case "selector":
				l.allowAll()

				key := "access-" + good.Namespace
				labels, l.cfg.Namespaces = map[string]string{key: "yes"}, config.Namespaces{Selector: key + "=yes"}
				good.Relabel(key, "yes")
				goes.Relabel(key, "yes")
			case "dynamic":
				l.allowAll()
				l.cfg.Namespaces.Names = []string{"there-is-none"}
				l.cfg.DynamicConfig.Enabled, l.cfg.DynamicConfig.Namespace = true, l.Namespace
				l.Create(l.DynamicConfigMap("dynamic",
					map[string]string{world.PropertyNamespaces: good.Namespace + "," + goes.Namespace}))
			}

			op, stop := l.start()

			serves(good, "first")
			old := serves(goes, "same")

			deleteNamespace(goes)
			serves(good, "second")
			l.stillReady()

			if mode == "list" {
				l.reported(goes, true)
			}

			createNamespace(goes, labels)
			restore()

			again := serves(goes, "same")
			if again.UID == old.UID {
				t.Error("it is the application of the deleted namespace")
			}

			l.reported(goes, false)
			kit.Wait(t, "the old objects to leave the caches", func(ctx context.Context) error {
				var all v1beta2.SparkApplicationList
				if err := op.GetClient().List(ctx, &all, client.InNamespace(goes.Namespace)); err != nil {
					return err
				}

				if len(all.Items) != 1 || all.Items[0].UID != again.UID {
					return fmt.Errorf("the cache has %d applications", len(all.Items))
				}
				return nil
			})

			deleteNamespace(goes)
			stop()
			l.start()
			serves(good, "third")
			createNamespace(goes, labels)
			restore()
			serves(goes, "same")
			l.stillReady()
		})
	}
}
