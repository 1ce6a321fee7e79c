package application

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

var sparkHomes = flag.String("spark-homes", "",
	"record testdata/executors again: a directory with Spark distributions as VERSION/jars; needs a JDK, and -timeout 1h")

// executorVersions are the Spark versions whose own code created the pods in testdata/executors.
var executorVersions = []string{"3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0"}

// recordedExecutor is a recording of Spark's own code (Executor.java). It contains the properties and the pod template
// with which a driver was started, and the executor pod that Spark created from them.
type recordedExecutor struct {
	Properties map[string]string `json:"properties"`
	Template   map[string]any    `json:"template"`
	Pod        *corev1.Pod       `json:"pod"`
}

// executorOf returns an application and the executor pod that a Spark version creates for it.
func executorOf(t *testing.T, name, version string) (*v1beta2.SparkApplication, *corev1.Pod) {
	t.Helper()

	text, err := os.ReadFile(filepath.Join("testdata/executors", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}

	app := sparkapp.Of(t, string(text), "spec: {sparkVersion: "+version+"}")
	got := renderApp(t, app)

	file := filepath.Join("testdata/executors", name+"-"+version+".json")
	if *sparkHomes != "" && !recorded[file] {
		recorded[file] = true
		recordExecutor(t, file, filepath.Join(*sparkHomes, version, "jars"), got)
	}

	text, err = os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	var expected recordedExecutor
	if err := json.Unmarshal(text, &expected); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(expected.Properties, got.Conf) + cmp.Diff(expected.Template, got.Executor); diff != "" {
		t.Fatalf("%s was recorded from other properties or another template; record it again with -spark-homes (-then +now):\n%s", file, diff)
	}
	return app, expected.Pod
}

// recorded contains the files in testdata/executors that this test run has already written.
var recorded = map[string]bool{}

var (
	localDir = regexp.MustCompile(`/var/data/spark-[-0-9a-f]{36}`)
	confMap  = regexp.MustCompile(`spark-exec-[0-9a-f]{16}-conf-map`)
)

func recordExecutor(t *testing.T, file, jars string, got sparkapp.Launch) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}

	template, err := json.Marshal(got.Executor)
	if err != nil {
		t.Fatal(err)
	}

	cmd := exec.CommandContext(t.Context(), "java", "--add-opens=java.base/java.nio=ALL-UNNAMED",
		"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
		"-cp", filepath.Join(jars, "*"), "testdata/executors/Executor.java",
		write("spark.properties", []byte(conf.MarshalProperties(conf.FromMap(got.Conf)))),
		write("template.json", template))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr

	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}

	out = localDir.ReplaceAll(out, []byte("/var/data/spark-UUID"))

	out = confMap.ReplaceAll(out, []byte("spark-exec-ID-conf-map"))
	if who, err := user.Current(); err == nil {
		out = bytes.ReplaceAll(out, []byte(`"`+who.Username+`"`), []byte(`"spark"`))
	}

	r := recordedExecutor{Properties: got.Conf, Template: got.Executor, Pod: &corev1.Pod{}}
	if err := json.Unmarshal(out, r.Pod); err != nil {
		t.Fatal(err)
	}

	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestExecutorsHaveEverything checks that the pods that Spark creates contain every setting of an application that sets
