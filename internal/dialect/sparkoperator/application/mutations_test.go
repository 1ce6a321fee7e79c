package application

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// mutation is a change to pods that kubeflow's operator makes only in its webhook. Our operator makes the same change
// when it creates the driver pod and the executors' template or configuration. The fields contain YAML of the
// application and of the expected pods. The table has the same order as kubeflow's webhook.
type mutation struct {
	name string
	// app and pod request the change: app sets fields of the spec, and pod sets fields of spec.driver or spec.executor.
	app, pod string
	// template is a user's pod template that makes the same change or a conflicting one.
	template string
	// wantPod and wantContainer are the expected parts of the driver pod and of the executors' template, both with the
	// user's template and without it.
	wantPod, wantContainer string
	// merged and mergedContainer are further expected parts if the user's template is set.
	merged, mergedContainer string
	// driverConf and executorConf are the expected Spark configuration. If executorConf makes the change in executors,
	// the executors' template does not have to contain the change.
	driverConf, executorConf map[string]string
	onlyDriver               bool // wantPod and wantContainer are the driver's only: executors get it by configuration
}

var mutations = []mutation{
	{name: "1 owner reference", wantPod: `metadata: {ownerReferences: [{apiVersion: sparkoperator.k8s.io/v1beta2, kind: SparkApplication, name: pi}]}`,
		template: `metadata: {ownerReferences: [{apiVersion: v1, kind: Node, name: mine, uid: u}]}`},
	{name: "2 env", pod: `env: [{name: A, value: new}, {name: S, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: F, valueFrom: {fieldRef: {fieldPath: status.podIP}}}, {name: REF, value: $(A)}]`,
		wantContainer:   `env: [{name: A, value: new}, {name: S, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: F, valueFrom: {fieldRef: {fieldPath: status.podIP}}}, {name: REF, value: $(A)}]`,
		template:        `spec: {containers: [{name: x, env: [{name: A, value: old}, {name: B, value: mine}]}]}`,
		mergedContainer: `env: [{name: A, value: old}, {name: B, value: mine}, {name: A, value: new}]`},
	{name: "3 envFrom", pod: `envFrom: [{configMapRef: {name: c}}, {prefix: P_, secretRef: {name: s, optional: true}}]`,
		wantContainer:   `envFrom: [{configMapRef: {name: c}}, {prefix: P_, secretRef: {name: s, optional: true}}]`,
		template:        `spec: {containers: [{name: x, envFrom: [{secretRef: {name: mine}}]}]}`,
		mergedContainer: `envFrom: [{secretRef: {name: mine}}, {configMapRef: {name: c}}]`},
	{name: "4 hadoopConfigMap", app: `hadoopConfigMap: h`,
		wantPod:       `spec: {volumes: [{name: hadoop-configmap-volume, configMap: {name: h}}]}`,
		wantContainer: `{env: [{name: HADOOP_CONF_DIR, value: /etc/hadoop/conf}], volumeMounts: [{name: hadoop-configmap-volume, mountPath: /etc/hadoop/conf, readOnly: true}]}`,
		template:      `spec: {containers: [{name: x, env: [{name: HADOOP_CONF_DIR, value: /old}]}]}`},
	{name: "5 sparkConfigMap", app: `sparkConfigMap: s`,
		wantPod:       `spec: {volumes: [{name: spark-configmap-volume, configMap: {name: s}}]}`,
		wantContainer: `{env: [{name: SPARK_CONF_DIR, value: /etc/spark/conf}], volumeMounts: [{name: spark-configmap-volume, mountPath: /etc/spark/conf, readOnly: true}]}`,
		executorConf:  map[string]string{"spark.executorEnv.SPARK_CONF_DIR": "/etc/spark/conf"}},
	{name: "6 configMaps", pod: `configMaps: [{name: plain, path: /p}, {name: with.dot, path: /d}]`,
		wantPod:       `spec: {volumes: [{name: plain-vol, configMap: {name: plain}}, {configMap: {name: with.dot}}]}`,
		wantContainer: `volumeMounts: [{name: plain-vol, mountPath: /p, readOnly: true}, {mountPath: /d, readOnly: true}]`,
		template:      `spec: {volumes: [{name: plain-vol, configMap: {name: plain}}], containers: [{name: x, volumeMounts: [{name: plain-vol, mountPath: /p, readOnly: true}]}]}`},
	{name: "7 volumes", app: `volumes: [{name: data, persistentVolumeClaim: {claimName: c}}, {name: cfg, projected: {sources: [{secret: {name: s}}]}}, {name: unused, emptyDir: {}}]`,
		pod:             `volumeMounts: [{name: data, mountPath: /data, subPath: x}, {name: cfg, mountPath: /cfg, readOnly: true}, {name: data, mountPath: /again}]`,
		wantPod:         `spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: c}}, {name: cfg, projected: {sources: [{secret: {name: s}}]}}]}`,
		wantContainer:   `volumeMounts: [{name: data, mountPath: /data, subPath: x}, {name: cfg, mountPath: /cfg, readOnly: true}, {name: data, mountPath: /again}]`,
		template:        `spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: c}}, {name: mine, emptyDir: {}}], containers: [{name: x, volumeMounts: [{name: mine, mountPath: /mine}]}]}`,
		merged:          `spec: {volumes: [{name: data}, {name: mine}]}`,
		mergedContainer: `volumeMounts: [{name: mine, mountPath: /mine}, {name: data, mountPath: /data}]`},
	{name: "7 volumes of the template", pod: `volumeMounts: [{name: mine, mountPath: /mine}]`,
		template:        `spec: {volumes: [{name: mine, emptyDir: {}}], containers: [{name: x}]}`,
		mergedContainer: `volumeMounts: [{name: mine, mountPath: /mine}]`},
	{name: "8 ports", pod: `ports: [{name: metrics, protocol: TCP, containerPort: 8090}, {name: udp, protocol: UDP, containerPort: 9000}]`,
		wantContainer:   `ports: [{name: metrics, protocol: TCP, containerPort: 8090}, {name: udp, protocol: UDP, containerPort: 9000}]`,
		template:        `spec: {containers: [{name: x, ports: [{name: mine, containerPort: 1}, {name: metrics, protocol: TCP, containerPort: 8090}]}]}`,
		mergedContainer: `ports: [{name: mine}, {name: metrics}, {name: udp}]`},
	{name: "9 hostNetwork", pod: `hostNetwork: true`,
		wantPod:  `spec: {hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet}`,
		template: `spec: {dnsPolicy: Default}`},
	{name: "10 hostAliases", pod: `hostAliases: [{ip: 10.0.0.1, hostnames: [a]}]`,
		wantPod:  `spec: {hostAliases: [{ip: 10.0.0.1, hostnames: [a]}]}`,
		template: `spec: {hostAliases: [{ip: 10.0.0.2, hostnames: [b]}, {ip: 10.0.0.1, hostnames: [a]}]}`,
		merged:   `spec: {hostAliases: [{ip: 10.0.0.2}, {ip: 10.0.0.1}]}`},
	{name: "11 initContainers", pod: `initContainers: [{name: i, image: img, command: [a]}]`,
		wantPod:  `spec: {initContainers: [{name: i, image: img}]}`,
		template: `spec: {initContainers: [{name: mine, image: m}, {name: i, image: img}]}`,
		merged:   `spec: {initContainers: [{name: mine}, {name: i}]}`},
	{name: "12 sidecars", pod: `sidecars: [{name: s, image: img, restartPolicy: Always}]`,
		wantPod:  `spec: {containers: [{name: s, image: img}]}`,
		template: `spec: {containers: [{name: x}, {name: mine, image: m}, {name: s, image: img}]}`,
		merged:   `spec: {containers: [{name: mine}, {name: s}]}`},
	{name: "13 dnsConfig", pod: `dnsConfig: {nameservers: [10.0.0.9], options: [{name: ndots, value: "1"}]}`,
		wantPod:  `spec: {dnsConfig: {nameservers: [10.0.0.9], options: [{name: ndots, value: "1"}]}}`,
		template: `spec: {dnsConfig: {searches: [mine]}}`},
	{name: "14 priorityClassName", pod: `priorityClassName: high`,
		wantPod:  `spec: {priorityClassName: high, priority: null}`,
		template: `spec: {priorityClassName: low, priority: 5, preemptionPolicy: Never}`},
	{name: "15 schedulerName", pod: `schedulerName: mine`, wantPod: `spec: {schedulerName: mine}`, onlyDriver: true,
		executorConf: map[string]string{"spark.kubernetes.executor.scheduler.name": "mine"},
		template:     `spec: {schedulerName: other}`},
	{name: "16 nodeSelector", pod: `nodeSelector: {disk: ssd}`, wantPod: `spec: {nodeSelector: {disk: ssd}}`,
		onlyDriver:   true,
		executorConf: map[string]string{"spark.kubernetes.executor.node.selector.disk": "ssd"},
		template:     `spec: {nodeSelector: {disk: hdd, zone: a}}`, merged: `spec: {nodeSelector: {zone: a}}`},
	{name: "16 nodeSelector of both", app: `nodeSelector: {disk: ssd}`, wantPod: `spec: {nodeSelector: {disk: ssd}}`,
		onlyDriver:   true,
		executorConf: map[string]string{"spark.kubernetes.node.selector.disk": "ssd"}},
	{name: "17 affinity", pod: `affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: k, operator: Exists}]}]}}}`,
		wantPod:  `spec: {affinity: {podAntiAffinity: null, nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: k, operator: Exists}]}]}}}}`,
		template: `spec: {affinity: {podAntiAffinity: {}}}`},
	{name: "18 tolerations", pod: `tolerations: [{key: spot, operator: Exists, effect: NoSchedule}]`,
		wantPod:  `spec: {tolerations: [{key: spot, operator: Exists, effect: NoSchedule}]}`,
		template: `spec: {tolerations: [{key: mine}, {key: spot, operator: Exists, effect: NoSchedule}]}`,
		merged:   `spec: {tolerations: [{key: mine}, {key: spot}]}`},
	{name: "19 memoryLimit", pod: `memoryLimit: 3g`, wantContainer: `resources: {limits: {memory: 3Gi}}`,
		template:        `spec: {containers: [{name: x, resources: {limits: {memory: 9Gi, ephemeral-storage: 1Gi}}}]}`,
		mergedContainer: `resources: {limits: {ephemeral-storage: 1Gi}}`},
	{name: "20 gpu", pod: `gpu: {name: nvidia.com/gpu, quantity: 2}`,
		wantContainer: `resources: {limits: {nvidia.com/gpu: "2"}}`,
		template:      `spec: {containers: [{name: x, resources: {limits: {nvidia.com/gpu: 1}}}]}`},
	{name: "20 gpu without a quantity", pod: `gpu: {name: nvidia.com/gpu, quantity: 0}`,
		wantContainer: `resources: {limits: {nvidia.com/gpu: null}}`},
	{name: "21 prometheus", app: `monitoring: {exposeDriverMetrics: true, exposeExecutorMetrics: true, prometheus: {jmxExporterJar: /prometheus/agent.jar}}`,
		pod:           `javaOptions: -Dmine=1`,
		wantPod:       `{spec: {volumes: [{name: pi-prom-conf-vol, configMap: {name: pi-prom-conf}}]}}`,
		wantContainer: `{volumeMounts: [{name: pi-prom-conf-vol, mountPath: /etc/metrics/conf, readOnly: true}], ports: [{name: jmx-exporter, protocol: TCP, containerPort: 8090}]}`,
		template:      `spec: {containers: [{name: x, ports: [{name: mine, containerPort: 1}], volumeMounts: [{name: mine, mountPath: /mine}]}], volumes: [{name: mine, emptyDir: {}}]}`,
		merged:        `spec: {volumes: [{name: mine}, {name: pi-prom-conf-vol}]}`,
		driverConf: map[string]string{
			"spark.metrics.conf": "/etc/metrics/conf/metrics.properties", "spark.metrics.namespace": "jobs.pi",
			"spark.driver.extraJavaOptions": "-Dmine=1 -javaagent:/prometheus/agent.jar=8090:/etc/metrics/conf/prometheus.yaml",
		},
		executorConf: map[string]string{
			"spark.executor.extraJavaOptions":                           "-Dmine=1 -javaagent:/prometheus/agent.jar=8090:/etc/metrics/conf/prometheus.yaml",
			"spark.kubernetes.executor.annotation.prometheus.io/scrape": "true",
			"spark.kubernetes.executor.annotation.prometheus.io/port":   "8090",
			"spark.kubernetes.executor.annotation.prometheus.io/path":   "/metrics",
		}},
	{name: "21 prometheus of a port and a configuration of one's own",
		app:           `monitoring: {exposeDriverMetrics: true, exposeExecutorMetrics: true, metricsPropertiesFile: /m/metrics.properties, prometheus: {jmxExporterJar: /a.jar, port: 9404, portName: metrics, configFile: /m/agent.yaml}}`,
		wantPod:       `spec: {}`,
		wantContainer: `ports: [{name: metrics, protocol: TCP, containerPort: 9404}]`,
		driverConf: map[string]string{"spark.metrics.conf": "/m/metrics.properties",
			"spark.driver.extraJavaOptions": "-javaagent:/a.jar=9404:/m/agent.yaml"},
		executorConf: map[string]string{"spark.executor.extraJavaOptions": "-javaagent:/a.jar=9404:/m/agent.yaml"}},
	{name: "22 securityContext",
		pod:           `securityContext: {runAsUser: 185, capabilities: {drop: [ALL]}, allowPrivilegeEscalation: false}`,
		wantContainer: `securityContext: {privileged: null, runAsUser: 185, capabilities: {drop: [ALL]}, allowPrivilegeEscalation: false}`,
		executorConf:  map[string]string{"spark.kubernetes.executor.securityContext.allowPrivilegeEscalation": "false"},
		template:      `spec: {containers: [{name: x, securityContext: {privileged: true}}]}`},
	{name: "22 securityContext that is privileged", pod: `securityContext: {privileged: true}`,
		wantContainer: `securityContext: {privileged: true}`,
		executorConf:  map[string]string{"spark.kubernetes.executor.securityContext.allowPrivilegeEscalation": "true"}},
	{name: "23 podSecurityContext", pod: `podSecurityContext: {fsGroup: 185}`,
		wantPod:  `spec: {securityContext: {fsGroup: 185, runAsNonRoot: null}}`,
		template: `spec: {securityContext: {runAsNonRoot: true}}`},
	{name: "24 terminationGracePeriodSeconds", pod: `terminationGracePeriodSeconds: 60`,
		wantPod: `spec: {terminationGracePeriodSeconds: 60}`, onlyDriver: true,
		executorConf: map[string]string{"spark.kubernetes.executor.terminationGracePeriodSeconds": "60s"},
		template:     `spec: {terminationGracePeriodSeconds: 5}`},
	{name: "24 terminationGracePeriodSeconds before 4.1", app: `sparkVersion: 4.0.5`,
		pod: `terminationGracePeriodSeconds: 60`, wantPod: `spec: {terminationGracePeriodSeconds: 60}`},
	{name: "25 lifecycle", pod: `lifecycle: {preStop: {exec: {command: [a]}}}`,
		wantContainer: `lifecycle: {preStop: {exec: {command: [a]}}, postStart: null}`,
		template:      `spec: {containers: [{name: x, lifecycle: {postStart: {exec: {command: [b]}}}}]}`},
	{name: "26 shareProcessNamespace", pod: `shareProcessNamespace: true`,
		wantPod: `spec: {shareProcessNamespace: true}`, template: `spec: {shareProcessNamespace: false}`},
	{name: "26 shareProcessNamespace that is off", pod: `shareProcessNamespace: false`,
		wantPod: `spec: {shareProcessNamespace: null}`},
}

