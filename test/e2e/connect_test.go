package e2e

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
)

// specialValues holds configuration values with characters that a shell, Kubernetes or a properties file would
// interpret.
var specialValues = map[string]string{
	"spark.example.shell":      `it's "quoted"; $HOME ${HOME} $(id) ` + "`id`" + ` \$ \\ * ~ & | # !`,
	"spark.example.kubernetes": `$(POD_IP) $$(POD_IP) $$ $$$$`,
	"spark.example.lines":      "one\ntwo\n\n\tthree = 3",
	"spark.example.blanks":     "  two before, two after  ",
	"spark.example.words":      `--conf spark.example.other=1 -c "x" -- é ☃`,
	"spark.example.empty":      "",
	"spark.example.return":     "one\r\ntwo\rthree",
	"spark.example.key = key":  "= value",
}

// connect tests Spark Connect servers with PySpark's own client, through their Services.
func (w *suite) connect(t *testing.T) {
	w.parallel(t, "killed server is replaced", w.connectAnswers)
}

// connectLong runs the slower tests of Spark Connect servers.
func (w *suite) connectLong(t *testing.T) {
	w.parallel(t, "edit, suspend, resume", w.connectEdited)
	w.parallel(t, "executors scale with load", w.connectScales)
	w.parallel(t, "problems are reported", w.connectReportsProblems)
}

// connectServer returns the example server with minimal resources and more frequent probes.
func (w *suite) connectServer(t *testing.T, name string, change func(*v1alpha1.SparkConnect)) *v1alpha1.SparkConnect {
	t.Helper()
	return exampleOf(t, "spark-connect.yaml", func(s *v1alpha1.SparkConnect) {
		s.Name = name
		s.Spec.Executor.Instances = new(int32(1))
		s.Spec.Server.Template = withFrequentProbes(t, s.Spec.Server.Template)
		maps.Copy(s.Spec.SparkConf, timeouts)

		if change != nil {
			change(s)
		}
	})
}

// withFrequentProbes adds probes with a period of one second to a server's template. Without them, the period is ten
// seconds.
func withFrequentProbes(t *testing.T, template *runtime.RawExtension) *runtime.RawExtension {
	t.Helper()

	var pod corev1.PodTemplateSpec
	if err := json.Unmarshal(template.Raw, &pod); err != nil {
		t.Fatal(err)
	}

	port := corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(connectPort)}}
	spark := &pod.Spec.Containers[0]
	spark.StartupProbe = &corev1.Probe{ProbeHandler: port, PeriodSeconds: 1, FailureThreshold: 300}
	spark.ReadinessProbe = &corev1.Probe{ProbeHandler: port, PeriodSeconds: 1}

	text, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	return &runtime.RawExtension{Raw: text}
}

