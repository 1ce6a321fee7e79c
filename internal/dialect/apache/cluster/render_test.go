package cluster

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/standalone"
)

// fullCluster returns a cluster that sets every field.
func fullCluster() *sparkv1.SparkCluster {
	return sparkCluster(autoscaledCluster(1, 7), func(sc *sparkv1.SparkCluster) {
		sc.Spec.SparkConf = map[string]string{"spark.a": "b", "spark.ssl.keyPassword": "p",
			"spark.kubernetes.container.image": "spark:{{SPARK_VERSION}}"}
		sc.Spec.MasterSpec = &sparkv1.MasterSpec{MemberSpec: sparkv1.MemberSpec{
			StatefulSetSpec:     rawOf(`{"minReadySeconds":1}`),
			StatefulSetMetadata: &sparkv1.ObjectMetadata{Labels: map[string]string{"of": "master-set"}},
			ServiceSpec:         rawOf(`{"sessionAffinity":"None"}`),
			ServiceMetadata:     &sparkv1.ObjectMetadata{Annotations: map[string]string{"of": "master-service"}},
		}}
		sc.Spec.WorkerSpec = &sparkv1.WorkerSpec{HorizontalPodAutoscalerSpec: rawOf(`{"metrics":[]}`),
			MemberSpec: sparkv1.MemberSpec{
				StatefulSetSpec: rawOf(`{"minReadySeconds":2}`),
				StatefulSetMetadata: &sparkv1.ObjectMetadata{Name: "n", Namespace: "m",
					Annotations: map[string]string{"of": "worker-set"}},
				ServiceSpec:     rawOf(`{"trafficDistribution":"PreferClose"}`),
				ServiceMetadata: &sparkv1.ObjectMetadata{Labels: map[string]string{"of": "worker-service"}},
			}}
	})
}

// TestClusterRequest checks that the request contains the value of every field of the spec, in the right field.
func TestClusterRequest(t *testing.T) {
	sc := fullCluster()
	want := standalone.Request{
		Name: "c", Namespace: "ns", SparkVersion: "4.1.4", OperatorName: "mine", ClusterDomain: "example",
		Conf: conf.FromMap(sc.Spec.SparkConf), InitWorkers: 2, MinWorkers: 1, MaxWorkers: 7,
		Master: standalone.Member{
			StatefulSet:     []byte(`{"minReadySeconds":1}`),
			StatefulSetMeta: standalone.Metadata{Labels: map[string]string{"of": "master-set"}},
			Service:         []byte(`{"sessionAffinity":"None"}`),
			ServiceMeta:     standalone.Metadata{Annotations: map[string]string{"of": "master-service"}},
		},
		Workers: standalone.Member{
			StatefulSet: []byte(`{"minReadySeconds":2}`),
			StatefulSetMeta: standalone.Metadata{Name: "n", Namespace: "m",
				Annotations: map[string]string{"of": "worker-set"}},
			Service:     []byte(`{"trafficDistribution":"PreferClose"}`),
			ServiceMeta: standalone.Metadata{Labels: map[string]string{"of": "worker-service"}},
		},
		Autoscaler: []byte(`{"metrics":[]}`),
		Owner: metav1.OwnerReference{APIVersion: "spark.apache.org/v1", Kind: "SparkCluster", Name: "c",
			UID: "uid-c", Controller: new(true), BlockOwnerDeletion: new(true)},
		Labels:   map[string]string{apache.LabelAppUID: "uid-c", apache.LabelManaged: "true"},
		Reserved: dialect.OwnPrefix, DigestAnnotation: lifecycle.SpecHashAnnotation,
	}

	got := Clusters{Options{OperatorName: "mine", ClusterDomain: "example"}}.request(sc)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(conf.Conf{})); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}

	if name := (Clusters{}).request(sc).OperatorName; name != apache.DefaultOperatorName {
		t.Errorf("without a name the operator is %q", name)
	}
	// A spec with missing parts is valid.
	bare := Clusters{}.request(sparkCluster())
	if bare.Master.StatefulSet != nil || bare.Workers.Service != nil || bare.Autoscaler != nil || bare.Conf.Len() != 0 {
		t.Errorf("of nothing a request is made with %+v", bare)
	}
}

