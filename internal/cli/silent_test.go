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
  arguments: ["s3a://$(BUCKET_PARAM)/result", "$$(BUCKET_PARAM)"]`, nil, []string{"- s3a://$(BUCKET_PARAM)/result", "- $$(BUCKET_PARAM)"}},
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
	{"argument from Spark's own variables", kubeflow + `  arguments: ["$(SPARK_USER) $(SPARK_APPLICATION_ID) $(KUBERNETES_SERVICE_HOST)"]`, nil, nil},
	{"argument of nobody", kubeflow + `  arguments: ["--day=$(DAY)", "$(date +%F)"]`, []string{`spec.arguments[0]: the application gets "$(DAY)" as it is, because neither env nor envFrom`},
		[]string{"- --day=$(DAY)"}},
	{"argument of the image", kubeflow + `  arguments: ["$(JAVA_HOME)/lib"]`, []string{"variables of the image do not count"}, nil},
	{"argument of a submission by spark-submit", kubeflow + `
  submission: {mode: SparkSubmit}
  driver: {envVars: {DAY: "1"}}
  arguments: ["$(DAY)", "$(X)"]`, []string{`spec.arguments[1]: the application gets "$(X)" as it is`}, []string{"- $$(DAY)"}},
	{"driverArgs", apache + `
  sparkConf: {` + confImage + `, spark.kubernetes.driverEnv.DAY: "1"}
  driverArgs: ["$(DAY)", "$(X)"]`, []string{`spec.driverArgs[1]: the application gets "$(X)" as it is`}, []string{"- $(DAY)"}},
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
	{"reference in hadoopConf", kubeflow + `  hadoopConf: {fs.a: "$(B)"}`, []string{`spark.hadoop.fs.a: "$(B)" stays as it is`}, nil},
	{"reference in sparkConf of spark.apache.org", apache + `  sparkConf: {` + confImage + `, spark.a: "$(B)"}`, []string{`spec.sparkConf[spark.a]: "$(B)" stays as it is`}, nil},
	{"reference in sparkConf of a server", connectServer + `
  sparkConf: {spark.a: "$(B)"}
  server: {}
  executor: {}`, []string{`spec.sparkConf[spark.a]: "$(B)" stays as it is`}, nil},
	{"reference in sparkConf of a cluster", sparkCluster + `  sparkConf: {` + confImage + `, spark.a: "$(B)"}`, []string{`spec.sparkConf[spark.a]: "$(B)" stays as it is`}, nil},
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
