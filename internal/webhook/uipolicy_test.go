package webhook_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// policyApplication and the following constants are minimal specs of the kinds. They make nothing reachable from
// outside the cluster.
const (
	policyApplication = `{type: Scala, sparkVersion: 4.1.4, image: spark, mainClass: a.Main, mainApplicationFile: "local:///a.jar", driver: {}, executor: {}}`
	policyConnect     = `{sparkVersion: 4.1.4, server: {}, executor: {}}`
	policyApache      = `{runtimeVersions: {sparkVersion: 4.1.4}, jars: "local:///a.jar"}`
	policyCluster     = `{runtimeVersions: {sparkVersion: 4.1.4}, clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 1}}}`
)

// policyKinds are the five kinds, each with a minimal spec.
var policyKinds = map[string]struct{ apiVersion, kind, spec string }{
	"application": {"sparkoperator.k8s.io/v1beta2", "SparkApplication", policyApplication},
	"schedule": {"sparkoperator.k8s.io/v1beta2", "ScheduledSparkApplication",
		`{schedule: "@daily", template: ` + policyApplication + `}`},
	"connect": {"sparkoperator.k8s.io/v1alpha1", "SparkConnect", policyConnect},
	"apache":  {"spark.apache.org/v1", "SparkApplication", policyApache},
	"cluster": {"spark.apache.org/v1", "SparkCluster", policyCluster},
}

// policyCases contains, for each kind, fragments of a spec. The value of a fragment is true if the policy must reject
// it, and false if the policy must admit it. HOST stands for a host that belongs to the namespace.
var policyCases = map[string]map[string]bool{
	"application": {
		`{}`:                                  false,
		`{sparkUIOptions: {servicePort: 80}}`: false,
		`{sparkUIOptions: {serviceType: NodePort}}`:                                                                                              true,
		`{sparkUIOptions: {ingressAnnotations: {a: b}}}`:                                                                                         true,
		`{sparkUIOptions: {route: {hostnames: [HOST]}}}`:                                                                                         false,
		`{sparkUIOptions: {route: {hostnames: [other.example.com]}}}`:                                                                            true,
		`{sparkUIOptions: {route: {parentRefs: [{name: public, namespace: gateways}]}}}`:                                                         false,
		`{sparkUIOptions: {route: {parentRefs: [{name: public}]}}}`:                                                                              true,
		`{driverIngressOptions: [{servicePort: 1, servicePortName: a, serviceType: LoadBalancer}]}`:                                              true,
		`{driverIngressOptions: [{servicePort: 1, servicePortName: a, ingressURLFormat: other.example.com/a}]}`:                                  true,
		`{driverIngressOptions: [{servicePort: 1, servicePortName: a, ingressAnnotations: {a: b}}]}`:                                             true,
		`{driverIngressOptions: [{servicePort: 1, servicePortName: a, ingressURLFormat: "spark.example.com/{{$appNamespace}}/{{$appName}}/e"}]}`: false,
	},
	"schedule": {
		`{}`: false,
		`{template: {sparkUIOptions: {serviceType: NodePort}}}`:                                                             true,
		`{template: {driverIngressOptions: [{servicePort: 1, servicePortName: a, ingressURLFormat: other.example.com/a}]}}`: true,
		`{template: {driverIngressOptions: [{servicePort: 1, servicePortName: a}]}}`:                                        false,
	},
	"connect": {
		`{}`: false,
		`{server: {service: {spec: {ports: [{name: jmx, port: 8090}]}}}}`:              false,
		`{server: {service: {spec: {type: LoadBalancer}}}}`:                            true,
		`{server: {service: {spec: {externalIPs: [10.0.0.1]}}}}`:                       true,
		`{ui: {ingressURLFormat: "spark.example.com/{{$appNamespace}}/{{$appName}}"}}`: false,
		`{ui: {ingressURLFormat: other.example.com}}`:                                  true,
		`{ui: {ingressAnnotations: {a: b}}}`:                                           true,
		`{ui: {route: {hostnames: [other.example.com]}}}`:                              true,
	},
	"apache": {
		`{}`: false,
		`{driverServiceIngressList: [{serviceMetadata: {name: a}, serviceSpec: {ports: [{port: 80}]}, ingressMetadata: {name: a}, ingressSpec: {rules: [{host: HOST}]}}]}`:                                               false,
		`{driverServiceIngressList: [{serviceMetadata: {name: a}, serviceSpec: {ports: [{port: 80}]}, ingressMetadata: {name: a}, ingressSpec: {rules: [{host: other.example.com}]}}]}`:                                  true,
		`{driverServiceIngressList: [{serviceMetadata: {name: a}, serviceSpec: {ports: [{port: 80}]}, ingressMetadata: {name: a}}]}`:                                                                                     true,
		`{driverServiceIngressList: [{serviceMetadata: {name: a}, serviceSpec: {type: NodePort, ports: [{port: 80}]}, ingressMetadata: {name: a}, ingressSpec: {rules: [{host: HOST}]}}]}`:                               true,
		`{driverServiceIngressList: [{serviceMetadata: {name: a}, serviceSpec: {externalIPs: [10.0.0.1], ports: [{port: 80}]}, ingressMetadata: {name: a}, ingressSpec: {rules: [{host: HOST}]}}]}`:                      true,
		`{driverServiceIngressList: [{serviceMetadata: {name: a}, serviceSpec: {}, ingressMetadata: {name: a, annotations: {nginx.ingress.kubernetes.io/server-snippet: x}}, ingressSpec: {rules: [{host: HOST}]}}]}`:    true,
		`{driverHttpRouteList: [{serviceMetadata: {name: a}, serviceSpec: {ports: [{port: 80}]}, httpRouteMetadata: {name: a}, httpRouteSpec: {parentRefs: [{name: public, namespace: gateways}], hostnames: [HOST]}}]}`: false,
		`{driverHttpRouteList: [{serviceMetadata: {name: a}, serviceSpec: {ports: [{port: 80}]}, httpRouteMetadata: {name: a}, httpRouteSpec: {parentRefs: [{name: public, namespace: gateways}]}}]}`:                    true,
		`{driverGrpcRouteList: [{serviceMetadata: {name: a}, serviceSpec: {ports: [{port: 80}]}, grpcRouteMetadata: {name: a}, grpcRouteSpec: {parentRefs: [{name: other, namespace: gateways}], hostnames: [HOST]}}]}`:  true,
	},
	"cluster": {
		`{}`: false,
		`{masterSpec: {serviceSpec: {sessionAffinity: None}}}`:     false,
		`{masterSpec: {serviceSpec: {type: LoadBalancer}}}`:        true,
		`{workerSpec: {serviceSpec: {externalIPs: [10.0.0.1]}}}`:   true,
		`{workerSpec: {serviceSpec: {externalName: example.com}}}`: true,
	},
}