// TestClusterObjects checks that the fields of the spec reach the objects, and that the objects have the names and
// labels that tools depend on.
func TestClusterObjects(t *testing.T) {
	o, err := testClusters.objects(fullCluster())
	if err != nil {
		t.Fatal(err)
	}

	for what, ok := range map[string]bool{
		"the master's StatefulSet": o.Master.Name == "c-master" && o.Master.Labels["of"] == "master-set" &&
			o.Master.Spec.MinReadySeconds == 1,
		"the workers' StatefulSet": o.Workers.Name == "c-worker" && o.Workers.Annotations["of"] == "worker-set" &&
			o.Workers.Spec.MinReadySeconds == 2,
		"the master's Service": o.MasterService.Name == "c-master-svc" &&
			o.MasterService.Annotations["of"] == "master-service" && o.MasterService.Spec.SessionAffinity == "None",
		"the workers' Service": o.WorkerService.Name == "c-worker-svc" &&
			o.WorkerService.Labels["of"] == "worker-service" &&
			*o.WorkerService.Spec.TrafficDistribution == "PreferClose",
		"the autoscaler": o.Autoscaler.Name == "c-worker-hpa" && *o.Autoscaler.Spec.MinReplicas == 1 &&
			o.Autoscaler.Spec.MaxReplicas == 7 && len(o.Autoscaler.Spec.Metrics) == 0,
		"the NetworkPolicy": o.Policy.Name == "c-worker",
		"the budget":        o.Budget.Name == "c-worker-pdb",
		"the options":       strings.Contains(o.Config.Data[standalone.OptionsKey], `"-Dspark.a=b"`),
		"the secret": o.Secret != nil &&
			strings.Contains(string(o.Secret.Data[standalone.SecretOptionsKey]), `"-Dspark.ssl.keyPassword=p"`),
		"the initial workers": *o.Workers.Spec.Replicas == 2,
		"the image":           o.Workers.Spec.Template.Spec.Containers[0].Image == "spark:4.1.4",
		"the version":         o.Master.Spec.Template.Labels[standalone.LabelVersion] == "4.1.4",
		"the operator's labels": o.Master.Labels[apache.LabelAppUID] == "uid-c" &&
			o.Master.Labels[apache.LabelManaged] == "true" &&
			o.Master.Labels[apache.LabelOperatorName] == apache.DefaultOperatorName,
		"the label of the cluster": o.Master.Spec.Template.Labels[standalone.LabelClusterName] == "c",
	} {
		if !ok {
			t.Errorf("%s: the object does not have the value in the spec", what)
		}
	}
}

// TestClusterPodsAreSeen checks that a cluster's pods have the labels by which the operator finds them, and the
// annotation by which the operator compares them with the spec.
func TestClusterPodsAreSeen(t *testing.T) {
	o, err := testClusters.objects(sparkCluster())
	if err != nil {
		t.Fatal(err)
	}

	for role, set := range map[lifecycle.Role]*appsv1.StatefulSet{lifecycle.Master: o.Master,
		lifecycle.Worker: o.Workers} {
		template := set.Spec.Template

		pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		if m := lifecycle.MemberFacts(pod); m.Role != role || m.Generation == "" ||
			m.Generation != template.Annotations[lifecycle.SpecHashAnnotation] {
			t.Errorf("a pod of the %s is seen as %+v", role, m)
		}

		if template.Labels[lifecycle.AppUIDLabel] != "uid-c" {
			t.Errorf("the pods of the %s lack the UID of the cluster", role)
		}

		if _, attempt := template.Labels[lifecycle.AttemptLabel]; attempt {
			t.Errorf("the pods of the %s have the label of an attempt, so the operator would delete them with it", role)
		}
	}
}

// TestClusterFieldsExist checks that every path of clusterFields exists in the Go types of SparkCluster and
// standalone.Request.
func TestClusterFieldsExist(t *testing.T) {
	for field, path := range clusterFields {
		here := reflect.TypeFor[sparkv1.SparkCluster]()
		for name := range strings.SplitSeq(path, ".") {
			next, ok := jsonField(here, name)
			if !ok {
				t.Fatalf("%s: %s: there is no %q", field, path, name)
			}

			here = next
		}
	}
	// Each path must also be a field of a Request.
	for field := range clusterFields {
		here := reflect.TypeFor[standalone.Request]()
		for name := range strings.SplitSeq(field, ".") {
			f, ok := here.FieldByName(name)
			if !ok {
				t.Fatalf("%s: a Request has no %q", field, name)
			}

			here = f.Type
		}
	}
}

// jsonField returns the type of the struct field that has the given name in JSON.
func jsonField(t reflect.Type, name string) (reflect.Type, bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}

	if t.Kind() != reflect.Struct {
		return nil, false
	}

	for f := range t.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name {
			return f.Type, true
		}

		if f.Anonymous && tag == "" {
			if inner, ok := jsonField(f.Type, name); ok {
				return inner, true
			}
		}
	}
	return nil, false
}

