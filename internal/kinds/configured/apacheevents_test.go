package configured_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// written returns how often each Event about an object was written, by type, reason and message. It checks their
// source.
func written(w *world.World, object client.Object) map[string]int32 {
	w.T.Helper()

	var list corev1.EventList
	if err := w.API.List(w.T.Context(), &list, client.InNamespace(w.Namespace),
		client.MatchingFields{"involvedObject.uid": string(object.GetUID())}); err != nil {
		w.T.Fatal(err)
	}

	counts := map[string]int32{}
	for _, e := range list.Items {
		counts[e.Type+" "+e.Reason+": "+e.Message] = e.Count

		if e.Source.Component != "spark-kubernetes-operator" || e.ReportingController != e.Source.Component {
			w.T.Errorf("the event %s is from %q and %q", e.Reason, e.Source.Component, e.ReportingController)
		}
	}
	return counts
}

// transition is a state of a custom resource with its message and its time.
type transition struct{ state, message, at string }

// due returns the Events that are to be written about transitions, the first of which has none. An Event is repeated
// only after the interval. A driver that starts, is ready and runs in one pass has one Event.
func due(warns map[string]bool, excluded string, interval time.Duration, all []transition) map[string]int32 {
	counts, last, started := map[string]int32{}, map[string]time.Time{}, ""
	for _, t := range all[1:] {
		kind := map[bool]string{false: corev1.EventTypeNormal, true: corev1.EventTypeWarning}[warns[t.state]]
		key, at := kind+" "+t.state+": "+t.message, apache.ParseTimestamp(t.at)

		if t.state == "DriverStarted" {
			started = t.state + ": " + t.message
			continue
		}

		if before, known := last[key]; t.state == excluded || known && at.Sub(before) < interval {
			continue
		}

		last[key] = at

		if t.state == "RunningHealthy" && started != "" {
			key += " (after " + started + ")"
		}
		counts[key]++
	}
	return counts
}

func waitWritten(w *world.World, object client.Object, want map[string]int32) {
	w.T.Helper()
	kit.Wait(w.T, "the events of "+object.GetName(), func(context.Context) error {
		if got := written(w, object); !maps.Equal(got, want) {
			return fmt.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
		}
		return nil
	})
}

// TestApacheApplicationHasOneEventPerTransition checks on a life of three attempts that each transition has one event
// with the name and the message of the state. If the same pass left the state, the message of the next event has both.
// Excluded events and repetitions within the interval are left out. No other events are written. Attempts 2 and 3
// repeat the messages of attempt 1, but only attempt 3 follows after the interval. The clock is behind that of the API
// server until then. If it were ahead afterwards, the driver pod whose deletion leads to attempt 3 could be overdue,
// which has an event of its own.
func TestApacheApplicationHasOneEventPerTransition(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	cfg := world.Config(w.Namespace)
	cfg.Apache.TrimHistory = new(false)
	cfg.Apache.Events.ExcludedReasons = []string{"DriverRead.", "Driver"}

	const late = 10 * time.Minute
	clock.Advance(-late)
	resources.RunApache(w, cfg, clock.Now)

	app := resources.CreateApache(w, "pi", resources.WithTolerations(sparkv1.ApplicationTolerations{
		RestartConfig: resources.RestartConfig(sparkv1.RestartAlways, 2)}))
	for attempt := 1; attempt <= 3; attempt++ {
		if attempt == 3 {
			clock.Advance(late)
		}

		driver := resources.ReadyDriver(w, app, attempt)
		w.Kubelet(driver.Name, corev1.PodFailed, scene.Exited(1, ""))
	}

	got := resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased)

	var all []transition
	for _, key := range apache.KeysOf(got.Status.StateTransitionHistory) {
		entry := got.Status.StateTransitionHistory[key]
		all = append(all, transition{string(entry.CurrentStateSummary), entry.Message, entry.LastTransitionTime})
	}

	want := due(map[string]bool{"Failed": true}, "DriverReady", 5*time.Minute, all)

	healthy := fmt.Sprintf("Normal RunningHealthy: %s (after DriverStarted: %s)", messageOf(all, "RunningHealthy"), messageOf(all, "DriverStarted"))
	if n := want[healthy]; len(all) != 1+3*5+2+1 || n != 2 {
		t.Fatalf("RunningHealthy is to be written %d times of %v", n, all)
	}

	waitWritten(w, app, want)
}

func messageOf(all []transition, state string) string {
	for _, t := range all {
		if t.state == state {
			return t.message
		}
	}
	return ""
}

