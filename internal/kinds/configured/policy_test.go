package configured_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
)

// manifests are valid objects of the five kinds, in the order of configured.Admission.
var manifests = []string{
	`{spec: {type: Java, mode: cluster, sparkVersion: 4.1.4, image: "spark:4", mainClass: a.B, mainApplicationFile: "local:///a.jar", driver: {}, executor: {instances: 2}}}`,
	`{spec: {schedule: "0 3 * * *", template: {type: Java, mode: cluster, sparkVersion: 4.1.4, image: "spark:4", mainClass: a.B, mainApplicationFile: "local:///a.jar", driver: {}, executor: {instances: 2}}}}`,
	`{spec: {sparkVersion: 4.1.4, image: "spark:4", server: {}, executor: {instances: 2}}}`,
	`{spec: {mainClass: a.B, jars: "local:///a.jar", sparkConf: {spark.kubernetes.container.image: "spark:4"}, runtimeVersions: {sparkVersion: 4.1.4}}}`,
	`{spec: {runtimeVersions: {sparkVersion: 4.1.4}, clusterTolerations: {instanceConfig: {initWorkers: 2, minWorkers: 2, maxWorkers: 2}}, sparkConf: {spark.kubernetes.container.image: "spark:4"}}}`,
}

// all returns the kinds of a configuration in the order of configured.Admission.
func all(now func() config.Configuration) []contract.Kind {
	return []contract.Kind{
		configured.For(kinds.SparkApplication).Build(now, nil), configured.For(kinds.Schedule).Build(now, nil),
		configured.For(kinds.SparkConnect).Build(now, nil),
		configured.For(kinds.ApacheApplication).Build(now, nil), configured.For(kinds.SparkCluster).Build(now, nil),
	}
}

// tree returns the manifest of a kind as decoded JSON with pieces of YAML merged into it.
func tree(t *testing.T, i int, pieces ...string) map[string]any {
	t.Helper()

	whole := map[string]any{}
	for _, piece := range append([]string{manifests[i]}, pieces...) {
		var over map[string]any
		if err := yaml.Unmarshal([]byte(piece), &over); err != nil {
			t.Fatalf("%v in %s", err, piece)
		}

		fieldtable.Merge(whole, over)
	}
	return whole
}

// object returns an object of a kind with pieces of YAML merged into its manifest.
func object(t *testing.T, i int, pieces ...string) client.Object {
	t.Helper()

	text, err := json.Marshal(tree(t, i, pieces...))
	if err != nil {
		t.Fatal(err)
	}

	out := configured.Admission(nil)[i].New()
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}

	out.SetName("pi")
	out.SetNamespace("jobs")
	out.SetUID("11111111-2222-4333-8444-555555555555")
	out.SetGeneration(1)
	out.SetCreationTimestamp(metav1.NewTime(noon))
	return out
}

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// configWithRules returns a configuration with a set of rules.
func configWithRules(t *testing.T, rules string) config.Configuration {
	t.Helper()

	cfg, err := config.Parse([]byte("apiVersion: " + config.APIVersion + "\nkind: " + config.Kind +
		"\nexposure: {enabled: true}\nui: {ingress: {enabled: true}}\npolicy: {owner: data team, rules: [" + rules +
		"]}\n"))
	if err != nil {
		t.Fatalf("%v in %s", err, rules)
	}
	return cfg
}

// unchanged is a piece of YAML that does not change a manifest.
const unchanged = "{}"

// podPieces returns for each kind a piece that sets something in the template of a pod, and podFields the fields that
// messages about such a pod name.
func podPieces(spec string) [5]string {
	return [5]string{
		`spec: {executor: {template: {spec: {` + spec + `}}}}`,
		`spec: {template: {executor: {template: {spec: {` + spec + `}}}}}`,
		`spec: {executor: {template: {spec: {` + spec + `}}}}`,
		`spec: {executorSpec: {podTemplateSpec: {spec: {` + spec + `}}}}`,
		`spec: {workerSpec: {statefulSetSpec: {template: {spec: {` + spec + `}}}}}`,
	}
}