// every field of its executors.
func TestExecutorsHaveEverything(t *testing.T) {
	const pod = `
metadata:
  labels: {own: "1", from: template, c: conf, spark-role: executor, sparkoperator.k8s.io/app-name: pi, sparkoperator.dev/managed: "true"}
  annotations: {note: "yes"}
  ownerReferences: [{kind: SparkApplication, name: pi}, {kind: Pod, name: pi-driver, controller: true}]
spec:
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: k}]}]}}}
  containers: [{name: first}, {name: side, image: "side:1"}, {name: spark-kubernetes-executor}]
  dnsConfig: {options: [{name: ndots, value: "1"}]}
  dnsPolicy: ClusterFirstWithHostNet
  enableServiceLinks: false
  hostAliases: [{ip: 10.0.0.9}]
  hostNetwork: true
  imagePullSecrets: [{name: pull}]
  initContainers: [{name: init}]
  nodeSelector: {disk: ssd}
  priorityClassName: high
  schedulerName: mine
  securityContext: {fsGroup: 185}
  serviceAccountName: exec
  shareProcessNamespace: true
  terminationGracePeriodSeconds: 60
  tolerations: [{key: spot}]
`
	const container = `
image: spark:executor
imagePullPolicy: Always
envFrom: [{secretRef: {name: s}}]
lifecycle: {preStop: {exec: {command: [bye]}}}
ports: [{name: metrics, containerPort: 8090}, {name: blockmanager}]
resources:
  limits: {cpu: 1500m, memory: 1536Mi, nvidia.com/gpu: "2"}
  requests: {cpu: 500m, memory: 1536Mi}
securityContext: {runAsUser: 185, allowPrivilegeEscalation: true}
volumeMounts:
- {mountPath: /etc/hadoop/conf}
- {mountPath: /etc/spark/conf}
- {mountPath: /files}
- {mountPath: /data, subPath: x}
`
	// If a container has two variables with the same name, the last one counts.
	env := map[string]string{
		"A": "field", "B": "map", "T": "template", "FROM": "configMapKeyRef", "SECRET": "secretKeyRef",
		"TOKEN": "field", "SPARK_USER": "me",
		"SPARK_CONF_DIR": "/etc/spark/conf", "HADOOP_CONF_DIR": "/etc/hadoop/conf", "SPARK_LOCAL_DIRS": "/scratch",
		"GOOGLE_APPLICATION_CREDENTIALS": "/gcp/key.json", "HADOOP_TOKEN_FILE_LOCATION": "/token/hadoop.token",
	}
	for _, version := range executorVersions {
		t.Run(version, func(t *testing.T) {
			_, made := executorOf(t, "everything", version)
			spark := &made.Spec.Containers[len(made.Spec.Containers)-1]

			missing := append(sparkapp.MissingParts(fieldtable.Plain(t, made), any(fieldtable.Tree(t, pod)), "pod"),
				sparkapp.MissingParts(fieldtable.Plain(t, spark), any(fieldtable.Tree(t, container)), "container")...)
			for _, path := range []string{"/gcp", "/token", "/any", "/scratch"} {
				if !slices.ContainsFunc(spark.VolumeMounts,
					func(m corev1.VolumeMount) bool { return m.MountPath == path }) {
					missing = append(missing, "nothing is mounted at "+path)
				}
			}

			for _, twice := range sparkapp.Duplicates(fieldtable.Plain(t, made)) {
				// Variables that the configuration sets are in the template too, because other variables may refer to
				// them.
				if !strings.HasPrefix(twice, ".containers.env: ") {
					missing = append(missing, "twice: "+twice)
				}
			}

			for _, problem := range missing {
				t.Error(problem)
			}
			// The user's options follow those that every executor has.
			if !slices.ContainsFunc(spark.Env, func(v corev1.EnvVar) bool {
				return strings.HasPrefix(v.Name, "SPARK_JAVA_OPT_") && v.Value == "-Dmine=1"
			}) {
				t.Error("the JVM does not have the option -Dmine=1")
			}

			for name, want := range env {
				if got := lastOf(spark.Env, name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		})
	}
}

// lastOf returns the value of the last environment variable with the given name. If the variable gets its value from
// another object, lastOf returns the kind of the reference, such as "secretKeyRef".
func lastOf(env []corev1.EnvVar, name string) (value string) {
	for _, v := range env {
		switch {
		case v.Name != name:
		case v.ValueFrom == nil:
			value = v.Value
		case v.ValueFrom.SecretKeyRef != nil:
			value = "secretKeyRef"
		case v.ValueFrom.ConfigMapKeyRef != nil:
			value = "configMapKeyRef"
		default:
			value = "a reference"
		}
	}
	return value
}

// TestAdmissionRestoresOverwrittenFields applies the settings for admission to executor pods that Spark created.
// Afterwards the pods must have every field of the application. Applying the settings again must change nothing.
func TestAdmissionRestoresOverwrittenFields(t *testing.T) {
	for _, version := range executorVersions {
		app, pod := executorOf(t, "overwritten", version)

		r, err := Dialect{Options{Admission: admit.Available{Webhook: true}}}.request(app, 1, sparkapp.T0)
		if err != nil {
			t.Fatal(err)
		}

		if err := r.Admitted.Mark(pod, sparkoperator.ExecutorContainer); err != nil {
			t.Fatal(err)
		}

		if err := admit.Apply(pod); err != nil {
			t.Fatal(err)
		}

		if lost := changedBy(t, pod, app); len(lost) > 0 {
			t.Errorf("%s: still lost: %v", version, lost)
		}

		once := pod.DeepCopy()
		if err := admit.Apply(pod); err != nil || cmp.Diff(once, pod) != "" {
			t.Errorf("%s: a second time (%v):\n%s", version, err, cmp.Diff(once, pod))
		}
	}
}

// TestOverwrittenIsTold checks that the condition names exactly the fields that Spark overwrites. It compares them with
// the fields that change when the application's settings are applied to a pod that Spark created.
func TestOverwrittenIsTold(t *testing.T) {
	for _, name := range []string{"everything", "overwritten"} {
		for _, version := range executorVersions {
			t.Run(name+"/"+version, func(t *testing.T) {
				app, pod := executorOf(t, name, version)
				want := changedBy(t, pod, app)

				var got []string
				for _, reported := range (Dialect{}).overwritten(app) {
					field, _, ok := strings.Cut(reported, " has no effect: ")
					if !ok || strings.HasSuffix(reported, ": ") {
						t.Errorf("%q does not name a field and the way out", reported)
					}

					got = append(got, field)
				}

				slices.Sort(got)

				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("Spark overwrites (-overwritten +reported):\n%s", diff)
				}
			})
		}
	}
}

// changedBy returns the fields of an application's executors that the given pod lacks or has with another value. To
// find them, it applies each field to a copy of the pod and checks whether the copy changes.
func changedBy(t *testing.T, pod *corev1.Pod, app *v1beta2.SparkApplication) (fields []string) {
	t.Helper()

	whole, err := specification.ExecutorOverlay(app)
	if err != nil {
		t.Fatal(err)
	}

	whole.TerminationGracePeriodSeconds = app.Spec.Executor.TerminationGracePeriodSeconds
	whole.OwnerReferences, whole.EnableServiceLinks = nil, nil
	single := map[string]overlay.Overlay{
		"spec.executor.memoryLimit":                   {MemoryLimit: whole.MemoryLimit},
		"spec.executor.gpu":                           {GPU: whole.GPU},
		"spec.executor.lifecycle":                     {Lifecycle: whole.Lifecycle},
		"spec.executor.terminationGracePeriodSeconds": {TerminationGracePeriodSeconds: whole.TerminationGracePeriodSeconds},
		"spec.executor.securityContext":               {SecurityContext: whole.SecurityContext},
		"spec.sparkConfigMap":                         {SparkConfigMap: whole.SparkConfigMap},
		"spec.hadoopConfigMap":                        {HadoopConfigMap: whole.HadoopConfigMap},
	}
	rest := whole
	rest.MemoryLimit, rest.GPU, rest.Lifecycle, rest.TerminationGracePeriodSeconds, rest.SecurityContext = nil,
		overlay.GPU{}, nil, nil, nil
	rest.SparkConfigMap, rest.HadoopConfigMap, rest.Env = "", "", nil

	single["the rest"] = rest
	for _, v := range whole.Env {
		single["spec.executor.env["+v.Name+"]"] = overlay.Overlay{Env: []corev1.EnvVar{v}}
	}

	for field, o := range single {
		again := pod.DeepCopy()
		if err := overlay.Apply(again, sparkoperator.ExecutorContainer, o); err != nil {
			t.Fatalf("%s: %v", field, err)
		}

		if cmp.Diff(pod, again) != "" {
			fields = append(fields, field)
		}
	}

	slices.Sort(fields)
	return fields
}
