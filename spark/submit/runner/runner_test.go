package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
)

func buildRunner(t *testing.T, r submit.Request) Objects {
	t.Helper()

	o, err := Build(r)
	if err != nil {
		t.Fatalf("Build: %v", err)
	}
	return o
}

// runnerProps returns the properties that the runner passes to spark-submit.
func runnerProps(t *testing.T, o Objects) map[string]string {
	t.Helper()

	c, err := conf.UnmarshalProperties(string(o.Secret.Data["spark.properties"]))
	if err != nil {
		t.Fatal(err)
	}
	return c.Map()
}

// runnerTemplate returns the pod template in one of the runner's files.
func runnerTemplate(t *testing.T, o Objects, file string) *corev1.Pod {
	t.Helper()

	var pod corev1.Pod
	if err := json.Unmarshal(o.Secret.Data[file], &pod); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return &pod
}

// readable returns a Secret as text in which the Secret's data is readable.
func readable(t *testing.T, s *corev1.Secret) []byte {
	t.Helper()

	s = s.DeepCopy()

	s.StringData = map[string]string{}
	for key, value := range s.Data {
		s.StringData[key] = string(value)
	}

	s.Data = nil

	text, err := yaml.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRunnerGolden(t *testing.T) {
	heavy := kit.HeavyRequest()
	heavy.Conf.Set("spark.kubernetes.driver.pod.featureSteps", "org.example.Step")

	for name, r := range map[string]submit.Request{"runner-java": kit.Minimal(), "runner-heavy": heavy} {
		t.Run(name, func(t *testing.T) {
			o := buildRunner(t, r)

			pod, err := yaml.Marshal(o.Pod)
			if err != nil {
				t.Fatal(err)
			}

			got := slices.Concat([]byte("---\n"), readable(t, o.Secret), []byte("---\n"), pod)

			path := filepath.Join("testdata", name+".yaml")
			if *kit.Update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}

			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("objects differ from %s (-want +got; run with -update to accept):\n%s", path, diff)
			}
		})
	}
}

// TestRunnerIsPure checks that the same Request always gives the same objects, because the Secret is immutable, and
// that Build does not change the Request.
func TestRunnerIsPure(t *testing.T) {
	r := kit.HeavyRequest()
	before := r.Conf.Map()
	first := buildRunner(t, r)

	r.SubmitTime = r.SubmitTime.Add(time.Hour)
	if diff := cmp.Diff(first, buildRunner(t, r)); diff != "" {
		t.Errorf("another time gives another runner:\n%s", diff)
	}

	if diff := cmp.Diff(before, r.Conf.Map()); diff != "" {
		t.Errorf("the request's configuration was changed:\n%s", diff)
	}

	first.Secret.Data["driver.json"][0] = '!'
	if again := buildRunner(t, r); again.Secret.Data["driver.json"][0] != '{' {
		t.Error("two runners share their data")
	}
}

