package pages

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/cli/startup"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/table"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// stateOf are the states of the sample rows by result.
var stateOf = map[string]string{"running": "RUNNING", "succeeded": "COMPLETED", "failed": "FAILED", "pending": "SUBMITTED", "suspended": "SUSPENDED"}

// rows returns rows of all kinds, results and some namespaces.
func rows(now time.Time) (out []*table.Row) {
	names := []string{"orders", "clickstream-hourly", "fraud-features", "customer-360", "daily-report", "sessions", "inventory-sync", "recommendations-train"}
	for i := range 42 {
		kind, result := kinds.All[[]int{0, 0, 0, 3, 1, 2, 4}[i%7]], results[(i*5+i/6)%len(results)]

		row := &table.Row{
			Kind: kind.FullName(), APIVersion: kind.GroupVersion().String(), Namespace: []string{"etl", "analytics", "ml-training"}[i%3], Name: fmt.Sprintf("%s-%d", names[i%len(names)], i),
			UID: types.UID(fmt.Sprintf("uid-%d", i)), State: stateOf[string(result)], Result: result, Created: now.Add(-time.Duration(i*i+3) * 47 * time.Second),
			Attempts: int32(1 + i%3), Owner: []string{"data", "search", "", "risk"}[i%4], SparkVersion: "4.1.4",
		}
		if result != "pending" {
			row.Started = row.Created.Add(40 * time.Second)
		}

		switch result {
		case "failed":
			row.Ended, row.Reason = row.Started.Add(11*time.Minute), "OutOfHeap"
			row.Cause = "java.lang.OutOfMemoryError: Java heap space at org.apache.spark.sql.execution.joins.HashedRelation; the driver ended with exit code 1"
		case "succeeded":
			row.Ended = row.Started.Add(7 * time.Minute)
		case "pending":
			row.Reason, row.Cause = "Unschedulable", "0/12 nodes are available: 12 Insufficient cpu"
		case "running":
			row.ExecutorsRunning, row.ExecutorsWanted, row.CPUMillis, row.MemoryBytes = int32(i%9), 8, int64(1+i%9)*2000, int64(1+i%9)*(8<<30)
			row.CostNanos, row.CostRate, row.CostTime, row.ExecutorsFailed = int64(i)*31e7, 2000, now.Add(-time.Minute), int32(i%5/4)
		}

		out = append(out, row)
	}
	return out
}

func micro(at time.Time) *metav1.MicroTime { return &metav1.MicroTime{Time: at} }

