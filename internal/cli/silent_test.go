package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// The bases of the manifests of silentDifferences, to which a case adds lines of its spec.
const (
	kubeflow = `apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: app, namespace: default}
spec:
  sparkVersion: 4.1.4
  image: apache/spark:4.1.4
  type: Scala
  mainClass: org.apache.spark.examples.SparkPi
  mainApplicationFile: local:///opt/spark/examples/jars/spark-examples.jar
`
	apache = `apiVersion: spark.apache.org/v1
kind: SparkApplication
metadata: {name: app, namespace: default}
spec:
  mainClass: org.apache.spark.examples.SparkPi
  jars: local:///opt/spark/examples/jars/spark-examples.jar
  runtimeVersions: {sparkVersion: 4.1.4}
`
	connectServer = `apiVersion: sparkoperator.k8s.io/v1alpha1
kind: SparkConnect
metadata: {name: app, namespace: default}
spec:
  sparkVersion: 4.1.4
  image: apache/spark:4.1.4
`
	sparkCluster = `apiVersion: spark.apache.org/v1
kind: SparkCluster
metadata: {name: app, namespace: default}
spec:
  runtimeVersions: {sparkVersion: 4.1.4}
  clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 1}}
`
	confImage = "spark.kubernetes.container.image: apache/spark:4.1.4"
)

// silentDifference is a spec with settings that a user may expect to have another effect.
type silentDifference struct {
	name, spec string
	// warnings are parts of the only warnings of lint. The list is empty if nothing is lost.
	warnings []string
	// rendered are texts in the created objects.
	rendered []string
}