// TestRequestOverridesRunnerConfiguration checks that the configuration cannot override settings that the Request
// determines.
func TestRequestOverridesRunnerConfiguration(t *testing.T) {
	r := kit.With(
		"spark.master", "k8s://https://evil.example", "spark.submit.deployMode", "client", "spark.kubernetes.namespace",
		"kube-system",
		"spark.kubernetes.driver.pod.name", "chosen", "spark.app.id", "mine",
		"spark.kubernetes.submission.waitAppCompletion", "true",
		"spark.kubernetes.driver.podTemplateFile", "s3a://b/t.yaml", "spark.kubernetes.executor.podTemplateFile",
		"s3a://b/t.yaml",
		"spark.kubernetes.driver.podTemplateContainerName", "other", "spark.kubernetes.driver.label.example.org/app",
		"stolen",
		"spark.kubernetes.executor.label.example.org/app", "stolen",
	)
	r.DriverTemplate = []byte(`{"metadata":{"name":"n","namespace":"kube-system","labels":{"example.org/app":"stolen"},
		"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"x","controller":true}]},"spec":{"containers":[{"name":"main"}]}}`)
	r.Executor.Labels = map[string]string{"a": "b"}
	o := buildRunner(t, r)

	got := runnerProps(t, o)
	for key, want := range map[string]string{
		"spark.master": submit.DefaultMaster, "spark.submit.deployMode": "cluster", "spark.kubernetes.namespace": "ns1",
		"spark.kubernetes.driver.pod.name":                 "my-app-1-c05dd8a1fbc0dc03-driver",
		"spark.kubernetes.submission.waitAppCompletion":    "false",
		"spark.kubernetes.driver.podTemplateFile":          "/opt/sparkoperator/submit/driver.json",
		"spark.kubernetes.executor.podTemplateFile":        "/opt/sparkoperator/submit/executor.json",
		"spark.kubernetes.driver.podTemplateContainerName": "main",
		"spark.kubernetes.driver.label.example.org/app":    "my-app",
		"spark.kubernetes.executor.label.example.org/app":  "my-app",
		"spark.app.id": "",
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}

	driver := runnerTemplate(t, o, "driver.json")
	if driver.Name != "" || driver.Namespace != "" || len(driver.OwnerReferences) != 1 ||
		driver.OwnerReferences[0].UID != "uid-1" {
		t.Errorf("the driver's template is of %s/%s, owned by %+v", driver.Namespace, driver.Name,
			driver.OwnerReferences)
	}

	if ref := driver.OwnerReferences[0]; ref.Controller == nil || !*ref.Controller || ref.BlockOwnerDeletion != nil {
		t.Errorf("the driver's owner is %+v: its controller, but without the right to block a deletion", ref)
	}

	for _, object := range []submit.Object{o.Secret, o.Pod} {
		if object.GetNamespace() != "ns1" || object.GetName() != "my-app-1-c05dd8a1fbc0dc03-submit" ||
			object.GetLabels()["example.org/app"] != "my-app" ||
			len(object.GetOwnerReferences()) != 1 || object.GetOwnerReferences()[0].UID != "uid-1" {
			t.Errorf("%T is %+v", object, object)
		}
	}

	if o.Pod.Labels[submit.RoleLabel] != submit.RoleSubmitter || o.Pod.Labels[submit.SelectorLabel] != "" {
		t.Errorf("the runner's labels are %v", o.Pod.Labels)
	}
}

// TestRunnerCommand checks that all words after the application belong to the application, that the command contains no
// value of the configuration, and that no text of the user becomes an option.
func TestRunnerCommand(t *testing.T) {
	r := kit.With("spark.hadoop.fs.s3a.secret.key", "hunter2")
	r.ProxyUser, r.Arguments = "eve", []string{"--master", "local", "$(PATH)"}
	o := buildRunner(t, r)

	want := []string{
		"/opt/spark/bin/spark-submit", "--properties-file", "/opt/sparkoperator/submit/spark.properties",
		"--master", "k8s://https://kubernetes.default.svc", "--deploy-mode", "cluster", "--class",
		"org.apache.spark.examples.SparkPi", "--proxy-user", "eve",
		"local:///opt/spark/examples/jars/spark-examples.jar", "--master", "local", "$$(PATH)",
	}
	if diff := cmp.Diff(want, o.Pod.Spec.Containers[0].Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}

	if text, _ := json.Marshal(o.Pod); bytes.Contains(text, []byte("hunter2")) {
		t.Error("the pod holds a secret of the configuration")
	}

	if got := runnerProps(t, o)["spark.hadoop.fs.s3a.secret.key"]; got != "hunter2" {
		t.Errorf("spark-submit is given %q", got)
	}

	r = kit.Minimal()

	r.Resource, r.MainClass = "", "Main"
	if args := buildRunner(t, r).Pod.Spec.Containers[0].Args; !slices.Contains(args, "spark-internal") {
		t.Errorf("without a file the arguments are %q", args)
	}

	r = kit.Minimal()

	r.Resource, r.MainClass = "s3a://b/a.jar", ""
	if args := buildRunner(t, r).Pod.Spec.Containers[0].Args; slices.Contains(args, "--class") ||
		args[len(args)-1] != "s3a://b/a.jar" {
		t.Errorf("with the class in the jar the arguments are %q", args)
	}
}

