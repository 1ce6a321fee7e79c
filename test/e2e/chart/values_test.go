package chart

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common/util"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	kyaml "sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/charts"
	"github.com/sparkoperator/spark-operator/internal/cli/chartvalues"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

func TestInvalidValuesAreRejected(t *testing.T) {
	for _, test := range []struct{ name, values, want string }{
		{"unknown key", "contoller: {}", "contoller"},
		{"unknown nested key", "controller: {logLevl: info}", "logLevl"},
		{"level", "controller: {logLevel: chatty}", "/controller/logLevel"},
		{"replicas", "controller: {replicas: -1}", "/controller/replicas"},
		{"workers", "controller: {workers: many}", "/controller/workers"},
		{"maxProcs of zero", "controller: {go: {maxProcs: 0}}", "/controller/go/maxProcs"},
		{"negative reserve of the heap", "controller: {go: {heapReserveMiB: -1}}", "/controller/go/heapReserveMiB"},
		{"gcPercent is not a number", "controller: {go: {gcPercent: most}}", "/controller/go/gcPercent"},
		{"duration", "controller: {leaderElection: {leaseDuration: soon}}", "/controller/leaderElection/leaseDuration"},
		{"namespaces as a string", "spark: {jobNamespaces: default}", "/spark/jobNamespaces"},
		{"invalid namespace name", "spark: {jobNamespaces: [No_Good]}", "/spark/jobNamespaces/0"},
		{"pull policy", "image: {pullPolicy: Sometimes}", "/image/pullPolicy"},
		{"port", "prometheus: {metrics: {port: 0}}", "/prometheus/metrics/port"},
		{"negative deadline", "controller: {timeouts: {runSeconds: -1}}", "/controller/timeouts/runSeconds"},
		{"unknown deadline", "controller: {timeouts: {stopSeconds: 1}}", "stopSeconds"},
		{"UI address is not a string", "controller: {uiIngress: {urlFormat: {}}}", "/controller/uiIngress/urlFormat"},
		{"UI address without a host",
			"controller: {uiIngress: {enable: true, urlFormat: '/{{$appNamespace}}/{{$appName}}'}}",
			"write one such as https://spark.example.com/{{$appNamespace}}/{{$appName}}"},
		{"UI address with an unknown placeholder", "controller: {uiIngress: {enable: true, urlFormat: 'a.b/{{$app}}'}}",
			"controller.uiIngress.urlFormat"},
		{"UI address with a query", "controller: {uiIngress: {enable: true, urlFormat: 'a.b/?x={{$appName}}'}}",
			"controller.uiIngress.urlFormat"},
		{"route to every path", "controller: {uiRoute: {enable: true, urlFormat: '/'}}",
			"controller.uiRoute.urlFormat"},
		{"parentRef is not an object", "controller: {uiRoute: {parentRefs: [public]}}",
			"/controller/uiRoute/parentRefs/0"},
		{"switch is not a boolean", "controller: {uiService: {enable: maybe}}", "/controller/uiService/enable"},
		{"web UIs in config", "config: {ui: {ingress: {enabled: true}}}", "/config/ui"},
		{"submission", "controller: {submission: {mode: Manual}}", "/controller/submission/mode"},
		{"submission in config", "config: {submission: {mode: Native}}", "/config/submission"},
		{"namespaces in config", "config: {namespaces: {names: [a]}}", "/config/namespaces"},
		{"image of another operator",
			"image: {registry: mirror.example.com, repository: kubeflow/spark-operator/controller}",
			"image.repository"},
		{"a digest that is none", "image: {digest: latest}", "/image/digest"},
		{"a probe without a period", "controller: {probes: {liveness: {periodSeconds: 0}}}", "/controller/probes/liveness/periodSeconds"},
		{"two replicas without leader election", "controller: {replicas: 2, leaderElection: {enable: false}}",
			"leaderElection"},
		{"sharding was removed", "controller: {sharding: {enable: true}}",
			"controller.sharding and config.sharding: sharding was removed"},
		{"sharding in config", "config: {sharding: {enabled: true}}", "install a release for each group of namespaces"},
		{"disruption budget for one replica", "controller: {podDisruptionBudget: {enable: true}}",
			"controller.replicas"},
		{"spread constraints for one replica", "controller: {topologySpreadConstraints: [{maxSkew: 1}]}",
			"controller.replicas"},
		{"metrics path", "prometheus: {metrics: {endpoint: /other}}", "prometheus.metrics.endpoint"},
		{"prefix", "prometheus: {metrics: {prefix: 9a}}", "/prometheus/metrics/prefix"},
		{"labels", "prometheus: {metrics: {labels: 'a,,b'}}", "/prometheus/metrics/labels"},
		{"buckets", "prometheus: {metrics: {jobStartLatencyBuckets: '30;60'}}",
			"/prometheus/metrics/jobStartLatencyBuckets"},
		{"two ports are equal", "prometheus: {metrics: {port: 8081}}", "must differ"},
		{"monitor without the API", "prometheus: {podMonitor: {create: true}}", "monitoring.coreos.com/v1"},
		{"rules without the API", "prometheus: {rules: {create: true}}", "PrometheusRule API"},
		{"rules without metrics", "prometheus: {rules: {create: true}, metrics: {enable: false}}",
			"prometheus.rules.create needs"},
		{"dashboard without metrics", "prometheus: {dashboard: {create: true}, metrics: {enable: false}}",
			"prometheus.dashboard.create needs"},
		{"an invalid failure policy", "webhook: {failurePolicy: Sometimes}", "/webhook/failurePolicy"},
		{"quotas without a webhook", "webhook: {enable: false, resourceQuotaEnforcement: {enable: true}}",
			"webhook.resourceQuotaEnforcement.enable needs the webhook"},
		{"failure policy Fail with dynamic namespaces",
			"{webhook: {failurePolicy: Fail}, controller: {dynamicConfig: {enable: true}}}",
			"webhook.failurePolicy: Fail needs fixed namespaces"},
		{"the webhook at the port of the probes", "webhook: {port: 8081}", "webhook.port: 8081 is also the port of the health probes (8081)"},
		{"webhook in config", "config: {webhook: {bindAddress: ':1'}}", "/config/webhook"},
		{"unknown webhook value", "webhook: {path: /}", "path"},
		{"a certificate without a webhook", "{webhook: {enable: false}, certManager: {enable: true}}",
			"webhook.enable"},
		{"a certificate from two sources",
			"{webhook: {certificate: {secret: s, caBundle: c}}, certManager: {enable: true}}", "two sources"},
		{"a certificate without a CA bundle", "webhook: {certificate: {secret: s}}", "webhook.certificate.caBundle"},
		{"namespaces that a webhook cannot select", "spark: {jobNamespaces: [], jobNamespaceSelector: 'priority > 3'}",
			"spark.jobNamespaceSelector"},
		{"jobs in the release's namespace", "spark: {jobNamespaces: [jobs, spark-operator]}",
			"spark.allowReleaseNamespace"},
		{"jobs in all namespaces, and accounts in the release's", "spark: {jobNamespaces: ['', spark-operator]}",
			"spark.allowReleaseNamespace"},
		{"monitor without metrics", "prometheus: {podMonitor: {create: true}, metrics: {enable: false}}",
			"prometheus.metrics.enable"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := render(t, install{values: test.values})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want it to name %q", err, test.want)
			}
		})
	}
}

