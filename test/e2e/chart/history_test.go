package chart

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/platformdefaults"
)

// historyName is the name of the objects of the History Server.
const historyName = "spark-operator-history"

// historyObject returns the object of the History Server of a type, or fails the test.
func historyObject[T client.Object](t *testing.T, r rendered) T {
	t.Helper()

	for _, o := range objectsOf[T](r) {
		if o.GetName() == historyName {
			return o
		}
	}

	t.Fatalf("there is no %T", *new(T))
	return *new(T)
}

// historyDefaults returns the defaults in the operator's configuration, which must be valid.
func historyDefaults(t *testing.T, r rendered) config.Configuration {
	t.Helper()

	for _, o := range objectsOf[*corev1.ConfigMap](r) {
		if text, ok := o.Data["config.yaml"]; ok {
			c, err := config.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
	}

	t.Fatal("there is no configuration")
	return config.Configuration{}
}

// TestHistoryServerIsOneValue renders the History Server with a bucket and with volumes. It checks that the one value
// switches on event logs and the server, and that both use the same directory.
func TestHistoryServerIsOneValue(t *testing.T) {
	const rolling, overwrite = "spark.eventLog.rolling.enabled", "spark.eventLog.overwrite"

	for name, test := range map[string]struct {
		values     string
		directory  string
		conf       map[string]string // of applications, besides rolling and overwrite
		properties []string
		mount      string
	}{
		"a bucket": {
			values:     "historyServer: {enable: true, logDirectory: s3a://logs/spark, sparkConf: {spark.hadoop.fs.s3a.endpoint: 'http://s3'}, properties: {spark.history.ui.maxApplications: 10, spark.history.fs.cleaner.maxNum: 2147483647, spark.history.fs.update.batchSize: 1000000}}",
			directory:  "s3a://logs/spark",
			conf:       map[string]string{"spark.hadoop.fs.s3a.endpoint": "http://s3"},
			properties: []string{"spark.hadoop.fs.s3a.endpoint=http://s3", "spark.history.ui.maxApplications=10", "spark.history.fs.cleaner.maxNum=2147483647", "spark.history.fs.update.batchSize=1000000", "spark.history.fs.cleaner.enabled=true"},
		},
		"a claim": {
			values:    "historyServer: {enable: true, logDirectory: 'file:///spark-events', volume: {persistentVolumeClaim: {claimName: events}}, cleaner: {enable: false}}",
			directory: "file:///spark-events",
			conf: map[string]string{
				"spark.kubernetes.driver.volumes.persistentVolumeClaim.spark-events.mount.path":        "/spark-events",
				"spark.kubernetes.driver.volumes.persistentVolumeClaim.spark-events.options.claimName": "events",
			},
			properties: []string{"spark.history.fs.cleaner.enabled=false"},
			mount:      "/spark-events",
		},
		"a file server, and a path without a scheme": {
			values:    "historyServer: {enable: true, logDirectory: /data/events, volume: {nfs: {server: nfs.example.com, path: /export}}}",
			directory: "/data/events",
			conf: map[string]string{
				"spark.kubernetes.driver.volumes.nfs.spark-events.mount.path":     "/data/events",
				"spark.kubernetes.driver.volumes.nfs.spark-events.options.server": "nfs.example.com",
				"spark.kubernetes.driver.volumes.nfs.spark-events.options.path":   "/export",
			},
			mount: "/data/events",
		},
		"the application's settings win": {
			values:    "historyServer: {enable: true, logDirectory: 'gs://logs', sparkConf: {" + rolling + ": 'false'}}",
			directory: "gs://logs",
			conf:      map[string]string{rolling: "false"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := mustRender(t, install{values: test.values})

			entry := historyDefaults(t, r).Defaults[0]
			want := map[string]string{rolling: "true", overwrite: "true"}
			maps.Copy(want, test.conf)

			if diff := cmp.Diff(want, entry.SparkConf); diff != "" || entry.EventLogDirectory != test.directory {
				t.Errorf("event logs go to %q with (-want +got):\n%s", entry.EventLogDirectory, diff)
			}

			properties := strings.Split(historyObject[*corev1.ConfigMap](t, r).Data["history.properties"], "\n")
			for _, property := range append(test.properties, "spark.history.fs.logDirectory="+test.directory, "spark.history.ui.port=18080") {
				if !slices.Contains(properties, property) {
					t.Errorf("the server's properties lack %s:\n%s", property, strings.Join(properties, "\n"))
				}
			}

			mounted := ""
			for _, mount := range historyObject[*appsv1.Deployment](t, r).Spec.Template.Spec.Containers[0].VolumeMounts {
				if mount.Name == "spark-events" {
					mounted = mount.MountPath
				}
			}

			if mounted != test.mount {
				t.Errorf("the server mounts the logs at %q, want %q", mounted, test.mount)
			}
		})
	}
}

// TestHistoryServerEntryComesFirst checks that entries of the user override the entry of the History Server.
func TestHistoryServerEntryComesFirst(t *testing.T) {
	const server = "historyServer: {enable: true, logDirectory: 's3a://logs', namespaceSelector: 'logs=on', url: 'https://h.example.com'}\n"

	r := mustRender(t, install{values: server + "defaults: [{name: own, eventLogDirectory: 's3a://own'}]"})

	c := historyDefaults(t, r)
	if len(c.Defaults) != 2 || c.Defaults[0].Name != platformdefaults.HistoryEntry || c.Defaults[0].NamespaceSelector != "logs=on" ||
		c.Defaults[0].HistoryServer != "https://h.example.com" || c.Defaults[1].Name != "own" {
		t.Errorf("the defaults are %+v", c.Defaults)
	}

	if len(namespaceRights(r)) == 0 {
		t.Error("the operator may not read the labels of namespaces")
	}
}

// TestHistoryServerPodIsRestricted judges the pod with Kubernetes' own evaluator, for the strictest Pod Security
// Standard. It also checks what keeps the server apart from everything else: it has no token of its service account,
// and its file system is read-only.
func TestHistoryServerPodIsRestricted(t *testing.T) {
	r := mustRender(t, install{values: "historyServer: {enable: true, logDirectory: 's3a://logs', metrics: {jmxExporterJar: /opt/agent.jar}}"})
	pod := historyObject[*appsv1.Deployment](t, r).Spec.Template

	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}

	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	if result := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec)); !result.Allowed {
		t.Errorf("the pod is not restricted: %s", result.ForbiddenDetail())
	}

	if pod.Spec.AutomountServiceAccountToken == nil || *pod.Spec.AutomountServiceAccountToken || !*pod.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem {
		t.Error("the pod has a token, or a file system that can be written")
	}

	if pod.Annotations["prometheus.io/port"] != "8090" || !strings.Contains(pod.Spec.Containers[0].Env[1].Value, "-javaagent:/opt/agent.jar=8090:") {
		t.Errorf("metrics are not served: %v, %v", pod.Annotations, pod.Spec.Containers[0].Env)
	}
}