// application returns the page of an application in a state: running, failed, retrying or new.
func application(now time.Time, state string) model.Application {
	app := &v1beta2.SparkApplication{
		ObjectMeta: metav1.ObjectMeta{
			Name: "orders-" + state, Namespace: "etl", UID: types.UID("uid-orders-" + state), CreationTimestamp: metav1.NewTime(now.Add(-52 * time.Minute)),
			Labels: map[string]string{"team": "data", v1beta2.ScheduledAppNameLabel: "nightly"},
		},
		Spec: v1beta2.SparkApplicationSpec{SparkVersion: "4.1.4", Executor: v1beta2.ExecutorSpec{Instances: new(int32(4))}},
	}
	if state == "new" {
		app.Generation = 1 // of which the operator has observed nothing

		a := model.ApplicationOf(app, nil, nil, now)
		a.Explanation = append(screen.Explanation(now, screen.UTC, app, nil, nil, lifecycle.Plan{}), screen.Line{Label: "cause", Text: "no operator of this project serves it"},
			screen.Line{Label: "do", Text: "kubectl get deployments -A -l app.kubernetes.io/name=spark-operator", Command: true})
		a.Actions = actions(a.Object)
		return a
	}

	at := func(minutes float64) *metav1.MicroTime {
		return micro(now.Add(-52 * time.Minute).Add(time.Duration(minutes * float64(time.Minute))))
	}
	o := remembered(now, at)

	app.Status.AppState.State, app.Status.Operator, app.Status.Executors = v1beta2.ApplicationStateRunning, o, &statusv1.ExecutorCounts{Running: 4, Failed: 1}
	app.Status.Conditions = []metav1.Condition{condition("Ready", "True", "Running", "", now), condition("Running", "True", "Running", "4 executors run", now)}

	existing, next := pods(now, "orders", 6), lifecycle.Plan{Limit: lifecycle.Limit{At: now.Add(5 * time.Hour), Part: lifecycle.Attempt, Reason: lifecycle.ReasonRunTimedOut}}

	switch state {
	case "failed":
		app.Status.AppState.State, app.Status.AppState.ErrorMessage = v1beta2.ApplicationStateFailed, "it used more memory than its limit"
		o.Phase, o.EndedAt = "Done", at(46)
		o.Usage.ExecutorSteps += " 2250:0"
		o.History[len(o.History)-1] = statusv1.OperatorTransition{Phase: "Ended", At: at(46), Attempt: 2, Reason: "OOMKilled"}
		o.Cause = &statusv1.OperatorCause{Reason: "OOMKilled", Advice: "raise spark.driver.memoryOverhead, because the heap (spark.driver.memory) is limited by the JVM itself", Log: "java.lang.OutOfMemoryError: Java heap space\n\tat java.base/java.util.Arrays.copyOf(Arrays.java:3537)\n\x1b[31mred\x1b[0m"}
		app.Status.Conditions = []metav1.Condition{condition("Ready", "False", "OOMKilled", "it used more memory than its limit: container spark-kubernetes-driver of pod orders-driver ended with exit code 137", now), condition("Failed", "True", "OOMKilled", "", now)}
		app.Status.Executors.Running, existing, next = 0, ended(existing, at(46).Time), lifecycle.Plan{}
	case "retrying":
		app.Status.AppState.State = v1beta2.ApplicationStatePendingRerun
		o.Phase, o.EndedAt, o.NextAttemptTime = "Waiting", at(51), micro(now.Add(40*time.Second))
		o.Usage.ExecutorSteps += " 2550:0"
		o.History[len(o.History)-1] = statusv1.OperatorTransition{Phase: "Waiting", At: at(51), Attempt: 2, Reason: "ExecutorsFailed"}
		app.Status.Conditions = []metav1.Condition{condition("Ready", "False", "ExecutorsFailed", "more executors failed than spark.executor.maxNumFailures allows", now)}
		app.Status.Executors.Running, existing = 0, nil
	}

	recent := events(now, app.Name)

	a := model.ApplicationOf(app, existing, recent, now)
	for i := range a.Pods {
		if !a.Pods[i].Over() {
			a.Pods[i].UsedCPUMillis, a.Pods[i].UsedMemoryBytes = a.Pods[i].CPUMillis*6/10, a.Pods[i].MemoryBytes*8/10
		}
	}

	a.Start = start(at(26).Time)
	a.Explanation = screen.Explanation(now, screen.UTC, app, existing, recent, next)
	a.Fresh = table.Fresh{At: now}

	a.Links = []model.Link{{Title: "History", URL: "https://history.example.org/history/spark-1/jobs/", External: true}}
	if state == "running" {
		a.Links = append([]model.Link{{Title: "Spark UI", URL: "/ui/etl/orders-driver/"}}, a.Links...)
	}

	a.Actions = actions(a.Object)
	return a
}

// steps are the changes of the number of executors of both attempts. Those of the second one are those of its pods.
const steps = " 0:1 40:3 60:4 750:0 1140:1 1210:2 1280:3 1350:4 1420:5 1490:6 2070:5 2190:4"

// remembered returns what the operator has stored about an application that runs in its second attempt. The function at
// returns the time of a minute of its life.
func remembered(now time.Time, at func(float64) *metav1.MicroTime) *statusv1.OperatorStatus {
	return &statusv1.OperatorStatus{
		Attempt: 2, SubmittedAt: at(26), Phase: "Running",
		History: []statusv1.OperatorTransition{
			{Phase: "Waiting", At: at(0.1), Attempt: 1, Reason: lifecycle.ReasonQuotaPending}, {Phase: "Launched", At: at(5), Attempt: 1}, {Phase: "Started", At: at(8), Attempt: 1}, {Phase: "Scaling", At: at(8.5), Attempt: 1},
			{Phase: "Running", At: at(9.5), Attempt: 1}, {Phase: "Ended", At: at(21), Attempt: 1, Reason: "OOMKilled"}, {Phase: "Waiting", At: at(21.2), Attempt: 1, Reason: "OOMKilled"},
			{Phase: "Launched", At: at(26), Attempt: 2}, {Phase: "Started", At: at(27), Attempt: 2}, {Phase: "Running", At: at(28), Attempt: 2}, {Phase: "Partial", At: at(43), Attempt: 2, Reason: "PartialCapacity"},
			{Phase: "Running", At: at(46), Attempt: 2},
		},
		Usage: &statusv1.OperatorUsage{
			Time: new(metav1.NewTime(now)), Attempt: 2, PeakExecutors: 6, ExecutorSteps: fmt.Sprint(at(8.5).Unix(), steps), Pending: statusv1.UsagePending{QueueSeconds: 294, UnschedulableSeconds: 60},
			Driver:    statusv1.UsageOfPods{UsageSums: statusv1.UsageSums{CPUMillicoreSeconds: 1500000, MemoryMiBSeconds: 3000000, CostNanos: 2e8}, Requested: statusv1.UsageRate{CPUMillicores: 1000, MemoryMiB: 2048}},
			Executors: statusv1.UsageOfPods{UsageSums: statusv1.UsageSums{CPUMillicoreSeconds: 12500000, MemoryMiBSeconds: 42000000, CostNanos: 21e8}, Requested: statusv1.UsageRate{CPUMillicores: 8000, MemoryMiB: 32768}},
			Earlier:   statusv1.UsageSums{CPUMillicoreSeconds: 5500000, MemoryMiBSeconds: 17000000, CostNanos: 8e8},
		},
	}
}

