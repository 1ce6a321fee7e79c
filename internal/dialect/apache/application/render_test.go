package application

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// namesOf returns the kinds and names of an attempt's objects in the order of their creation.
func namesOf(o submit.Objects) (names []string) {
	for _, object := range append(slices.Clone(o.Before), o.Driver) {
		names = append(names, object.GetObjectKind().GroupVersionKind().Kind+" "+object.GetName())
	}
	return names
}

// TestObjects checks the kinds and names of an attempt's objects.
func TestObjects(t *testing.T) {
	for name, c := range map[string]struct {
		spec    string
		attempt int32
		want    []string
	}{
		"Spark 4.2": {"", 1, []string{"Service pi-0-driver-svc", "NetworkPolicy pi-0-policy",
			"ConfigMap pi-0-spark-drv-conf-map", "Pod pi-0-driver"}},
		"Spark 4.1": {"spec: {runtimeVersions: {sparkVersion: 4.1.4}}", 1,
			[]string{"Service pi-0-driver-svc", "ConfigMap pi-0-spark-drv-conf-map", "Pod pi-0-driver"}},
		"the third attempt": {"spec: {runtimeVersions: {sparkVersion: 4.1.4}}", 3,
			[]string{"Service pi-2-driver-svc", "ConfigMap pi-2-spark-drv-conf-map", "Pod pi-2-driver"}},
		"an executor template": {"spec: {runtimeVersions: {sparkVersion: 4.1.4}, executorSpec: {podTemplateSpec: {spec: {containers: []}}}}", 1,
			[]string{"Service pi-0-driver-svc", "ConfigMap pi-0-driver-podspec-conf-map",
				"ConfigMap pi-0-spark-drv-conf-map", "Pod pi-0-driver"}},
		"ConfigMaps before the driver": {"spec: {runtimeVersions: {sparkVersion: 4.1.4}, configMapSpecs: [{name: b}, {name: a}]}", 1,
			[]string{"ConfigMap b", "ConfigMap a", "Service pi-0-driver-svc", "ConfigMap pi-0-spark-drv-conf-map",
				"Pod pi-0-driver"}},
		"names that the user sets": {"spec: {runtimeVersions: {sparkVersion: 4.1.4}, sparkConf: {spark.app.id: mine, spark.kubernetes.driver.pod.name: d}}", 2,
			[]string{"Service mine-driver-svc", "ConfigMap mine-spark-drv-conf-map", "Pod d"}},
	} {
		if diff := cmp.Diff(c.want, namesOf(rendered(t, Applications{}, written(t, c.spec), c.attempt))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAttemptsNeverMeet checks that the objects of two attempts have different names, unless the user sets
// spark.app.id.
func TestAttemptsNeverMeet(t *testing.T) {
	for name, pinned := range map[string]bool{"pi": false, strings.Repeat("long", 15): false, "mine": true} {
		app := written(t, `spec: {executorSpec: {podTemplateSpec: {spec: {containers: []}}}}`)

		app.Name = name
		if pinned {
			app.Spec.SparkConf[fields.AppID] = "mine"
		}

		first, second := namesOf(rendered(t, Applications{}, app, 1)), namesOf(rendered(t, Applications{}, app, 2))
		for i := range first {
			if same := first[i] == second[i]; same != pinned {
				t.Errorf("%s: attempts have %s and %s", name, first[i], second[i])
			}
		}
	}
}

// TestDriver checks the driver pod.
func TestDriver(t *testing.T) {
	o := rendered(t, Applications{}, written(t, `spec: {proxyUser: alice, driverArgs: ["1000", "$(X)"]}`), 1)

	spark := o.Driver.Spec.Containers[0]
	if diff := cmp.Diff([]string{"driver", "--proxy-user", "alice", "--properties-file",
		"/opt/spark/conf/spark.properties", "--class",
		"org.apache.spark.examples.SparkPi", "local:///opt/spark/examples/jars/spark-examples.jar", "1000", "$(X)"},
		spark.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}

	if spark.Name != "spark-kubernetes-driver" || spark.Image != "docker.io/apache/spark:4.2.0" ||
		spark.ImagePullPolicy != corev1.PullIfNotPresent {
		t.Errorf("the container is %s of %s, %s", spark.Name, spark.Image, spark.ImagePullPolicy)
	}

	env := map[string]string{}
	for _, v := range spark.Env {
		env[v.Name] = v.Value
	}

	for name, want := range map[string]string{"SPARK_USER": "spark", "SPARK_APPLICATION_ID": "pi-0",
		"SPARK_CONF_DIR": "/opt/spark/conf"} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}

	if o.Driver.Spec.RestartPolicy != corev1.RestartPolicyNever || o.Driver.Spec.ServiceAccountName != "spark" {
		t.Errorf("restart policy %s, account %s", o.Driver.Spec.RestartPolicy, o.Driver.Spec.ServiceAccountName)
	}

	if diff := cmp.Diff(map[string]string{
		"spark-version": "4.2.0", "spark-app-selector": "pi-0", "spark-app-name": "spark", "spark-role": "driver",
		"spark.operator/name": "spark-kubernetes-operator", "spark.operator/spark-app-name": "pi",
		apache.LabelAppUID: noonUID, apache.LabelAttempt: "1", apache.LabelManaged: "true",
		apache.LabelScalaVersion: "2.13", apache.LabelJDKVersion: "21",
	}, o.Driver.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}

	owner := o.Driver.OwnerReferences[0]
	if owner.APIVersion != "spark.apache.org/v1" || owner.Kind != "SparkApplication" || owner.Name != "pi" ||
		owner.UID != noonUID ||
		!*owner.Controller || !*owner.BlockOwnerDeletion {
		t.Errorf("the owner is %+v", owner)
	}
}

// TestServiceAndConfigMap checks the driver's Service and ConfigMap.
func TestServiceAndConfigMap(t *testing.T) {
	o := rendered(t, Applications{Options{OperatorName: "ours"}}, written(t), 1)
	service := named[*corev1.Service](t, o, "pi-0-driver-svc")

	ports := map[string]int32{}
	for _, p := range service.Spec.Ports {
		ports[p.Name] = p.Port
	}

	if diff := cmp.Diff(map[string]int32{"driver-rpc-port": 7078, "blockmanager": 7079, "spark-ui": 4040,
		"spark-connect": 15002}, ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}

	if service.Spec.ClusterIP != corev1.ClusterIPNone || service.Labels[apache.LabelOperatorName] != "ours" {
		t.Errorf("cluster address %s, labels %v", service.Spec.ClusterIP, service.Labels)
	}

	for label, value := range service.Spec.Selector {
		if o.Driver.Labels[label] != value {
			t.Errorf("the Service selects %s=%s, which the driver does not have", label, value)
		}
	}

	config := named[*corev1.ConfigMap](t, o, "pi-0-spark-drv-conf-map")
	if config.Immutable == nil || !*config.Immutable || config.Data["spark.kubernetes.namespace"] != "jobs" {
		t.Errorf("immutable %v, the namespace is %q", config.Immutable, config.Data["spark.kubernetes.namespace"])
	}

	policy := named[*networkingv1.NetworkPolicy](t, o, "pi-0-policy")
	if got := policy.Spec.PodSelector.MatchLabels; got["spark-role"] != "executor" ||
		got["spark-app-selector"] != "pi-0" {
		t.Errorf("the policy is for %v", got)
	}
}

// TestIdentityOfEverything checks that every object has our labels, even if the user sets a label with the same key.
func TestIdentityOfEverything(t *testing.T) {
	app := written(t, `
spec:
  runtimeVersions: {scalaVersion: "two and a half"}
  executorSpec: {podTemplateSpec: {metadata: {labels: {team: a}}}}
  configMapSpecs: [{name: extra, labels: {team: a, spark.operator/name: x}, annotations: {note: b}, data: {k: v}}]
  sparkConf: {spark.kubernetes.driver.label.spark.operator/name: x, spark.kubernetes.driver.service.label.spark.operator/name: x}
`)

	o := rendered(t, Applications{}, app, 2)
	for _, object := range append(slices.Clone(o.Before), o.Driver) {
		labels := object.GetLabels()
		for label, want := range map[string]string{
			apache.LabelOperatorName: apache.DefaultOperatorName, apache.LabelAppName: "pi",
			apache.LabelAppUID: noonUID, apache.LabelAttempt: "2", apache.LabelManaged: "true",
		} {
			if labels[label] != want {
				t.Errorf("%s: %s is %q, want %q", object.GetName(), label, labels[label], want)
			}
		}

		if refs := object.GetOwnerReferences(); object.GetNamespace() != "jobs" || len(refs) != 1 ||
			refs[0].UID != noonUID {
			t.Errorf("%s: in %s, owned by %v", object.GetName(), object.GetNamespace(), refs)
		}
	}

	extra := named[*corev1.ConfigMap](t, o, "extra")
	if extra.Labels["team"] != "a" || extra.Annotations["note"] != "b" || extra.Data["k"] != "v" ||
		extra.Immutable != nil {
		t.Errorf("the ConfigMap is %+v", extra)
	}

	if _, ok := o.Driver.Labels[apache.LabelScalaVersion]; ok ||
		!hasWarning(o.Warnings, "spec.runtimeVersions.scalaVersion") {
		t.Errorf("there is no warning about a version that is not a valid label value: %q", o.Warnings)
	}
}

func hasWarning(warnings []string, text string) bool {
	return slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, text) })
}