// TestHistoryServerImageAndAddress checks where the image and the address of links come from.
func TestHistoryServerImageAndAddress(t *testing.T) {
	const ingress = "ingress: {enable: true, host: h.example.com}"

	for name, test := range map[string]struct{ history, rest, image, address string }{
		"nothing is given":               {image: "docker.io/apache/spark:4.1.4"},
		"a version":                      {history: "sparkVersion: 3.5.7", image: "docker.io/apache/spark:3.5.7"},
		"an image":                       {history: "image: registry/history:1", rest: "defaults: [{images: {'4.1': 'registry/spark:4'}}]", image: "registry/history:1"},
		"the image of applications":      {rest: "defaults: [{images: {'4.1': 'registry/spark:{{SPARK_VERSION}}', '3.5': other}}]", image: "registry/spark:4.1.4"},
		"images of some namespaces only": {rest: "defaults: [{namespaceSelector: a=b, images: {'4.1': other}}]", image: "docker.io/apache/spark:4.1.4"},
		"an Ingress":                     {history: ingress, image: "docker.io/apache/spark:4.1.4", address: "http://h.example.com"},
		"an Ingress with a certificate":  {history: "ingress: {enable: true, host: h.example.com, tls: [{secretName: cert}]}", image: "docker.io/apache/spark:4.1.4", address: "https://h.example.com"},
		"a route":                        {history: "route: {enable: true, parentRefs: [{name: g}], hostnames: [r.example.com]}", image: "docker.io/apache/spark:4.1.4", address: "https://r.example.com"},
		"an address":                     {history: ingress + ", url: 'https://front.example.com/history'", image: "docker.io/apache/spark:4.1.4", address: "https://front.example.com/history"},
	} {
		t.Run(name, func(t *testing.T) {
			history := strings.TrimSuffix("enable: true, logDirectory: 's3a://logs', "+test.history, ", ")
			r := mustRender(t, install{values: "historyServer: {" + history + "}\n" + test.rest})

			if got := historyObject[*appsv1.Deployment](t, r).Spec.Template.Spec.Containers[0].Image; got != test.image {
				t.Errorf("the image is %s, want %s", got, test.image)
			}

			if got := historyDefaults(t, r).Defaults[0].HistoryServer; got != test.address {
				t.Errorf("the address is %q, want %q", got, test.address)
			}
		})
	}
}