// TestRunnerRefuses checks that Build rejects exactly the requests that both native.Build and spark-submit would
// reject.
func TestRunnerRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		pairs  []string
		change func(*submit.Request)
		about  string // the key or field of the expected error; empty if Build accepts the request
	}{
		{"a step that the user adds", []string{"spark.kubernetes.driver.pod.featureSteps", "org.example.Step"},
			nil, ""},
		{"a pattern", []string{"spark.jars", "s3a://b/*.jar"}, nil, ""},
		{"a future version", nil, func(r *submit.Request) { r.SparkVersion, r.StrictVersion = "9.9.9", true }, ""},
		{"the submitter's credentials", []string{"spark.kubernetes.authenticate.submission.oauthToken", "x"}, nil,
			"spark.kubernetes.authenticate.submission.oauthToken"},
		{"memory that ends the JVM", []string{"spark.driver.memory", "2048"}, nil, "spark.driver.memory"},
		{"no image", nil, func(r *submit.Request) { r.Conf.Delete("spark.kubernetes.container.image") },
			"spark.kubernetes.container.image"},
		{"no namespace", nil, func(r *submit.Request) { r.Namespace = "" }, "Namespace"},
		{"an invalid template", nil, func(r *submit.Request) { r.DriverTemplate = []byte(`{"spec":{"containers":7}}`) },
			"DriverTemplate"},
		{"an option instead of a file", []string{"spark.kubernetes.file.upload.path", "s3a://b"},
			func(r *submit.Request) { r.Resource = "--master=local" }, "Resource"},
		{"files that are too large for a Secret",
			[]string{"spark.kubernetes.driver.pod.featureSteps", "org.example.Step"}, func(r *submit.Request) {
				r.HadoopConfFiles = map[string]string{"a.xml": strings.Repeat("x", 1<<20)}
			}, "Conf"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := kit.With(c.pairs...)
			if c.change != nil {
				c.change(&r)
			}

			_, err := Build(r)
			if c.about == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}

			if wrong, ok := errors.AsType[*submit.Error](err); !ok || wrong.Key+wrong.Field != c.about {
				t.Errorf("error %v, want one about %s", err, c.about)
			}
		})
	}
}