// TestPrivileges checks that a container may escalate privileges only if its template allows it.
func TestPrivileges(t *testing.T) {
	for name, c := range map[string]struct {
		spec string
		want map[string]string
	}{
		"no template": {"", map[string]string{"spark-kubernetes-driver": "false"}},
		"containers without the setting": {`
spec: {driverSpec: {podTemplateSpec: {spec: {
  initContainers: [{name: i}, {name: j, securityContext: {allowPrivilegeEscalation: true}}],
  containers: [{name: main, securityContext: {runAsUser: 7}}, {name: side}, {name: root, securityContext: {privileged: true}},
    {name: admin, securityContext: {capabilities: {add: [CAP_SYS_ADMIN]}}}, {name: never, securityContext: {allowPrivilegeEscalation: false}}]}}}}`,
			map[string]string{"i": "false", "j": "true", "main": "false", "side": "false", "root": "unset",
				"admin": "unset", "never": "false"}},
	} {
		for _, version := range []string{"4.0.2", "4.2.0", "4.3.0"} {
			app := written(t, c.spec)
			app.Spec.RuntimeVersions.SparkVersion = version
			got := map[string]string{}

			pod := rendered(t, Applications{}, app, 1).Driver
			for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
				got[container.Name] = "unset"
				if s := container.SecurityContext; s != nil && s.AllowPrivilegeEscalation != nil {
					got[container.Name] = fmt.Sprint(*s.AllowPrivilegeEscalation)
				}
			}

			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s, Spark %s (-want +got):\n%s", name, version, diff)
			}
		}
	}
}

