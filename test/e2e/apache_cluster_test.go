package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
)

// smallCluster returns a cluster with one master, the given number of workers and minimal resources. Its readiness
// probes run every second, so that tests do not wait for slow probes.
func smallCluster(name string, workers int64) *sparkv1.SparkCluster {
	daemon := func(container string, port int) *sparkv1.MemberSpec {
		return &sparkv1.MemberSpec{StatefulSetSpec: raw(fmt.Sprintf(`{"template": {"spec": {"containers": [{"name": %q,
			"resources": {"requests": {"cpu": "100m", "memory": "512Mi"}},
			"readinessProbe": {"tcpSocket": {"port": %d}, "periodSeconds": 1}}]}}}`, container, port))}
	}
	return &sparkv1.SparkCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: sparkv1.ClusterSpec{
			RuntimeVersions:    sparkv1.RuntimeVersions{SparkVersion: "4.1.4"},
			ClusterTolerations: sparkv1.ClusterTolerations{InstanceConfig: sparkv1.WorkerInstanceConfig{InitWorkers: workers, MinWorkers: workers, MaxWorkers: workers}},
			SparkConf: map[string]string{
				"spark.kubernetes.container.image": "docker.io/apache/spark:{{SPARK_VERSION}}",
				"spark.master.ui.title":            `it's "quoted" $HOME`,
			},
			MasterSpec: &sparkv1.MasterSpec{MemberSpec: *daemon("master", 7077)},
			WorkerSpec: &sparkv1.WorkerSpec{MemberSpec: *daemon("worker", 8081)},
		},
	}
}

// awaitCluster waits until a cluster is in the wanted state.
func (w *suite) awaitCluster(t *testing.T, c *sparkv1.SparkCluster, limit time.Duration,
	want sparkv1.ClusterStateSummary) {
	t.Helper()
	awaitObject(t, w, c, limit, string(want), func(c *sparkv1.SparkCluster) bool {
		return c.Status.CurrentState != nil && c.Status.CurrentState.CurrentStateSummary == want
	})
}

// awaitWorkers waits until n workers are ready and the cluster is not degraded.
func (w *suite) awaitWorkers(t *testing.T, c *sparkv1.SparkCluster, n int32) {
	t.Helper()
	awaitObject(t, w, c, patience, fmt.Sprintf("%d workers", n), func(c *sparkv1.SparkCluster) bool {
		return c.Status.Workers != nil && c.Status.Workers.Ready == n && c.Status.ObservedGeneration == c.Generation &&
			meta.IsStatusConditionTrue(c.Status.Conditions, "Ready") &&
			!meta.IsStatusConditionTrue(c.Status.Conditions, "Degraded")
	})
}

// clusterWorks checks that a master and two workers become ready and run a job. The long test also deletes a worker and
// waits for the replacement, scales the cluster to three workers and runs another job; the master pod must survive all
// of this. At the end, the test deletes the cluster, and no dependents may remain.
func (w *suite) clusterWorks(t *testing.T) {
	c := smallCluster("works", 2)
	w.create(t, c)
	w.awaitCluster(t, c, patience, sparkv1.ClusterRunningHealthy)
	w.awaitWorkers(t, c, 2)
	w.submitTo(t, c, "first")

	if !*wholeLife {
		w.remove(t, c)
		return
	}

	master, lost := w.memberPod(t, c, "master", 0), w.memberPod(t, c, "worker", 1)
	if err := w.Client.Delete(t.Context(), lost, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	eventually(t, patience, "another worker", func() (string, bool) {
		found := &corev1.Pod{}
		err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(lost), found)
		return fmt.Sprintf("%v %s %s", err, found.UID, found.Status.Phase), err == nil && found.UID != lost.UID
	})
	w.awaitWorkers(t, c, 2)

	if err := w.Client.Patch(t.Context(), c, client.RawPatch("application/merge-patch+json",
		[]byte(`{"spec":{"clusterTolerations":{"instanceConfig":{"initWorkers":3,"minWorkers":3,"maxWorkers":3}}}}`))); err != nil {
		t.Fatal(err)
	}

	w.awaitWorkers(t, c, 3)
	w.submitTo(t, c, "second")

	if again := w.memberPod(t, c, "master", 0); again.UID != master.UID {
		t.Errorf("the master's pod was %s and is %s", master.UID, again.UID)
	}

	if diff := cmp.Diff([]sparkv1.ClusterStateSummary{sparkv1.ClusterSubmitted, sparkv1.ClusterRunningHealthy},
		clusterHistory(c)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}

	w.remove(t, c)
	w.waitNoStatefulSets(t, c)
}

