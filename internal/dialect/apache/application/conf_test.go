package application

import (
	"errors"
	"strings"
	"testing"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/test/kit/worst"
)

// absent stands for the value of a key that must not be set.
const absent = "\x00"

// TestConfiguration checks the driver's configuration for specs that users write.
func TestConfiguration(t *testing.T) {
	const python = "\n  mainClass: \"\"\n  jars: \"\"\n"
	for name, c := range map[string]struct {
		spec string
		want map[string]string
	}{
		"the defaults": {"", map[string]string{
			"spark.app.id": "pi-0", "spark.app.name": absent, "spark.kubernetes.namespace": "jobs",
			"spark.master": "k8s://https://kubernetes.default.svc", "spark.kubernetes.driver.pod.name": "pi-0-driver",
			"spark.driver.host":                                             "pi-0-driver-svc.jobs.svc",
			"spark.jars":                                                    "local:///opt/spark/examples/jars/spark-examples.jar",
			"spark.authenticate":                                            "true",
			"spark.io.encryption.enabled":                                   "true",
			"spark.kubernetes.submitInDriver":                               "true",
			"spark.kubernetes.driver.annotateExitException":                 "true",
			"spark.kubernetes.executor.useDriverPodIP":                      "true",
			"spark.kubernetes.executor.deleteOnTermination":                 "false",
			"spark.kubernetes.executor.podTemplateFile":                     absent,
			"spark.kubernetes.executor.podNamePrefix":                       absent,
			"spark.kubernetes.container.image":                              "docker.io/apache/spark:4.2.0",
			"spark.kubernetes.executor.label.spark.operator/name":           "spark-kubernetes-operator",
			"spark.kubernetes.executor.label.spark.operator/spark-app-name": "pi",
		}},
		"the user's values stay": {`
  sparkConf:
    spark.authenticate: "false"
    spark.io.encryption.enabled: "no"
    spark.kubernetes.driver.annotateExitException: "false"
    spark.kubernetes.executor.useDriverPodIP: "false"
    spark.kubernetes.executor.deleteOnTermination: "true"
    spark.jars: local:///more.jar
    spark.files: local:///kept
    spark.kubernetes.namespace: elsewhere
    spark.kubernetes.executor.label.spark.operator/name: mine
  files: local:///dropped
`, map[string]string{
			"spark.authenticate": "false", "spark.io.encryption.enabled": "no",
			"spark.kubernetes.driver.annotateExitException": "false",
			"spark.kubernetes.executor.useDriverPodIP":      "false",
			"spark.kubernetes.executor.deleteOnTermination": "true",
			"spark.jars":  "local:///more.jar,local:///opt/spark/examples/jars/spark-examples.jar",
			"spark.files": "local:///kept", "spark.kubernetes.namespace": "jobs",
			"spark.kubernetes.executor.label.spark.operator/name": "spark-kubernetes-operator",
		}},
		"an empty value of the user stays": {`
  sparkConf: {spark.authenticate: ""}
`, map[string]string{"spark.authenticate": ""}},
		"the driver's name, which is the user's": {`
  sparkConf: {spark.app.name: whatever}
`, map[string]string{"spark.app.name": "whatever", "spark.kubernetes.executor.podNamePrefix": "pi-60e34f8b"}},
		"executors that Spark adds and removes": {`
  sparkConf: {spark.dynamicAllocation.enabled: "TRUE"}
`, map[string]string{"spark.kubernetes.executor.deleteOnTermination": absent}},
		"executors of a StatefulSet": {`
  sparkConf: {spark.kubernetes.allocation.pods.allocator: statefulset}
`, map[string]string{"spark.kubernetes.executor.deleteOnTermination": absent}},
		"executors that the driver creates itself": {`
  sparkConf: {spark.kubernetes.allocation.pods.allocator: direct}
`, map[string]string{"spark.kubernetes.executor.deleteOnTermination": "false"}},
		"executors of an application that is restarted": {`
  applicationTolerations: {restartConfig: {restartPolicy: OnFailure}}
`, map[string]string{"spark.kubernetes.executor.deleteOnTermination": absent}},
		"executors of an application that is not restarted": {`
  applicationTolerations: {restartConfig: {restartPolicy: Never}}
`, map[string]string{"spark.kubernetes.executor.deleteOnTermination": "false"}},
		"the Service of a driver that is retained": {`
  applicationTolerations: {resourceRetainPolicy: OnFailure}
`, map[string]string{"spark.kubernetes.driver.service.deleteOnTermination": "false"}},
		"the Service of a driver that is not retained": {`
  applicationTolerations: {resourceRetainPolicy: Never}
`, map[string]string{"spark.kubernetes.driver.service.deleteOnTermination": absent}},
		"the Service of a retained driver, if the user sets the key": {`
  applicationTolerations: {resourceRetainPolicy: Always}
  sparkConf: {spark.kubernetes.driver.service.deleteOnTermination: "true"}
`, map[string]string{"spark.kubernetes.driver.service.deleteOnTermination": "true"}},
		"the version is inserted only in names of images": {`
  sparkConf:
    spark.kubernetes.driver.container.image: "a:{{SPARK_VERSION}}-{{SPARK_VERSION}}"
    spark.kubernetes.executor.container.image: "b:{{SPARK_VERSION}}"
    spark.container.image: "{{SPARK_VERSION}}"
    spark.kubernetes.driverEnv.WHAT: "{{SPARK_VERSION}}"
`, map[string]string{
			"spark.kubernetes.driver.container.image":   "a:4.2.0-4.2.0",
			"spark.kubernetes.executor.container.image": "b:4.2.0",
			"spark.container.image":                     "{{SPARK_VERSION}}",
			"spark.kubernetes.driverEnv.WHAT":           "{{SPARK_VERSION}}",
		}},
		"files (W23)": {`
  files: s3a://b/x,s3a://b/y
`, map[string]string{"spark.files": "s3a://b/x,s3a://b/y"}},
		"a standalone cluster, which does not share a secret with the driver (W22)": {`
  sparkConf: {spark.master: "spark://c-master-svc:7077"}
`, map[string]string{"spark.master": "spark://c-master-svc:7077", "spark.authenticate": absent,
			"spark.io.encryption.enabled": "true"}},
		"a standalone cluster whose secret the user sets": {`
  sparkConf: {spark.master: "spark://c-master-svc:7077", spark.authenticate: "true", spark.authenticate.secret: known}
`, map[string]string{"spark.authenticate": "true", "spark.authenticate.secret": "known"}},
		"a driver without executors": {`
  sparkConf: {spark.master: "local[2]"}
`, map[string]string{"spark.master": "local[2]", "spark.authenticate": "true"}},
		"a driver without executors, by spark.kubernetes.driver.master": {`
  sparkConf: {spark.kubernetes.driver.master: "local[*]"}
`, map[string]string{"spark.master": "k8s://https://kubernetes.default.svc",
			"spark.kubernetes.driver.master": "local[*]", "spark.authenticate": "true"}},
		"the user's API server": {`
  sparkConf: {spark.master: "k8s://https://api:6443"}
`, map[string]string{"spark.master": "k8s://https://api:6443", "spark.authenticate": "true"}},
		"the user's id and pod name": {`
  sparkConf: {spark.app.id: pinned, spark.kubernetes.driver.pod.name: the-driver}
`, map[string]string{"spark.app.id": "pinned", "spark.kubernetes.driver.pod.name": "the-driver",
			"spark.driver.host": "pinned-driver-svc.jobs.svc"}},
		"Python": {python + `
  pyFiles: local:///app.py
`, map[string]string{
			"spark.submit.pyFiles": "local:///app.py", "spark.jars": absent, "spark.kubernetes.resource.type": "python",
			"spark.kubernetes.driver.annotateExitException": absent,
		}},
		"Python with files in sparkConf": {python + `
  pyFiles: local:///app.py
  sparkConf: {spark.submit.pyFiles: local:///lib.zip}
`, map[string]string{"spark.submit.pyFiles": "local:///lib.zip"}},
		"Python with files after a comma": {`
  mainClass: org.apache.spark.deploy.PythonRunner
  jars: ""
  pyFiles: local:///app.py,local:///lib.zip,local:///b.egg
`, map[string]string{"spark.submit.pyFiles": "local:///lib.zip,local:///b.egg"}},
		"Python without more files": {`
  mainClass: org.apache.spark.deploy.PythonRunner
  jars: ""
  pyFiles: local:///app.py
`, map[string]string{"spark.submit.pyFiles": ""}},
		"R": {python + `
  sparkRFiles: local:///app.R
`, map[string]string{"spark.kubernetes.resource.type": "r", "spark.kubernetes.driver.annotateExitException": absent}},
		"several jars": {`
  jars: local:///a.jar, local:///b.jar
`, map[string]string{"spark.jars": "local:///b.jar,local:///a.jar"}},
		"a class in the image": {`
  jars: ""
`, map[string]string{"spark.jars": "", "spark.kubernetes.resource.type": "java"}},
		"a privileged driver of Spark 4.3": {`
  runtimeVersions: {sparkVersion: 4.3.0}
  driverSpec: {podTemplateSpec: {spec: {containers: [{name: x, securityContext: {privileged: true}}]}}}
`, map[string]string{"spark.kubernetes.driver.securityContext.allowPrivilegeEscalation": "true"}},
	} {
		t.Run(name, func(t *testing.T) {
			app := written(t, "spec:"+c.spec)
			if c.spec == "" {
				app = written(t)
			}

			id := naming.NewID(app, 1)

			got := properties(t, rendered(t, Applications{}, withImage(app), 1), id)
			for key, want := range c.want {
				if value, ok := got[key]; ok != (want != absent) || ok && value != want {
					t.Errorf("%s is %q (set: %v), want %q", key, value, ok, strings.ReplaceAll(want, absent, "nothing"))
				}
			}
		})
	}
}