// TestTemplates checks that a pod keeps all fields of its template, including unknown ones. A template file in
// sparkConf is ignored if the spec has a template. If the spec has none, the operator must never read the file. Only
// spark-submit may read it, in a pod with the application's image.
func TestTemplates(t *testing.T) {
	const template = `
spec:
  driverSpec: {podTemplateSpec: {metadata: {annotations: {a: b}}, spec: {future: 1, containers: [{name: log}, {name: spark-kubernetes-driver, workingDir: /w}]}}}
  sparkConf: {spark.kubernetes.driver.podTemplateFile: /var/run/secrets/kubernetes.io/serviceaccount/token}
`
	o := rendered(t, Applications{}, written(t, template), 1)

	last := o.Driver.Spec.Containers[len(o.Driver.Spec.Containers)-1]
	if last.Name != "spark-kubernetes-driver" || last.WorkingDir != "/w" || len(last.Args) == 0 ||
		o.Driver.Annotations["a"] != "b" {
		t.Errorf("Spark runs in %+v", last)
	}

	object, err := o.DriverObject()
	if err != nil || !strings.Contains(fmt.Sprint(object), "future") {
		t.Errorf("a field of a newer Kubernetes is lost: %v", err)
	}

	if value, ok := properties(t, o, "pi-0")[fields.TemplateFile(launch.RoleDriver)]; ok {
		t.Errorf("the driver's configuration has the template file %q", value)
	}

	for _, key := range []string{fields.TemplateFile(launch.RoleDriver), fields.TemplateFile(launch.RoleExecutor),
		"spark.kubernetes.kerberos.krb5.path"} {
		app := written(t)
		app.Spec.SparkConf[key] = "/var/run/secrets/kubernetes.io/serviceaccount/token"
		native := Applications{Options{Submission: dialect.SubmissionNative}}

		_, err := native.Render(app, launchOf(1), noon)
		if wrong, ok := errors.AsType[*dialect.FieldError](err); !ok || wrong.Field != "spec.sparkConf["+key+"]" ||
			!strings.Contains(wrong.Message, "submission.mode: Native") {
			t.Errorf("%s: %v", key, err)
		}

		made, err := Applications{}.Render(app, launchOf(1), noon)
		if err != nil || made.Driver.Labels["spark-role"] != "submitter" {
			t.Errorf("%s: spark-submit should read it where it runs, in the application's image: %v", key, err)
		}
	}
}

