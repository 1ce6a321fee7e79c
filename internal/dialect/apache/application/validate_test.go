package application

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// fieldsOf returns the field paths in a message.
func fieldsOf(message string) (fields []string) {
	for part := range strings.SplitSeq(message, "; ") {
		if field, _, ok := strings.Cut(part, ": "); ok &&
			(strings.HasPrefix(field, "spec.") || strings.HasPrefix(field, "metadata.")) {
			fields = append(fields, field)
		}
	}
	return fields
}

// TestInvalid checks that an application fails before any object is created if its spec has a fault that no restart can
// fix.
func TestInvalid(t *testing.T) {
	const service = "serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 4040}]}"
	for name, c := range map[string]struct {
		spec string
		want []string
	}{
		"nothing wrong":                   {"", nil},
		"client mode (W24)":               {"spec: {deploymentMode: ClientMode}", []string{"spec.deploymentMode"}},
		"cluster mode":                    {"spec: {deploymentMode: ClusterMode}", nil},
		"a name with dots (W18)":          {"metadata: {name: a.b}", []string{"metadata.name"}},
		"a name that begins with a digit": {"metadata: {name: 1pi}", []string{"metadata.name"}},
		"a name of 64 characters": {"metadata: {name: " + strings.Repeat("a", 64) + "}",
			[]string{"metadata.name"}},
		"a name of 63 characters": {"metadata: {name: " + strings.Repeat("a", 63) + "}", nil},
		"a route": {"spec: {driverHttpRouteList: [{" + service +
			", httpRouteMetadata: {name: r}, httpRouteSpec: {parentRefs: [{name: g}]}}]}", nil},
		"routes that lack everything": {"spec: {driverHttpRouteList: [{}], driverGrpcRouteList: [{" + service +
			"}, {}]}", []string{
			"spec.driverHttpRouteList[0].serviceMetadata.name", "spec.driverHttpRouteList[0].httpRouteMetadata.name",
			"spec.driverHttpRouteList[0].serviceSpec", "spec.driverHttpRouteList[0].httpRouteSpec.parentRefs",
			"spec.driverGrpcRouteList[0].grpcRouteMetadata.name",
			"spec.driverGrpcRouteList[0].grpcRouteSpec.parentRefs",
			"spec.driverGrpcRouteList[1].serviceMetadata.name", "spec.driverGrpcRouteList[1].grpcRouteMetadata.name",
			"spec.driverGrpcRouteList[1].serviceSpec", "spec.driverGrpcRouteList[1].grpcRouteSpec.parentRefs",
		}},
		"a parent without a name": {"spec: {driverGrpcRouteList: [{" + service +
			", grpcRouteMetadata: {name: r}, grpcRouteSpec: {parentRefs: [{name: g}, {}, 3]}}]}",
			[]string{"spec.driverGrpcRouteList[0].grpcRouteSpec.parentRefs[1].name",
				"spec.driverGrpcRouteList[0].grpcRouteSpec.parentRefs[2].name"}},
		"an invalid Service": {"spec: {driverHttpRouteList: [{serviceMetadata: {name: Ui}, serviceSpec: {ports: 3}, httpRouteMetadata: {name: r}, httpRouteSpec: {parentRefs: [{name: g}]}}]}",
			[]string{"spec.driverHttpRouteList[0].serviceMetadata.name", "spec.driverHttpRouteList[0].serviceSpec"}},
		"a route without a backend": {"spec: {driverHttpRouteList: [{serviceMetadata: {name: ui}, serviceSpec: {}, httpRouteMetadata: {name: r}, httpRouteSpec: {parentRefs: [{name: g}]}}]}",
			[]string{"spec.driverHttpRouteList[0].serviceSpec.ports"}},
		"a route with its own rules": {"spec: {driverHttpRouteList: [{serviceMetadata: {name: ui}, serviceSpec: {}, httpRouteMetadata: {name: r}, httpRouteSpec: {parentRefs: [{name: g}], rules: [{}]}}]}", nil},
	} {
		app := written(t, c.spec)
		app.Namespace = "jobs"
		_, invalid := Applications{}.causes(app, noon)

		var got []string
		if invalid != nil {
			got = fieldsOf(invalid.Message)
		}

		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}

		if _, err := (Applications{}).Render(app, launchOf(1), noon); (err != nil) != (c.want != nil) {
			t.Errorf("%s: Render says %v", name, err)
		}
	}
}