// TestPolicyOfTheExamples checks the example policy with the cases of policyCases: the policy rejects custom resources
// that expose more than it allows, and admits all others.
func TestPolicyOfTheExamples(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	installPolicy(w, "../../examples/exposure-policy.yaml")
	kit.Wait(t, "the policy", func(context.Context) error {
		if policyRefuses(w, "application", `{sparkUIOptions: {serviceType: NodePort}}`) == nil {
			return errors.New("the policy admits another type")
		}
		return nil
	})

	for kind, cases := range policyCases {
		for piece, refused := range cases {
			if err := policyRefuses(w, kind, piece); (err != nil) != refused {
				t.Errorf("%s %s: %v, want it to be refused: %v", kind, piece, err, refused)
			}
		}
	}
}

// installPolicy creates a policy and its binding from a file. The binding applies only to the test's namespace, since
// other tests share the API server.
func installPolicy(w *world.World, path string) {
	w.T.Helper()

	text, err := os.ReadFile(path)
	if err != nil {
		w.T.Fatal(err)
	}

	first, second, _ := bytes.Cut(text, []byte("---\n"))

	policy, binding := &admissionv1.ValidatingAdmissionPolicy{}, &admissionv1.ValidatingAdmissionPolicyBinding{}
	if err := errors.Join(yaml.UnmarshalStrict(first, policy), yaml.UnmarshalStrict(second, binding)); err != nil {
		w.T.Fatal(err)
	}

	policy.Name, binding.Name, binding.Spec.PolicyName = w.Namespace, w.Namespace, w.Namespace

	binding.Spec.MatchResources = &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.Namespace}},
	}
	for _, object := range []client.Object{policy, binding} {
		w.Create(object)
		w.T.Cleanup(func() { _ = w.API.Delete(context.Background(), object) })
	}
}

// policyRefuses creates a custom resource of a kind in a dry run, and returns the API server's error, or nil if the
// policy admits the custom resource. The spec is the minimal spec of the kind, into which the YAML text `piece` is
// merged.
func policyRefuses(w *world.World, kind, piece string) error {
	w.T.Helper()

	subject := policyKinds[kind]
	var spec, over map[string]any

	text := bytes.ReplaceAll([]byte(piece), []byte("HOST"), []byte("a."+w.Namespace+".spark.example.com"))
	if err := errors.Join(yaml.Unmarshal([]byte(subject.spec), &spec), yaml.Unmarshal(text, &over)); err != nil {
		w.T.Fatal(err)
	}

	layOver(spec, over)
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetAPIVersion(subject.apiVersion)
	object.SetKind(subject.kind)
	object.SetNamespace(w.Namespace)
	object.SetName("x")
	return w.API.Create(w.T.Context(), object, client.DryRunAll)
}

// layOver merges the map values into the map target: it merges nested maps, and replaces all other values.
func layOver(target, values map[string]any) {
	for key, value := range values {
		below, isMap := value.(map[string]any)
		if base, wasMap := target[key].(map[string]any); isMap && wasMap {
			layOver(base, below)
			continue
		}

		target[key] = value
	}
}
