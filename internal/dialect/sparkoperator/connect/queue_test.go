package connect

import (
	"fmt"
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

// TestUnknownExecutorsOfServer checks that rules about pods and a queue refuse values that only the server can compute,
// and that a server without both may have them. Such values once counted as Spark's defaults.
func TestUnknownExecutorsOfServer(t *testing.T) {
	const conf = "spec.sparkConf[%s]: has a reference that only the server can replace, " +
		"so the operator cannot compute the executors for a queue or for the platform's rules; write the value"

	for name, c := range map[string]struct {
		spec string
		keys []string // that leave the executors unknown
		want string   // in a queue, if not because of the keys
	}{
		"plain values":        {spec: `sparkConf: {spark.executor.memoryOverhead: 2g}`},
		"a reference to keys": {spec: `sparkConf: {spark.executor.memoryOverhead: "${spark.m}", spark.m: 2g}`},
		"memory and CPU": {spec: `sparkConf: {spark.executor.memoryOverhead: "${env:M}", spark.kubernetes.executor.request.cores: "${env:C}"}`,
			keys: []string{"spark.executor.memoryOverhead", "spark.kubernetes.executor.request.cores"}},
		"the old name": {spec: `sparkConf: {spark.yarn.executor.memoryOverhead: "${env:M}"}`, keys: []string{"spark.yarn.executor.memoryOverhead"}},
		"the language": {spec: `sparkConf: {spark.kubernetes.resource.type: "${env:L}"}`, keys: []string{"spark.kubernetes.resource.type"}},
		"the template's container": {spec: `sparkConf: {spark.kubernetes.executor.podTemplateContainerName: "${env:C}"}`,
			keys: []string{"spark.kubernetes.executor.podTemplateContainerName"}},
		"options of the JVM": {spec: `sparkConf: {spark.executor.extraJavaOptions: "-Da=${env:A}", spark.executorEnv.A: "${env:A}"}`},
		"the number": {spec: `executor: {instances: null}, sparkConf: {spark.executor.instances: "${env:N}"}`,
			want: "spec.sparkConf[spark.executor.instances]: the number of executors in a queue must be known before the launch; set it to a number"},
		"dynamic allocation": {spec: `sparkConf: {spark.dynamicAllocation.enabled: "${env:B}"}`,
			want: "spec.sparkConf[spark.dynamicAllocation.enabled]: the number of executors in a queue must be known before the launch; set it to true or false"},
	} {
		sc := connectOf(t, c.spec)

		var want []string
		for _, key := range c.keys {
			want = append(want, fmt.Sprintf(conf, key))
		}

		var got []string

		rules := ruleSet{faults: func(s *dialect.Subject) []*dialect.FieldError {
			_, faults := s.Pods()
			for _, fault := range faults {
				got = append(got, fault.Error())
			}
			return nil
		}}
		if wrong := (Connects{Options{Rules: rules}}).invalid(sc); wrong != nil {
			t.Errorf("%s: without a rule about pods: %s", name, wrong.Message)
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: faults for rules (-want +got):\n%s", name, diff)
		}

		if c.want == "" {
			c.want = strings.Join(want, "; ")
		}

		queued := ""
		if _, err := (Connects{}).Pods(sc); err != nil {
			queued = err.Error()
		}

		if diff := cmp.Diff(c.want, queued); diff != "" {
			t.Errorf("%s: in a queue (-want +got):\n%s", name, diff)
		}
	}
}