// TestConfigurationIsDeterministic checks that the iteration order of maps does not change the rendered objects.
func TestConfigurationIsDeterministic(t *testing.T) {
	app := written(t, `spec: {sparkConf: {spark.kubernetes.driverEnv.A: a, spark.kubernetes.driverEnv.B: b, spark.kubernetes.driverEnv.C: c, spark.a: "1", spark.b: "2"}}`)
	p, _ := fields.ProgramOf(&app.Spec)

	first := conf.MarshalProperties(confOf(t, app, p))
	for range 20 {
		if again := conf.MarshalProperties(confOf(t, app, p)); again != first {
			t.Fatalf("the same application gives\n%s\nand\n%s", first, again)
		}
	}
}

// confOf returns the configuration of an application. It fails the test if the application is invalid.
func confOf(t *testing.T, app *sparkv1.SparkApplication, p fields.Program) *conf.Conf {
	t.Helper()

	c, wrong := sparkConf(app, p)
	if wrong != nil {
		t.Fatal(wrong)
	}
	return c
}

// TestVersionsDoNotMultiply checks that an image name with many placeholders for the version, together with a long
// version, does not use much memory. In an earlier version of the operator, 300 KB of input became 1.3 GB.
func TestVersionsDoNotMultiply(t *testing.T) {
	app := pi(func(app *sparkv1.SparkApplication) {
		app.Spec.RuntimeVersions.SparkVersion = strings.Repeat("9", 100<<10)
		app.Spec.SparkConf["spark.kubernetes.container.image"] = strings.Repeat(conf.VersionMarker, 12_000)
	})
	var plan lifecycle.Plan
	var err error

	allocated := worst.Allocated(func() {
		plan = trimmed.Decide(app, lifecycle.Observed{Confirmed: true}, t0)
		_, err = trimmed.Render(app, launchOf(1), t0)
	})
	if allocated > 16<<20 {
		t.Errorf("%d MiB are allocated", allocated>>20)
	}

	if refused, ok := errors.AsType[*dialect.FieldError](err); !ok ||
		refused.Field != "spec.sparkConf[spark.kubernetes.container.image]" ||
		!strings.Contains(refused.Message, "the limit is 4096 bytes") {
		t.Errorf("%v; the error is %v", plan.Next.Phase, err)
	}
}