// ownWebhook returns the webhook section of the configuration that the chart renders with its default values.
func ownWebhook() config.Webhook {
	w := config.Default().Webhook
	w.BindAddress, w.SelfSigned.Namespace, w.Executors.Webhook = ":9443", "spark-operator", true
	w.SelfSigned.Secret, w.SelfSigned.Configuration, w.SelfSigned.Service = "spark-operator-admission-certs",
		"spark-operator-admission", "spark-operator-admission-svc"
	return w
}

// peerValue is an entry of files/peer-values.yaml. It describes a value of another operator's chart. Harmless is the
// setting that leaves a feature off, such as false.
type peerValue struct {
	Key      string         `json:"key"`
	Path     []string       `json:"path"`
	To       string         `json:"to"`
	As       string         `json:"as"`
	Sets     map[string]any `json:"sets"`
	Harmless any            `json:"harmless"`
	Effect   string         `json:"effect"`
	Why      string         `json:"why"`
}

// peerValues returns the table.
func peerValues(t *testing.T) []peerValue {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(chartDir, "files/peer-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	var table struct {
		Images map[string]any `json:"images"`
		Flat   []string       `json:"flat"`
		Values []peerValue    `json:"values"`
	}
	if err := kyaml.UnmarshalStrict(text, &table); err != nil {
		t.Fatal(err)
	}
	return table.Values
}

// TestUnservedPeerValuesAreReported checks values of other operators' charts that have no value of the same meaning in
// this chart. If such a value requests a feature, the chart must reject it or list it in the notes. If the value leaves
// the feature off, the chart must accept it and must not list it.
func TestUnservedPeerValuesAreReported(t *testing.T) {
	for _, entry := range peerValues(t) {
		if entry.To != "" {
			continue
		}

		t.Run(entry.Key, func(t *testing.T) {
			if entry.Harmless != nil {
				if r := mustRender(t, install{values: valuesWith(t, entry.Key,
					entry.Harmless)}); strings.Contains(r.notes, entry.Key) {
					t.Errorf("the notes report the harmless value %v:\n%s", entry.Harmless, r.notes)
				}
			}

			r, err := render(t, install{values: valuesWith(t, entry.Key, featureValue(entry.Harmless))})
			switch entry.Effect {
			case "refused":
				if err == nil || !strings.Contains(err.Error(), entry.Key+": "+entry.Why) {
					t.Errorf("error %v, want it to name %s and why", err, entry.Key)
				}
			case "ignored":
				if err != nil || !strings.Contains(r.notes, entry.Key+": "+entry.Why) {
					t.Errorf("error %v, and the notes do not report %s:\n%s", err, entry.Key, r.notes)
				}
			default:
				t.Errorf("effect %q is neither refused nor ignored", entry.Effect)
			}
		})
	}
}

