package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/cluster/status"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// queued runs a pass of a cluster in a queue. If the pass requests quota, it continues with the answer.
func (w *clusterWorld) queued(q, answer lifecycle.Quota) {
	w.t.Helper()
	w.now = w.now.Add(time.Second)

	w.seen.Quota = &q
	plan := w.c.Decide(w.sc.DeepCopy(), w.seen, w.now)

	for range 3 {
		if len(plan.Actions) == 0 {
			break
		}

		if plan.Actions[0].Verb == lifecycle.Confirm {
			w.seen.Confirmed, w.seen.PodsConfirmed = true, true
		} else if plan.Actions[0] == (lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.QuotaRequest, Attempt: 1}) {
			answer.Asked, w.seen.Quota = true, &answer
		} else {
			break
		}

		plan = w.c.Decide(w.sc.DeepCopy(), w.seen, w.now)
	}

	w.pass()
	w.seen.Confirmed, w.seen.PodsConfirmed, w.seen.Quota = false, false, nil
}

var (
	inQueue  = lifecycle.Quota{Name: "sparkcluster-c", Requested: true, Attempt: 1}
	admitted = lifecycle.Quota{Name: "sparkcluster-c", Requested: true, Attempt: 1, Reserved: true, Started: true}
	placed   = placedOn("spot")
)

func waiting(q lifecycle.Quota) lifecycle.Quota {
	q.Wait = &lifecycle.Cause{Reason: lifecycle.ReasonQuotaPending, Message: "Workload sparkcluster-c is not admitted"}
	return q
}

// placedOn returns an admission to the pool of nodes with the given name.
func placedOn(pool string) lifecycle.Quota {
	q := admitted
	p := lifecycle.Placement{NodeSelector: map[string]string{"pool": pool}, Source: "ResourceFlavor " + pool}
	q.Placement = map[string]lifecycle.Placement{"master": p, "worker": p}
	return q
}

// pools returns the node selectors of the StatefulSets that a cluster should have.
func (w *clusterWorld) pools(q *lifecycle.Quota) (pools []string) {
	seen := w.seen
	seen.Quota = q

	for _, object := range w.c.AuxiliaryObjects(w.sc.DeepCopy(), seen).Objects {
		if set, ok := object.(*appsv1.StatefulSet); ok {
			pools = append(pools, set.Spec.Template.Spec.NodeSelector["pool"])
		}
	}
	return pools
}

// TestClusterInQueue follows a cluster that waits in a queue, runs where it was admitted, is evicted, and is admitted
// elsewhere.
func TestClusterInQueue(t *testing.T) {
	w := newClusterWorld(t)
	w.c.Trim = false
	w.queued(lifecycle.Quota{}, waiting(inQueue))
	w.queued(inQueue, waiting(inQueue))

	if w.sc.Status.CurrentState != nil || w.sc.Status.Operator != nil {
		t.Fatalf("a cluster that waits has a state: %+v", w.sc.Status)
	}

	w.wantConditions("Ready=False(KueueAdmissionPending)")
	w.wantEvents("KueueAdmissionPending")

	w.queued(admitted, placed)
	w.wantStates("Submitted")
	w.wantEvents(status.EventClusterSubmitted, "KueueAdmitted")

	if diff := cmp.Diff([]string{"spot", "spot"}, w.pools(&admitted)); diff != "" {
		t.Errorf("the StatefulSets do not keep what the queue added: %s", diff)
	}

	for range 2 { // also if an object is refused, so that the cluster waits for quota again
		pods, err := w.c.Pods(w.sc)
		if err != nil || pods[0].Pod.Spec.NodeSelector["pool"] != "" || pods[1].Pod.Spec.NodeSelector["pool"] != "" {
			t.Errorf("the request has what the queue added: %+v, %v", pods, err)
		}

		w.sc.Generation++ // an edit does not move the pods
	}

	w.sc.Generation--
	w.sc.Status.Operator.Generation = w.sc.Generation // as after the answer that the quota is for the edited spec

	if diff := cmp.Diff([]string{"spot", "spot"}, w.pools(&admitted)); diff != "" {
		t.Errorf("the edited StatefulSets do not keep what the queue added: %s", diff)
	}

	w.sc.Generation--
	w.sc.Status.Operator.Generation = w.sc.Generation

	evicted := admitted
	evicted.Evicted = &lifecycle.Cause{Reason: "Preempted", Message: "for another"}
	w.queued(evicted, placed)
	w.wantStates("Submitted Suspended")

	if s := w.sc.Status.CurrentState; s.SuspendReason != sparkv1.KueueEviction || !strings.Contains(s.Message, "Preempted: for another") {
		t.Errorf("the state is %+v", s)
	}

	w.queued(evicted, placed)
	w.queued(inQueue, waiting(inQueue))
	w.wantStates("Submitted Suspended Submitted")
	w.wantConditions("Ready=False(KueueAdmissionPending)", "Progressing=True(KueueAdmissionPending)", "Reconciling=True(KueueAdmissionPending)")

	if pools := w.pools(&inQueue); len(pools) > 0 {
		t.Errorf("objects are created in the queue: %v", pools)
	}

	w.queued(admitted, placedOn("slow"))

	if diff := cmp.Diff([]string{"slow", "slow"}, w.pools(&admitted)); diff != "" {
		t.Errorf("the StatefulSets of the next admission: %s", diff)
	}
}