// TestRefused checks faults that an edit can fix. Such faults reject one attempt, but do not fail the application
// permanently. The message must contain all faults with their fields.
func TestRefused(t *testing.T) {
	const ingress = "ingressMetadata: {name: i}"
	for name, c := range map[string]struct {
		spec string
		want []string
	}{
		"ConfigMaps": {`spec: {configMapSpecs: [{name: A_b}, {name: a}, {name: a}, {name: pi-0-spark-drv-conf-map}, {name: c, data: {"a/b": x, "c d": z}}]}`, []string{
			"spec.configMapSpecs[0].name", "spec.configMapSpecs[2].name", "spec.configMapSpecs[3].name",
			"spec.configMapSpecs[4].data[a/b]", "spec.configMapSpecs[4].data[c d]",
		}},
		"the operator's own labels": {`
spec:
  configMapSpecs: [{name: a, labels: {sparkoperator.dev/app-uid: x}}]
  driverSpec: {podTemplateSpec: {metadata: {labels: {sparkoperator.dev/attempt: "7"}}}}
  executorSpec: {podTemplateSpec: {metadata: {labels: {sparkoperator.dev/managed: "false"}}}}
  sparkConf: {spark.kubernetes.driver.label.sparkoperator.dev/attempt: "7"}
`, []string{
			"spec.sparkConf[spark.kubernetes.driver.label.sparkoperator.dev/attempt]",
			"spec.driverSpec.podTemplateSpec.metadata.labels[sparkoperator.dev/attempt]",
			"spec.executorSpec.podTemplateSpec.metadata.labels[sparkoperator.dev/managed]",
			"spec.configMapSpecs[0].labels[sparkoperator.dev/app-uid]",
		}},
		"an Ingress that lacks everything": {"spec: {driverServiceIngressList: [{}]}", []string{
			"spec.driverServiceIngressList[0].serviceMetadata.name",
			"spec.driverServiceIngressList[0].ingressMetadata.name", "spec.driverServiceIngressList[0].serviceSpec",
		}},
		"an invalid Ingress": {"spec: {driverServiceIngressList: [{serviceMetadata: {name: a}, serviceSpec: {ports: [{port: 1}]}, " + ingress + ", ingressSpec: {rules: 3}}]}",
			[]string{"spec.driverServiceIngressList[0].ingressSpec"}},
		"names that conflict": {`
spec: {driverServiceIngressList: [
  {serviceMetadata: {name: a}, serviceSpec: {ports: [{port: 1}]}, ingressMetadata: {name: i}},
  {serviceMetadata: {name: a}, serviceSpec: {ports: [{port: 1}]}, ingressMetadata: {name: i}},
  {serviceMetadata: {name: a}, serviceSpec: {ports: [{port: 2}]}, ingressMetadata: {name: k}},
  {serviceMetadata: {name: pi-0-driver-svc}, serviceSpec: {ports: [{port: 2}]}, ingressMetadata: {name: l}}]}
`, []string{
			"spec.driverServiceIngressList[1].ingressMetadata.name",
			"spec.driverServiceIngressList[2].serviceMetadata.name",
			"spec.driverServiceIngressList[3].serviceMetadata.name",
		}},
		"an invalid driver template": {"spec: {driverSpec: {podTemplateSpec: {spec: {containers: 3}}}}",
			[]string{"spec.driverSpec.podTemplateSpec"}},
		"an invalid executor template": {"spec: {executorSpec: {podTemplateSpec: {spec: {containers: [{resources: {limits: {cpu: much}}}]}}}}", []string{"spec.executorSpec.podTemplateSpec"}},
		"an invalid size": {"spec: {sparkConf: {spark.driver.memory: 2gb}}",
			[]string{"spec.sparkConf[spark.driver.memory]"}},
		"an invalid master": {"spec: {sparkConf: {spark.master: yarn}}",
			[]string{"spec.sparkConf[spark.master]"}},
		"an invalid id": {"spec: {sparkConf: {spark.app.id: A_b}}",
			[]string{"spec.sparkConf[spark.app.id]"}},
		"an invalid pod name": {"spec: {sparkConf: {spark.kubernetes.driver.pod.name: A_b}}",
			[]string{"spec.sparkConf[spark.kubernetes.driver.pod.name]"}},
		"no main class":                        {`spec: {mainClass: ""}`, []string{"spec.mainClass"}},
		"a jar on the submitter's machine":     {"spec: {jars: file:///etc/passwd}", []string{"spec.jars"}},
		"files on the submitter's machine":     {"spec: {files: /etc/passwd}", []string{"spec.files"}},
		"more jars on the submitter's machine": {"spec: {jars: \"local:///a.jar,/b.jar\"}", []string{"spec.jars"}},
		"a Python program with a wrong suffix": {`spec: {jars: "", pyFiles: local:///a.zip}`,
			[]string{"spec.pyFiles"}},
		"no Python program": {`spec: {jars: "", mainClass: org.apache.spark.deploy.PythonRunner}`,
			[]string{"spec.pyFiles"}},
		"an R program with a wrong suffix": {`spec: {jars: "", sparkRFiles: local:///a.rds}`,
			[]string{"spec.sparkRFiles"}},
		"Python files on the submitter's machine": {`spec: {jars: "", pyFiles: "local:///a.py,/b.py"}`,
			[]string{"spec.pyFiles"}},
		"credentials on the submitter's machine": {"spec: {sparkConf: {spark.kubernetes.authenticate.submission.oauthTokenFile: /var/run/secrets/t}}", []string{"spec.sparkConf[spark.kubernetes.authenticate.submission.oauthTokenFile]"}},
	} {
		app := written(t, c.spec)

		objects, err := Applications{}.Render(app, launchOf(1), noon)
		if err == nil {
			t.Errorf("%s: %d objects are made", name, len(objects.Before))
			continue
		}

		if diff := cmp.Diff(c.want, fieldsOf(err.Error())); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%v", name, diff, err)
		}

		if _, invalid := (Applications{}).causes(app, noon); invalid != nil {
			t.Errorf("%s: a pass would reject it: %v", name, invalid)
		}
	}
}