// TestMovedPeerValuesExist checks that each value of another operator's chart that moves to a value of this chart moves
// to one that exists, and is not itself a value of this chart.
func TestMovedPeerValuesExist(t *testing.T) {
	known := map[string]any{}
	if err := json.Unmarshal(charts.KnownValues, &known); err != nil {
		t.Fatal(err)
	}

	exists := func(path []string) bool {
		var at any = known
		for _, part := range path {
			level, isLevel := at.(map[string]any)
			if at = level[part]; !isLevel || at == nil {
				return false
			}
		}
		return true
	}

	for _, entry := range peerValues(t) {
		path := entry.Path
		if path == nil {
			path = strings.Split(entry.Key, ".")
		}

		if exists(path) {
			t.Errorf("%s is a value of this chart", entry.Key)
		}

		targets := slices.Collect(maps.Keys(entry.Sets))
		if entry.To != "" {
			targets = append(targets, entry.To)
		}

		for _, target := range targets {
			if !exists(strings.Split(target, ".")) {
				t.Errorf("%s: the chart has no value %s", entry.Key, target)
			}
		}
	}
}

// TestValuesFilesAsFound renders the chart with values files as they are in use for other operators' charts, cut to the
// lines that matter. Comments in the files are parts of the notes or of the error that the user must read. A file
// without an expected error must render, and its image must be this operator's.
func TestValuesFilesAsFound(t *testing.T) {
	files, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files: %v", len(files), err)
	}

	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}

			r, err := render(t, install{release: "spark-operator", namespace: "ops", values: string(text), apis: []string{"spark.apache.org/v1"}})

			got, refused := r.notes, strings.Contains(string(text), "# error: ")
			if refused && err != nil {
				got = err.Error()
			}

			if refused != (err != nil) {
				t.Fatalf("error %v", err)
			}

			for line := range strings.Lines(string(text)) {
				_, want, found := strings.Cut(strings.TrimSpace(line), "# error: ")
				if !found {
					_, want, found = strings.Cut(strings.TrimSpace(line), "# notes: ")
				}

				if found && !strings.Contains(got, want) {
					t.Errorf("want %q in:\n%s", want, got)
				}
			}

			if refused {
				return
			}

			if strings.Contains(string(text), "# quiet") && strings.Contains(got, "WARNING") {
				t.Errorf("warnings:\n%s", got)
			}

			for _, deployment := range objectsOf[*appsv1.Deployment](r) {
				if image := deployment.Spec.Template.Spec.Containers[0].Image; image != "docker.io/sparkoperator/spark-operator:v0.1.0" {
					t.Errorf("image %s", image)
				}
			}

			configOf(t, r)
		})
	}
}

// TestCopiesOfTheImageAreAccepted checks that this operator's image can be copied to a project spark-operator of
// another registry. The old image of the kubeflow operator has the same name there, so the tag or the digest decides.
func TestCopiesOfTheImageAreAccepted(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

	for version, accepted := range map[string]bool{"tag: v0.1.0": true, "digest: " + digest: true, "tag: v1.1.27": false, "tag: ''": false, "tag: v1beta2-1.6.2": false} {
		values := "image: {registry: harbor.example.com, repository: spark-operator/spark-operator, " + version + "}"

		_, err := render(t, install{values: values, annotations: map[string]string{"digest.sparkoperator.dev/spark-operator": digest}})
		if accepted != (err == nil) || err != nil && !strings.Contains(err.Error(), "set image.registry, image.repository and image.tag") {
			t.Errorf("%s: %v", values, err)
		}

		converted, err := chartvalues.Convert([]byte(values))
		if kept := strings.Contains(string(converted), "harbor.example.com, repository"); err != nil || version == "tag: v0.1.0" && !kept || !accepted && kept {
			t.Errorf("%s becomes\n%s\n%v", values, converted, err)
		}
	}
}