var silentDifferences = []silentDifference{
	{"g22: argument from env", kubeflow + `
  driver: {env: [{name: BUCKET_PARAM, valueFrom: {configMapKeyRef: {name: special-config, key: codeBucket}}}]}
  arguments: ["s3a://$(BUCKET_PARAM)/result", "$$(BUCKET_PARAM)"]`, nil,
		[]string{"- s3a://$(BUCKET_PARAM)/result", "- $$(BUCKET_PARAM)"}},
	{"argument from envVars", kubeflow + `
  driver: {envVars: {DAY: "1"}}
  arguments: ["$(DAY)"]`, nil, []string{"- $(DAY)"}},
	{"argument from the driver's env in sparkConf", kubeflow + `
  sparkConf: {spark.kubernetes.driverEnv.DAY: "1", spark.kubernetes.driver.secretKeyRef.KEY: "a:b"}
  arguments: ["$(DAY)-$(KEY)"]`, nil, []string{"- $(DAY)-$(KEY)"}},
	{"argument from envFrom", kubeflow + `
  driver: {envFrom: [{prefix: A_, configMapRef: {name: c}}]}
  arguments: ["$(A_B)", "$(B)"]`, []string{`spec.arguments[1]: the application gets "$(B)" as it is`}, nil},
	{"argument from the template", kubeflow + `
  driver: {template: {spec: {containers: [{name: spark-kubernetes-driver, env: [{name: DAY, value: "1"}]}]}}}
  arguments: ["$(DAY)"]`, nil, []string{"- $(DAY)"}},
	{"argument from Spark's own variables",
		kubeflow + `  arguments: ["$(SPARK_USER) $(SPARK_APPLICATION_ID) $(KUBERNETES_SERVICE_HOST)"]`, nil, nil},
	{"argument of nobody", kubeflow + `  arguments: ["--day=$(DAY)", "$(date +%F)"]`,
		[]string{`spec.arguments[0]: the application gets "$(DAY)" as it is, because neither env nor envFrom`},
		[]string{"- --day=$(DAY)"}},
	{"argument of the image", kubeflow + `  arguments: ["$(JAVA_HOME)/lib"]`,
		[]string{"variables of the image do not count"}, nil},
	{"argument of a submission by spark-submit", kubeflow + `
  submission: {mode: SparkSubmit}
  driver: {envVars: {DAY: "1"}}
  arguments: ["$(DAY)", "$(X)"]`, []string{`spec.arguments[1]: the application gets "$(X)" as it is`},
		[]string{"- $$(DAY)"}},
	{"driverArgs", apache + `
  sparkConf: {` + confImage + `, spark.kubernetes.driverEnv.DAY: "1"}
  driverArgs: ["$(DAY)", "$(X)"]`, []string{`spec.driverArgs[1]: the application gets "$(X)" as it is`},
		[]string{"- $(DAY)"}},
	{"driverArgs from the template", apache + `
  sparkConf: {` + confImage + `}
  driverSpec: {podTemplateSpec: {spec: {containers: [{name: a, env: [{name: DAY, value: "1"}]}]}}}
  driverArgs: ["$(DAY)"]`, nil, []string{"- $(DAY)"}},
	{"f41: reference in sparkConf", kubeflow + `
  driver: {envFrom: [{configMapRef: {name: spark-config}}]}
  sparkConf: {spark.eventLog.dir: "s3a://$(S3_BUCKET)/logs/", spark.eventLog.enabled: "true"}`,
		[]string{`spec.sparkConf[spark.eventLog.dir]: "$(S3_BUCKET)" stays as it is: Kubernetes fills in such references only in arguments and variables; write the value`}, nil},
	{"references in sparkConf that become variables", kubeflow + `
  sparkConf: {spark.executorEnv.A: "$(B)", spark.kubernetes.driverEnv.A: "$(B)", spark.executor.extraJavaOptions: "-Da=$(B)", spark.x: "$(a b)"}`, nil, nil},
	{"reference in hadoopConf", kubeflow + `  hadoopConf: {fs.a: "$(B)"}`,
		[]string{`spark.hadoop.fs.a: "$(B)" stays as it is`}, nil},
	{"reference in sparkConf of spark.apache.org", apache + `  sparkConf: {` + confImage + `, spark.a: "$(B)"}`,
		[]string{`spec.sparkConf[spark.a]: "$(B)" stays as it is`}, nil},
	{"reference in sparkConf of a server", connectServer + `
  sparkConf: {spark.a: "$(B)"}
  server: {}
  executor: {}`, []string{`spec.sparkConf[spark.a]: "$(B)" stays as it is`}, nil},
	{"reference in sparkConf of a cluster", sparkCluster + `  sparkConf: {` + confImage + `, spark.a: "$(B)"}`,
		[]string{`spec.sparkConf[spark.a]: "$(B)" stays as it is`}, nil},
	{"f49: options of JVMs in both places", kubeflow + `
  driver: {javaOptions: -Db=2}
  executor: {javaOptions: "-XX:+UseG1GC"}
  sparkConf: {spark.executor.extraJavaOptions: "-Dlog4j2.configurationFile=file:/etc/log4j2.properties", spark.driver.extraJavaOptions: "-Da=1"}`, nil,
		[]string{`spark.driver.extraJavaOptions=-Da\=1 -Db\=2`,
			`spark.executor.extraJavaOptions=-Dlog4j2.configurationFile\=file\:/etc/log4j2.properties -XX\:+UseG1GC`}},
	{"equal options of JVMs", kubeflow + `
  driver: {javaOptions: -Da=1}
  sparkConf: {spark.driver.extraJavaOptions: "-Da=1"}`, nil, []string{"spark.driver.extraJavaOptions=-Da\\=1\n"}},
	{"g33: sizes and numbers in both places", kubeflow + `
  driver: {cores: 1, memory: 512m, podName: mine}
  executor: {cores: 1, memory: 512m, instances: 1}
  sparkConf: {spark.executor.memory: 8g, spark.driver.memory: 8g, spark.executor.instances: "9", spark.executor.cores: "4", spark.driver.cores: "1", spark.kubernetes.driver.pod.name: other}`,
		[]string{
			`spec.sparkConf[spark.executor.memory]: "8g" has no effect: spec.executor.memory sets "512m"; remove one of them`,
			`spec.sparkConf[spark.driver.memory]: "8g" has no effect: spec.driver.memory sets "512m"`,
			`spec.sparkConf[spark.executor.instances]: "9" has no effect: spec.executor.instances sets "1"`,
			`spec.sparkConf[spark.executor.cores]: "4" has no effect: spec.executor.cores sets "1"`,
			`spec.sparkConf[spark.kubernetes.driver.pod.name]: "other" has no effect: spec.driver.podName sets "mine"`,
		}, []string{"name: mine", "spark.executor.memory=512m"}},
	{"maps, lists, variables and dynamic allocation in both places", kubeflow + `
  deps: {packages: ["a:b:1"]}
  hadoopConf: {fs.a: "1"}
  dynamicAllocation: {enabled: true, maxExecutors: 3}
  driver: {labels: {a: "1"}, envVars: {A: "1"}, env: [{name: B, value: "1"}]}
  sparkConf: {spark.jars.packages: "c:d:1", spark.hadoop.fs.a: "2", spark.dynamicAllocation.maxExecutors: "9", spark.kubernetes.driver.label.a: "2",
    spark.kubernetes.driverEnv.A: "2", spark.kubernetes.driverEnv.B: "2", spark.kubernetes.submission.waitAppCompletion: "true"}`,
		[]string{
			`spec.deps.packages sets "a:b:1"`, `spec.hadoopConf[fs.a] sets "1"`, `spec.dynamicAllocation sets "3"`,
			`spec.driver.labels[a] sets "1"`, `spec.driver.envVars[A] sets "1"`,
			`spec.driver.env sets it; remove one of them`,
			`"true" has no effect: the operator sets "false"; remove the key`,
		}, nil},
	{"fields that sparkConf overrides", kubeflow + `
  imagePullPolicy: Always
  sparkConf: {spark.kubernetes.container.image.pullPolicy: Never}`,
		[]string{`spec.imagePullPolicy: "Always" has no effect: spec.sparkConf[spark.kubernetes.container.image.pullPolicy] sets "Never"; remove one of them`}, []string{"imagePullPolicy: Never"}},
	{"secrets are not shown", kubeflow + `
  hadoopConf: {fs.s3a.secret.key: one}
  sparkConf: {spark.hadoop.fs.s3a.secret.key: two}`,
		[]string{`[spark.hadoop.fs.s3a.secret.key]: *********(redacted) has no effect: spec.hadoopConf[fs.s3a.secret.key] sets *********(redacted)`}, nil},
	{"a server's fields and sparkConf", connectServer + `
  server: {memory: 1g}
  executor: {instances: 1, cores: 2}
  dynamicAllocation: {enabled: true, maxExecutors: 3}
  sparkConf: {spark.driver.memory: 8g, spark.executor.instances: "9", spark.executor.cores: "2", spark.dynamicAllocation.maxExecutors: "4"}`,
		[]string{`[spark.driver.memory]: "8g" has no effect: spec.server.memory sets "1g"`,
			`[spark.executor.instances]: "9" has no effect: spec.executor.instances sets "1"`,
			`spec.dynamicAllocation sets "3"`}, nil},
	{"lists of spark.apache.org and sparkConf", apache + `
  files: local:///a
  driverSpec: {podTemplateSpec: {spec: {containers: [{name: a}]}}}
  sparkConf: {` + confImage + `, spark.files: "local:///b", spark.kubernetes.driver.podTemplateFile: "/x"}`,
		[]string{`spec.files: local:///a has no effect: spec.sparkConf[spark.files] is "local:///b"`,
			`[spark.kubernetes.driver.podTemplateFile]: "/x" has no effect: spec.driverSpec.podTemplateSpec sets it`}, nil},
	{"the user's name", kubeflow + `  sparkConf: {spark.app.name: "My nightly Job"}`, nil,
		[]string{"spark.app.name=My nightly Job", "spark.kubernetes.executor.podNamePrefix=app-", "name: app-driver",
			"spark-app-name: my-nightly-job"}},
	{"the user's name of any length",
		kubeflow + `  sparkConf: {spark.app.name: "` + strings.Repeat("x",
			300) + `", spark.kubernetes.executor.podNamePrefix: mine}`, nil,
		[]string{"spark.app.name=" + strings.Repeat("x", 300), "spark.kubernetes.executor.podNamePrefix=mine",
			"name: app-driver"}},
	{"no name of the user", kubeflow, nil, []string{"spark.app.name=app\n"}},
	{"the user's name in a submission by spark-submit", kubeflow + `
  submission: {mode: SparkSubmit}
  sparkConf: {spark.app.name: other}`, nil, []string{"spark-app-name: other"}},
	{"the user's name in spark.apache.org", apache + `  sparkConf: {` + confImage + `, spark.app.name: other}`, nil,
		[]string{"spark.app.name=other", "spark.kubernetes.executor.podNamePrefix=app-", "name: app-0-driver"}},
	{"the user's name of a server", connectServer + `
  sparkConf: {spark.app.name: other}
  server: {}
  executor: {}`, nil, []string{"spark.app.name=other"}},
}