// TestRunnerHasWhatTheDriverHas checks that the runner has all settings of the driver with which spark-submit reaches
// files, and no settings that are only for the driver.
func TestRunnerHasWhatTheDriverHas(t *testing.T) {
	r := kit.With(
		"spark.kubernetes.authenticate.driver.serviceAccountName", "spark",
		"spark.kubernetes.container.image.pullSecrets", "regcred",
		"spark.kubernetes.driver.secrets.gcp", "/mnt/gcp",
		"spark.kubernetes.driver.secretKeyRef.TOKEN", "creds:token",
		"spark.kubernetes.driverEnv.GOOGLE_APPLICATION_CREDENTIALS", "/mnt/gcp/key.json",
		"spark.kubernetes.driver.label.azure.workload.identity/use", "true",
		"spark.kubernetes.driver.label.id", "{{APP_ID}}",
		"spark.kubernetes.driver.annotation.iam", "role",
		"spark.kubernetes.node.selector.pool", "spark",
	)
	r.Environment = map[string]string{"PYSPARK_PYTHON": "python3.12"}
	r.DriverTemplate = []byte(`{"metadata":{"annotations":{"from":"template"}},"spec":{"serviceAccountName":"ignored","runtimeClassName":"gvisor",
		"initContainers":[{"name":"fetch","image":"i"}],"volumes":[{"name":"claim","persistentVolumeClaim":{"claimName":"c"}},{"name":"conf","configMap":{"name":"m"}}],
		"containers":[{"name":"main","ports":[{"containerPort":1}],"env":[{"name":"A","value":"1"}],"livenessProbe":{"exec":{"command":["x"]}},
		"volumeMounts":[{"name":"claim","mountPath":"/claim"},{"name":"conf","mountPath":"/conf"}]},{"name":"side","image":"s"}]}}`)
	r.Driver = overlay.Overlay{
		EnvFrom:     []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "aws"}}}},
		Tolerations: []corev1.Toleration{{Key: "spark", Operator: corev1.TolerationOpExists}},
		HostAliases: []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"store"}}},
		Annotations: map[string]string{"hash": "1:x"},
		Sidecars:    []corev1.Container{{Name: "late", Image: "l"}},
	}
	pod := buildRunner(t, r).Pod

	spec, c := pod.Spec, pod.Spec.Containers[0]
	if len(spec.Containers) != 1 || len(spec.InitContainers) != 0 || len(c.Ports) != 0 || c.LivenessProbe != nil ||
		spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("the runner has more than spark-submit: %+v", spec)
	}

	if spec.ServiceAccountName != "spark" || spec.NodeSelector["pool"] != "spark" || len(spec.Tolerations) != 1 ||
		len(spec.HostAliases) != 1 ||
		spec.ImagePullSecrets[0].Name != "regcred" || *spec.RuntimeClassName != "gvisor" ||
		c.Image != "docker.io/apache/spark:4.1.4" || *spec.EnableServiceLinks {
		t.Errorf("the pod is %+v", spec)
	}

	env := map[string]string{}
	for _, v := range c.Env {
		env[v.Name] = v.Value
		if v.ValueFrom != nil {
			env[v.Name] = v.ValueFrom.SecretKeyRef.Name
		}
	}

	wantEnv := map[string]string{
		"SPARK_SUBMIT_OPTS": jvmOptions, "SPARK_USER": "spark", "PYSPARK_PYTHON": "python3.12", "A": "1",
		"GOOGLE_APPLICATION_CREDENTIALS": "/mnt/gcp/key.json", "TOKEN": "creds",
	}
	if diff := cmp.Diff(wantEnv, env); diff != "" || len(c.EnvFrom) != 1 {
		t.Errorf("environment, with %d sources (-want +got):\n%s", len(c.EnvFrom), diff)
	}

	mounts := map[string]string{}
	for _, m := range c.VolumeMounts {
		mounts[m.MountPath] = m.Name
	}

	wantMounts := map[string]string{"/mnt/gcp": "gcp-volume", "/conf": "conf", "/tmp": tempVolume,
		filesDir: filesVolume}
	if diff := cmp.Diff(wantMounts, mounts); diff != "" || len(spec.Volumes) != len(wantMounts) {
		t.Errorf("mounts, of %d volumes (-want +got):\n%s", len(spec.Volumes), diff)
	}

	if pod.Labels["azure.workload.identity/use"] != "true" || pod.Labels["id"] != "" {
		t.Errorf("labels %v", pod.Labels)
	}

	if diff := cmp.Diff(map[string]string{"iam": "role", "from": "template", "hash": "1:x"},
		pod.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}

	if c.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError ||
		*spec.ActiveDeadlineSeconds != deadline {
		t.Errorf("its last words are lost, or it has no deadline: %s, %v", c.TerminationMessagePolicy,
			spec.ActiveDeadlineSeconds)
	}
}

