package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// Prometheus finds its targets with these annotations.
const (
	scrapeAnnotation = "prometheus.io/scrape"
	portAnnotation   = "prometheus.io/port"
	pathAnnotation   = "prometheus.io/path"
)

// monitoring scrapes applications as Prometheus does, at the port and path in the annotations of their pods.
func (w *suite) monitoring(t *testing.T) {
	t.Run("parallel", func(t *testing.T) {
		w.parallel(t, "by Spark's servlets", w.servlets)
		w.parallel(t, "dashboards", w.dashboards)

		if *wholeLife {
			w.parallel(t, "by the JMX exporter", w.jmxExporter)
			w.parallel(t, "by an exporter that is not there", w.noExporter)
		}
	})
}

// sleepingApp returns a function that changes an application. The changed application has the given name, starts a
// session with one executor and then sleeps.
func sleepingApp(name string, change func(*v1beta2.SparkApplication)) func(*v1beta2.SparkApplication) {
	return func(a *v1beta2.SparkApplication) {
		a.Name = name
		a.Spec.MainClass, a.Spec.Arguments = new("dev.sparkoperator.failures.Sleeps"), nil
		a.Spec.MainApplicationFile = "local:///opt/spark/examples/jars/spark-failures.jar"

		a.Spec.Executor.Instances = new(int32(1))
		if change != nil {
			change(a)
		}
	}
}

func (w *suite) awaitExecutor(t *testing.T, app *v1beta2.SparkApplication) {
	t.Helper()
	w.await(t, app, patience, "a running executor", func(a *v1beta2.SparkApplication) bool {
		return a.Status.Executors != nil && a.Status.Executors.Running > 0
	})
}

// servlets runs the example with another main class and scrapes Spark's servlets. The driver serves its own metrics and
// those of the executors.
func (w *suite) servlets(t *testing.T) {
	app := w.example(t, "spark-pi-metrics.yaml", sleepingApp("servlets", nil))
	w.create(t, app)
	w.awaitExecutor(t, app)
	driver := w.podOf(t, app, "driver")

	ofDriver := w.scrape(t, driver, driver.Annotations, nil, "metrics_spark_driver_jvm_heap_used_Value",
		"metrics_spark_driver_BlockManager_memory_maxMem_MB_Value",
		"metrics_spark_driver_DAGScheduler_job_allJobs_Value",
		"metrics_spark_driver_LiveListenerBus_numEventsPosted_Count",
		"metrics_spark_driver_ExecutorMetrics_JVMHeapMemory_Value")
	if used, _ := ofDriver.value("metrics_spark_driver_jvm_heap_used_Value",
		map[string]string{"type": "gauges"}); used < 1<<20 {
		t.Errorf("the driver's heap holds %v bytes", used)
	}

	// The annotations are on the driver's headless Service, whose endpoint is the driver pod.
	service := w.serviceOf(t, app)
	executor := map[string]string{"application_id": app.Status.SparkApplicationID, "application_name": "Sleeps",
		"executor_id": "1"}

	ofExecutors := w.scrape(t, driver, service.Annotations, executor, "metrics_executor_memoryUsed_bytes",
		"metrics_executor_totalTasks_total", "metrics_executor_totalCores", "metrics_executor_maxMemory_bytes")
	if cores, _ := ofExecutors.value("metrics_executor_totalCores", executor); cores != 1 {
		t.Errorf("the executor has %v cores, want 1", cores)
	}

	if c := condition(app, "MonitoringImpaired"); c.Status != "" {
		t.Errorf("condition MonitoringImpaired is %+v", c)
	}

	for key := range w.podOf(t, app, "executor").Annotations {
		if strings.HasPrefix(key, "prometheus.io/") {
			t.Errorf("the executor, which serves nothing, has the annotation %s", key)
		}
	}

	w.remove(t, app)
}