// TestSparkSubmit checks that an attempt uses spark-submit if the operator's configuration requires it or if the
// operator cannot build the driver itself.
func TestSparkSubmit(t *testing.T) {
	always := Applications{Options{Submission: dialect.SubmissionSparkSubmit, Master: "k8s://https://api"}}

	o := rendered(t, always, written(t,
		"spec: {configMapSpecs: [{name: extra}], sparkConf: {spark.master: \"k8s://https://mine\"}}"), 1)
	if diff := cmp.Diff([]string{"ConfigMap extra", "Secret pi-0-submit", "Pod pi-0-submit"}, namesOf(o)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if !slices.Contains(o.Driver.Spec.Containers[0].Args, "k8s://https://api") {
		t.Errorf("it submits elsewhere: %q", o.Driver.Spec.Containers[0].Args)
	}

	secret := named[*corev1.Secret](t, o, "pi-0-submit")
	if driver := string(secret.Data["driver.json"]); !strings.Contains(driver, `"allowPrivilegeEscalation": false`) ||
		!strings.Contains(driver, "pi-0-submit") {
		t.Errorf("the driver's template is %s", driver)
	}

	submitter, invalid := always.causes(written(t), noon)
	if submitter == nil || invalid != nil || !strings.Contains(submitter.Message, "configuration") {
		t.Errorf("%v, %v", submitter, invalid)
	}

	submitter, invalid = Applications{}.causes(written(t,
		"spec: {mainClass: \"\", jars: \"https://example.org/a.jar\"}"), noon)
	if submitter == nil || invalid != nil || !strings.Contains(submitter.Message, "spec.mainClass") {
		t.Errorf("a class that the jar names: %v, %v", submitter, invalid)
	}

	if submitter, invalid = (Applications{}).causes(written(t), noon); submitter != nil || invalid != nil {
		t.Errorf("a plain application: %v, %v", submitter, invalid)
	}
	// Spark-submit is not used for a standalone cluster.
	app := written(t, `spec: {sparkConf: {spark.master: "spark://c:7077"}}`)
	if o := rendered(t, always, app, 1); o.Driver.Labels["spark-role"] != "driver" {
		t.Errorf("%v", namesOf(o))
	}

	app.Spec.MainClass, app.Spec.Jars = "", "https://example.org/a.jar"
	if _, err := (Applications{}).Render(app, launchOf(1), noon); err == nil ||
		!strings.Contains(err.Error(), "spark://c:7077") {
		t.Errorf("%v", err)
	}
}

// TestNothingElseIsRendered checks that Render rejects actions that this API does not use.
func TestNothingElseIsRendered(t *testing.T) {
	for _, action := range []lifecycle.Action{
		{Verb: lifecycle.Create, Part: lifecycle.DriverBudget, Attempt: 1},
		{Verb: lifecycle.Delete, Part: lifecycle.Submission, Attempt: 1}, {},
	} {
		if _, err := (Applications{}).Render(written(t), action, noon); err == nil {
			t.Errorf("%v gives objects", action)
		}
	}
}

// TestExecutor checks that Executor returns the pod that the driver would create.
func TestExecutor(t *testing.T) {
	app := written(t, `spec: {executorSpec: {podTemplateSpec: {spec: {nodeSelector: {disk: ssd}}}}, sparkConf: {spark.executor.memory: 2g}}`)

	pod, err := Applications{}.Executor(app, 1, 3, "driver-uid", noon)
	if err != nil {
		t.Fatal(err)
	}

	if pod.Spec.NodeSelector["disk"] != "ssd" || pod.Labels[apache.LabelAppName] != "pi" ||
		pod.Labels["spark-exec-id"] != "3" || pod.OwnerReferences[0].UID != "driver-uid" {
		t.Errorf("%+v", pod)
	}

	app.Spec.SparkConf["spark.executor.memory"] = "much"

	_, err = Applications{}.Executor(app, 1, 3, "driver-uid", noon)
	if wrong, ok := errors.AsType[*dialect.FieldError](err); !ok ||
		wrong.Field != "spec.sparkConf[spark.executor.memory]" {
		t.Errorf("%v", err)
	}

	app.Spec.PyFiles, app.Spec.Jars = "x.zip", ""
	if _, err = (Applications{}).Executor(app, 1, 3, "driver-uid", noon); err == nil {
		t.Error("an application without a program has executors")
	}
}

// TestTheSameAsAnyoneBuilds checks that Render returns the same objects as a direct call of native.Build with the same
// configuration. The only differences are the documented settings that this API adds.
func TestTheSameAsAnyoneBuilds(t *testing.T) {
	for _, spec := range []string{
		"", "spec: {runtimeVersions: {sparkVersion: 3.5.7}}",
		"spec: {runtimeVersions: {sparkVersion: 4.3.0}, driverArgs: [a, b], proxyUser: eve}",
		`spec: {jars: "", pyFiles: "local:///a.py,local:///b.py"}`, `spec: {jars: "", sparkRFiles: local:///a.R}`,
		`spec: {sparkConf: {spark.master: "spark://c:7077", spark.executor.instances: "3", spark.app.name: x}}`,
	} {
		app := written(t, spec)

		p, wrong := fields.ProgramOf(&app.Spec)
		if wrong != nil {
			t.Fatal(wrong)
		}

		_, isNamed := app.Spec.SparkConf["spark.app.name"]
		settings := confOf(t, app, p)

		want, err := native.Build(submit.Request{
			AppName:      dialect.AppName(settings, "pi", lifecycle.AttemptID(string(app.UID), 1)),
			SparkVersion: app.Spec.RuntimeVersions.SparkVersion, Namespace: "jobs", Unnamed: !isNamed, AppID: "pi-0",
			ResourceNamePrefix: "pi-0",
			ConfigMapName:      "pi-0-spark-drv-conf-map", DriverMaster: app.Spec.SparkConf["spark.master"],
			SubmitTime: noon, User: "spark",
			MainClass: p.Class, Resource: p.Resource, Arguments: app.Spec.DriverArgs, ProxyUser: app.Spec.ProxyUser,
			Conf:           settings,
			DriverTemplate: []byte(`{"spec":{"containers":[{"name":"spark-kubernetes-driver","securityContext":{"allowPrivilegeEscalation":false}}]}}`),
			Driver:         overlay.Overlay{Labels: naming.Versions(app.Spec.RuntimeVersions)},
			Owner:          naming.Owner(app), Labels: naming.Labels(app, 1, ""),
		})
		if err != nil {
			t.Fatal(err)
		}

		got := rendered(t, Applications{}, app, 1)

		got.Warnings, want.Warnings = nil, nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-native.Build +dialect):\n%s", spec, diff)
		}
	}
}

