// Package client_test uses the generated clients as their users do, against a real API server.
package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/client/clientset/versioned"
	"github.com/sparkoperator/spark-operator/client/informers/externalversions"
	"github.com/sparkoperator/spark-operator/test/kit"
)

func TestMain(m *testing.M) { kit.MainShared(m) }

func newClients(t *testing.T) versioned.Interface {
	t.Helper()

	clients, err := versioned.NewForConfig(kit.Rest(t))
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

// TestApplicationsOfBothGroups creates a SparkApplication in each of the two API groups, with the same name. It checks
// that clients, informers and listers distinguish the two objects.
func TestApplicationsOfBothGroups(t *testing.T) {
	clients, namespace := newClients(t), kit.Namespace(t)
	one := &sparkv1.SparkApplication{ObjectMeta: metav1.ObjectMeta{Name: "pi"}}

	one.Spec.RuntimeVersions.SparkVersion = "4.1.4"
	if _, err := clients.SparkV1().SparkApplications(namespace).Create(t.Context(), one,
		metav1.CreateOptions{FieldValidation: "Strict"}); err != nil {
		t.Fatal(err)
	}

	other := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Name: "pi"}}

	other.Spec.Type, other.Spec.SparkVersion, other.Spec.MainApplicationFile = v1beta2.SparkApplicationTypePython,
		"3.5.8", "local:///pi.py"
	if _, err := clients.SparkoperatorV1beta2().SparkApplications(namespace).Create(t.Context(), other,
		metav1.CreateOptions{FieldValidation: "Strict"}); err != nil {
		t.Fatal(err)
	}

	factory := externalversions.NewSharedInformerFactoryWithOptions(clients, 0,
		externalversions.WithNamespace(namespace))
	ones, others, clusters := factory.Spark().V1().SparkApplications().Lister(),
		factory.Sparkoperator().V1beta2().SparkApplications().Lister(),
		factory.Spark().V1().SparkClusters().Lister()
	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	t.Cleanup(func() { cancel(); factory.Shutdown() })

	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			t.Fatalf("no %s were listed", kind)
		}
	}

	a, err := ones.SparkApplications(namespace).Get("pi")
	if err != nil || a.Spec.RuntimeVersions.SparkVersion != "4.1.4" {
		t.Errorf("of spark.apache.org: %+v %v", a, err)
	}

	b, err := others.SparkApplications(namespace).Get("pi")
	if err != nil || b.Spec.SparkVersion != "3.5.8" {
		t.Errorf("of sparkoperator.k8s.io: %+v %v", b, err)
	}

	if found, err := clusters.List(labels.Everything()); err != nil || len(found) > 0 {
		t.Errorf("clusters: %v %v", found, err)
	}
}

const twoVersions = `{
  "apiVersion": "spark.apache.org/%s", "kind": "SparkApplication", "metadata": {"name": "%s"},
  "spec": {
    "runtimeVersions": {"sparkVersion": "4.1.4"},
    "driverSpec": {"podTemplateSpec": {"metadata": {"creationTimestamp": null}, "spec": {"containers": [{"image": "a", "newField": {"x": 1}}]}}},
    "driverServiceIngressList": [{"serviceMetadata": {"name": "ui", "finalizers": ["a/b"]}, "serviceSpec": {}, "ingressMetadata": {}}],
    "applicationTolerations": {
      "applicationTimeoutConfig": {"driverStartTimeoutMillis": 9223372036854775807},
      "restartConfig": {"maxRestartAttempts": 9223372036854775807, "maxRestartOnFailure": 2}
    }
  }
}`

func statusOf(version string) sparkv1.ApplicationStatus {
	const at = "2026-01-02T03:04:05.123456789Z"
	partial := sparkv1.ApplicationState{
		CurrentStateSummary: sparkv1.ApplicationRunningWithPartialCapacity, LastTransitionTime: at, Message: version,
		LastObservedDriverStatus: &runtime.RawExtension{Raw: []byte(`{"phase":"Running"}`)},
	}
	return sparkv1.ApplicationStatus{
		CurrentState:           &partial,
		StateTransitionHistory: map[string]sparkv1.ApplicationState{"0": {CurrentStateSummary: sparkv1.ApplicationSubmitted, LastTransitionTime: at}, "10": partial},
		CurrentAttemptSummary:  &sparkv1.ApplicationAttemptSummary{AttemptInfo: &sparkv1.AttemptInfo{RestartCounter: math.MaxInt64}},
		Operator:               &sparkv1.OperatorStatus{AttemptID: "a-0"},
	}
}