// TestEditWaitsForItsQueue checks that the objects of a running cluster do not follow an edit until the queue has
// answered that their quota is for the edited spec. While requests to the queue failed for 3 s, the edited StatefulSets
// were applied, and the new workers ran without quota.
func TestEditWaitsForItsQueue(t *testing.T) {
	for name, facts := range map[string]lifecycle.Quota{
		"the answer fails":                 admitted,
		"the Workload cannot be read":      {Name: admitted.Name, Requested: true, Unread: true},
		"the Workload is read, not asked":  {Name: admitted.Name, Requested: true, Attempt: 1, Reserved: true},
		"the answer fails, an old request": {Name: admitted.Name, Requested: true, Reserved: true},
	} {
		for _, pods := range []int{0, 2} { // Submitted, RunningHealthy
			w := newClusterWorld(t)
			w.queued(lifecycle.Quota{}, placed)
			w.queued(admitted, placed)

			if pods > 0 {
				w.observePods(pods)
				w.queued(admitted, placed)
			}

			editTo(20, nil)(w.sc)

			w.seen.Quota = &facts
			w.seen.TransientError = &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "TooManyRequests", Message: "m"}, Since: w.now}
			sc := w.sc.DeepCopy()
			w.c.Decide(sc, w.seen, w.now.Add(time.Minute))

			if s := w.c.AuxiliaryObjects(sc, w.seen); !s.Unsettled {
				t.Errorf("%s, %d pods: %d objects follow the edit", name, pods, len(s.Objects))
			}

			answer := admitted
			answer.Asked, w.seen.Quota, w.seen.TransientError = true, &answer, nil
			w.c.Decide(w.sc, w.seen, w.now.Add(time.Minute))

			if s := w.c.AuxiliaryObjects(w.sc, w.seen); s.Unsettled {
				t.Errorf("%s, %d pods: the edit waits after the answer", name, pods)
			}
		}
	}
}

// TestClusterAgainstItsQueue checks which clusters cannot be in a queue, and that they do not start again by
// themselves.
func TestClusterAgainstItsQueue(t *testing.T) {
	for text, change := range map[string]func(*sparkv1.SparkCluster){
		"spec.clusterTolerations.instanceConfig.maxWorkers: ": func(sc *sparkv1.SparkCluster) {
			sc.Spec.ClusterTolerations.InstanceConfig.MaxWorkers += 3
		},
		"spec.workerSpec.statefulSetSpec.template.spec.nodeSelector[pool]: ": func(sc *sparkv1.SparkCluster) {
			sc.Spec.WorkerSpec = &sparkv1.WorkerSpec{MemberSpec: sparkv1.MemberSpec{StatefulSetSpec: rawOf(`{"template":{"spec":{"nodeSelector":{"pool":"own"}}}}`)}}
		},
	} {
		w := newClusterWorld(t, change)
		w.queued(lifecycle.Quota{}, placed)
		w.queued(lifecycle.Quota{}, placed)

		s := w.sc.Status.CurrentState
		if s == nil || s.CurrentStateSummary != sparkv1.ClusterResourceReleased {
			t.Errorf("%s: the state is %+v", text, s)
			continue
		}

		if ready := w.condition("Ready"); !strings.Contains(ready.Message, text) {
			t.Errorf("Ready says %q, want %q", ready.Message, text)
		}
	}
}

// TestPodsOfClusterInQueue checks for which pods a cluster requests quota.
func TestPodsOfClusterInQueue(t *testing.T) {
	pods, err := testClusters.Pods(sparkCluster(editTo(3, nil)))
	if err != nil {
		t.Fatal(err)
	}

	got := map[string]int32{}
	for _, p := range pods {
		got[p.Role] = p.Count
	}

	if diff := cmp.Diff(map[string]int32{"master": 1, "worker": 3}, got); diff != "" {
		t.Error(diff)
	}
}

// TestRequestsOfClusterInQueue checks what quota the pods of a cluster need: their requests, else their limits, else
// what Spark uses by default.
func TestRequestsOfClusterInQueue(t *testing.T) {
	for container, want := range map[string]string{
		`{}`: "1 1408Mi",
		`{"resources":{"requests":{"cpu":"2","memory":"3Gi"}}}`:                                             "2 3Gi",
		`{"resources":{"requests":{"cpu":"2"},"limits":{"cpu":"4","memory":"5Gi"}}}`:                        "2 5Gi",
		`{"env":[{"name":"SPARK_WORKER_CORES","value":"3"},{"name":"SPARK_WORKER_MEMORY","value":"4g"}]}`:   "3 5632Mi",
		`{"env":[{"name":"SPARK_WORKER_CORES","value":"x"},{"name":"SPARK_DAEMON_MEMORY","value":"512m"}]}`: "1 896Mi",
	} {
		raw := rawOf(`{"template":{"spec":{"containers":[` + strings.Replace(container, "{", `{"name":"worker",`, 1) + `]}}}`)
		raw.Raw = []byte(strings.ReplaceAll(string(raw.Raw), ",}", "}"))

		pods, err := testClusters.Pods(sparkCluster(func(sc *sparkv1.SparkCluster) {
			sc.Spec.WorkerSpec = &sparkv1.WorkerSpec{MemberSpec: sparkv1.MemberSpec{StatefulSetSpec: raw}}
		}))
		if err != nil {
			t.Errorf("%s: %v", container, err)
			continue
		}

		requests := pods[1].Pod.Spec.Containers[0].Resources.Requests
		if got := requests.Cpu().String() + " " + requests.Memory().String(); got != want {
			t.Errorf("%s: %s, want %s", container, got, want)
		}
	}
}