// TestTagsOfOtherOperatorsAreRefused checks files that pin only the tag of another operator's image. With this chart's
// repository they name an image that does not exist. Tags of this operator, also of builds, begin with v.
func TestTagsOfOtherOperatorsAreRefused(t *testing.T) {
	const digest = "digest: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

	for image, accepted := range map[string]bool{
		"tag: 2.3.0":                      false,
		"registry: ghcr.io, tag: 2.3.0":   false,
		"tag: 0.5.0":                      false,
		"tag: 2.0.0-rc.0":                 false,
		"tag: v0.1.0":                     true,
		"tag: v0.0.0-g1234567":            true,
		"tag: e2e":                        true,
		"tag: 0.1.0, " + digest:           true,
		"repository: a/spark, tag: 1.2.3": true,
	} {
		values := "image: {" + image + ", pullPolicy: Always}"

		_, err := render(t, install{values: values})
		if accepted != (err == nil) || err != nil && !strings.Contains(err.Error(), "image.tag: ") {
			t.Errorf("%s: %v", values, err)
		}

		converted, err := chartvalues.Convert([]byte(values))
		removed := strings.HasPrefix(string(converted), "# removed image: the tag ") && strings.HasSuffix(string(converted), "\nimage: {pullPolicy: Always}\n")

		if err != nil || removed == accepted {
			t.Errorf("%s becomes\n%s\n%v", values, converted, err)
		}
	}
}

// TestMigratedFilesInstallTheSame checks that `sparkctl migrate values` and the chart's templates agree: each values
// file that the chart accepts leads to the same objects after the conversion, and then has nothing to report.
func TestMigratedFilesInstallTheSame(t *testing.T) {
	files, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil {
		t.Fatal(err)
	}

	for _, file := range append(files, "testdata/peer-values.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		if strings.Contains(string(text), "# error: ") {
			continue
		}

		converted, err := chartvalues.Convert(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}

		apis := []string{"spark.apache.org/v1"}

		before := mustRender(t, install{values: string(text), apis: apis})
		after := mustRender(t, install{values: string(converted), apis: apis})

		if diff := cmp.Diff(before.objects, after.objects); diff != "" {
			t.Errorf("%s becomes\n%s\nwhich installs other objects (-before +after):\n%s", file, converted, diff)
		}

		if strings.Contains(after.notes, "another operator's chart") {
			t.Errorf("%s becomes\n%s\nwith the notes\n%s", file, converted, after.notes)
		}
	}
}

// TestPeerValuesTakeEffect checks the objects that values of other operators' charts lead to.
func TestPeerValuesTakeEffect(t *testing.T) {
	text, err := os.ReadFile("testdata/values/kubeflow-1.3-eks.yaml")
	if err != nil {
		t.Fatal(err)
	}

	r := mustRender(t, install{values: string(text)})
	pod := objectOf[*appsv1.Deployment](t, r).Spec.Template
	c := configOf(t, r)

	container := pod.Spec.Containers[0]
	if cpu := container.Resources.Requests.Cpu().String(); cpu != "200m" || pod.Spec.NodeSelector["workload"] != "system" ||
		pod.Spec.Tolerations[0].Key != "CriticalAddonsOnly" || pod.Annotations["example.com/scrape"] != "true" ||
		pod.Spec.PriorityClassName != "system-cluster-critical" ||
		!slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/cache" }) {
		t.Errorf("cpu %s, pod %+v", cpu, pod)
	}

	if diff := cmp.Diff([]string{"etl", "ml"}, c.Namespaces.Names); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}

	if c.UI.Ingress.URLFormat != "{{$appName}}.spark.example.com" || !*c.UI.Ingress.Enabled {
		t.Errorf("ingress %+v", c.UI.Ingress)
	}

	text, err = os.ReadFile("testdata/values/apache-1.9.yaml")
	if err != nil {
		t.Fatal(err)
	}

	r = mustRender(t, install{values: string(text), apis: []string{"spark.apache.org/v1"}})
	c = configOf(t, r)

	if diff := cmp.Diff([]string{"spark-1", "spark-2"}, c.Apache.Sentinels.Namespaces); diff != "" {
		t.Errorf("sentinels (-want +got):\n%s", diff)
	}

	deployment := objectOf[*appsv1.Deployment](t, r)
	if *deployment.Spec.Replicas != 2 || deployment.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType ||
		deployment.Spec.Template.Spec.ServiceAccountName != "spark-operator" || !c.Kueue.Enabled || !c.DynamicConfig.Enabled {
		t.Errorf("deployment %+v, configuration %+v", deployment.Spec, c)
	}

	if names := objectsOf[*corev1.Namespace](r); len(names) != 2 || names[0].Annotations["helm.sh/resource-policy"] != "keep" {
		t.Errorf("namespaces %v", names)
	}
}