// jmxExporter runs the JMX exporter in driver and executor with the operator's default rules. Spark's servlets must
// stay available.
func (w *suite) jmxExporter(t *testing.T) {
	jar := agentJar(t)
	app := w.example(t, "spark-pi-metrics.yaml", sleepingApp("jmx-exporter", func(a *v1beta2.SparkApplication) {
		a.Spec.Monitoring.Prometheus = &v1beta2.PrometheusSpec{JmxExporterJar: "/opt/metrics/agent.jar"}
		// Users add the jar to their image. In this test the jar is on the node.
		a.Spec.Volumes = []corev1.Volume{{Name: "agent", VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: jar, Type: new(corev1.HostPathFile)},
		}}}
		mount := []corev1.VolumeMount{{Name: "agent", MountPath: "/opt/metrics/agent.jar", ReadOnly: true}}
		a.Spec.Driver.VolumeMounts, a.Spec.Executor.VolumeMounts = mount, mount
	}))
	w.create(t, app)
	w.awaitExecutor(t, app)

	labels := map[string]string{"app_namespace": app.Namespace, "app_id": app.Name}
	driver, executor := w.podOf(t, app, "driver"), w.podOf(t, app, "executor")
	w.scrape(t, driver, driver.Annotations, labels, "spark_driver_jvm_heap_used",
		"spark_driver_blockmanager_memory_maxmem_mb", "spark_driver_dagscheduler_job_alljobs",
		"spark_driver_dagscheduler_messageprocessingtime_type_timers_count_total",
		"spark_driver_livelistenerbus_numeventsposted_type_counters_count_total")
	ofExecutor := maps.Clone(labels)
	ofExecutor["executor_id"] = "1"
	w.scrape(t, executor, executor.Annotations, ofExecutor, "spark_executor_jvm_heap_used_type_gauges",
		"spark_executor_threadpool_activetasks", "spark_executor_bytesread_type_counters_count_total",
		"spark_executor_filesystem_file_read_bytes")

	for _, pod := range []*corev1.Pod{driver, executor} {
		if pod.Annotations[portAnnotation] != "8090" || pod.Annotations[pathAnnotation] != "/metrics" {
			t.Errorf("annotations of %s: %v", pod.Name, pod.Annotations)
		}

		if !slices.ContainsFunc(pod.Spec.Containers[len(pod.Spec.Containers)-1].Ports,
			func(p corev1.ContainerPort) bool {
				return p.Name == "jmx-exporter" && p.ContainerPort == 8090
			}) {
			t.Errorf("%s declares no port of the exporter", pod.Name)
		}
	}
	// The annotations point to the exporter, but the servlets still respond.
	w.scrape(t, driver, map[string]string{scrapeAnnotation: "true", portAnnotation: "4040",
		pathAnnotation: "/metrics/executors/prometheus/"},
		map[string]string{"executor_id": "1"}, "metrics_executor_totalCores")
	var config corev1.ConfigMap

	key := client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-prom-conf"}
	if err := w.Client.Get(t.Context(), key, &config); err != nil || len(config.Data) != 2 {
		t.Errorf("the ConfigMap has %d files: %v", len(config.Data), err)
	}

	w.remove(t, app)

	if err := w.Client.Get(t.Context(), key, &config); !apierrors.IsNotFound(err) {
		t.Errorf("the ConfigMap outlives its application: %v", err)
	}
}

// noExporter checks that the operator reports a missing exporter jar. The JVM exits immediately, and the application's
// message must name the jar.
func (w *suite) noExporter(t *testing.T) {
	app := w.example(t, "spark-pi-metrics.yaml", sleepingApp("no-exporter", func(a *v1beta2.SparkApplication) {
		a.Spec.Monitoring.Prometheus = &v1beta2.PrometheusSpec{JmxExporterJar: "/opt/metrics/missing.jar"}
	}))
	w.create(t, app)
	w.awaitEnd(t, app, patience, v1beta2.ApplicationStateFailed)

	if message := app.Status.AppState.ErrorMessage; !contains(message, []string{"/opt/metrics/missing.jar", "JAR"}) {
		t.Errorf("errorMessage is %q", message)
	}

	t.Logf("the errorMessage is: %s", app.Status.AppState.ErrorMessage)
	w.remove(t, app)
}

// serviceOf returns the Service to which the executors connect in order to reach the application's driver.
func (w *suite) serviceOf(t *testing.T, app *v1beta2.SparkApplication) *corev1.Service {
	t.Helper()

	var list corev1.ServiceList
	if err := w.Client.List(t.Context(), &list, client.InNamespace(app.Namespace),
		client.MatchingLabels{labelAppUID: string(app.UID)}); err != nil {
		t.Fatal(err)
	}

	at := slices.IndexFunc(list.Items, func(s corev1.Service) bool { return strings.HasSuffix(s.Name, "-driver-svc") })
	if at < 0 {
		t.Fatalf("no Service of the driver among %v", objectNames(&list))
	}
	return &list.Items[at]
}