// TestBothVersionsAreServed checks that an object that is written in one version is read in the other version without
// loss. Only v1 is stored.
func TestBothVersionsAreServed(t *testing.T) {
	api, namespace := kit.Client(t), kit.Namespace(t)
	clients := newClients(t).SparkV1().SparkApplications(namespace)

	read := func(version, name string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(schema.GroupVersionKind{Group: sparkv1.Group, Version: version,
			Kind: "SparkApplication"})

		if err := api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, obj); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	for _, version := range []string{"v1", "v1beta1"} {
		name := "by-" + version

		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(fmt.Appendf(nil, twoVersions, version, name)); err != nil {
			t.Fatal(err)
		}

		obj.SetNamespace(namespace)

		if err := api.Create(t.Context(), obj, client.FieldValidation("Strict")); err != nil {
			t.Fatalf("%s: %v", version, err)
		}

		if _, there := obj.Object["status"]; there {
			t.Errorf("%s: a new object has the status %v", version, obj.Object["status"])
		}

		status := statusOf(version)

		plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
		if err != nil {
			t.Fatal(err)
		}

		obj.Object["status"] = plain
		if err := api.Status().Update(t.Context(), obj); err != nil {
			t.Fatalf("%s: the status: %v", version, err)
		}

		newer, older := read("v1", name), read("v1beta1", name)
		for _, part := range []string{"spec", "status"} {
			if diff := cmp.Diff(newer.Object[part], older.Object[part]); diff != "" || newer.Object[part] == nil {
				t.Errorf("%s: %s differs between the versions (-v1 +v1beta1):\n%s", version, part, diff)
			}
		}

		typed, err := clients.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(asJSON(t, statusOf(version)), asJSON(t, typed.Status)); diff != "" {
			t.Errorf("%s: the status (-written +read):\n%s", version, diff)
		}

		checkSpec(t, version, typed)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()

	raw, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// checkSpec checks that an application has the values of the manifest twoVersions, and the defaults that the API server
// sets.
func checkSpec(t *testing.T, version string, app *sparkv1.SparkApplication) {
	t.Helper()

	is := app.Spec.ApplicationTolerations
	for name, pair := range map[string][2]any{
		"driverStartTimeoutMillis":     {int64(math.MaxInt64), *is.ApplicationTimeoutConfig.DriverStartTimeoutMillis},
		"maxRestartAttempts":           {int64(math.MaxInt64), *is.RestartConfig.MaxRestartAttempts},
		"maxRestartOnFailure":          {int64(2), *is.RestartConfig.MaxRestartOnFailure},
		"restartCounterResetMillis":    {int64(-1), *is.RestartConfig.RestartCounterResetMillis},
		"resourceRetainDurationMillis": {int64(-1), *is.ResourceRetainDurationMillis},
		"ttlAfterStopMillis":           {int64(-1), *is.TTLAfterStopMillis},
		"podTemplateSpec": {`{"metadata":{"creationTimestamp":null},"spec":{"containers":[{"image":"a","newField":{"x":1}}]}}`,
			string(app.Spec.DriverSpec.PodTemplateSpec.Raw)},
		"serviceMetadata.name": {"ui", app.Spec.DriverServiceIngressList[0].ServiceMetadata.Name},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %s is %v, want %v", version, name, pair[1], pair[0])
		}
	}
}

// TestNamesAndColumns checks the short names that users type, and the printed columns in the order of each version.
func TestNamesAndColumns(t *testing.T) {
	rc, namespace := kit.Rest(t), kit.Namespace(t)

	found, err := discovery.NewDiscoveryClientForConfig(rc)
	if err != nil {
		t.Fatal(err)
	}

	short := map[string]string{"sparkapplications": "sparkapp", "sparkclusters": "sparkcluster"}

	columns := map[string][]string{"v1": {"Name", "Age", "Current State", "Cause"}, "v1beta1": {"Name", "Cause", "Current State", "Age"}}
	for _, version := range []string{"v1", "v1beta1"} {
		list, err := found.ServerResourcesForGroupVersion(sparkv1.Group + "/" + version)
		if err != nil {
			t.Fatal(err)
		}

		served := map[string]bool{}
		for _, r := range list.APIResources {
			served[r.Name] = true
			if want := short[r.Name]; want != "" && !slices.Equal(r.ShortNames, []string{want}) {
				t.Errorf("%s %s: short names %v, want %s", version, r.Name, r.ShortNames, want)
			}
		}

		for resource := range short {
			if !served[resource] || !served[resource+"/status"] {
				t.Errorf("%s: %s or its status is not served: %v", version, resource, served)
			}

			var got []string
			for _, c := range tableOf(t, rc, version, namespace, resource).ColumnDefinitions {
				got = append(got, c.Name)
			}

			if diff := cmp.Diff(columns[version], got); diff != "" {
				t.Errorf("%s %s: columns (-want +got):\n%s", version, resource, diff)
			}
		}
	}
}

// tableOf lists a resource as kubectl get does.
func tableOf(t *testing.T, rc *rest.Config, version, namespace, resource string) metav1.Table {
	t.Helper()

	web, err := rest.HTTPClientFor(rc)
	if err != nil {
		t.Fatal(err)
	}

	url := fmt.Sprintf("%s/apis/%s/%s/namespaces/%s/%s", rc.Host, sparkv1.Group, version, namespace, resource)

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}

	request.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")

	response, err := web.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()

	var table metav1.Table
	if err := json.NewDecoder(response.Body).Decode(&table); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v", url, response.Status, err)
	}
	return table
}