// TestNoDifferenceIsSilent checks that each setting with another effect than its text says has a warning, and that no
// other setting has one.
func TestNoDifferenceIsSilent(t *testing.T) {
	for _, c := range silentDifferences {
		t.Run(c.name, func(t *testing.T) {
			for _, role := range []string{"driver", "executor"} {
				if strings.HasPrefix(c.spec, kubeflow) && !strings.Contains(c.spec, "\n  "+role+": ") {
					c.spec += "\n  " + role + ": {}"
				}
			}

			got := runWith(t.Context(), terminal.Streams{In: strings.NewReader(c.spec)}, "lint", "-f", "-")

			var warnings []string
			for line := range strings.Lines(got.out) {
				if _, text, ok := strings.Cut(line, " warning: "); ok {
					warnings = append(warnings, text)
				} else if strings.Contains(line, " error: ") {
					t.Error(line)
				}
			}

			if len(warnings) != len(c.warnings) || got.code != exit.OK {
				t.Errorf("exit code %d, warnings %q, want %d%s", got.code, warnings, len(c.warnings), got.err)
			}

			for _, want := range c.warnings {
				if !slices.ContainsFunc(warnings, func(text string) bool { return strings.Contains(text, want) }) {
					t.Errorf("no warning has %q: %q", want, warnings)
				}
			}

			got = runWith(t.Context(), terminal.Streams{In: strings.NewReader(c.spec)}, "render", "-f", "-")
			for _, want := range c.rendered {
				if !strings.Contains(got.out, want) {
					t.Errorf("the objects do not have %q:\n%s%s", want, got.out, got.err)
				}
			}
		})
	}
}