// families holds the metric families that scrape has read. The keys are the names of the metrics.
type families map[string]*dto.MetricFamily

// scrape reads the metrics at the address in the annotations. It retries until each named metric has a series with the
// given labels, because parts of Spark add their metrics as they start, and the metrics of an executor arrive with its
// heartbeats. The request goes through the API server, because the test itself is outside the pods' network.
func (w *suite) scrape(t *testing.T, pod *corev1.Pod, annotations, labels map[string]string, names ...string) families {
	t.Helper()

	if annotations[scrapeAnnotation] != "true" {
		t.Fatalf("no annotation makes Prometheus scrape %s: %v", pod.Name, annotations)
	}

	address := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:%s/proxy%s", pod.Namespace, pod.Name,
		annotations[portAnnotation], annotations[pathAnnotation])
	var found families
	eventually(t, 2*time.Minute, "metrics at "+address, func() (string, bool) {
		text, err := w.Core.CoreV1().RESTClient().Get().AbsPath(address).DoRaw(t.Context())
		if err != nil {
			return err.Error(), false
		}

		parser := expfmt.NewTextParser(model.LegacyValidation)
		if found, err = parser.TextToMetricFamilies(bytes.NewReader(text)); err != nil {
			t.Fatalf("%s is no exposition of metrics: %v\n%s", address, err, text)
		}

		missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			_, ok := found.value(name, labels)
			return ok
		})
		return fmt.Sprintf("no series of %v with %v in\n%s", missing, labels, text), len(missing) == 0
	})
	return found
}

// value returns the value of the series that has at least the given labels, and whether the series exists.
func (f families) value(name string, labels map[string]string) (float64, bool) {
	for _, metric := range f[name].GetMetric() {
		have := map[string]string{}
		for _, pair := range metric.GetLabel() {
			have[pair.GetName()] = pair.GetValue()
		}

		matches := true
		for key, value := range labels {
			matches = matches && have[key] == value
		}

		if matches {
			// A metric has only one of these three values. The other two are 0.
			return metric.GetUntyped().GetValue() + metric.GetGauge().GetValue() + metric.GetCounter().GetValue(), true
		}
	}
	return 0, false
}

// These constants identify the JMX exporter that the test downloads. Users add the same artifact to their images.
const (
	agentArtifact = "io.prometheus.jmx:jmx_prometheus_javaagent:1.0.1"
	agentDigest   = "7d61f737fd661610ccc14aea79764faa1ea94a340cbc8f0029b3d2edea3d80c1"
	copyGoal      = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
)

// agentJar returns the path of the exporter's jar. It downloads the jar once per machine and verifies the checksum
// every time.
func agentJar(t *testing.T) string {
	t.Helper()

	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}

	jar := filepath.Join(cache, "sparklocal", "jars", agentDigest+".jar")
	if digestOf(jar) == agentDigest {
		return jar
	}

	maven, err := exec.LookPath("mvn")
	if err != nil {
		t.Skip("fetching the JMX exporter needs Maven")
	}

	dir := t.TempDir()

	out, err := exec.CommandContext(t.Context(), maven, "--batch-mode", "--quiet", copyGoal,
		"-Dartifact="+agentArtifact, "-DoutputDirectory="+dir, "-Dmdep.stripVersion=true").CombinedOutput()
	if err != nil {
		t.Fatalf("fetch %s: %v\n%s", agentArtifact, err, out)
	}

	fetched := filepath.Join(dir, "jmx_prometheus_javaagent.jar")
	if got := digestOf(fetched); got != agentDigest {
		t.Fatalf("%s has the checksum %q, want %s", agentArtifact, got, agentDigest)
	}

	content, err := os.ReadFile(fetched)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(jar), 0o755)
	}

	if err == nil {
		err = os.WriteFile(jar, content, 0o644)
	}

	if err != nil {
		t.Fatal(err)
	}
	return jar
}

// digestOf returns the SHA-256 of a file. The result is empty if the file cannot be read.
func digestOf(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}

	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