// connectAnswers checks a server from its creation to its deletion. The server becomes ready, and its executors compute
// the client's work with exactly the given configuration. Server and executors authenticate each other and encrypt
// their traffic. Clients need the token, and the Service has only the port for sessions. After the server's pod is
// killed, a new session works through the same Service. At the end, the test deletes the server, and no dependents may
// remain.
func (w *suite) connectAnswers(t *testing.T) {
	const token = "not-for-everybody"
	server := w.connectServer(t, "connect", func(s *v1alpha1.SparkConnect) {
		maps.Copy(s.Spec.SparkConf, specialValues)
		s.Spec.SparkConf[tokenKey] = token
	})
	w.create(t, server)

	first := w.awaitServer(t, server, "")
	if s := server.Status.Server; s.PodName != "connect-server" || s.ServiceName != "connect-server" ||
		s.PodIP != first.Status.PodIP {
		t.Errorf("status.server is %+v, the pod's address %s", s, first.Status.PodIP)
	}

	if server.Status.StartTime.IsZero() || server.Status.LastUpdateTime.IsZero() {
		t.Errorf("started at %v, changed at %v", server.Status.StartTime, server.Status.LastUpdateTime)
	}

	protected := map[string]string{
		"spark.authenticate": "true", "spark.network.crypto.enabled": "true",
		"spark.network.crypto.authEngineVersion": "2",
	}
	maps.Copy(protected, specialValues)
	got := w.session(t, server, slices.Sorted(maps.Keys(protected))...)
	w.checkRanOnExecutors(t, server, first, got)

	if diff := cmp.Diff(protected, got.Conf); diff != "" {
		t.Errorf("configuration of a session (-want +got):\n%s", diff)
	}

	w.awaitExecutors(t, server, 1)

	service := w.addressOf(t, server)
	if ports := service.Spec.Ports; len(ports) != 1 || ports[0].Port != connectPort {
		t.Errorf("clients' Service has ports %+v", ports)
	}

	w.checkTokenIsRequired(t, server)

	if text, err := json.Marshal(first); err != nil || strings.Contains(string(text), token) {
		t.Errorf("the pod shows the token (%v)", err)
	}

	if err := w.Client.Delete(t.Context(), first, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	second := w.awaitServer(t, server, first.UID)
	w.checkRanOnExecutors(t, server, second, w.session(t, server))

	if again := w.addressOf(t, server); again.UID != service.UID || again.Spec.ClusterIP != service.Spec.ClusterIP {
		t.Errorf("the Service was %s at %s, and is %s at %s", service.UID, service.Spec.ClusterIP, again.UID,
			again.Spec.ClusterIP)
	}

	w.awaitEvent(t, server, "an event that reports the deletion of the server's pod", func(e corev1.Event) bool {
		return e.Type == corev1.EventTypeWarning && strings.Contains(e.Message, "deleted")
	})
	w.remove(t, server)
}

// connectEdited checks edits, suspension and restarts of a server. An edit replaces the running pods. A suspended
// server keeps only its Service, and uses the same Service after it is resumed. If a server exits, the operator emits
// an event and replaces the server's pod.
func (w *suite) connectEdited(t *testing.T) {
	server := w.connectServer(t, "edited",
		func(s *v1alpha1.SparkConnect) { s.Spec.SparkConf["spark.example.edition"] = "first" })
	w.create(t, server)
	first := w.awaitServer(t, server, "")
	service := w.addressOf(t, server)
	w.edit(t, server, func(s *v1alpha1.SparkConnect) {
		s.Spec.SparkConf["spark.example.edition"] = "second"
		s.Spec.Executor.Instances = new(int32(2))
	})
	w.awaitServerCondition(t, server, "Progressing", metav1.ConditionTrue)
	second := w.awaitServer(t, server, first.UID)
	w.awaitExecutors(t, server, 2)
	got := w.session(t, server, "spark.example.edition", "spark.executor.instances")
	w.checkRanOnExecutors(t, server, second, got)

	if diff := cmp.Diff(map[string]string{"spark.example.edition": "second", "spark.executor.instances": "2"},
		got.Conf); diff != "" {
		t.Errorf("configuration after the edit (-want +got):\n%s", diff)
	}

	w.edit(t, server, func(s *v1alpha1.SparkConnect) { s.Spec.Suspend = new(true) })
	w.awaitServerCondition(t, server, "Suspended", metav1.ConditionTrue)
	eventually(t, time.Minute, "no pod of a suspended server", func() (string, bool) {
		var left []string
		for _, role := range []string{"connect-server", "executor"} {
			for _, pod := range w.podsOf(t, server, role) {
				left = append(left, pod.Name)
			}
		}
		return strings.Join(left, ", "), len(left) == 0
	})

	if again := w.addressOf(t, server); again.UID != service.UID {
		t.Errorf("the Service was %s, and is %s after an edit and while suspended", service.UID, again.UID)
	}

	w.edit(t, server, func(s *v1alpha1.SparkConnect) { s.Spec.Suspend = nil })
	third := w.awaitServer(t, server, second.UID)

	// The JVM is process 1 of the container. After SIGTERM it exits as it does on a node that shuts down.
	if err := w.Kubectl(t.Context(), "exec", "--namespace", third.Namespace, third.Name, "--", "bash", "-c",
		"kill -TERM 1"); err != nil {
		t.Fatal(err)
	}

	fourth := w.awaitServer(t, server, third.UID)
	w.checkRanOnExecutors(t, server, fourth, w.session(t, server))
	w.awaitEvent(t, server, "an event that reports the end of the server", func(e corev1.Event) bool {
		return e.Type == corev1.EventTypeWarning && strings.Contains(e.Message, "exit code 143")
	})
	w.remove(t, server)
}

// connectScales checks that dynamic allocation adds executors for a session's work and removes them afterwards.
func (w *suite) connectScales(t *testing.T) {
	server := w.connectServer(t, "scales", func(s *v1alpha1.SparkConnect) {
		s.Spec.Executor.Instances = nil
		s.Spec.DynamicAllocation = &v1alpha1.DynamicAllocation{
			Enabled: true, InitialExecutors: new(int32(0)), MinExecutors: new(int32(0)), MaxExecutors: new(int32(2)),
			ShuffleTrackingTimeout: new(int64(1000)),
		}
		maps.Copy(s.Spec.SparkConf, map[string]string{"spark.dynamicAllocation.executorIdleTimeout": "3s",
			"spark.kubernetes.allocation.batch.delay": "500ms"})
	})
	w.create(t, server)
	pod := w.awaitServer(t, server, "")
	w.awaitExecutors(t, server, 0)

	got := w.session(t, server, "--slow", "1500")
	if len(got.Work) != 2 {
		t.Errorf("the work was done by %+v, want two executors", got.Work)
	}

	w.checkSum(t, got)
	w.awaitExecutors(t, server, 0)

	if state := server.Status.State; state != v1alpha1.SparkConnectStateReady {
		t.Errorf("without executors that nobody needs the state is %s", state)
	}

	if now := w.podOf(t, server, "connect-server"); now.UID != pod.UID {
		t.Errorf("the server was replaced")
	}

	w.remove(t, server)
}

// connectReportsProblems checks that the status gives the reason why a server does not start. The test edits the spec
// several times, and each version prevents the start for another reason.
func (w *suite) connectReportsProblems(t *testing.T) {
	const missing = "docker.io/apache/spark:no-such-connect"
	server := w.connectServer(t, "connect-trouble", func(s *v1alpha1.SparkConnect) { s.Spec.Image = new(missing) })
	image := *exampleOf[v1alpha1.SparkConnect](t, "spark-connect.yaml", nil).Spec.Image
	w.create(t, server)
	w.awaitReported(t, server, missing)
	w.editUnreviewed(t, server, func(s *v1alpha1.SparkConnect) { s.Spec.Image, s.Spec.Server.Template = nil, nil })
	w.awaitReported(t, server, "spec.image")
	w.editUnreviewed(t, server, func(s *v1alpha1.SparkConnect) {
		s.Spec.Image, s.Spec.Server.Template = new(image), raw(`{"spec": {"containers": "lots"}}`)
	})
	w.awaitReported(t, server, "spec.server.template")
	w.remove(t, server)
}

// connectLine checks that the test's client also works with a server of another Spark line.
func (w *suite) connectLine(t *testing.T, version, image string) {
	server := exampleOf(t, "spark-connect.yaml", func(s *v1alpha1.SparkConnect) {
		s.Name, s.Spec.SparkVersion, s.Spec.Image = "connect-"+strings.ReplaceAll(version, ".", "-"), version, &image
		maps.Copy(s.Spec.SparkConf, specialValues)
	})
	w.create(t, server)
	pod := w.awaitServer(t, server, "")
	got := w.session(t, server, slices.Sorted(maps.Keys(specialValues))...)
	w.checkRanOnExecutors(t, server, pod, got)

	if diff := cmp.Diff(specialValues, got.Conf); diff != "" || got.Version != version {
		t.Errorf("Spark %s, want %s; configuration (-want +got):\n%s", got.Version, version, diff)
	}

	w.remove(t, server)
}

// awaitServer waits until a server is ready for its latest spec, and returns the server's pod. It does not accept the
// pod with the UID oldPod.
func (w *suite) awaitServer(t *testing.T, server *v1alpha1.SparkConnect, oldPod types.UID) *corev1.Pod {
	t.Helper()

	began := time.Now()
	var pod *corev1.Pod
	awaitObject(t, w, server, patience, "Ready", func(s *v1alpha1.SparkConnect) bool {
		if s.Status.State != v1alpha1.SparkConnectStateReady || s.Status.ObservedGeneration != s.Generation {
			return false
		}

		pods := w.podsOf(t, s, "connect-server")
		if len(pods) != 1 || pods[0].UID == oldPod {
			return false
		}

		pod = &pods[0]
		return true
	})
	t.Logf("%s takes sessions after %.0f s", server.Name, time.Since(began).Seconds())

	want := map[string]metav1.ConditionStatus{"Ready": "True", v1alpha1.ConditionServerPodReady: "True"}
	for kind, status := range want {
		if c := meta.FindStatusCondition(server.Status.Conditions, kind); c == nil || c.Status != status {
			t.Errorf("condition %s is %+v, want %s", kind, c, status)
		}
	}
	return pod
}

// awaitServerCondition waits until a condition has the wanted status for the latest generation of a server.
func (w *suite) awaitServerCondition(t *testing.T, server *v1alpha1.SparkConnect, kind string,
	status metav1.ConditionStatus) {
	t.Helper()
	awaitObject(t, w, server, patience, kind+" "+string(status), func(s *v1alpha1.SparkConnect) bool {
		return s.Status.ObservedGeneration == s.Generation &&
			meta.IsStatusConditionPresentAndEqual(s.Status.Conditions, kind, status)
	})
}

// awaitExecutors waits until exactly n executors run and no executor is pending.
func (w *suite) awaitExecutors(t *testing.T, server *v1alpha1.SparkConnect, n int) {
	t.Helper()
	awaitObject(t, w, server, patience, strconv.Itoa(n)+" running executors", func(s *v1alpha1.SparkConnect) bool {
		return s.Status.Executors["running"] == n && s.Status.Executors["pending"] == 0
	})
}

// awaitReported waits until a condition and a warning event contain the given text.
func (w *suite) awaitReported(t *testing.T, server *v1alpha1.SparkConnect, cause string) {
	t.Helper()
	awaitObject(t, w, server, patience, "a condition that contains "+cause, func(s *v1alpha1.SparkConnect) bool {
		ready := meta.FindStatusCondition(s.Status.Conditions, "Ready")
		// After an invalid edit, the old pod still waits, and the condition Ready gives the reason for this wait. The
		// condition Stalled gives the reason why the edit is invalid.
		told := func(c metav1.Condition) bool {
			return (c.Type == "Ready" || c.Type == "Stalled") && strings.Contains(c.Message, cause)
		}
		return s.Status.ObservedGeneration == s.Generation && ready != nil && ready.Status == metav1.ConditionFalse &&
			slices.ContainsFunc(s.Status.Conditions, told)
	})
	w.awaitEvent(t, server, "an event about "+cause, func(e corev1.Event) bool {
		return e.Type == corev1.EventTypeWarning && strings.Contains(e.Message, cause)
	})
}

func (w *suite) edit(t *testing.T, server *v1alpha1.SparkConnect, change func(*v1alpha1.SparkConnect)) {
	t.Helper()

	before := server.DeepCopy()
	change(server)

	if err := w.Client.Patch(t.Context(), server, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// editUnreviewed edits a server without the webhook, so that the spec can be invalid.
func (w *suite) editUnreviewed(t *testing.T, server *v1alpha1.SparkConnect, change func(*v1alpha1.SparkConnect)) {
	t.Helper()

	before := server.DeepCopy()
	change(server)

	if err := w.unreviewedClient(t).Patch(t.Context(), server, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// addressOf returns the Service that a server's status names.
func (w *suite) addressOf(t *testing.T, server *v1alpha1.SparkConnect) *corev1.Service {
	t.Helper()

	var service corev1.Service
	if err := w.Client.Get(t.Context(),
		client.ObjectKey{Namespace: server.Namespace, Name: server.Status.Server.ServiceName}, &service); err != nil {
		t.Fatal(err)
	}
	return &service
}