// TestRunnerIsNotInGang checks that the runner does not get the labels and annotations that put the driver into a queue
// or a gang, because the runner runs before the driver.
func TestRunnerIsNotInGang(t *testing.T) {
	r := kit.With(
		"spark.kubernetes.driver.label.queue", "root.research",
		"spark.kubernetes.driver.label.scheduling.x-k8s.io/pod-group", "pi-pg",
		"spark.kubernetes.driver.label.kueue.x-k8s.io/queue-name", "q",
		"spark.kubernetes.driver.label.team", "data",
		"spark.kubernetes.driver.annotation.scheduling.k8s.io/group-name", "spark-pi-pg",
		"spark.kubernetes.driver.annotation.volcano.sh/queue-name", "research",
		"spark.kubernetes.driver.annotation.note", "yes",
		"spark.kubernetes.scheduler.name", "volcano",
	)
	r.DriverTemplate = []byte(`{"metadata":{"labels":{"applicationId":"a"},"annotations":{"scheduling.volcano.sh/queue-name":"q"}},
		"spec":{"schedulerName":"yunikorn","schedulingGates":[{"name":"kueue.x-k8s.io/admission"}],"containers":[{"name":"main"}]}}`)
	r.Driver = overlay.Overlay{
		Labels: map[string]string{"scheduling.x-k8s.io/pod-group": "pi-pg", "tier": "x"},
		Annotations: map[string]string{"yunikorn.apache.org/task-groups": "[]",
			"yunikorn.apache.org/task-group-name": "spark-driver"},
	}
	r.Labels["queue"] = "mine" // the caller's own labels stay
	o := buildRunner(t, r)

	wantLabels := map[string]string{
		"team": "data", "tier": "x", "queue": "mine", "example.org/app": "my-app",
		submit.RoleLabel: submit.RoleSubmitter, submit.VersionLabel: "4.1.4",
		submit.AppNameKey: submit.AppNameLabel("My App_1"),
	}
	if diff := cmp.Diff(wantLabels, o.Pod.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(map[string]string{"note": "yes"}, o.Pod.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}

	if o.Pod.Spec.SchedulerName != "" || len(o.Pod.Spec.SchedulingGates) > 0 {
		t.Errorf("scheduled by %q, held by %v", o.Pod.Spec.SchedulerName, o.Pod.Spec.SchedulingGates)
	}
	// The driver keeps these labels and annotations, because the configuration or its template sets them.
	if got := runnerProps(t, o)["spark.kubernetes.driver.label.scheduling.x-k8s.io/pod-group"]; got != "pi-pg" {
		t.Errorf("the driver's pod group is %q", got)
	}

	if got := runnerTemplate(t, o, "driver.json"); got.Annotations["yunikorn.apache.org/task-groups"] != "[]" ||
		got.Labels["applicationId"] != "a" {
		t.Errorf("the driver's template has labels %v, annotations %v", got.Labels, got.Annotations)
	}
}

func TestRunnerSecurity(t *testing.T) {
	r := kit.Minimal()
	r.Driver.SecurityContext = &corev1.SecurityContext{
		Privileged: new(true), RunAsUser: new(int64(185)), ReadOnlyRootFilesystem: new(true),
		AllowPrivilegeEscalation: new(true),
		Capabilities:             &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined},
	}
	r.Driver.PodSecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: new(true), FSGroup: new(int64(185))}
	pod := buildRunner(t, r).Pod

	want := &corev1.SecurityContext{
		RunAsUser: new(int64(185)), ReadOnlyRootFilesystem: new(true), AllowPrivilegeEscalation: new(false),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	if diff := cmp.Diff(want, pod.Spec.Containers[0].SecurityContext); diff != "" {
		t.Errorf("container (-want +got):\n%s", diff)
	}

	wantPod := &corev1.PodSecurityContext{
		RunAsNonRoot: new(true), FSGroup: new(int64(185)),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if diff := cmp.Diff(wantPod, pod.Spec.SecurityContext); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}

	if driver := runnerTemplate(t, buildRunner(t, r),
		"driver.json"); !*driver.Spec.Containers[0].SecurityContext.Privileged {
		t.Error("the driver lost what is its own")
	}
}

// TestRunnerFiles checks that the contents of the submitter's files in the Request become files of the runner.
func TestRunnerFiles(t *testing.T) {
	r := kit.With("spark.kerberos.principal", "p@R", "spark.kubernetes.driver.pod.featureSteps",
		"org.apache.spark.deploy.k8s.features.VolcanoFeatureStep")
	r.ConfFiles = map[string]string{"log4j2.properties": "log"}
	r.HadoopConfFiles = map[string]string{"core-site.xml": "<configuration/>"}
	r.DriverCredentials = submit.Credentials{CACert: []byte("ca"), ClientKey: []byte("key"), ClientCert: []byte("cert")}
	r.Keytab = &submit.File{Name: "k.keytab", Content: []byte{0, 1}}
	r.Krb5Conf = &submit.File{Name: "krb5.conf", Content: []byte("krb5")}
	r.PodGroupTemplate = []byte("apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\n")
	o := buildRunner(t, r)

	paths := map[string]string{}
	for _, v := range o.Pod.Spec.Volumes {
		if v.Name == filesVolume {
			for _, item := range v.Secret.Items {
				paths[filesDir+"/"+item.Path] = string(o.Secret.Data[item.Key])
			}
		}
	}

	got := runnerProps(t, o)

	env := map[string]string{}
	for _, v := range o.Pod.Spec.Containers[0].Env {
		env[v.Name] = v.Value
	}

	for _, c := range []struct{ path, content string }{
		{env["SPARK_CONF_DIR"] + "/log4j2.properties", "log"},
		{env["HADOOP_CONF_DIR"] + "/core-site.xml", "<configuration/>"},
		{got["spark.kubernetes.authenticate.driver.caCertFile"], "ca"},
		{got["spark.kubernetes.authenticate.driver.clientKeyFile"], "key"},
		{got["spark.kubernetes.authenticate.driver.clientCertFile"], "cert"},
		{got["spark.kerberos.keytab"], "\x00\x01"},
		{got["spark.kubernetes.kerberos.krb5.path"], "krb5"},
		{got["spark.kubernetes.scheduler.volcano.podGroupTemplateFile"], string(r.PodGroupTemplate)},
	} {
		if content, ok := paths[c.path]; !ok || content != c.content {
			t.Errorf("%q holds %q, want %q; there are %v", c.path, content, c.content, slices.Sorted(maps.Keys(paths)))
		}
	}

	if !strings.Contains(env["SPARK_SUBMIT_OPTS"],
		"-Djava.security.krb5.conf="+got["spark.kubernetes.kerberos.krb5.path"]) {
		t.Errorf("the runner's JVM does not know krb5.conf: %s", env["SPARK_SUBMIT_OPTS"])
	}

	if items := len(paths); items != len(o.Secret.Data) {
		t.Errorf("%d files of %d keys", items, len(o.Secret.Data))
	}
}

