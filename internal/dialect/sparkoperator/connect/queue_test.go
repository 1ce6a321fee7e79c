package connect

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestServerInQueue follows a server that waits in a queue, is admitted to some nodes, is evicted, and waits again.
func TestServerInQueue(t *testing.T) {
	granted := lifecycle.Quota{Name: "sparkconnect-hub", Requested: true, Attempt: 1, Reserved: true}
	waits, admitted, evicted := granted, granted, granted
	waits.Reserved, waits.Asked, waits.Wait = false, true, &lifecycle.Cause{Reason: lifecycle.ReasonQuotaPending, Message: "not admitted"}
	spot := lifecycle.Placement{NodeSelector: map[string]string{"pool": "spot"}, Source: "ResourceFlavor spot"}
	admitted.Asked, admitted.Placement = true, map[string]lifecycle.Placement{"driver": spot, "executor": spot}
	evicted.Evicted = &lifecycle.Cause{Reason: "Preempted", Message: "for another"}

	s := stays(t, aConnect()).pass(0, lifecycle.Observed{Quota: &waits}).pass(time.Minute, lifecycle.Observed{Quota: &waits})
	if ready := meta.FindStatusCondition(s.sc.Status.Conditions, dialect.ConditionReady); ready.Reason != lifecycle.ReasonQuotaPending || s.plan.Next.Phase != lifecycle.New {
		t.Errorf("in the queue, Ready is %+v in %q", ready, s.plan.Next.Phase)
	}

	s.pass(time.Minute, lifecycle.Observed{Quota: &admitted})

	if want := []string{EventServerCreated, "KueueAdmitted"}; !cmp.Equal(want, s.reported) {
		t.Errorf("reported %q, want %q", s.reported, want)
	}

	server, executor := rendered(t, s.connects, s.sc)
	if server.Spec.NodeSelector["pool"] != "spot" || executor.Spec.NodeSelector["pool"] != "spot" {
		t.Errorf("the pods run on %v and %v", server.Spec.NodeSelector, executor.Spec.NodeSelector)
	}

	runs := lifecycle.Observed{Confirmed: true, Quota: &evicted, Drivers: []lifecycle.Driver{{Name: "hub-server", Attempt: 1, Phase: lifecycle.DriverRunning, Ready: true,
		StartedAt: connectBegan, ReadyAt: connectBegan, SpecHash: hash(&s.sc.Spec)}}}
	s.pass(time.Minute, runs)

	if s.sc.Status.State != v1alpha1.SparkConnectStateNotReady || !slices.Contains(s.reported, EventConnectSuspending) ||
		s.plan.Next.Cause.Reason != lifecycle.ReasonQueueEviction {
		t.Errorf("evicted: %s, reported %q, because of %+v", s.sc.Status.State, s.reported, s.plan.Next.Cause)
	}
}

// TestServerAgainstItsQueue checks which servers cannot be in a queue.
func TestServerAgainstItsQueue(t *testing.T) {
	pods, err := (Connects{}).Pods(aConnect())
	if err != nil || len(pods) != 2 || pods[0].Count != 1 || pods[1].Count != 2 {
		t.Errorf("the pods are %+v, %v", pods, err)
	}

	dynamic := aConnect(func(sc *v1alpha1.SparkConnect) {
		sc.Spec.DynamicAllocation = &v1alpha1.DynamicAllocation{Enabled: true, MaxExecutors: new(int32(5))}
	})
	if _, err := (Connects{}).Pods(dynamic); err == nil || !strings.HasPrefix(err.Error(), "spec.dynamicAllocation") {
		t.Errorf("dynamic allocation: %v", err)
	}

	spot := lifecycle.Placement{NodeSelector: map[string]string{"pool": "spot"}, Source: "ResourceFlavor spot"}
	own := aConnect(func(sc *v1alpha1.SparkConnect) {
		sc.Spec.Server.Template = &runtime.RawExtension{Raw: []byte(`{"spec":{"nodeSelector":{"pool":"own"}}}`)}
	})

	admitted := lifecycle.Quota{Asked: true, Requested: true, Reserved: true, Attempt: 1, Placement: map[string]lifecycle.Placement{"driver": spot}}
	plan := (Connects{}).Decide(own, lifecycle.Observed{Quota: &admitted}, connectBegan)

	if _, err := (Connects{}).Render(own, plan.Actions[0], connectBegan); err == nil || !strings.HasPrefix(err.Error(), "spec.server.template.spec.nodeSelector[pool]") ||
		!strings.Contains(err.Error(), "ResourceFlavor spot") {
		t.Errorf("a contradiction: %v", err)
	}
}