// FuzzRender checks that Render returns for any spec either valid objects or an error, never both, and returns the same
// result if it is called twice.
func FuzzRender(f *testing.F) {
	f.Add("pi", "local:///a.jar", "", "C", "spark.app.id", "x", `{"spec":{"containers":[{"name":"a"}]}}`, int32(1))
	f.Add("pi", "", "local:///a.py,b", "", "spark.master", "spark://h:1", `{`, int32(2))
	f.Add(strings.Repeat("n", 63), "", "", "org.apache.spark.deploy.PythonRunner", "spark.kubernetes.driver.pod.name",
		"A_B", `{"spec":[]}`, int32(99))
	f.Fuzz(func(t *testing.T, name, jars, py, class, key, value, template string, attempt int32) {
		app := written(t)
		app.Name, app.Spec.Jars, app.Spec.PyFiles, app.Spec.MainClass = name, jars, py, class
		app.Spec.SparkConf[key] = value
		app.Spec.DriverSpec = &sparkv1.PodTemplate{PodTemplateSpec: rawOf(template)}
		attempt = max(attempt, 1)
		o, err := Applications{}.Render(app, launchOf(attempt), noon)

		again, errAgain := Applications{}.Render(app, launchOf(attempt), noon)
		if fmt.Sprint(err) != fmt.Sprint(errAgain) || !cmp.Equal(o, again) {
			t.Fatalf("twice is not the same: %v, %v", err, errAgain)
		}

		if err != nil {
			if o.Driver != nil || len(o.Before) > 0 {
				t.Error("an error comes with objects")
			}
			return
		}

		for _, object := range append(slices.Clone(o.Before), o.Driver) {
			if problems := validation.IsDNS1123Subdomain(object.GetName()); len(problems) > 0 {
				t.Errorf("%T %q: %v", object, object.GetName(), problems)
			}
		}
	})
}

