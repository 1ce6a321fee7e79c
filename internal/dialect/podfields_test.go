package dialect

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// TestNamed checks that a message of the API server about a pod names the fields of the custom resource, if one sets
// the value, and else whose pod it is.
func TestNamed(t *testing.T) {
	app, pod := &v1beta2.SparkApplication{}, &corev1.Pod{}
	for text, into := range map[string]any{`
metadata: {labels: {own: x}}
spec:
  image: i
  volumes: [{name: v, emptyDir: {}}]
  nodeSelector: {disk: x}
  sparkConf: {spark.kubernetes.driverEnv.KEY: x, spark.kubernetes.driver.label.l: x}
  driver:
    env: [{name: B, value: x}]
    envVars: {OLD: x}
    ports: [{name: b, containerPort: 2, protocol: TCP}]
    tolerations: [{key: t, operator: exists}]
    sidecars: [{name: s, image: j}]
    initContainers: [{name: i, image: k}]
    podSecurityContext: {runAsUser: -1}
    securityContext: {runAsUser: -2}
    serviceAccount: a
    annotations: {n: x}
    volumeMounts: [{name: v, mountPath: /m}]
    template: {spec: {hostname: A, tolerations: [{key: u}], containers: [{name: c, workingDir: x}, {name: side, image: z}]}}
`: app, `
metadata: {labels: {own: x, l: x}, annotations: {n: x}}
spec:
  hostname: A
  nodeName: n
  nodeSelector: {disk: x}
  serviceAccountName: a
  securityContext: {runAsUser: -1}
  tolerations: [{key: u}, {key: t, operator: exists}]
  volumes: [{name: conf, configMap: {name: c}}, {name: v, emptyDir: {}}]
  initContainers: [{name: i, image: k}]
  containers:
  - {name: side, image: z}
  - {name: s, image: j}
  - name: spark-kubernetes-driver
    image: i
    workingDir: x
    securityContext: {runAsUser: -2}
    env: [{name: A, value: x}, {name: B, value: x}, {name: KEY, value: x}, {name: OLD, value: x}]
    ports: [{name: a, containerPort: 1}, {name: b, containerPort: 2, protocol: TCP}]
    volumeMounts: [{name: conf, mountPath: /c}, {name: v, mountPath: /m}]
`: pod} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}

	driver := Sources("spec.driver", "spec.executor", "template").Driver
	for path, want := range map[string]string{
		"spec.containers[2].image":                     "spec.image",
		"spec.containers[2].env[1].name":               "spec.driver.env[0].name",
		"spec.containers[2].env[2].name":               "spec.sparkConf[spark.kubernetes.driverEnv.KEY]",
		"spec.containers[2].env[3].name":               "spec.driver.envVars[OLD]",
		"spec.containers[2].env[0].name":               "spec.containers[2].env[0].name of the driver pod",
		"spec.containers[2].ports[1].hostPort":         "spec.driver.ports[0].hostPort",
		"spec.containers[2].ports[0].name":             "spec.containers[2].ports[0].name of the driver pod",
		"spec.containers[2].volumeMounts[1].mountPath": "spec.driver.volumeMounts[0].mountPath",
		"spec.containers[2].securityContext.runAsUser": "spec.driver.securityContext.runAsUser",
		"spec.containers[2].workingDir":                "spec.driver.template.spec.containers[0].workingDir",
		"spec.containers[1].image":                     "spec.driver.sidecars[0].image",
		"spec.containers[0].image":                     "spec.driver.template.spec.containers[1].image",
		"spec.initContainers[0].image":                 "spec.driver.initContainers[0].image",
		"spec.tolerations[1].operator":                 "spec.driver.tolerations[0].operator",
		"spec.tolerations[0].operator":                 "spec.driver.template.spec.tolerations[0].operator",
		"spec.volumes[1].emptyDir":                     "spec.volumes[0].emptyDir",
		"spec.volumes[0].configMap.name":               "spec.volumes[0].configMap.name of the driver pod",
		"spec.securityContext.runAsUser":               "spec.driver.podSecurityContext.runAsUser",
		"spec.serviceAccountName":                      "spec.driver.serviceAccount",
		"spec.nodeSelector[disk]":                      "spec.nodeSelector[disk]",
		"spec.hostname":                                "spec.driver.template.spec.hostname",
		"spec.nodeName":                                "spec.nodeName of the driver pod",
		"metadata.annotations[n]":                      "spec.driver.annotations[n]",
		"metadata.labels[l]":                           "spec.sparkConf[spark.kubernetes.driver.label.l]",
		"metadata.labels[own]":                         "metadata.labels[own]",
	} {
		message := `[` + path + `: Invalid value: "x.y": no, ` + path + `: Required value]`
		if got := driver.Named(app, pod, message); got != strings.ReplaceAll(message, path+":", want+":") {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