// clusterSuspended checks that a suspension deletes the pods of a cluster and keeps its Service, and that the resumed
// cluster runs a job.
func (w *suite) clusterSuspended(t *testing.T) {
	c := smallCluster("pauses", 1)
	w.create(t, c)
	w.awaitCluster(t, c, patience, sparkv1.ClusterRunningHealthy)

	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name + "-master-svc"}}
	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(service), service); err != nil {
		t.Fatal(err)
	}

	w.patch(t, c, `{"spec":{"suspend":true}}`)
	awaitObject(t, w, c, patience, "suspended", func(c *sparkv1.SparkCluster) bool {
		return meta.IsStatusConditionTrue(c.Status.Conditions, "Suspended")
	})
	w.waitNoStatefulSets(t, c)

	kept := service.DeepCopy()
	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(kept), kept); err != nil || kept.UID != service.UID {
		t.Errorf("the Service of the master was %s, and is %s, %v", service.UID, kept.UID, err)
	}

	w.patch(t, c, `{"spec":{"suspend":false}}`)
	w.awaitCluster(t, c, patience, sparkv1.ClusterRunningHealthy)
	w.awaitWorkers(t, c, 1)
	w.submitTo(t, c, "resumed")
	w.remove(t, c)
}

func clusterHistory(c *sparkv1.SparkCluster) (states []sparkv1.ClusterStateSummary) {
	for i := range len(c.Status.StateTransitionHistory) {
		states = append(states, c.Status.StateTransitionHistory[fmt.Sprint(i)].CurrentStateSummary)
	}
	return states
}

func (w *suite) waitNoStatefulSets(t *testing.T, c *sparkv1.SparkCluster) {
	t.Helper()
	var sets appsv1.StatefulSetList
	eventually(t, time.Minute, "no StatefulSets", func() (string, bool) {
		if err := w.Client.List(t.Context(), &sets, client.InNamespace(c.Namespace),
			client.MatchingLabels{"spark.operator/spark-cluster-name": c.Name}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(objectNames(&sets), ", "), len(sets.Items) == 0
	})
}

func (w *suite) memberPod(t *testing.T, c *sparkv1.SparkCluster, role string, n int) *corev1.Pod {
	t.Helper()

	pod := &corev1.Pod{}
	if err := w.Client.Get(t.Context(),
		client.ObjectKey{Namespace: c.Namespace, Name: fmt.Sprintf("%s-%s-%d", c.Name, role, n)}, pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

// submitTo runs spark-submit in a pod and checks the result. The driver runs in this pod and computes Pi on the
// cluster's workers.
func (w *suite) submitTo(t *testing.T, c *sparkv1.SparkCluster, name string) {
	t.Helper()

	conf := maps.Clone(timeouts)
	maps.Copy(conf, map[string]string{"spark.executor.memory": "512m", "spark.cores.max": "2",
		"spark.executor.cores": "1", "spark.driver.host": "$(POD_IP)"})

	command := []string{"/opt/spark/bin/spark-submit", "--master", "spark://" + c.Name + "-master-svc:7077", "--class",
		"org.apache.spark.examples.SparkPi"}
	for _, key := range slices.Sorted(maps.Keys(conf)) {
		command = append(command, "--conf", key+"="+conf[key])
	}

	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "submit-" + c.Name + "-" + name, Namespace: c.Namespace,
			Labels: map[string]string{"spark-role": "driver"}},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{
			Name: "submit", Image: "docker.io/apache/spark:4.1.4", ImagePullPolicy: corev1.PullIfNotPresent,
			Command: append(command, "/opt/spark/examples/jars/spark-examples.jar", "10"),
			Env: []corev1.EnvVar{
				{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
				{Name: "SPARK_DRIVER_MEMORY", Value: "512m"},
			},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
		}}},
	}
	w.createAll(t, pod)
	eventually(t, patience, "the job", func() (string, bool) {
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			t.Fatal(err)
		}

		if pod.Status.Phase == corev1.PodFailed {
			w.logPod(t, pod.Name)
			t.Fatalf("the job failed: %+v", pod.Status.ContainerStatuses)
		}
		return string(pod.Status.Phase), pod.Status.Phase == corev1.PodSucceeded
	})

	log, err := w.Core.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	if !strings.Contains(string(log), "Pi is roughly 3.1") {
		t.Errorf("the job printed:\n%s", log)
	}
}

// clusterFails creates a cluster whose image does not exist, and checks that the status names the image. After the
// image is corrected, the cluster must become ready.
func (w *suite) clusterFails(t *testing.T) {
	c := smallCluster("mended", 1)
	c.Spec.SparkConf["spark.kubernetes.container.image"] = "localhost/nobody/has:this"
	w.create(t, c)
	awaitObject(t, w, c, patience, "the cause", func(c *sparkv1.SparkCluster) bool {
		ready := meta.FindStatusCondition(c.Status.Conditions, "Ready")
		return ready != nil && ready.Status == metav1.ConditionFalse && strings.Contains(ready.Message, "nobody/has")
	})

	if err := w.Client.Patch(t.Context(), c, client.RawPatch("application/merge-patch+json",
		[]byte(`{"spec":{"sparkConf":{"spark.kubernetes.container.image":"docker.io/apache/spark:4.1.4"}}}`))); err != nil {
		t.Fatal(err)
	}

	w.awaitWorkers(t, c, 1)
	w.remove(t, c)
	w.waitNoStatefulSets(t, c)
}
