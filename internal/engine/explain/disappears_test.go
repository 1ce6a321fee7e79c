package explain_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// livePhases are the phases of a live attempt, in order. The function enter plays Spark and the kubelet until a driver
// that was just created is in the phase.
var livePhases = []struct {
	name  string
	enter func(*world.World, *v1beta2.SparkApplication, *corev1.Pod)
	// wants reports that the driver wants executors in this phase.
	wants bool
}{
	{"launched", func(*world.World, *v1beta2.SparkApplication, *corev1.Pod) {}, false},
	{"started", func(w *world.World, _ *v1beta2.SparkApplication, driver *corev1.Pod) {
		w.Kubelet(driver.Name, corev1.PodRunning, world.Running())
	}, false},
	{"ready", func(w *world.World, _ *v1beta2.SparkApplication, driver *corev1.Pod) { w.Ready(driver.Name) }, true},
	{"running", func(w *world.World, app *v1beta2.SparkApplication, driver *corev1.Pod) {
		w.Ready(driver.Name)
		executor := w.Executor(app, driver, 1)
		w.Create(executor)
		w.Ready(executor.Name)
		w.WaitReady(app.Name, "Running")
	}, true},
}

// named returns a condition: a text that is not among the earlier ones contains all the given words.
func named(w *world.World, app *v1beta2.SparkApplication, before []string,
	words ...string) func(context.Context) error {
	return func(context.Context) error {
		after := w.ReportsOf(app)
		if !slices.ContainsFunc(after, func(text string) bool {
			return !slices.Contains(before, text) &&
				!slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
		}) {
			return fmt.Errorf("no report with %q; reported are:\n%s", words, strings.Join(after, "\n"))
		}
		return nil
	}
}

// allDependents returns the existing objects of an application, of every kind that the operator watches, in an order
// that is the same for all applications.
func allDependents(w *world.World, app *v1beta2.SparkApplication) (all []client.Object) {
	w.T.Helper()

	for _, kind := range append(slices.Clone(dependents.Kinds), corev1.SchemeGroupVersion.WithKind("Pod")) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)

		if err := w.API.List(w.T.Context(), list, client.InNamespace(w.Namespace),
			client.MatchingLabels{identity.AppUIDLabel: string(app.UID)}); err != nil {
			w.T.Fatal(err)
		}

		for i := range list.Items {
			list.Items[i].SetGroupVersionKind(kind)
			all = append(all, &list.Items[i])
		}
	}
	// Names differ in the name of the application and in a digest, both at their beginning.
	last := func(object client.Object) string {
		parts := strings.Split(object.GetName(), "-")
		return dependents.KindOf(object) + " " + strings.Join(parts[max(0, len(parts)-3):], "-")
	}
	slices.SortStableFunc(all, func(a, b client.Object) int { return strings.Compare(last(a), last(b)) })
	return all
}

// TestWhatDisappearsIsRestoredOrNamed deletes each object of an application in each phase of a live attempt. The
// operator must create the object again, or name it in a condition or an event. A driver's Service was neither restored
// nor named: new executors died, and the application ended with an exit code that did not say why.
func TestWhatDisappearsIsRestoredOrNamed(t *testing.T) {
	t.Parallel()

	for _, phase := range livePhases {
		t.Run(phase.name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			w.GrantSparkRights()
			w.RunReal()

			live := func(name string) (*v1beta2.SparkApplication, []client.Object) {
				app := w.Application(name, scene.WithDriver, func(app *v1beta2.SparkApplication) {
					app.Spec.SparkVersion, app.Spec.DriverPodDisruptionBudget = "4.2.0", new(true)
				})
				driver := w.DriverOf(app, 1)
				phase.enter(w, app, driver)
				w.WaitBudgets(app, 1)
				w.UIService(name)
				return app, allDependents(w, app)
			}

			var checks []world.Check
			for i, count := 0, 1; i < count; i++ {
				app, all := live(fmt.Sprintf("a%d", i))
				count = len(all)
				checks = append(checks, disappears(w, app, all[i])...)
			}

			kinds := map[string]bool{}
			for _, c := range checks {
				kinds[strings.Fields(c.What)[0]] = true
			}

			if len(kinds) != len(dependents.Kinds)+1 {
				t.Errorf("the applications have only objects of the kinds %v", kinds)
			}

			w.WaitChecks(checks)
		})
	}
}

// disappears deletes an object of an application, and returns what must follow.
func disappears(w *world.World, app *v1beta2.SparkApplication, object client.Object) []world.Check {
	w.T.Helper()

	before, kind, since := w.ReportsOf(app), dependents.KindOf(object), time.Now()
	if err := w.API.Delete(w.T.Context(), object, client.GracePeriodSeconds(0)); err != nil {
		w.T.Fatal(err)
	}

	what := kind + " " + object.GetName()
	if kind == "Pod" {
		return []world.Check{{What: what, Since: since,
			Holds: named(w, app, before, object.GetLabels()[identity.RoleLabel])}}
	}

	checks := []world.Check{{What: what, Since: since, Holds: func(ctx context.Context) error {
		live := identity.MetadataOnly(object.GetObjectKind().GroupVersionKind())
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(object), live); err != nil {
			return err
		}

		if live.UID == object.GetUID() {
			return errors.New("it is not deleted")
		}
		return nil
	}}}
	if dependents.IsDriverObject(object) {
		checks = append(checks, world.Check{What: what + " in an event", Since: since,
			Holds: named(w, app, before, "ObjectRestored", kind, object.GetName(),
				"was deleted; the operator created it again")})
	}
	return checks
}

