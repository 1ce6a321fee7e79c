package access_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// rightsOfALife are the resources that the operator uses in the life of a SparkApplication.
var rightsOfALife = []string{
	"sparkoperator.k8s.io/sparkapplications", "sparkoperator.k8s.io/sparkapplications/status",
	"sparkoperator.k8s.io/sparkapplications/finalizers",
	"/pods", "/configmaps", "/services", "/events", "/serviceaccounts", "networking.k8s.io/networkpolicies",
	"policy/poddisruptionbudgets",
	"authorization.k8s.io/localsubjectaccessreviews",
}

// singleRights returns the rights of the chart's rules, one in each rule.
func singleRights(t *testing.T) (single []rbacv1.PolicyRule) {
	t.Helper()

	for _, rule := range chartRules(t) {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				right := rbacv1.PolicyRule{APIGroups: rule.APIGroups, Resources: []string{resource},
					Verbs: []string{verb}}
				if !slices.ContainsFunc(single,
					func(other rbacv1.PolicyRule) bool { return rightName(other) == rightName(right) }) {
					single = append(single, right)
				}
			}
		}
	}
	return single
}

func rightName(right rbacv1.PolicyRule) string {
	return right.Verbs[0] + " " + right.APIGroups[0] + "/" + right.Resources[0]
}

// placeWithout is a namespace in which the operator lacks one right. The test plays the kubelet, Spark and a user for
// an application there.
type placeWithout struct {
	*world.World
	right   rbacv1.PolicyRule
	app     *v1beta2.SparkApplication
	service *corev1.Service // the driver's Service, when it is deleted
}

// play makes the next step in the life of the application: its driver runs, an executor runs, somebody deletes the
// driver's Service and, when that exists again, the driver ends. The time to live then deletes the application. An
// error says what the life waits for.
func (p *placeWithout) play(ctx context.Context) error {
	app := &v1beta2.SparkApplication{}
	switch err := p.API.Get(ctx, client.ObjectKeyFromObject(p.app), app); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}

	driver := &corev1.Pod{}
	if err := p.API.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: world.DriverName(p.app.Name)},
		driver); err != nil {
		return err
	}

	services := &corev1.ServiceList{}
	if err := p.API.List(ctx, services, client.InNamespace(p.Namespace)); err != nil {
		return err
	}

	headless := slices.IndexFunc(services.Items,
		func(s corev1.Service) bool { return s.Spec.ClusterIP == corev1.ClusterIPNone })
	switch {
	case driver.Status.Phase == corev1.PodPending:
		p.Ready(driver.Name)
		executor := p.Executor(p.app, driver, 1)
		p.Create(executor)
		p.Ready(executor.Name)
	case driver.Status.Phase == corev1.PodRunning && world.Condition(app, "Ready").Reason != "Running":
	case p.service == nil && headless >= 0:
		p.service = &services.Items[headless]
		p.Remove(p.service)
	case driver.Status.Phase == corev1.PodRunning && headless >= 0:
		p.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	}
	return fmt.Errorf("the driver is %s", driver.Status.Phase)
}

// TestRightThatTheOperatorLacksIsNamed takes each right of the operator in a job namespace away, one in each of many
// namespaces. The life of an application there must reach its end, or the missing right must be named: in a condition
// or an event, or as a kind that is not watched.
func TestRightThatTheOperatorLacksIsNamed(t *testing.T) {
	t.Parallel()
	rights := singleRights(t)
	var places []*placeWithout

	var names []string
	for _, right := range rights {
		if !slices.Contains(rightsOfALife, right.APIGroups[0]+"/"+right.Resources[0]) {
			continue
		}

		places = append(places, &placeWithout{World: world.New(t), right: right})
		names = append(names, places[len(places)-1].Namespace)
	}

	if len(places) < 30 {
		t.Fatalf("only %d rights", len(places))
	}

	l := newLimited(t, names...)

	var checks []world.Check
	for _, p := range places {
		p.Grant("operator", l.user, slices.DeleteFunc(slices.Clone(rights),
			func(r rbacv1.PolicyRule) bool { return rightName(r) == rightName(p.right) })...)
		p.app = p.Application("pi", scene.WithDriver, func(app *v1beta2.SparkApplication) {
			app.Spec.SparkVersion, app.Spec.DriverPodDisruptionBudget, app.Spec.TimeToLiveSeconds = "4.2.0", new(true),
				new(int64(1))
		})
		checks = append(checks, world.Check{What: "without " + rightName(p.right), Since: time.Now(),
			Holds: func(ctx context.Context) error {
				unwatched := l.MetricWhere("sparkoperator_namespace_unwatched_kinds",
					func(labels []*dto.LabelPair) bool { return labels[0].GetValue() == p.Namespace })

				lacks := fmt.Sprintf("cannot %s resource %q", p.right.Verbs[0], p.right.Resources[0])
				if strings.HasSuffix(p.right.Resources[0], "/finalizers") { // checked by an admission plugin
					lacks = "cannot set blockOwnerDeletion"
				}

				err := p.play(ctx)
				if err == nil || unwatched > 0 && (p.right.Verbs[0] == "list" || p.right.Verbs[0] == "watch") {
					return nil
				}

				if slices.ContainsFunc(p.ReportsOf(p.app), func(text string) bool {
					return strings.Contains(text, apianswer.ReasonOperatorForbidden) && strings.Contains(text, lacks)
				}) {
					return nil
				}
				return fmt.Errorf("%w; reported are:\n%s", err, strings.Join(p.ReportsOf(p.app), "\n"))
			}})
	}

	l.start()
	l.WaitChecks(checks)
}