var podFields = [5]string{"spec.executor", "spec.template.executor", "spec.executor", "spec.executorSpec",
	"spec.workerSpec"}

// ingressPieces returns for each kind with an Ingress a piece that annotates it, and ingressFields the fields.
func ingressPieces(annotation string) [5]string {
	const options = `driverIngressOptions: [{servicePort: 4040, servicePortName: ui, ingressURLFormat: "x.a.org", ingressAnnotations: {`
	return [5]string{
		`spec: {` + options + annotation + `}}]}`, `spec: {template: {` + options + annotation + `}}]}}`,
		`spec: {ui: {ingressURLFormat: "x.a.org", ingressAnnotations: {` + annotation + `}}}`,
		`spec: {driverServiceIngressList: [{serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 4040}]}, ingressMetadata: {name: ui, annotations: {` + annotation + `}}, ingressSpec: {rules: [{host: x.a.org}]}}]}`, ``,
	}
}

func ingressFields(key string) [5]string {
	return [5]string{
		"spec.driverIngressOptions[0].ingressAnnotations[" + key + "]",
		"spec.template.driverIngressOptions[0].ingressAnnotations[" + key + "]",
		"spec.ui.ingressAnnotations[" + key + "]",
		"spec.driverServiceIngressList[0].ingressMetadata.annotations[" + key + "]",
	}
}

// hostAnnotation publishes a Service by external-dns. servicePieces annotate a Service of each kind with it, and
// serviceFields are the fields.
const hostAnnotation = "external-dns.alpha.kubernetes.io/hostname"

var (
	servicePieces = [5]string{
		`spec: {driver: {serviceAnnotations: {` + hostAnnotation + `: bank.org}}}`,
		`spec: {template: {sparkUIOptions: {serviceAnnotations: {` + hostAnnotation + `: bank.org}}}}`,
		`spec: {server: {service: {metadata: {annotations: {` + hostAnnotation + `: bank.org}}}}}`,
		`spec: {driverServiceIngressList: [{serviceMetadata: {name: ui, annotations: {` + hostAnnotation +
			`: bank.org}}, serviceSpec: {ports: [{port: 4040}]}, ingressMetadata: {name: ui}, ingressSpec: {rules: [{host: x.a.org}]}}]}`,
		`spec: {masterSpec: {serviceMetadata: {annotations: {` + hostAnnotation + `: bank.org}}}}`,
	}
	serviceFields = [5]string{
		"spec.driver.serviceAnnotations[" + hostAnnotation + "]",
		"spec.template.sparkUIOptions.serviceAnnotations[" + hostAnnotation + "]",
		"spec.server.service.metadata.annotations[" + hostAnnotation + "]",
		"spec.driverServiceIngressList[0].serviceMetadata.annotations[" + hostAnnotation + "]",
		"spec.masterSpec.serviceMetadata.annotations[" + hostAnnotation + "]",
	}
)