// actions returns the actions that the console offers for an object to a user with all rights.
func actions(o model.Object, others ...model.Action) []model.Action {
	if o.Short() != kinds.Schedule.Name {
		others = append([]model.Action{{Name: "restart", Title: "Restart"}}, others...)
	}

	if o.Ended.IsZero() || o.Result == kube.Pending {
		others = append(others, model.Action{Name: "suspend", Title: "Suspend", Danger: true})
	}
	return append(others, model.Action{Name: "delete", Title: "Delete", Danger: true})
}

// ended returns pods of which all have ended: the driver because it used too much memory.
func ended(pods []corev1.Pod, at time.Time) []corev1.Pod {
	for i := range pods {
		status := &pods[i].Status
		if status.Phase != corev1.PodRunning {
			continue
		}

		end := &corev1.ContainerStateTerminated{StartedAt: status.ContainerStatuses[0].State.Running.StartedAt, FinishedAt: metav1.NewTime(at), Reason: "Completed"}
		if status.Phase = corev1.PodSucceeded; i == 0 {
			status.Phase, end.Reason, end.ExitCode = corev1.PodFailed, "OOMKilled", 137
		}

		status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: end}
	}
	return pods
}

// start returns the parts of the start of an attempt.
func start(began time.Time) []startup.Step {
	after := func(n int) *metav1.Time { return &metav1.Time{Time: began.Add(time.Duration(n) * time.Second)} }
	s := kube.Summary{Start: &statusv1.OperatorStart{
		Attempt: 2, DriverCreated: after(0), DriverScheduled: after(12), DriverStarted: after(49), ExecutorCreated: after(56), ExecutorScheduled: after(56), ExecutorStarted: after(61),
	}}
	return startup.Steps(&s, &startup.Times{ContextBegan: after(53).Time, ExecutorRegistered: after(64).Time, FirstTask: after(65).Time})
}

func condition(kind, status, reason, message string, now time.Time) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now.Add(-6 * time.Minute))}
}

// pods returns a driver and some executors. Of more than five, one failed and one ended.
func pods(now time.Time, app string, executors int) (out []corev1.Pod) {
	for i := range executors + 1 {
		name, labels := app+"-driver", map[string]string{"spark-role": "driver", "sparkoperator.dev/attempt": "2"}
		if i > 0 {
			name, labels = fmt.Sprintf("%s-exec-%d", app, i), map[string]string{"spark-role": "executor", "spark-exec-id": fmt.Sprint(i), "sparkoperator.dev/attempt": "2"}
		}

		created := now.Add(-26*time.Minute + time.Duration(i)*70*time.Second)

		pod := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "etl", Labels: labels, CreationTimestamp: metav1.NewTime(created)},
			Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", i%3), Containers: []corev1.Container{{Name: "spark", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("8Gi"),
			}}}}},
		}
		pod.Status.Phase = corev1.PodRunning
		status := corev1.ContainerStatus{Name: "spark", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(created.Add(20 * time.Second))}}}

		if executors > 5 && (i == 3 || i == 5) {
			pod.Status.Phase = corev1.PodSucceeded
			ended := &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(created.Add(20 * time.Second)), FinishedAt: metav1.NewTime(now.Add(-time.Duration(12-i) * time.Minute)), Reason: "Completed"}

			if i == 3 {
				pod.Status.Phase, ended.Reason, ended.ExitCode = corev1.PodFailed, "OOMKilled", 137
			}

			status.State = corev1.ContainerState{Terminated: ended}
		}

		pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
		out = append(out, pod)
	}
	return out
}