func TestMutations(t *testing.T) {
	for _, m := range mutations {
		for _, role := range []string{"driver", "executor"} {
			t.Run(m.name+"/"+role, func(t *testing.T) {
				asked := fmt.Sprintf("spec: {%s: %s}", role, orEmpty(m.pod))

				spec := "spec: " + orEmpty(m.app)
				if !strings.HasPrefix(m.name, "7 volumes of the template") {
					m.check(t, role, renderApp(t, sparkapp.Of(t, spec, asked)), false)
				}

				if m.template != "" {
					m.check(t, role, renderApp(t, sparkapp.Of(t, spec, asked, templated(t, role, m.template))), true)
				}
			})
		}
	}
}

func orEmpty(yaml string) string {
	if yaml == "" {
		return "{}"
	}
	return "{" + yaml + "}"
}

// templated returns YAML that sets a user's template for a role. If the template has no container, templated adds one,
// because spark-submit ignores a template without containers.
func templated(t *testing.T, role, template string) string {
	t.Helper()
	whole := fieldtable.Tree(t, `spec: {containers: [{name: x}]}`)
	fieldtable.Merge(whole, fieldtable.Tree(t, template))

	text, err := json.Marshal(map[string]any{"spec": map[string]any{role: map[string]any{"template": whole}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (m mutation) check(t *testing.T, role string, got sparkapp.Launch, withTemplate bool) {
	t.Helper()

	pod, container := got.Role(role)

	want := map[string]string{}
	if role == "driver" || !m.onlyDriver {
		want[m.wantPod], want[m.wantContainer] = "pod", "container"
	}

	if withTemplate {
		want[m.merged], want[m.mergedContainer] = "pod", "container"
	}

	for text, what := range want {
		have := any(pod)
		if what == "container" {
			have = container
		}

		for _, missing := range sparkapp.MissingParts(have, any(fieldtable.Tree(t, text)), what) {
			t.Errorf("%s (template of the user's: %v)", missing, withTemplate)
		}
	}

	for key, value := range map[string]map[string]string{"driver": m.driverConf, "executor": m.executorConf}[role] {
		if got.Conf[key] != value {
			t.Errorf("%s is %q, want %q", key, got.Conf[key], value)
		}
	}

	if twice := sparkapp.Duplicates(pod); len(twice) > 0 {
		t.Errorf("twice in the pod: %v", twice)
	}

	if t.Failed() {
		text, _ := yaml.Marshal(pod)
		t.Logf("%s", text)
	}
}