// TestValuesOfTheUserStay checks that a value which moves from a file for another operator's chart does not replace a
// value that the user has set here. Two moved lists of namespaces become one.
func TestValuesOfTheUserStay(t *testing.T) {
	text, err := os.ReadFile("testdata/values/kubeflow-2-leftovers.yaml")
	if err != nil {
		t.Fatal(err)
	}

	r := mustRender(t, install{values: string(text)})
	c := configOf(t, r)

	if diff := cmp.Diff([]string{"team-a", "team-b"}, c.Namespaces.Names); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}

	deployment := objectOf[*appsv1.Deployment](t, r)
	limits := deployment.Spec.Template.Spec.Containers[0].Resources.Limits

	if *deployment.Spec.Replicas != 2 || limits.Memory().String() != "4Gi" || limits.Cpu().String() != "1" {
		t.Errorf("%d replicas, limits %v", *deployment.Spec.Replicas, limits)
	}

	if c.Metrics.BindAddress != ":9090" || c.Metrics.Prefix != "spark_" || *c.UI.Service {
		t.Errorf("metrics %+v, UI %+v", c.Metrics, c.UI)
	}

	text, err = os.ReadFile("testdata/values/apache-1.9-sentinels.yaml")
	if err != nil {
		t.Fatal(err)
	}

	c = configOf(t, mustRender(t, install{values: string(text), apis: []string{"spark.apache.org/v1"}}))
	if diff := cmp.Diff([]string{"spark-1", "spark-2", "spark-3"}, c.Apache.Sentinels.Namespaces); diff != "" {
		t.Errorf("sentinels (-want +got):\n%s", diff)
	}
}

// TestPeersDefaultValuesAreAccepted renders this chart with a complete copy of the kubeflow chart's default values. The
// rendered image must still be the image of this operator.
func TestPeersDefaultValuesAreAccepted(t *testing.T) {
	text, err := os.ReadFile("testdata/peer-values.yaml")
	if err != nil {
		t.Fatal(err)
	}

	r := mustRender(t, install{values: string(text)})
	deployment := objectOf[*appsv1.Deployment](t, r)

	image := deployment.Spec.Template.Spec.Containers[0].Image
	if own := objectOf[*appsv1.Deployment](t,
		mustRender(t, install{})).Spec.Template.Spec.Containers[0].Image; image != own {
		t.Errorf("the image is %s, want %s", image, own)
	}

	c, err := config.Parse([]byte(objectOf[*corev1.ConfigMap](t, r).Data["config.yaml"]))
	if err != nil {
		t.Fatal(err)
	}

	want := config.Default()
	want.Namespaces.Names = []string{"default"}
	want.LeaderElection.Namespace = "spark-operator"
	want.Identity = config.Identity{Namespace: "spark-operator", ServiceAccount: "spark-operator-controller"}
	want.Submission.Runners = new(false) // their account has rights on Secrets
	want.Apache.Sentinels.Namespace = "default"
	want.Metrics.BindAddress = ":8080" // Prometheus reads the metrics from another pod
	want.Webhook = ownWebhook()
	want.Controller.Workers = 10
	want.Logging.Format = "text"
	want.Metrics.JobSubmitLatencyBuckets = []float64{0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256}

	want.Metrics.JobStartLatencyBuckets = []float64{30, 60, 90, 120, 150, 180, 210, 240, 270, 300}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}

	for _, told := range []string{"image", "hook", "submitter", "webhook.leaderElection", "controller.kubeAPIQPS",
		"controller.workqueueRateLimiter"} {
		if !strings.Contains(r.notes, "\n  "+told+": ") {
			t.Errorf("the notes do not report %s:\n%s", told, r.notes)
		}
	}

	for _, quiet := range []string{"certManager", "webhook.replicas", "webhook.volumes", "uiService", "uiIngress",
		"batchScheduler", "prometheus.metrics", "jobNamespaceSelector"} {
		if strings.Contains(r.notes, quiet) {
			t.Errorf("%s sets only served values, but the notes report:\n%s", quiet, r.notes)
		}
	}
}

// TestMapsAndListsCanBeRemoved checks that each map and each list can be set to null, with which users
// remove it.
func TestMapsAndListsCanBeRemoved(t *testing.T) {
	known := map[string]any{}
	if err := json.Unmarshal(charts.KnownValues, &known); err != nil {
		t.Fatal(err)
	}

	base := map[string]any{}
	if err := kyaml.Unmarshal([]byte("{console: {enable: true, proxy: {enable: true, secret: s}}, historyServer: {enable: true, logDirectory: 's3a://logs'}, prometheus: {dashboard: {create: true}}}"), &base); err != nil {
		t.Fatal(err)
	}

	for _, path := range collections(known, nil) {
		values := map[string]any{}
		at := values

		for _, part := range path[:len(path)-1] {
			at[part] = map[string]any{}
			at = at[part].(map[string]any)
		}

		at[path[len(path)-1]] = nil

		text, err := json.Marshal(util.CoalesceTables(values, base))
		if err != nil {
			t.Fatal(err)
		}

		if _, err := render(t, install{values: string(text)}); err != nil {
			t.Errorf("%s: %v", strings.Join(path, "."), err)
		}
	}
}