func TestClusterField(t *testing.T) {
	for _, c := range []struct{ key, field, want string }{
		{"spark.x", "", "spec.sparkConf[spark.x]"},
		{strings.Repeat("k", 300), "", "spec.sparkConf[" + strings.Repeat("k", 200) + "...]"},
		{"", "Name", "metadata.name"},
		{"", "Master.StatefulSet", "spec.masterSpec.statefulSetSpec"},
		{"", "Workers.StatefulSet.template.spec.volumes", "spec.workerSpec.statefulSetSpec.template.spec.volumes"},
		{"", "Workers.ServiceMeta.labels", "spec.workerSpec.serviceMetadata.labels"},
		{"", "Master.Service.type", "spec.masterSpec.serviceSpec.type"},
		{"", "Labels", "spec"},
		{"", "", "spec"},
	} {
		if got := clusterField(c.key, c.field); got != c.want {
			t.Errorf("%q %q is %q, want %q", c.key, c.field, got, c.want)
		}
	}
}

func TestClusterWarningsByField(t *testing.T) {
	sc := fullCluster()
	sc.Spec.SparkConf["spark.kubernetes.namespace"] = "elsewhere"

	o, err := testClusters.objects(sc)
	if err != nil {
		t.Fatal(err)
	}

	got := inClusterFields(slices.Concat(o.Warnings, o.Warnings))

	want := []string{
		`spec.workerSpec.statefulSetMetadata: name has no effect: the object has the name "c-worker", by which other objects find it`,
		`spec.workerSpec.statefulSetMetadata: namespace has no effect: the object is in the cluster's namespace`,
		`spec.sparkConf[spark.kubernetes.namespace]: has no effect: the cluster is in its own namespace, "ns"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// FuzzClusterTemplates checks that any raw template is either rendered or rejected with an error that names the field
// of the custom resource.
func FuzzClusterTemplates(f *testing.F) {
	for _, text := range []string{
		"", "null", "{}", "[]", "3", `{"template":null}`, `{"template":{"spec":{"containers":[null]}}}`,
		`{"template":{"spec":{"containers":[{},{}]}}}`, `{"selector":{}}`,
		`{"selector":{"matchLabels":{"a":"b"}}}`, `{"ports":[{"port":1},{"port":1}]}`, `{"type":"NodePort"}`,
		`{"metrics":[{}]}`, `{"future":[{"a":{}}]}`,
		`{"template":{"metadata":{"labels":{"spark-role":"x"}},"spec":{"containers":[{"name":"worker","env":[{"name":"SPARK_WORKER_OPTS"}],"future":1}]}}}`,
	} {
		f.Add([]byte(text), []byte("{}"), []byte("{}"), int64(1), int64(2))
		f.Add([]byte("{}"), []byte(text), []byte(text), int64(0), int64(3))
	}

	f.Fuzz(func(t *testing.T, set, service, scaler []byte, least, most int64) {
		sc := sparkCluster(autoscaledCluster(least, most), func(sc *sparkv1.SparkCluster) {
			member := sparkv1.MemberSpec{StatefulSetSpec: rawOf(string(set)), ServiceSpec: rawOf(string(service))}
			sc.Spec.MasterSpec = &sparkv1.MasterSpec{MemberSpec: member}
			sc.Spec.WorkerSpec = &sparkv1.WorkerSpec{MemberSpec: member,
				HorizontalPodAutoscalerSpec: rawOf(string(scaler))}
		})

		o, err := testClusters.objects(sc)
		if faults := validateCluster(sc); (len(faults) == 0) != (err == nil) {
			t.Fatalf("the faults are %v, and the rendering says %v", faults, err)
		}

		if err != nil {
			if fault, ok := errors.AsType[*dialect.FieldError](err); !ok || !strings.HasPrefix(fault.Field, "spec.") ||
				fault.Message == "" || len(fault.Message) > 1000 {
				t.Fatalf("the error is %#v", err)
			}
			return
		}

		all, err := o.All()
		if err != nil {
			t.Fatal(err)
		}

		for _, object := range all {
			if labels := object.GetLabels(); labels[apache.LabelAppUID] != "uid-c" ||
				labels[standalone.LabelClusterName] != "c" || object.GetNamespace() != "ns" ||
				!strings.HasPrefix(object.GetName(), "c-") {
				t.Fatalf("%T %s has labels %v", object, object.GetName(), labels)
			}
		}
	})
}