// TestNoImage checks that a missing image is reported, which is a frequent mistake.
func TestNoImage(t *testing.T) {
	app := written(t)
	delete(app.Spec.SparkConf, "spark.kubernetes.container.image")

	_, err := Applications{}.Render(app, launchOf(1), noon)
	if err == nil || !strings.HasPrefix(err.Error(), "spec.sparkConf[spark.kubernetes.container.image]: ") {
		t.Errorf("%v", err)
	}
}

// TestWarnings checks the warnings about fields that have no effect, and about a Spark version that is newer than the
// newest supported one. A plain application must have no warnings.
func TestWarnings(t *testing.T) {
	for spec, want := range map[string]string{
		"spec: {pyFiles: local:///a.py}":    "spec.pyFiles: has no effect",
		"spec: {sparkRFiles: local:///a.R}": "spec.sparkRFiles: has no effect",
		`spec: {jars: "local:///a.jar,local:///b.jar", sparkConf: {spark.jars: local:///c.jar}}`:          "spec.jars: local:///b.jar has no effect",
		`spec: {runtimeVersions: {sparkVersion: 4.2.0, jdkVersion: "21 or so"}}`:                          "spec.runtimeVersions.jdkVersion",
		`spec: {sparkConf: {spark.kubernetes.namespace: elsewhere}}`:                                      "spark.kubernetes.namespace: ",
		`spec: {runtimeVersions: {sparkVersion: "9.9"}, sparkConf: {spark.kubernetes.driver.label.a: b}}`: "newer than the newest",
	} {
		if o := rendered(t, Applications{}, written(t, spec), 1); !hasWarning(o.Warnings, want) {
			t.Errorf("%s: %q", spec, o.Warnings)
		}
	}

	if o := rendered(t, Applications{}, written(t), 1); len(o.Warnings) > 0 {
		t.Errorf("a plain application has warnings: %q", o.Warnings)
	}

	if p, wrong := fields.ProgramOf(&sparkv1.ApplicationSpec{}); wrong != nil || p.Resource != "" {
		t.Errorf("%v, %v", p, wrong)
	}
}

// TestNegativeThresholds checks that negative thresholds count as 0, as with the other operator, and that a warning
// reports them.
func TestNegativeThresholds(t *testing.T) {
	app := written(t, "spec: {applicationTolerations: {instanceConfig: {initExecutors: -1, minExecutors: -2, maxExecutors: 0}}}")
	o := rendered(t, Applications{}, app, 1)

	var reported []string
	for _, warning := range o.Warnings {
		field, _, _ := strings.Cut(warning, ":")
		reported = append(reported, field)
	}

	const field = "spec.applicationTolerations.instanceConfig."
	if diff := cmp.Diff([]string{field + "initExecutors", field + "minExecutors"}, reported); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}

	if got := *(Applications{}).app(app).Thresholds; got != (lifecycle.Thresholds{}) {
		t.Errorf("decided by are %+v", got)
	}
}