// TestNamesAreChecked checks that the API server rejects, in both versions, the creation of a resource whose name
// cannot be the prefix of a Service's name.
func TestNamesAreChecked(t *testing.T) {
	api, namespace := kit.Client(t), kit.Namespace(t)
	app := `{"runtimeVersions":{"sparkVersion":"4.1.4"}}`

	cluster := `{"runtimeVersions":{"sparkVersion":"4.1.4"},"clusterTolerations":{"instanceConfig":{"initWorkers":1,"minWorkers":1,"maxWorkers":1}}}`
	for _, c := range []struct {
		kind, spec, metadata string
		accepted             bool
	}{
		{"SparkApplication", app, `"name":"` + strings.Repeat("x", 63) + `"`, true},
		{"SparkApplication", app, `"generateName":"pi-"`, true},
		{"SparkApplication", app, `"name":"` + strings.Repeat("x", 64) + `"`, false},
		{"SparkApplication", app, `"name":"a.b"`, false},
		{"SparkApplication", app, `"name":"1a"`, false},
		{"SparkCluster", cluster, `"name":"` + strings.Repeat("x", 45) + `"`, true},
		{"SparkCluster", cluster, `"name":"` + strings.Repeat("x", 46) + `"`, false},
		{"SparkCluster", cluster, `"name":"a.b"`, false},
	} {
		for _, version := range []string{"v1", "v1beta1"} {
			obj := &unstructured.Unstructured{}
			if err := obj.UnmarshalJSON(fmt.Appendf(nil,
				`{"apiVersion":"spark.apache.org/%s","kind":%q,"metadata":{%s,"namespace":%q},"spec":%s}`,
				version, c.kind, c.metadata, namespace, c.spec)); err != nil {
				t.Fatal(err)
			}

			err := api.Create(t.Context(), obj, client.DryRunAll)
			if c.accepted && err != nil || !c.accepted &&
				(err == nil || !strings.Contains(err.Error(), ": use at most ")) {
				t.Errorf("%s %s %s: %v, want it to be accepted: %v", version, c.kind, c.metadata, err, c.accepted)
			}
		}
	}
}