// TestHistoryServerIsReachable checks that the Ingress, the route and the NetworkPolicy lead to the Service's port.
func TestHistoryServerIsReachable(t *testing.T) {
	r := mustRender(t, install{values: `historyServer:
  enable: true
  logDirectory: s3a://logs
  ingress: {enable: true, host: h.example.com, ingressClassName: nginx}
  route: {enable: true, parentRefs: [{name: g}]}
  networkPolicy: {enable: true, from: [{namespaceSelector: {matchLabels: {a: b}}}]}
prometheus: {podMonitor: {create: true}}
`, apis: []string{"monitoring.coreos.com/v1/PodMonitor"}})

	service, pod := historyObject[*corev1.Service](t, r), historyObject[*appsv1.Deployment](t, r).Spec.Template
	for key, value := range service.Spec.Selector {
		if pod.Labels[key] != value {
			t.Errorf("the Service selects %s=%s, the pod has %v", key, value, pod.Labels)
		}
	}

	if backend := historyObject[*networkingv1.Ingress](t, r).Spec.Rules[0].HTTP.Paths[0].Backend.Service; backend.Name != service.Name || backend.Port.Name != service.Spec.Ports[0].Name {
		t.Errorf("the Ingress leads to %+v", backend)
	}

	if ports := historyObject[*networkingv1.NetworkPolicy](t, r).Spec.Ingress[0].Ports; len(ports) != 1 || ports[0].Port.IntVal != pod.Spec.Containers[0].Ports[0].ContainerPort {
		t.Errorf("the NetworkPolicy opens %+v", ports)
	}

	for _, o := range objectsOf[*unstructured.Unstructured](r) {
		if o.GetName() == historyName && o.GetKind() != "HTTPRoute" { // a server without metrics has no PodMonitor
			t.Errorf("there is a %s", o.GetKind())
		}
	}

	for _, o := range mustRender(t, install{}).objects {
		if o.GetName() == historyName {
			t.Errorf("the History Server is off, and there is a %T", o)
		}
	}
}

// TestHistoryServerWithOldValues renders the chart with the values of a version without a History Server, as with
// --reuse-values: with the server switched off, and with only the keys that the user sets.
func TestHistoryServerWithOldValues(t *testing.T) {
	if _, err := render(t, install{values: "historyServer: null"}); err != nil {
		t.Error(err)
	}

	const values = "historyServer: {enable: true, logDirectory: 's3a://logs', ingress: null, cleaner: null, metrics: null, properties: null, serviceAccount: null, sparkConf: null, store: null}"

	pod := historyObject[*appsv1.Deployment](t, mustRender(t, install{values: values})).Spec.Template.Spec
	if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "store" && v.EmptyDir != nil }) {
		t.Errorf("volumes %+v, want the default store", pod.Volumes)
	}
}

// TestVolumeOfTheStore checks that the store has one volume. Helm merges the user's volume with the default emptyDir,
// and the API server refuses a volume of two types.
func TestVolumeOfTheStore(t *testing.T) {
	for volume, want := range map[string]corev1.VolumeSource{
		"{persistentVolumeClaim: {claimName: x}}":                 {PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "x"}},
		"{persistentVolumeClaim: {claimName: x}, emptyDir: null}": {PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "x"}},
		"{emptyDir: {medium: Memory, sizeLimit: null}}":           {EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}},
		"{emptyDir: null}": {EmptyDir: &corev1.EmptyDirVolumeSource{}},
		"null":             {EmptyDir: &corev1.EmptyDirVolumeSource{}},
	} {
		values := "historyServer: {enable: true, logDirectory: 's3a://logs', store: {volume: " + volume + "}}"

		for _, v := range historyObject[*appsv1.Deployment](t, mustRender(t, install{values: values})).Spec.Template.Spec.Volumes {
			if diff := cmp.Diff(want, v.VolumeSource); v.Name == "store" && diff != "" {
				t.Errorf("%s (-want +got):\n%s", volume, diff)
			}
		}
	}
}

func TestIncompleteHistoryServersAreRejected(t *testing.T) {
	for values, want := range map[string]string{
		"enable: true": "historyServer.logDirectory: the History Server needs the directory in which applications write their event logs; set it to a bucket",
		"enable: true, logDirectory: 'file:///events'":                                                   "set historyServer.volume",
		"enable: true, logDirectory: /events":                                                            "set historyServer.volume",
		"enable: true, logDirectory: 's3a://logs', volume: {hostPath: {path: /events}}":                  "or remove the volume",
		"enable: true, logDirectory: 's3a://logs', ingress: {enable: true}":                              "historyServer.ingress.host",
		"enable: true, logDirectory: 's3a://logs', route: {enable: true}":                                "historyServer.route.parentRefs",
		"enable: true, logDirectory: /events, volume: {emptyDir: {}}":                                    "volume",
		"enable: true, logDirectory: /events, volume: {hostPath: {path: /a}, nfs: {server: a, path: b}}": "volume",
		"sparkConf: {fs.s3a.endpoint: a}":                                                                "sparkConf",
		"properties: {history: a}":                                                                       "properties",
		"sparkVersion: '4'":                                                                              "sparkVersion",
		"url: history.example.com":                                                                       "url",
		"cleaner: {maxAge: never}":                                                                       "maxAge",
	} {
		if _, err := render(t, install{values: "historyServer: {" + values + "}"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", values, err, want)
		}
	}
}