// TestDriverThatStopsItsContextIsNoWarning checks a program that stops its SparkContext and continues. Spark then
// deletes the executors and the driver's Service. The Service is created again, and the event about it is no warning.
func TestDriverThatStopsItsContextIsNoWarning(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.GrantSparkRights()
	w.RunReal()
	app := w.Application("pi", scene.WithDriver)
	driver := w.DriverOf(app, 1)
	w.Ready(driver.Name)
	executor := w.Executor(app, driver, 1)
	w.Create(executor)
	w.Ready(executor.Name)
	w.WaitReady(app.Name, "Running")

	for _, object := range allDependents(w, app) {
		if dependents.KindOf(object) == "Service" && dependents.IsDriverObject(object) {
			w.Remove(object)
		}
	}

	w.Stopped(executor)
	kit.Wait(t, "the event", func(ctx context.Context) error {
		var events corev1.EventList
		if err := w.API.List(ctx, &events, client.InNamespace(w.Namespace)); err != nil {
			return err
		}

		i := slices.IndexFunc(events.Items, func(event corev1.Event) bool { return event.Reason == "ObjectRestored" })
		if i < 0 {
			return errors.New("there is none")
		}

		if event := events.Items[i]; event.Type != corev1.EventTypeNormal {
			t.Errorf("%s event: %s", event.Type, event.Message)
		}
		return nil
	})
}

// TestAccountThatDisappearsIsNamed deletes the driver's service account, deletes it and creates it again, or removes
// one of its rights, in each phase. The application must report it when the driver wants executors, or when the driver
// fails because of it. A driver with a void token had no executors, and its application was Ready.
func TestAccountThatDisappearsIsNamed(t *testing.T) {
	t.Parallel()
	kit.NeedsControllers(t, world.EditRules)

	changes := map[string]func(*world.World, string, *corev1.Pod) (says []string){
		"deleted": func(w *world.World, account string, _ *corev1.Pod) []string {
			w.Remove(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: account}})
			return []string{"ServiceAccountNotFound", account}
		},
		"created again": func(w *world.World, account string, driver *corev1.Pod) []string {
			kit.Wait(w.T, "an account that is younger than the driver", func(ctx context.Context) error {
				again := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: account}}

				_ = w.API.Delete(ctx, again.DeepCopy())
				if err := w.API.Create(ctx, again); err != nil {
					return err
				}

				if !again.CreationTimestamp.After(driver.CreationTimestamp.Time) { // in whole seconds
					return errors.New("it was created in the same second")
				}
				return nil
			})
			return []string{explain.ReasonAccountRecreated, account, "only a new driver gets a valid one"}
		},
	}
	for _, granted := range []client.Object{&rbacv1.RoleBinding{}, &rbacv1.Role{}} {
		changes[fmt.Sprintf("without its %T", granted)] = func(w *world.World, account string, _ *corev1.Pod) []string {
			gone := granted.DeepCopyObject().(client.Object)
			gone.SetNamespace(w.Namespace)
			gone.SetName(account)
			w.Remove(gone)
			return []string{"Forbidden", fmt.Sprintf("service account %q has no right to", account)}
		}
	}

	for _, right := range explain.DriverRights {
		changes["without "+right.Verb+" "+right.Resource] = func(w *world.World, account string,
			_ *corev1.Pod) []string {
			role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: account}}
			if err := w.API.Get(w.T.Context(), client.ObjectKeyFromObject(role), role); err != nil {
				w.T.Fatal(err)
			}

			role.Rules = driverRules(func(verb, resource string) bool {
				return verb != right.Verb ||
					resource != right.Resource
			})
			if err := w.API.Update(w.T.Context(), role); err != nil {
				w.T.Fatal(err)
			}
			return []string{"Forbidden",
				fmt.Sprintf("service account %q has no right to %s %s", account, right.Verb, right.Resource)}
		}
	}

	for _, phase := range livePhases {
		t.Run(phase.name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			w.RunReal()

			var checks []world.Check
			for name, change := range changes {
				id := fmt.Sprintf("a%d", len(checks))
				w.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: id}})
				w.Grant(id, "system:serviceaccount:"+w.Namespace+":"+id,
					driverRules(func(string, string) bool { return true })...)
				app := w.Application(id, scene.WithDriver,
					func(app *v1beta2.SparkApplication) { app.Spec.Driver.ServiceAccount = &id })
				driver := w.DriverOf(app, 1)
				phase.enter(w, app, driver)
				before := w.ReportsOf(app)

				says := change(w, id, driver)
				switch {
				case phase.name == "running": // the executor dies, and the driver cannot create another
					if err := w.API.Delete(t.Context(), w.Executor(app, driver, 1),
						client.GracePeriodSeconds(0)); err != nil {
						t.Fatal(err)
					}
				case !phase.wants: // Spark's context cannot start
					w.Kubelet(driver.Name, corev1.PodFailed,
						scene.Exited(1, "io.fabric8.kubernetes.client.KubernetesClientException"))
				}

				checks = append(checks, world.Check{What: name, Since: time.Now(),
					Holds: named(w, app, before, says...)})
			}

			w.WaitChecks(checks)
		})
	}
}

// driverRules returns the rights of the chart's Role for drivers that the given function accepts.
func driverRules(has func(verb, resource string) bool) (rules []rbacv1.PolicyRule) {
	for resource, verbs := range map[string][]string{
		"pods":       {"get", "list", "watch", "create", "patch", "delete", "deletecollection"},
		"configmaps": {"create", "deletecollection"},
	} {
		rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}}
		for _, verb := range verbs {
			if has(verb, resource) {
				rule.Verbs = append(rule.Verbs, verb)
			}
		}

		rules = append(rules, rule)
	}
	return slices.DeleteFunc(rules, func(rule rbacv1.PolicyRule) bool { return len(rule.Verbs) == 0 })
}