// TestPolicyOfAllKinds checks each rule with an object of each kind. The review must accept the object without the
// rule, and reject it with the rule. The rejection must name the field, the rule and the owner. A pass must then create
// nothing and write the same message into the status.
func TestPolicyOfAllKinds(t *testing.T) {
	t.Parallel()

	const hostPath = `volumes: [{name: host, hostPath: {path: /}}]`
	for name, c := range map[string]struct {
		rules string
		// pieces are merged into the manifests. An empty piece means that the kind has no such setting.
		pieces [5]string
		fields [5]string
		words  string
	}{
		"images": {
			`{name: p, images: {allowed: ["registry.example.com/*"]}}`,
			[5]string{unchanged, unchanged, unchanged, unchanged, unchanged},
			[5]string{"spec.image", "spec.template.image", "spec.image",
				"spec.sparkConf[spark.kubernetes.container.image]", "spec.masterSpec"},
			`the image "spark:4" is not allowed by the rule images of the policy p (owner: data team); allowed are: registry.example.com/*`,
		},
		"service accounts": {
			`{name: p, serviceAccounts: {allowed: [spark]}}`,
			[5]string{
				`spec: {driver: {serviceAccount: admin}}`, `spec: {template: {driver: {serviceAccount: admin}}}`,
				`spec: {server: {template: {spec: {serviceAccountName: admin}}}}`,
				`spec: {sparkConf: {spark.kubernetes.authenticate.driver.serviceAccountName: admin}}`,
				`spec: {masterSpec: {statefulSetSpec: {template: {spec: {serviceAccountName: admin}}}}}`,
			},
			[5]string{
				"spec.driver.serviceAccount", "spec.template.driver.serviceAccount",
				"spec.server.template.spec.serviceAccountName",
				"spec.sparkConf[spark.kubernetes.authenticate.driver.serviceAccountName]",
				"spec.masterSpec.statefulSetSpec.template.spec.serviceAccountName",
			},
			`the service account "admin" is not allowed by the rule serviceAccounts of the policy p (owner: data team); allowed are: spark`,
		},
		"denied keys": {
			`{name: p, sparkConf: {denied: ["spark.hadoop.*"]}}`,
			[5]string{`spec: {hadoopConf: {a: b}}`, `spec: {template: {hadoopConf: {a: b}}}`,
				`spec: {hadoopConf: {a: b}}`, `spec: {sparkConf: {spark.hadoop.a: b}}`,
				`spec: {sparkConf: {spark.hadoop.a: b}}`},
			[5]string{"spec.hadoopConf[a]", "spec.template.hadoopConf[a]", "spec.hadoopConf[a]",
				"spec.sparkConf[spark.hadoop.a]", "spec.sparkConf[spark.hadoop.a]"},
			`the key "spark.hadoop.a" is not allowed by the rule sparkConf.denied of the policy p`,
		},
		"denied typed fields": {
			`{name: p, sparkConf: {denied: ["spark.dynamicAllocation.*"]}}`,
			[5]string{
				`spec: {dynamicAllocation: {enabled: true}}`, `spec: {template: {dynamicAllocation: {enabled: true}}}`,
				`spec: {dynamicAllocation: {enabled: true}}`,
				`spec: {sparkConf: {spark.dynamicAllocation.enabled: "true"}}`, ``,
			},
			[5]string{"spec.dynamicAllocation", "spec.template.dynamicAllocation", "spec.dynamicAllocation.enabled",
				"spec.sparkConf[spark.dynamicAllocation.enabled]"},
			`the key "spark.dynamicAllocation.enabled" is not allowed by the rule sparkConf.denied of the policy p`,
		},
		"no maximum": {
			`{name: p, limits: {cores: 1000}}`,
			[5]string{
				`spec: {dynamicAllocation: {enabled: true}}`, `spec: {template: {dynamicAllocation: {enabled: true}}}`,
				`spec: {dynamicAllocation: {enabled: true}}`,
				`spec: {sparkConf: {spark.dynamicAllocation.enabled: "true"}}`, ``,
			},
			[5]string{"spec.dynamicAllocation.maxExecutors", "spec.template.dynamicAllocation.maxExecutors",
				"spec.dynamicAllocation.maxExecutors", "spec.sparkConf[spark.dynamicAllocation.maxExecutors]"},
			`an unlimited or unreadable number of executors is not allowed by the rule limits of the policy p (owner: data team); set a maximum as a plain number`,
		},
		"required keys": {
			`{name: p, sparkConf: {required: {spark.eventLog.enabled: "true"}}}`,
			[5]string{unchanged, unchanged, unchanged, unchanged, unchanged},
			[5]string{"spec.sparkConf", "spec.template.sparkConf", "spec.sparkConf", "spec.sparkConf",
				"spec.sparkConf"},
			`a Spark configuration without spark.eventLog.enabled is not allowed by the rule sparkConf.required of the policy p`,
		},
		"pod security": {
			`{name: p, level: baseline}`,
			[5]string{
				`spec: {driver: {hostNetwork: true}}`,
				`spec: {template: {executor: {template: {spec: {` + hostPath + `}}}}}`,
				`spec: {executor: {template: {spec: {` + hostPath + `}}}}`,
				`spec: {executorSpec: {podTemplateSpec: {spec: {` + hostPath + `}}}}`,
				`spec: {workerSpec: {statefulSetSpec: {template: {spec: {` + hostPath + `}}}}}`,
			},
			[5]string{"spec.driver", "spec.template.executor", "spec.executor", "spec.executorSpec", "spec.workerSpec"},
			`is not allowed by the rule podSecurity: baseline of the policy p`,
		},
		"executors": {
			`{name: p, limits: {executors: 1}}`, [5]string{unchanged, unchanged, unchanged, unchanged, unchanged},
			[5]string{"spec.executor.instances", "spec.template.executor.instances", "spec.executor.instances",
				"spec.sparkConf[spark.executor.instances]", "spec.clusterTolerations.instanceConfig.initWorkers"},
			`the number 2 is not allowed by the rule limits.executors of the policy p (owner: data team); use at most 1`,
		},
		"cores": {
			`{name: p, limits: {cores: 2}}`,
			[5]string{unchanged, unchanged, unchanged, unchanged,
				`spec: {workerSpec: {statefulSetSpec: {template: {spec: {containers: [{name: worker, resources: {requests: {cpu: 2}}}]}}}}}`},
			[5]string{"spec", "spec.template", "spec", "spec", "spec"},
			`of the pods' requests for cpu is not allowed by the rule limits.cores of the policy p (owner: data team); use at most 2`,
		},
		"tolerations": {
			`{name: p, level: restricted, podSecurity: "off"}`,
			[5]string{
				`spec: {driver: {tolerations: [{operator: Exists}]}}`,
				`spec: {template: {driver: {tolerations: [{operator: Exists}]}}}`,
				`spec: {server: {template: {spec: {tolerations: [{operator: Exists}]}}}}`,
				`spec: {driverSpec: {podTemplateSpec: {spec: {tolerations: [{operator: Exists}]}}}}`,
				`spec: {masterSpec: {statefulSetSpec: {template: {spec: {tolerations: [{operator: Exists}]}}}}}`,
			},
			[5]string{"spec.driver", "spec.template.driver", "spec.server", "spec.driverSpec", "spec.masterSpec"},
			`the toleration "*" is not allowed by the rule tolerations of the policy p (owner: data team); remove it`,
		},
		"node selectors": {
			`{name: p, nodeSelectors: {allowed: ["pool=spark"]}}`,
			[5]string{
				`spec: {nodeSelector: {pool: system}}`, `spec: {template: {nodeSelector: {pool: system}}}`,
				`spec: {sparkConf: {spark.kubernetes.node.selector.pool: system}}`,
				`spec: {sparkConf: {spark.kubernetes.node.selector.pool: system}}`,
				`spec: {workerSpec: {statefulSetSpec: {template: {spec: {nodeSelector: {pool: system}}}}}}`,
			},
			[5]string{"spec.driver", "spec.template.driver", "spec.executor", "spec.driverSpec", "spec.workerSpec"},
			`the node selector "pool=system" is not allowed by the rule nodeSelectors of the policy p (owner: data team); allowed are: pool=spark`,
		},
		"priority classes": {
			`{name: p, priorityClasses: {allowed: []}}`,
			[5]string{
				`spec: {driver: {priorityClassName: high}}`, `spec: {template: {driver: {priorityClassName: high}}}`,
				`spec: {server: {template: {spec: {priorityClassName: high}}}}`,
				`spec: {driverSpec: {podTemplateSpec: {spec: {priorityClassName: high}}}}`,
				`spec: {masterSpec: {statefulSetSpec: {template: {spec: {priorityClassName: high}}}}}`,
			},
			[5]string{"spec.driver", "spec.template.driver", "spec.server", "spec.driverSpec", "spec.masterSpec"},
			`the priority class "high" is not allowed by the rule priorityClasses of the policy p (owner: data team); remove it`,
		},
		"labels": {
			`{name: p, labels: {required: {team: "*"}}}`,
			[5]string{unchanged, unchanged, unchanged, unchanged, unchanged},
			[5]string{"metadata.labels", "metadata.labels", "metadata.labels", "metadata.labels", "metadata.labels"},
			`a custom resource without the label team is not allowed by the rule labels.required of the policy p (owner: data team); set it to a value that matches *`,
		},
		"packages": {
			`{name: p, packages: {allowed: ["org.apache.*"]}}`,
			[5]string{
				`spec: {deps: {packages: ["com.evil:a:1"]}}`, `spec: {template: {deps: {packages: ["com.evil:a:1"]}}}`,
				`spec: {sparkConf: {spark.jars.packages: "com.evil:a:1"}}`,
				`spec: {sparkConf: {spark.jars.packages: "com.evil:a:1"}}`, ``,
			},
			[5]string{"spec.deps.packages", "spec.template.deps.packages", "spec.sparkConf[spark.jars.packages]",
				"spec.sparkConf[spark.jars.packages]"},
			`the package "com.evil:a:1" is not allowed by the rule packages of the policy p (owner: data team); allowed are: org.apache.*`,
		},
		"repositories": {
			`{name: p, repositories: {allowed: []}}`,
			[5]string{
				`spec: {deps: {repositories: ["https://e.org"]}}`,
				`spec: {template: {deps: {repositories: ["https://e.org"]}}}`,
				`spec: {sparkConf: {spark.jars.repositories: "https://e.org"}}`,
				`spec: {sparkConf: {spark.jars.repositories: "https://e.org"}}`, ``,
			},
			[5]string{"spec.deps.repositories", "spec.template.deps.repositories",
				"spec.sparkConf[spark.jars.repositories]", "spec.sparkConf[spark.jars.repositories]"},
			`the repository "https://e.org" is not allowed by the rule repositories of the policy p (owner: data team); remove it`,
		},
		"Ingress hosts": {
			`{name: p, ingress: {hosts: {allowed: ["*.a.org"]}}}`,
			[5]string{
				`spec: {driverIngressOptions: [{servicePort: 4040, servicePortName: ui, ingressURLFormat: "x.b.org"}]}`,
				`spec: {template: {driverIngressOptions: [{servicePort: 4040, servicePortName: ui, ingressURLFormat: "x.b.org"}]}}`, `spec: {ui: {ingressURLFormat: "x.b.org"}}`,
				`spec: {driverServiceIngressList: [{serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 4040}]}, ingressMetadata: {name: ui}, ingressSpec: {tls: [{hosts: [x.b.org]}], rules: [{host: x.a.org}]}}]}`, ``,
			},
			[5]string{
				"spec.driverIngressOptions[0].ingressURLFormat",
				"spec.template.driverIngressOptions[0].ingressURLFormat", "spec.ui.ingressURLFormat",
				"spec.driverServiceIngressList[0].ingressSpec.tls[0].hosts",
			},
			`the host "x.b.org" is not allowed by the rule ingress.hosts of the policy p (owner: data team); allowed are: *.a.org`,
		},
		"images of other teams": {
			`{name: p, images: {allowed: ["docker.io/*"]}}`,
			[5]string{unchanged, unchanged, unchanged, unchanged, unchanged},
			[5]string{"spec.image", "spec.template.image", "spec.image",
				"spec.sparkConf[spark.kubernetes.container.image]", "spec.masterSpec"},
			`the image "spark:4" is not allowed by the rule images of the policy p (owner: data team); allowed are: docker.io/*`,
		},
		"runtime classes": {
			`{name: p, runtimeClasses: {allowed: []}}`, podPieces(`runtimeClassName: runc`), podFields,
			`the runtime class "runc" is not allowed by the rule runtimeClasses of the policy p (owner: data team); remove it`,
		},
		"schedulers": {
			`{name: p, schedulers: {allowed: []}}`, podPieces(`schedulerName: mine`), podFields,
			`the scheduler "mine" is not allowed by the rule schedulers of the policy p (owner: data team); remove it`,
		},
		"limits of a sidecar": {
			`{name: p, limits: {hard: {limits.memory: 1Ti}}}`,
			podPieces(`containers: [{name: spark}, {name: side, image: a}]`),
			[5]string{"spec.executor", "spec.template.executor", "spec.executor", "spec.executorSpec",
				"spec.masterSpec"},
			`without a limit for memory is not allowed by the rule limits.hard[limits.memory] of the policy p (owner: data team); set its limit`,
		},
		"GPUs": {
			`{name: p, limits: {hard: {requests.nvidia.com/gpu: 1}}}`,
			podPieces(`containers: [{name: spark}, {name: side, image: a, resources: {limits: {nvidia.com/gpu: 2}}}]`),
			[5]string{"spec", "spec.template", "spec", "spec", "spec"},
			`of the pods' requests for nvidia.com/gpu is not allowed by the rule limits.hard[requests.nvidia.com/gpu] of the policy p (owner: data team); use at most 1`,
		},
		"devices by a resource claim": {
			`{name: p, limits: {hard: {requests.nvidia.com/gpu: 1}}}`,
			podPieces(`resourceClaims: [{name: gpu, resourceClaimTemplateName: gpus}]`), podFields,
			`the resource claim gpu, whose devices the operator cannot count, is not allowed by the rule limits.hard[requests.nvidia.com/gpu] of the policy p (owner: data team)`,
		},
		"no maximum of Spark Streaming": {
			`{name: p, limits: {cores: 1000}}`,
			[5]string{
				`spec: {sparkConf: {spark.streaming.dynamicAllocation.enabled: "true"}}`,
				`spec: {template: {sparkConf: {spark.streaming.dynamicAllocation.enabled: "true"}}}`,
				`spec: {sparkConf: {spark.streaming.dynamicAllocation.enabled: "true"}}`,
				`spec: {sparkConf: {spark.streaming.dynamicAllocation.enabled: "true"}}`, ``,
			},
			[5]string{
				"spec.sparkConf[spark.streaming.dynamicAllocation.maxExecutors]",
				"spec.template.sparkConf[spark.streaming.dynamicAllocation.maxExecutors]",
				"spec.sparkConf[spark.streaming.dynamicAllocation.maxExecutors]",
				"spec.sparkConf[spark.streaming.dynamicAllocation.maxExecutors]",
			},
			`an unlimited or unreadable number of executors is not allowed by the rule limits of the policy p (owner: data team); set a maximum as a plain number`,
		},
		"Hive's packages": {
			`{name: p, packages: {allowed: ["org.apache.spark:*"]}}`,
			[5]string{
				`spec: {sparkConf: {spark.sql.hive.metastore.jars: maven}}`,
				`spec: {template: {sparkConf: {spark.sql.hive.metastore.jars: maven}}}`,
				`spec: {sparkConf: {spark.sql.hive.metastore.jars: maven}}`,
				`spec: {sparkConf: {spark.sql.hive.metastore.jars: maven}}`, ``,
			},
			[5]string{
				"spec.sparkConf[spark.sql.hive.metastore.jars]",
				"spec.template.sparkConf[spark.sql.hive.metastore.jars]",
				"spec.sparkConf[spark.sql.hive.metastore.jars]", "spec.sparkConf[spark.sql.hive.metastore.jars]",
			},
			`the package "org.apache.hive:hive-metastore:*" is not allowed by the rule packages of the policy p`,
		},
		"hosts of an alias": {
			`{name: p, ingress: {hosts: {allowed: ["*.a.org"]}}}`,
			ingressPieces(`nginx.ingress.kubernetes.io/server-alias: "x.a.org, bank.org"`),
			ingressFields("nginx.ingress.kubernetes.io/server-alias"),
			`the host "bank.org" is not allowed by the rule ingress.hosts of the policy p (owner: data team); allowed are: *.a.org`,
		},
		"hosts of Services": {
			`{name: p, ingress: {hosts: {allowed: ["*.a.org"]}}}`, servicePieces, serviceFields,
			`the host "bank.org" is not allowed by the rule ingress.hosts of the policy p (owner: data team); allowed are: *.a.org`,
		},
		"configuration of HAProxy": {
			``, ingressPieces(`haproxy-ingress.github.io/config-backend: x`),
			ingressFields("haproxy-ingress.github.io/config-backend"),
			`a snippet, which can read the credentials of the ingress controller, is not allowed by the operator's setting policy.allowSnippetAnnotations (owner: data team); remove the annotation`,
		},
		"logins by another server": {
			``, ingressPieces(`nginx.ingress.kubernetes.io/auth-url: "http://evil.org"`),
			ingressFields("nginx.ingress.kubernetes.io/auth-url"),
			`a snippet, which can read the credentials of the ingress controller, is not allowed by the operator's setting policy.allowSnippetAnnotations (owner: data team); remove the annotation`,
		},
		"annotations that nobody knows": {
			`{name: p, level: baseline}`,
			ingressPieces(`traefik.ingress.kubernetes.io/router.middlewares: other-auth@kubernetescrd`),
			ingressFields("traefik.ingress.kubernetes.io/router.middlewares"),
			`the annotation is not allowed by the rule ingress.annotations of the policy p (owner: data team); allowed are: `,
		},
		"snippets": {
			``,
			[5]string{
				`spec: {driverIngressOptions: [{servicePort: 4040, servicePortName: ui, ingressURLFormat: "x.b.org", ingressAnnotations: {nginx.ingress.kubernetes.io/server-snippet: x}}]}`,
				`spec: {template: {driverIngressOptions: [{servicePort: 4040, servicePortName: ui, ingressURLFormat: "x.b.org", ingressAnnotations: {nginx.ingress.kubernetes.io/server-snippet: x}}]}}`,
				`spec: {ui: {ingressURLFormat: "x.b.org", ingressAnnotations: {nginx.ingress.kubernetes.io/server-snippet: x}}}`,
				`spec: {driverServiceIngressList: [{serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 4040}]}, ingressMetadata: {name: ui, annotations: {nginx.ingress.kubernetes.io/server-snippet: x}}}]}`, ``,
			},
			[5]string{
				"spec.driverIngressOptions[0].ingressAnnotations[nginx.ingress.kubernetes.io/server-snippet]",
				"spec.template.driverIngressOptions[0].ingressAnnotations[nginx.ingress.kubernetes.io/server-snippet]",
				"spec.ui.ingressAnnotations[nginx.ingress.kubernetes.io/server-snippet]",
				"spec.driverServiceIngressList[0].ingressMetadata.annotations[nginx.ingress.kubernetes.io/server-snippet]",
			},
			`a snippet, which can read the credentials of the ingress controller, is not allowed by the operator's setting policy.allowSnippetAnnotations (owner: data team); remove the annotation`,
		},
	} {
		cfg, open := configWithRules(t, c.rules), configWithRules(t, "")

		open.Policy.AllowSnippetAnnotations = true
		for i, admitted := range configured.Admission(nil) {
			if c.pieces[i] == "" {
				continue
			}

			t.Run(name+"/"+admitted.GVK().String(), func(t *testing.T) {
				t.Parallel()

				if faults := admitted.Review(open, nil, object(t, i, c.pieces[i]), noon).Faults; len(faults) > 0 {
					t.Fatalf("without the rule: %v", faults)
				}

				faults := admitted.Review(cfg, nil, object(t, i, c.pieces[i]), noon).Faults
				if len(faults) == 0 {
					t.Fatal("it is accepted")
				}

				if got := faults[0].Error(); !strings.HasPrefix(got, c.fields[i]+": ") ||
					!strings.Contains(got, c.words) {
					t.Errorf("got %s\nwant %s: %s", got, c.fields[i], c.words)
				}

				checkPass(t, all(func() config.Configuration { return cfg })[i], object(t, i, c.pieces[i]),
					faults[0].Error())
			})
		}
	}
}