// TestIDsInLabels checks that Spark's placeholders for ids are replaced in the labels and annotations of the pods, and
// in the selector of the driver's Service.
func TestIDsInLabels(t *testing.T) {
	o := rendered(t, Applications{}, written(t, `
spec: {sparkConf: {spark.kubernetes.driver.label.run: "run-{{APP_ID}}", spark.kubernetes.driver.annotation.run: "{{APP_ID}}"}}`), 2)

	service := named[*corev1.Service](t, o, "pi-1-driver-svc")
	if o.Driver.Labels["run"] != "run-pi-1" || o.Driver.Annotations["run"] != "pi-1" ||
		service.Spec.Selector["run"] != "run-pi-1" {
		t.Errorf("labels %v, annotations %v, selector %v", o.Driver.Labels, o.Driver.Annotations, service.Spec.Selector)
	}
}

// TestSidecarsEndNothing checks that only Spark's container determines how an attempt ended. The container's name and
// its position in the template do not matter.
func TestSidecarsEndNothing(t *testing.T) {
	for name, c := range map[string]struct{ spec, spark string }{
		"the first container":                {"spec: {driverSpec: {podTemplateSpec: {spec: {containers: [{name: main}, {name: side}]}}}}", "main"},
		"the container with Spark's name":    {"spec: {driverSpec: {podTemplateSpec: {spec: {containers: [{name: side}, {name: spark-kubernetes-driver}]}}}}", "spark-kubernetes-driver"},
		"the container with the user's name": {"spec: {sparkConf: {spark.kubernetes.driver.podTemplateContainerName: b}, driverSpec: {podTemplateSpec: {spec: {containers: [{name: a}, {name: b}, {name: c}]}}}}", "b"},
		"without a template":                 {"", "spark-kubernetes-driver"},
	} {
		pod := rendered(t, Applications{}, written(t, c.spec), 1).Driver

		pod.Status.Phase = corev1.PodRunning
		for _, container := range pod.Spec.Containers {
			state := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0}}
			if container.Name == c.spark {
				state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
			}

			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses,
				corev1.ContainerStatus{Name: container.Name, State: state})
		}

		if driver := lifecycle.DriverFacts(pod, apache.DriverContainer); driver.Phase != lifecycle.DriverRunning ||
			driver.HasExit {
			t.Errorf("%s: a sidecar's end is taken for the driver's: %s", name, driver.Phase)
		}

		i := slices.IndexFunc(pod.Status.ContainerStatuses,
			func(s corev1.ContainerStatus) bool { return s.Name == c.spark })

		pod.Status.ContainerStatuses[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}}
		if driver := lifecycle.DriverFacts(pod, apache.DriverContainer); driver.Phase != lifecycle.DriverFailed ||
			driver.ExitCode != 3 {
			t.Errorf("%s: the driver's end is %s, %d", name, driver.Phase, driver.ExitCode)
		}
	}
}

// TestQueued checks that the sparkConf shown in docs/batch-schedulers.md puts an application's pods into a queue of
// Kueue.
func TestQueued(t *testing.T) {
	app := written(t, `spec: {runtimeVersions: {sparkVersion: 4.1.4}, sparkConf: {
		spark.kubernetes.driver.label.kueue.x-k8s.io/queue-name: research,
		spark.kubernetes.executor.label.kueue.x-k8s.io/queue-name: research,
		spark.kubernetes.executor.label.kueue.x-k8s.io/managed: "true",
		spark.kubernetes.executor.annotation.kueue.x-k8s.io/pod-suspending-parent: spark-driver}}`)

	o := rendered(t, Applications{}, app, 1)
	if got := o.Driver.Labels["kueue.x-k8s.io/queue-name"]; got != "research" {
		t.Errorf("the driver is in queue %q", got)
	}

	got := properties(t, o, "pi-0")
	for key, want := range app.Spec.SparkConf {
		if strings.Contains(key, "kubernetes.executor") && got[key] != want {
			t.Errorf("the driver reads %s=%q, want %q", key, got[key], want)
		}
	}
}