// events returns Events about an application and its pods.
func events(now time.Time, app string) []corev1.Event {
	event := func(kind, name, reason, message string, minutes int, count int32) corev1.Event {
		return corev1.Event{
			InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name, UID: types.UID("uid-" + name)}, Reason: reason, Message: message, Count: count,
			Type:          map[bool]string{true: corev1.EventTypeWarning, false: corev1.EventTypeNormal}[count > 1 || reason == "SparkExecutorFailed"],
			LastTimestamp: metav1.NewTime(now.Add(-time.Duration(minutes) * time.Minute)),
		}
	}
	return []corev1.Event{
		event("SparkApplication", app, "SparkApplicationSubmitted", "attempt 2 was submitted", 26, 1),
		event("Pod", "orders-exec-2", "FailedScheduling", "0/12 nodes are available: 12 Insufficient cpu. <script>alert(1)</script>", 24, 7),
		event("SparkApplication", app, "SparkExecutorFailed", "orders-exec-3: OOMKilled (exit code 137)", 9, 1),
	}
}

func schedule(now time.Time) model.Schedule {
	s := &v1beta2.ScheduledSparkApplication{
		ObjectMeta: metav1.ObjectMeta{Name: "nightly", Namespace: "etl", UID: "uid-nightly", CreationTimestamp: metav1.NewTime(now.AddDate(0, -2, 0))},
		Spec:       v1beta2.ScheduledSparkApplicationSpec{Schedule: "15 2 * * *", ConcurrencyPolicy: v1beta2.ConcurrencyForbid},
	}
	s.Status.ScheduleState, s.Status.NextRun = v1beta2.ScheduleStateScheduled, metav1.NewTime(now.Add(-135*time.Minute).UTC().Truncate(24*time.Hour).AddDate(0, 0, 1).Add(135*time.Minute))
	s.Status.Conditions = []metav1.Condition{condition("Ready", "True", "ScheduleValid", "", now)}

	var runs []model.Run
	for i := range 27 {
		due := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -i).Add(135 * time.Minute)
		if i == 9 || due.After(now) {
			continue
		}

		run := model.Run{
			Name: fmt.Sprintf("nightly-%d", due.UnixNano()), Due: due, Started: due.Add(20 * time.Second), Ended: due.Add(time.Duration(18+i%5*3) * time.Minute), Result: "succeeded", Attempts: 1, Peak: 8,
			Image: "registry.example.org/etl:1.8", Spark: "4.1.4", Usage: statusv1.UsageSums{CPUMillicoreSeconds: int64(20+i) * 1e6, MemoryMiBSeconds: int64(60+i) * 1e6, CostNanos: 3e9},
		}
		if i%11 == 4 {
			run.Result, run.Reason, run.Message, run.Ended = "failed", "PathNotFound", "Path does not exist: s3a://lake/orders", due.Add(4*time.Minute)
		}

		if i < 8 {
			run.Path = table.ObjectPath(kinds.SparkApplication.FullName(), "etl", run.Name)
		}

		runs = append(runs, run)
	}

	missed := []corev1.Event{{
		InvolvedObject: corev1.ObjectReference{Kind: "ScheduledSparkApplication", Name: "nightly", UID: "uid-nightly"}, Type: corev1.EventTypeWarning, Reason: "RunSkipped",
		Message: "the run of 02:15 was skipped, because the last run was still active at its deadline", LastTimestamp: metav1.NewTime(now.AddDate(0, 0, -9)),
	}}

	out := model.ScheduleOf(s, runs, missed, func(name string) (*time.Location, error) { return time.LoadLocation(name) }, now)
	out.Explanation = screen.Explanation(now, screen.UTC, s, nil, missed, lifecycle.Plan{})
	out.Fresh = table.Fresh{At: now}
	out.Actions = actions(out.Object, model.Action{Name: "trigger", Title: "Run now"})
	return out
}

// compared returns the page of a schedule that compares two runs.
func compared(s model.Schedule) model.Schedule {
	s.Compared = &model.Compared{A: s.Runs[4], B: s.Runs[0], Changes: []model.Change{{Name: "spec.executor.memory", Before: "4g", After: "8g"}}}
	return s
}