// TestClusterHasOneEventPerTransition checks the same for a cluster that is suspended and resumed. Beside its states,
// only the creation of its objects has an event.
func TestClusterHasOneEventPerTransition(t *testing.T) {
	t.Parallel()
	kit.NeedsControllers(t, resources.PodsOfSets)
	w, clock := world.New(t), &world.Later{}
	cfg := world.Config(w.Namespace)
	cfg.Apache.TrimHistory = new(false)
	cfg.Apache.Events.MinInterval = &metav1.Duration{}

	resources.Kubelets(w)
	resources.RunClusters(w, cfg, clock.Now)

	sc := resources.CreateCluster(w, "c")
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1), resources.ClusterHolds("Ready", metav1.ConditionTrue))
	resources.PatchCluster(w, "c", `{"spec":{"suspend":true}}`)
	resources.WaitCluster(w, "c", sparkv1.ClusterSuspended, resources.ClusterHolds("Suspended", metav1.ConditionTrue))
	resources.PatchCluster(w, "c", `{"spec":{"suspend":false}}`)

	got := resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy)

	var all []transition
	for _, key := range apache.KeysOf(got.Status.StateTransitionHistory) {
		entry := got.Status.StateTransitionHistory[key]
		all = append(all, transition{string(entry.CurrentStateSummary), entry.Message, entry.LastTransitionTime})
	}

	want := due(nil, "", 0, all)
	if n := want["Normal RunningHealthy: "+messageOf(all, "RunningHealthy")]; len(all) != 5 || n != 2 {
		t.Fatalf("RunningHealthy is to be written %d times of %v", n, all)
	}

	want["Normal SparkClusterSubmitted: all objects of the cluster exist"] = 2
	waitWritten(w, sc, want)
}

// TestApacheEventsAreSwitchedLive checks that dynamic settings switch the events off and on while the operator runs.
func TestApacheEventsAreSwitchedLive(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.DynamicConfig.Enabled, cfg.DynamicConfig.Namespace = true, w.Namespace
	op := w.ApacheOperator(cfg)
	w.Run(op)

	const property = "spark.kubernetes.operator.events."
	dynamic := w.DynamicConfigMap("dynamic", map[string]string{property + "enabled": "False"})
	w.Create(dynamic)
	waitEvents(w, op.Settings, false, "5m0s")

	silent := resources.CreateApache(w, "silent")
	resources.ReadyDriver(w, silent, 1)

	dynamic.Data = map[string]string{property + "minIntervalSeconds": "7", property + "excludedReasons": "Driver.*"}
	if err := w.API.Update(t.Context(), dynamic); err != nil {
		t.Fatal(err)
	}

	waitEvents(w, op.Settings, true, "7s")

	loud := resources.CreateApache(w, "loud")
	resources.ReadyDriver(w, loud, 1)
	w.WaitEvent(loud, "RunningHealthy")

	if got := written(w, loud); len(got) != 1 {
		t.Errorf("with excluded reasons: %v", got)
	}

	if got := written(w, silent); len(got) != 0 {
		t.Errorf("although switched off: %v", got)
	}
}

func waitEvents(w *world.World, settings func() config.Configuration, enabled bool, interval string) {
	w.T.Helper()
	kit.Wait(w.T, "the settings of events", func(context.Context) error {
		events := settings().Apache.Events
		return world.Want(fmt.Sprint(*events.Enabled, " ", events.MinInterval.Duration), fmt.Sprint(enabled, " ", interval))
	})
}

// refusing is a client that the API server refuses to create driver pods, or to write a status.
type refusing struct {
	client.Client
	drivers bool
}

func (r refusing) error(verb, resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "pi",
		fmt.Errorf(`User "system:serviceaccount:o:o" cannot %s resource %q in API group "" in the namespace "ns"`, verb, resource))
}

func (r refusing) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if r.drivers && object.GetLabels()[identity.RoleLabel] == identity.RoleDriver {
		return r.error("create", "pods")
	}
	return r.Client.Create(ctx, object, options...)
}

func (r refusing) Status() client.SubResourceWriter {
	if r.drivers {
		return r.Client.Status()
	}
	return refusedStatus{r.Client.Status(), r}
}

type refusedStatus struct {
	client.SubResourceWriter
	by refusing
}

func (r refusedStatus) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return r.by.error("patch", "sparkapplications/status")
}

// TestFailedPassesHaveTheReasonsOfTheAPI checks the reason of the event about a request that is refused. The message
// has the reason that other APIs have for it, and what the API server answered.
func TestFailedPassesHaveTheReasonsOfTheAPI(t *testing.T) {
	t.Parallel()

	for reason, drivers := range map[string]bool{"ReconcileError": true, "StatusUpdateFailed": false} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			resources.RunApache(w, world.Config(w.Namespace), time.Now, func(env *operator.Environment) {
				env.Wrap = func(c client.Client) client.Client { return refusing{c, drivers} }
			})
			app := resources.CreateApache(w, "pi")
			w.WaitEvent(app, reason, "OperatorForbidden: ", "cannot ")

			if got := written(w, app); len(got) != 1 {
				t.Errorf("events: %v", got)
			}
		})
	}
}