// TestRunnerWarns checks that Build warns about settings whose effect differs between spark-submit and native.Build.
func TestRunnerWarns(t *testing.T) {
	r := kit.With("not.spark", "x", "spark.kubernetes.driver.podTemplateFile", "s3a://b/t.yaml",
		"spark.kubernetes.executor.podTemplateFile", "s3a://b/t.yaml")
	limit := resource.MustParse("3Gi")
	r.Driver.MemoryLimit, r.Executor.MemoryLimit = &limit, &limit

	o := buildRunner(t, r)
	for _, about := range []string{"the driver's memoryLimit", "the executors' memoryLimit", "not.spark",
		"spark.kubernetes.driver.podTemplateFile", "spark.kubernetes.executor.podTemplateFile"} {
		if !slices.ContainsFunc(o.Warnings, func(w string) bool { return strings.HasPrefix(w, about) }) {
			t.Errorf("no warning of %s among %q", about, o.Warnings)
		}
	}

	if _, ok := runnerProps(t, o)["not.spark"]; ok {
		t.Error("spark-submit is given what is no Spark configuration")
	}

	r.Executor = overlay.Overlay{}
	o = buildRunner(t, r)

	const key = "spark.kubernetes.executor.podTemplateFile"
	if got := runnerProps(t, o)[key]; got != "s3a://b/t.yaml" ||
		slices.ContainsFunc(o.Warnings, func(w string) bool { return strings.HasPrefix(w, key) }) {
		t.Errorf("without a template of the request spark-submit reads %q, with warnings %q", got, o.Warnings)
	}
}

// TestRunnerAccount checks that the runner has the driver's service account, whether it is set by the configuration or
// by the template's field serviceAccountName or serviceAccount.
func TestRunnerAccount(t *testing.T) {
	for name, c := range map[string]struct{ conf, template, want string }{
		"no account":                      {"", `{}`, ""},
		"the configuration":               {"c", `{"serviceAccountName":"t"}`, "c"},
		"the template":                    {"", `{"serviceAccountName":"t"}`, "t"},
		"the template's deprecated field": {"", `{"serviceAccount":"o"}`, "o"},
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.Minimal()
			if c.conf != "" {
				r.Conf.Set("spark.kubernetes.authenticate.driver.serviceAccountName", c.conf)
			}

			r.DriverTemplate = []byte(`{"spec":` + c.template + `}`)
			if got := buildRunner(t, r).Pod.Spec.ServiceAccountName; got != c.want {
				t.Errorf("the runner runs as %q, want %q", got, c.want)
			}
		})
	}
}

// TestRunnerNames checks that the runner's names never exceed their limits.
func TestRunnerNames(t *testing.T) {
	long := strings.Repeat("a", 250)
	if a, b := submit.RunnerName(long+"b"), submit.RunnerName(long+"c"); len(a) > 253 || a == b ||
		!strings.HasSuffix(a, "-submit") {
		t.Errorf("%s, %s", a, b)
	}
}