func connect(now time.Time) model.Connect {
	c := &v1alpha1.SparkConnect{ObjectMeta: metav1.ObjectMeta{Name: "notebooks", Namespace: "analytics", UID: "uid-notebooks", CreationTimestamp: metav1.NewTime(now.Add(-30 * time.Hour))}}
	c.Spec.SparkVersion = "4.1.4"
	c.Status.State, c.Status.Server.ServiceName, c.Status.Executors = v1alpha1.SparkConnectStateReady, "notebooks-server", map[string]int{"running": 2}
	c.Status.Conditions = []metav1.Condition{condition("Ready", "True", "Ready", "", now)}

	began := now.Add(-30 * time.Hour)
	c.Status.Operator = &v1alpha1.OperatorStatus{OperatorStatus: statusv1.OperatorStatus{Attempt: 1, SubmittedAt: micro(began), Phase: "Running", History: []statusv1.OperatorTransition{
		{Phase: "Launched", At: micro(began.Add(time.Second)), Attempt: 1}, {Phase: "Started", At: micro(began.Add(time.Minute)), Attempt: 1},
		{Phase: "Running", At: micro(began.Add(2 * time.Minute)), Attempt: 1},
	}}}

	existing := pods(now, "notebooks", 2)
	out := model.ConnectOf(c, existing, nil, now)
	out.Explanation = screen.Explanation(now, screen.UTC, c, existing, nil, lifecycle.Plan{})
	out.Links = []model.Link{{Title: "Spark UI", URL: "/ui/analytics/notebooks-driver/"}}
	out.Actions = actions(out.Object, model.Action{Name: "scale", Title: "Scale"})
	out.Sessions = []model.Session{{ID: "8f1c1e0a-3f5e-4f0e-b6a0-2f7f1b1c7c11", User: "ana", Started: now.Add(-20 * time.Minute), Queries: 14}}
	out.Fresh = table.Fresh{At: now}
	return out
}

// members returns the pods of a cluster: a master, and five workers of which one waits for a node.
func members(now time.Time) []corev1.Pod {
	all := pods(now, "shared", 5)
	for i := range all {
		role, name := "worker", fmt.Sprintf("shared-worker-%d", i-1)
		if i == 0 {
			role, name = "master", "shared-master-0"
		}

		all[i].Name, all[i].Namespace, all[i].Labels = name, "analytics", map[string]string{"spark-role": role}
	}

	last := &all[len(all)-1]
	last.Spec.NodeName, last.Status = "", corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/12 nodes are available: 12 Insufficient memory"},
	}}
	return all
}

func cluster(now time.Time) model.Cluster {
	c := &sparkv1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Name: "shared", Namespace: "analytics", UID: "uid-shared", CreationTimestamp: metav1.NewTime(now.Add(-3 * time.Hour))}}
	c.Spec.RuntimeVersions.SparkVersion = "4.1.4"
	c.Spec.ClusterTolerations.InstanceConfig = sparkv1.WorkerInstanceConfig{InitWorkers: 3, MinWorkers: 2, MaxWorkers: 8}
	c.Status.CurrentState = &sparkv1.ClusterState{CurrentStateSummary: "RunningHealthy"}
	c.Status.Operator = &sparkv1.ClusterOperatorStatus{Generation: 3, BegunAt: micro(now.Add(-181 * time.Minute)), CompleteAt: micro(now.Add(-179 * time.Minute))}
	c.Status.Masters, c.Status.Workers = &sparkv1.MemberCounts{Desired: 1, Running: 1, Ready: 1}, &sparkv1.MemberCounts{Desired: 5, Running: 4, Ready: 4, Pending: 1}
	c.Status.StateTransitionHistory = map[string]sparkv1.ClusterState{
		"0": {CurrentStateSummary: "Submitted", LastTransitionTime: now.Add(-3 * time.Hour).Format(time.RFC3339)},
		"1": {CurrentStateSummary: "RunningHealthy", LastTransitionTime: now.Add(-179 * time.Minute).Format(time.RFC3339), Message: "the master and 3 workers are ready"},
	}
	c.Status.Conditions = []metav1.Condition{condition("Ready", "True", "Ready", "", now)}

	existing := members(now)
	out := model.ClusterOf(c, existing, nil)
	out.Explanation = screen.Explanation(now, screen.UTC, c, existing, nil, lifecycle.Plan{})
	out.Links = []model.Link{{Title: "Spark UI", URL: "/ui/analytics/shared-master-0/"}}
	out.Actions = actions(out.Object) // an autoscaler scales it
	out.Applications = []model.ClusterApplication{{ID: "app-20261129120000-0001", Name: "ad-hoc", User: "spark", State: "RUNNING", Cores: 8, Started: now.Add(-time.Hour)}}
	out.Fresh = table.Fresh{At: now}
	return out
}
