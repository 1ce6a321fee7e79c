package application

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

var updateGolden = flag.Bool("update-golden", false, "write the golden files")

// fullApplication sets every field that makes the operator create an object.
const fullApplication = `
spec:
  proxyUser: alice
  driverArgs: ["1000"]
  files: s3a://bucket/conf.json
  sparkConf:
    spark.executor.instances: "2"
    spark.kubernetes.driver.label.run: "{{APP_ID}}"
  driverSpec:
    podTemplateSpec:
      metadata: {annotations: {team: a}}
      spec:
        initContainers: [{name: fetch, image: busybox}]
        containers: [{name: spark-kubernetes-driver, volumeMounts: [{name: extra, mountPath: /etc/extra}]}, {name: log, image: busybox}]
        volumes: [{name: extra, configMap: {name: extra}}]
  executorSpec: {podTemplateSpec: {spec: {nodeSelector: {disk: ssd}}}}
  configMapSpecs: [{name: extra, labels: {team: a}, data: {key: value}}]
  driverServiceIngressList:
  - {serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 80, targetPort: 4040}]}, ingressMetadata: {name: ui}, ingressSpec: {ingressClassName: nginx}}
`

// TestGoldenObjects compares all objects of two applications with golden files. After an intended change, run it with
// -update-golden and review the difference.
func TestGoldenObjects(t *testing.T) {
	for name, app := range map[string]*sparkv1.SparkApplication{"plain": written(t),
		"everything": written(t, fullApplication)} {
		made := rendered(t, Applications{}, app, 1)
		objects := append(append([]submit.Object{}, made.Before...), made.Driver)
		objects = append(objects, withExposure.AuxiliaryObjects(inPhase(lifecycle.Running, app)).Objects...)

		var got bytes.Buffer
		for _, object := range objects {
			text, err := yaml.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}

			got.WriteString("---\n")
			got.Write(text)
		}

		golden := filepath.Join("testdata", name+".golden.yaml")
		if *updateGolden {
			if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}

		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestExamples checks that every example application of this API renders without a warning.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}

	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
			var app sparkv1.SparkApplication
			if yaml.Unmarshal(part, &app) != nil || app.APIVersion != sparkv1.GroupVersion.String() ||
				app.Kind != "SparkApplication" {
				continue
			}

			app = sparkv1.SparkApplication{}
			if err := yaml.UnmarshalStrict(part, &app); err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}

			app.UID = noonUID
			if app.Namespace == "" {
				app.Namespace = "default"
			}

			if o := rendered(t, Applications{}, &app, 1); len(o.Warnings) > 0 {
				t.Errorf("%s: %q", file, o.Warnings)
			}
		}
	}
}