// collections returns the paths of the values whose defaults are maps or lists.
func collections(known map[string]any, above []string) (paths [][]string) {
	for _, name := range slices.Sorted(maps.Keys(known)) {
		path := append(slices.Clone(above), name)

		switch below := known[name].(type) {
		case map[string]any:
			paths = append(paths, collections(below, path)...)
		case []any:
			if len(below) == 0 {
				continue
			}

			switch below[0].(type) {
			case map[string]any, []any:
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// TestValidUIAddressesAreAccepted checks that the chart accepts every address format that the operator accepts. If the
// UI is disabled, the chart accepts any format.
func TestValidUIAddressesAreAccepted(t *testing.T) {
	for _, format := range []string{
		"spark.example.com", "{{$appName}}.example.com", "*.{{ $appName }}.example.com:8443/", "http://a.b/{{$appId}}",
		" https://spark.example.com/{{$appNamespace}}/{{$appName}}/x~y_z.1-2",
	} {
		for _, value := range []string{"uiIngress", "uiRoute"} {
			mustRender(t, install{values: fmt.Sprintf("controller: {%s: {enable: true, urlFormat: %q}}", value,
				format)})
		}
	}

	mustRender(t, install{values: "controller: {uiRoute: {enable: true, urlFormat: '/{{$appNamespace}}/{{$appName}}'}}"})
	mustRender(t, install{values: "controller: {uiIngress: {urlFormat: '/{{$appName}}'}}"})
}

// TestUIValuesReachTheConfiguration checks that this chart accepts the kubeflow chart's values for web UIs and renders
// them into the operator's configuration. The test also sets values for a route, which only this chart has.
func TestUIValuesReachTheConfiguration(t *testing.T) {
	r := mustRender(t, install{values: `controller:
  uiService: {enable: false}
  uiIngress:
    enable: true
    urlFormat: "spark.example.com/{{$appNamespace}}/{{$appName}}"
    ingressClassName: nginx
    tls: [{hosts: [spark.example.com], secretName: cert}]
    annotations: {a: b}
  uiRoute: {enable: true, parentRefs: [{name: public, namespace: gateways, port: 443}], urlFormat: "/{{$appNamespace}}/{{$appName}}"}
`})

	c, err := config.Parse([]byte(objectOf[*corev1.ConfigMap](t, r).Data["config.yaml"]))
	if err != nil {
		t.Fatal(err)
	}

	want := config.UI{
		Service: new(false),
		Ingress: config.UIIngress{
			Enabled: new(true), URLFormat: "spark.example.com/{{$appNamespace}}/{{$appName}}", ClassName: "nginx",
			Annotations: map[string]string{"a": "b"},
			TLS:         []networkingv1.IngressTLS{{Hosts: []string{"spark.example.com"}, SecretName: "cert"}},
		},
		Route: config.UIRoute{
			Enabled: new(true), URLFormat: "/{{$appNamespace}}/{{$appName}}",
			ParentRefs: []config.ParentRef{{Name: "public", Namespace: "gateways", Port: 443}},
		},
	}
	if diff := cmp.Diff(want, c.UI); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// valuesWith returns YAML values that set only the key at the given path.
func valuesWith(t *testing.T, path string, value any) string {
	t.Helper()

	parts := strings.Split(path, ".")
	for _, part := range slices.Backward(parts) {
		value = map[string]any{part: value}
	}

	text, err := kyaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// featureValue returns a setting that requests the unsupported feature. The setting has the same type as the given
// setting, which leaves the feature off.
func featureValue(harmless any) any {
	switch harmless := harmless.(type) {
	case bool:
		return !harmless
	case string:
		return "x"
	default:
		return map[string]any{"enable": true}
	}
}

// TestValuesReachTheConfiguration checks that the operator's own loader accepts the configuration file of the chart.
func TestValuesReachTheConfiguration(t *testing.T) {
	read := func(values string) config.Configuration {
		t.Helper()
		maps := objectOf[*corev1.ConfigMap](t, mustRender(t, install{values: values}))

		c, err := config.Parse([]byte(maps.Data["config.yaml"]))
		if err != nil {
			t.Fatalf("values %q: %v\n%s", values, err, maps.Data["config.yaml"])
		}
		return c
	}
	want := config.Default()
	want.Namespaces.Names = []string{"default"}
	want.LeaderElection.Namespace = "spark-operator"
	want.Identity = config.Identity{Namespace: "spark-operator", ServiceAccount: "spark-operator-controller"}
	want.Submission.Runners = new(false) // their account has rights on Secrets
	want.Apache.Sentinels.Namespace = "default"
	want.Metrics.BindAddress = ":8080" // Prometheus reads the metrics from another pod

	want.Webhook = ownWebhook()
	if diff := cmp.Diff(want, read("")); diff != "" {
		t.Errorf("defaults of the operator and of the chart (-operator +chart):\n%s", diff)
	}

	got := read(`
controller:
  leaderElection: {enable: false, leaseDuration: 1m, renewDeadline: 30s, retryPeriod: 5s}
  sharding: {enable: false, shards: 24, leaseDuration: 10s, renewDeadline: 6s, retryPeriod: 1s} # of an earlier version, by --reuse-values
  workers: 3
  logLevel: debug
  logEncoder: console
  defaultTimeToLiveSeconds: 60
  maxTrackedExecutorPerApp: 5
  driverPodCreationGracePeriod: 3s
  submission: {mode: SparkSubmit}
  timeouts: {driverStartSeconds: 1, driverReadySeconds: 2, executorsStartSeconds: 3, runSeconds: 4}
  pprof: {enable: true, port: 7000}
prometheus: {metrics: {port: 9090, prefix: team-a_, labels: "app_type, team", jobSubmitLatencyBuckets: "0.5, 1,2", jobStartLatencyBuckets: "30,60"}}
spark: {jobNamespaces: ["", a]}
config:
  controller: {shutdownTimeout: 7s}
  tracing: {endpoint: "https://collector:4318", samplingRatio: 0.1}
  application: {timeouts: {runSeconds: 9}}
`)
	for _, check := range []struct {
		name      string
		got, want any
	}{
		{"namespaces", got.Namespaces.Names, []string(nil)},
		{"leaderElection.enabled", *got.LeaderElection.Enabled, false},
		{"leaderElection.leaseDuration", got.LeaderElection.LeaseDuration.Duration, time.Minute},
		{"leaderElection.renewDeadline", got.LeaderElection.RenewDeadline.Duration, 30 * time.Second},
		{"leaderElection.retryPeriod", got.LeaderElection.RetryPeriod.Duration, 5 * time.Second},
		{"workers", got.Controller.Workers, 3},
		{"logging", got.Logging, config.Logging{Level: "debug", Format: "text"}},
		{"defaultTimeToLiveSeconds", got.Application.DefaultTimeToLiveSeconds, int64(60)},
		{"maxTrackedExecutorPerApp", *got.Application.MaxTrackedExecutorPerApp, int32(5)},
		{"driverPodCreationGracePeriod", got.Application.DriverPodCreationGracePeriod.Duration, 3 * time.Second},
		{"submission", got.Submission,
			config.Submission{Mode: "SparkSubmit", Runners: new(true), ServiceAccount: "spark-operator-submit"}},
		{"pprof", got.Pprof.BindAddress, "127.0.0.1:7000"},
		{"metrics", got.Metrics, config.Metrics{BindAddress: ":9090", Prefix: "team-a_",
			Labels:                  &[]string{"app_type", "team"},
			JobSubmitLatencyBuckets: []float64{0.5, 1, 2}, JobStartLatencyBuckets: []float64{30, 60}}},
		{"config.tracing", got.Tracing, config.Tracing{Endpoint: "https://collector:4318", SamplingRatio: new(0.1)}},
		{"config.controller.shutdownTimeout", got.Controller.ShutdownTimeout.Duration, 7 * time.Second},
		{"timeouts, and an override in config", got.Application.Timeouts, config.Timeouts{
			DriverStartSeconds: 1, DriverReadySeconds: 2, ExecutorsStartSeconds: 3, RunSeconds: 9,
		}},
	} {
		if diff := cmp.Diff(check.want, check.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", check.name, diff)
		}
	}

	for _, c := range []struct {
		values string
		want   config.Namespaces
	}{
		{"{}", config.Namespaces{Names: []string{"default"}}},
		{"jobNamespaceSelector: spark=enabled",
			config.Namespaces{Names: []string{"default"}, Selector: "spark=enabled"}},
		{"{jobNamespaces: [], jobNamespaceSelector: 'team in (a,b)'}", config.Namespaces{Selector: "team in (a,b)"}},
		// All namespaces, regardless of their labels.
		{"{jobNamespaces: ['', a], jobNamespaceSelector: spark=enabled}", config.Namespaces{}},
		{"jobNamespaces: []", config.Namespaces{}},
	} {
		got := read("spark:\n  " + c.values).Namespaces
		if len(got.Names) == 0 {
			got.Names = nil
		}

		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("spark: %s: namespaces (-want +got):\n%s", c.values, diff)
		}
	}

	if off := read("prometheus: {metrics: {enable: false}}").Metrics.BindAddress; off != config.Off {
		t.Errorf("metrics that are off bind %q", off)
	}
}

// TestChangedConfigurationRollsThePods checks that a change of the configuration replaces the pods, because the
// operator reads its configuration only at startup. An unchanged configuration must not replace them.
func TestChangedConfigurationRollsThePods(t *testing.T) {
	sum := func(values string) string {
		return objectOf[*appsv1.Deployment](t,
			mustRender(t, install{values: values})).Spec.Template.Annotations["checksum/config"]
	}
	if sum("") == "" || sum("") != sum("controller: {revisionHistoryLimit: 3}") {
		t.Errorf("the checksum changes without the configuration: %s, %s", sum(""),
			sum("controller: {revisionHistoryLimit: 3}"))
	}

	if sum("") == sum("controller: {logLevel: debug}") {
		t.Error("the checksum is the same for another configuration")
	}
}

func TestNotesNameServedNamespacesAndAccounts(t *testing.T) {
	const account, dynamic = "serviceAccount: spark-operator-spark",
		"controller: {dynamicConfig: {enable: true, create: true, " +
			"data: {spark.kubernetes.operator.watchedNamespaces: %q}}}\nspark: {jobNamespaces: [jobs, other]}"

	const runNoJobs = "WARNING: run no jobs in namespace spark-operator"
	for _, test := range []struct {
		name, values string
		want, not    []string
	}{
		{"defaults", "", []string{account, "created in: default."},
			[]string{"WARNING", "SERVICE_ACCOUNT", "In other served namespaces"}},
		{"one namespace", "spark: {jobNamespaces: [jobs]}",
			[]string{"kubectl --namespace jobs get sparkapplications", account}, []string{"every namespace"}},
		{"all namespaces", "spark: {jobNamespaces: []}",
			[]string{"every namespace", "namespace: default", "serviceAccount: SERVICE_ACCOUNT",
				"together with the empty name", runNoJobs}, []string{"created in", account}},
		{"the release's own namespace", "spark: {jobNamespaces: [spark-operator], allowReleaseNamespace: true}",
			[]string{runNoJobs, "namespace: spark-operator"}, nil},
		{"all namespaces, and accounts in one", "spark: {jobNamespaces: ['', jobs]}",
			[]string{"every namespace.", "created in: jobs.", "namespace: jobs", account,
				"together with the empty name"}, []string{"SERVICE_ACCOUNT"}},
		{"by label", "spark: {jobNamespaces: [jobs], jobNamespaceSelector: spark=enabled}",
			[]string{"labels spark=enabled, and of: jobs.", "namespace: jobs", account,
				"add the namespace to spark.jobNamespaces.", runNoJobs}, []string{"empty name"}},
		{"by label alone", "spark: {jobNamespaces: [], jobNamespaceSelector: spark=enabled}",
			[]string{"labels spark=enabled.", "namespace: NAMESPACE", "serviceAccount: SERVICE_ACCOUNT",
				"add the namespace to spark.jobNamespaces."},
			[]string{"created in", "namespace: default", account, "empty name", "every namespace."}},
		{"the user's account, by label alone",
			"spark: {jobNamespaces: [], jobNamespaceSelector: spark=enabled, serviceAccount: {create: false, name: own}}",
			[]string{"namespace: NAMESPACE", "serviceAccount: own"},
			[]string{"created in", "serviceAccount: SERVICE_ACCOUNT"}},
		{"dynamic settings exclude a namespace", fmt.Sprintf(dynamic, "team-a, other"),
			[]string{"applications of: team-a, other.", "created in: jobs, other.", "namespace: other", account,
				"In other served namespaces", "get configmaps --selector"},
			[]string{"namespace: jobs", "SERVICE_ACCOUNT"}},
		{"dynamic settings exclude all namespaces with accounts", fmt.Sprintf(dynamic, "team-a"),
			[]string{"applications of: team-a.", "namespace: team-a", "serviceAccount: SERVICE_ACCOUNT"},
			[]string{"namespace: jobs", account}},
		{"dynamic settings name all namespaces", fmt.Sprintf(dynamic, "*"),
			[]string{"every namespace.", "namespace: jobs", account}, []string{"SERVICE_ACCOUNT"}},
		{"dynamic settings that the operator ignores", fmt.Sprintf(dynamic, "team-a,No_Good"),
			[]string{"applications of: jobs, other."}, []string{"team-a."}},
		{"dynamic settings without namespaces", "controller: {dynamicConfig: {enable: true}}",
			[]string{"applications of: default.", "can change these namespaces", runNoJobs},
			[]string{"SERVICE_ACCOUNT"}},
		{"definitions are not kept", "crds: {keep: false}", []string{"A first application"},
			[]string{"keeps the custom resource definitions"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			notes := mustRender(t, install{values: test.values}).notes
			for _, want := range test.want {
				if !strings.Contains(notes, want) {
					t.Errorf("want %q in:\n%s", want, notes)
				}
			}

			for _, not := range test.not {
				if strings.Contains(notes, not) {
					t.Errorf("do not want %q in:\n%s", not, notes)
				}
			}
		})
	}
}