// checkPass checks that a pass creates nothing, and that the status then contains the expected message.
func checkPass(t *testing.T, k contract.Kind, object client.Object, words string) {
	t.Helper()

	for _, action := range k.Decide(object, lifecycle.Observed{}, noon.Add(24*time.Hour)).Actions {
		if action.Verb == lifecycle.Create {
			t.Errorf("a pass creates %v", action)
		}
	}

	status, err := json.Marshal(k.Status(object))
	if err != nil {
		t.Fatal(err)
	}

	quoted, err := json.Marshal(words)
	if err != nil {
		t.Fatal(err)
	}

	if !strings.Contains(string(status), strings.Trim(string(quoted), `"`)) {
		t.Errorf("a pass does not report %s:\n%s", words, status)
	}
}

// hardened is an application whose pods meet the level restricted of the Pod Security Standards.
const hardened = `spec: {
  driver: {podSecurityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}},
  executor: {podSecurityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}}`

// TestPolicyOfSparkSubmit checks the rules in the submission mode SparkSubmit. They must judge both the driver and the
// submitter pod. In both submission modes, an application that meets the level restricted must be accepted.
func TestPolicyOfSparkSubmit(t *testing.T) {
	t.Parallel()
	const bySparkSubmit = `spec: {submission: {mode: SparkSubmit}}`

	review := func(rules string, pieces ...string) []*dialect.FieldError {
		return configured.Admission(nil)[0].Review(configWithRules(t, rules), nil, object(t, 0, pieces...), noon).Faults
	}
	for _, mode := range []string{unchanged, bySparkSubmit} {
		if faults := review(`{name: p, level: restricted}`, mode, hardened); len(faults) > 0 {
			t.Errorf("%s: %v", mode, faults)
		}

		if faults := review(`{name: p, level: restricted}`, mode); len(faults) < 2 {
			t.Errorf("%s: %v", mode, faults)
		}

		faults := review(`{name: p, level: baseline}`, mode, `spec: {driver: {hostNetwork: true}}`)
		if len(faults) == 0 || !strings.Contains(faults[len(faults)-1].Error(),
			"the pod of the driver, with host namespaces") {
			t.Errorf("%s: %v", mode, faults)
		}
	}

	faults := review(`{name: p, serviceAccounts: {allowed: [default]}}`, bySparkSubmit,
		`spec: {sparkConf: {spark.kubernetes.authenticate.submission.serviceAccountName: admin}}`)
	if len(faults) != 1 || faults[0].Field != "spec.sparkConf[spark.kubernetes.authenticate.submission.serviceAccountName]" {
		t.Errorf("the account of spark-submit: %v", faults)
	}

	cfg := configWithRules(t, `{name: p, serviceAccounts: {allowed: [default]}}`)
	cfg.Submission.ServiceAccount = "spark-operator-submit"

	faults = configured.Admission(nil)[0].Review(cfg, nil, object(t, 0, bySparkSubmit), noon).Faults
	if len(faults) != 1 || !strings.Contains(faults[0].Error(),
		`the service account "spark-operator-submit" is not allowed by the rule serviceAccounts of the policy p`) {
		t.Errorf("the operator's account of spark-submit: %v", faults)
	}

	cfg.Submission.Runners = new(false)
	for i, piece := range map[int]string{0: bySparkSubmit,
		3: `spec: {sparkConf: {spark.kubernetes.file.upload.path: "s3a://b/u"}, files: /tmp/a}`} {
		faults = configured.Admission(nil)[i].Review(cfg, nil, object(t, i, piece), noon).Faults
		if len(faults) != 1 || !strings.Contains(faults[0].Error(), dialect.RunnersOff) {
			t.Errorf("without runners: %v", faults)
		}
	}
}
