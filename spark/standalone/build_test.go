package standalone

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// simple returns a Request with the given changes. Without changes, the cluster has a master and two workers, and can
// scale up to five workers.
func simple(change ...func(*Request)) Request {
	r := Request{
		Name: "qa", Namespace: "spark", SparkVersion: "4.1.4", OperatorName: "an-operator", InitWorkers: 2,
		MinWorkers: 2, MaxWorkers: 5,
		Conf:   conf.FromMap(map[string]string{"spark.a": "b"}),
		Owner:  metav1.OwnerReference{APIVersion: "v1", Kind: "Owner", Name: "qa", UID: "u1"},
		Labels: map[string]string{"uid": "u1"},
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

func with(pairs ...string) func(*Request) {
	return func(r *Request) {
		for i := 0; i < len(pairs); i += 2 {
			r.Conf.Set(pairs[i], pairs[i+1])
		}
	}
}

func masterTemplate(text string) func(*Request) {
	return func(r *Request) { r.Master.StatefulSet = []byte(text) }
}

func workerTemplate(text string) func(*Request) {
	return func(r *Request) { r.Workers.StatefulSet = []byte(text) }
}

func counts(first, least, most int64) func(*Request) {
	return func(r *Request) { r.InitWorkers, r.MinWorkers, r.MaxWorkers = first, least, most }
}

func build(t *testing.T, r Request) Objects {
	t.Helper()

	o, err := Build(r)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// container returns the container with the given name of a StatefulSet's pods.
func container(t *testing.T, set *appsv1.StatefulSet, name string) *corev1.Container {
	t.Helper()

	for i, c := range set.Spec.Template.Spec.Containers {
		if c.Name == name {
			return &set.Spec.Template.Spec.Containers[i]
		}
	}

	t.Fatalf("%s has no container %q", set.Name, name)
	return nil
}

// TestObjects checks the names, kinds, order, owners and labels of a cluster's objects. Users of the Java operator
// select clusters by these names and labels.
func TestObjects(t *testing.T) {
	type summary struct{ Kind, APIVersion, Name, Role string }
	o := build(t, simple(with("spark.ssl.keyPassword", "x")))

	all, err := o.All()
	if err != nil {
		t.Fatal(err)
	}

	var got []summary
	for _, object := range all {
		apiVersion, kind := object.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
		labels := maps.Clone(object.GetLabels())
		got = append(got, summary{kind, apiVersion, object.GetName(), labels[LabelRole]})
		delete(labels, LabelRole)

		want := map[string]string{"uid": "u1", labelOperatorName: "an-operator", LabelClusterName: "qa",
			LabelVersion: "4.1.4"}
		if diff := cmp.Diff(want, labels); diff != "" {
			t.Errorf("labels of %s %s (-want +got):\n%s", kind, object.GetName(), diff)
		}

		owners := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Owner", Name: "qa", UID: "u1",
			Controller: new(true)}}
		if diff := cmp.Diff(owners, object.GetOwnerReferences()); diff != "" || object.GetNamespace() != "spark" {
			t.Errorf("owners of %s %s in namespace %q (-want +got):\n%s", kind, object.GetName(),
				object.GetNamespace(), diff)
		}
	}

	want := []summary{
		{"ConfigMap", "v1", "qa-cluster-conf", ""}, {"Secret", "v1", o.Secret.Name, ""},
		{"Service", "v1", "qa-master-svc", "master"}, {"Service", "v1", "qa-worker-svc", "worker"},
		{"NetworkPolicy", "networking.k8s.io/v1", "qa-worker", ""},
		{"NetworkPolicy", "networking.k8s.io/v1", "qa-master", ""},
		{"PodDisruptionBudget", "policy/v1", "qa-worker-pdb", ""},
		{"StatefulSet", "apps/v1", "qa-master", "master"}, {"StatefulSet", "apps/v1", "qa-worker", "worker"},
		{"HorizontalPodAutoscaler", "autoscaling/v2", "qa-worker-hpa", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the objects (-want +got):\n%s", diff)
	}

	if !strings.HasPrefix(o.Secret.Name, "qa-cluster-secret-") {
		t.Errorf("the Secret is called %q", o.Secret.Name)
	}
}

func TestOptionalObjectsAreOmitted(t *testing.T) {
	for name, c := range map[string]struct {
		request                    Request
		autoscaler, budget, secret bool
	}{
		"all":                        {simple(with("spark.ssl.keyPassword", "x")), true, true, true},
		"no secret":                  {simple(), true, true, false},
		"constant number of workers": {simple(counts(2, 2, 2)), false, true, false},
		"no workers":                 {simple(counts(0, 0, 0)), false, false, false},
		"minimum of zero workers":    {simple(counts(1, 0, 3)), true, false, false},
		"minimum above the maximum":  {simple(counts(1, 3, 1)), false, true, false},
		"one worker":                 {simple(counts(1, 1, 1)), false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := build(t, c.request)
			if (o.Autoscaler != nil) != c.autoscaler || (o.Budget != nil) != c.budget || (o.Secret != nil) != c.secret {
				t.Errorf("autoscaler %t, budget %t, secret %t; want %t, %t, %t", o.Autoscaler != nil, o.Budget != nil,
					o.Secret != nil, c.autoscaler, c.budget, c.secret)
			}

			all, err := o.All()
			if err != nil {
				t.Fatal(err)
			}

			for _, object := range all {
				if reflect.ValueOf(object).IsNil() {
					t.Errorf("an object of type %T is nil", object)
				}
			}

			if o.Policy == nil || o.Config == nil || o.Master == nil || o.Workers == nil || o.MasterService == nil ||
				o.WorkerService == nil {
				t.Error("an object is missing")
			}
		})
	}
}

func TestPods(t *testing.T) {
	o := build(t, simple())
	for _, set := range []*appsv1.StatefulSet{o.Master, o.Workers} {
		role := set.Labels[LabelRole]
		template := set.Spec.Template

		want := map[string]string{"uid": "u1", LabelClusterName: "qa", LabelVersion: "4.1.4", LabelRole: role}
		if diff := cmp.Diff(want, template.Labels); diff != "" {
			t.Errorf("labels of the pods of %s (-want +got):\n%s", role, diff)
		}

		if template.Annotations[defaultDigestAnnotation] == "" {
			t.Errorf("the pods of %s do not say what they are made of", role)
		}

		c := container(t, set, role)
		if c.Image != "apache/spark:4.1.4" || template.Spec.SchedulerName != "default-scheduler" ||
			*template.Spec.TerminationGracePeriodSeconds != 0 {
			t.Errorf("%s: image %q, scheduler %q, grace %d", role, c.Image, template.Spec.SchedulerName,
				*template.Spec.TerminationGracePeriodSeconds)
		}

		if *c.SecurityContext.AllowPrivilegeEscalation || *template.Spec.EnableServiceLinks {
			t.Errorf("%s may gain privileges, or has variables of Services", role)
		}

		if set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
			t.Errorf("%s: pods are made %s", role, set.Spec.PodManagementPolicy)
		}
	}

	if o.Master.Spec.ServiceName != "" || o.Workers.Spec.ServiceName != "qa-worker-svc" {
		t.Errorf("governing Services are %q and %q", o.Master.Spec.ServiceName, o.Workers.Spec.ServiceName)
	}

	if *o.Master.Spec.Replicas != 1 || *o.Workers.Spec.Replicas != 2 {
		t.Errorf("there are %d masters and %d workers", *o.Master.Spec.Replicas, *o.Workers.Spec.Replicas)
	}

	ports := func(c *corev1.Container) (out []string) {
		for _, p := range c.Ports {
			out = append(out, fmt.Sprintf("%s %s %d", p.Name, p.Protocol, p.ContainerPort))
		}
		return out
	}
	if diff := cmp.Diff([]string{"web TCP 8080", "spark TCP 7077", "rest TCP 6066"},
		ports(container(t, o.Master, "master"))); diff != "" {
		t.Errorf("ports of the master (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff([]string{"web TCP 8081"}, ports(container(t, o.Workers, "worker"))); diff != "" {
		t.Errorf("ports of a worker (-want +got):\n%s", diff)
	}

	env := func(c *corev1.Container) map[string]string {
		out := map[string]string{}
		for _, e := range c.Env {
			out[e.Name] = e.Value
		}
		return out
	}
	if diff := cmp.Diff(map[string]string{"SPARK_MASTER_OPTS": "@/etc/spark-cluster/conf.options"},
		env(container(t, o.Master, "master"))); diff != "" {
		t.Errorf("environment of the master (-want +got):\n%s", diff)
	}

	want := map[string]string{"SPARK_WORKER_OPTS": "@/etc/spark-cluster/conf.options",
		"SPARK_LOG_DIR": "/opt/spark/work/logs"}
	if diff := cmp.Diff(want, env(container(t, o.Workers, "worker"))); diff != "" {
		t.Errorf("environment of a worker (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff([]string{"qa-worker-svc.spark.svc.cluster.local"},
		o.Workers.Spec.Template.Spec.DNSConfig.Searches); diff != "" {
		t.Errorf("search domains (-want +got):\n%s", diff)
	}

	if got := build(t, simple(func(r *Request) { r.ClusterDomain = "k8s.example." })).Workers.Spec.Template.Spec.DNSConfig.Searches[0]; got != "qa-worker-svc.spark.svc.k8s.example" {
		t.Errorf("in another domain workers are searched in %q", got)
	}
}

// TestSelectors checks that a StatefulSet's selector equals that of the Java operator, because a selector cannot be
// changed later. The workers of an autoscaled cluster are an exception: their selector also contains the cluster's
// name, because the autoscaler would otherwise measure pods of other clusters.
func TestSelectors(t *testing.T) {
	for name, c := range map[string]struct {
		request         Request
		master, workers map[string]string
	}{
		"plain": {simple(counts(1, 1, 1)), map[string]string{LabelRole: "master"},
			map[string]string{LabelRole: "worker"}},
		"autoscaled": {simple(), map[string]string{LabelRole: "master"},
			map[string]string{LabelRole: "worker", LabelClusterName: "qa"}},
		"the user's": {
			simple(counts(1, 1, 1), masterTemplate(`{"selector":{"matchLabels":{"x":"y"}},"template":{"metadata":{"labels":{"x":"y"}}}}`)),
			map[string]string{LabelRole: "master", "x": "y"}, map[string]string{LabelRole: "worker"},
		},
	} {
		o := build(t, c.request)
		for _, s := range []struct {
			want map[string]string
			set  *appsv1.StatefulSet
		}{{c.master, o.Master}, {c.workers, o.Workers}} {
			if diff := cmp.Diff(&metav1.LabelSelector{MatchLabels: s.want}, s.set.Spec.Selector); diff != "" {
				t.Errorf("%s: the selector of %s (-want +got):\n%s", name, s.set.Name, diff)
			}
		}
	}
}

func TestNames(t *testing.T) {
	longest := strings.Repeat("x", maxName)

	o := build(t, simple(func(r *Request) { r.Name = longest }))
	if hash := o.Workers.Name + "-" + strings.Repeat("h", 10); len(hash) != 63 {
		t.Errorf("a pod's revision label would have %d characters", len(hash))
	}

	for name, says := range map[string]string{
		"": "cannot be a cluster's name", longest + "x": "at most 45", "a.b": "cannot be a cluster's name",
		"1a": "cannot be a cluster's name", "A": "cannot be a cluster's name",
		"-a": "cannot be a cluster's name", "a_b": "cannot be a cluster's name",
	} {
		_, err := Build(simple(func(r *Request) { r.Name = name }))
		if wrong, ok := errors.AsType[*Error](err); !ok || wrong.Field != "Name" ||
			!strings.Contains(wrong.Message, says) {
			t.Errorf("%q: the error is %v, want %q in it", name, err, says)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change          func(*Request)
		key, field, say string
	}{
		"invalid namespace": {func(r *Request) { r.Namespace = "A" }, "", "Namespace",
			"is not a valid namespace name"},
		"invalid version": {func(r *Request) { r.SparkVersion = "4.1 beta" }, "", "SparkVersion",
			"is not a valid version"},
		"neither version nor image": {func(r *Request) { r.SparkVersion = "" }, "", "SparkVersion",
			"names an image"},
		"invalid operator name": {func(r *Request) { r.OperatorName = "a b" }, "", "OperatorName",
			"is not a valid label value"},
		"labels": {func(r *Request) { r.Labels = map[string]string{"a b": ""} }, "",
			"Labels", "is not a valid label name"},
		"negative initial workers": {counts(-1, 0, 0), "", "InitWorkers",
			"is not a valid number of workers"},
		"negative minimum of workers": {counts(0, -1, 0), "", "MinWorkers",
			"is not a valid number of workers"},
		"too many workers":          {counts(0, 0, 1<<31), "", "MaxWorkers", "between 0 and 2147483647"},
		"template that is not JSON": {masterTemplate("{"), "", "Master.StatefulSet", "cannot be read"},
		"template field of the wrong type": {workerTemplate(`{"replicas":"three"}`), "", "Workers.StatefulSet",
			`replicas: is the text "three", not a whole number`},
		"selector that does not match the pods": {masterTemplate(`{"selector":{"matchLabels":{"x":"y"}}}`), "",
			"Master.StatefulSet.selector", "does not match the labels of the pod template"},
		"selector with an unknown operator":    {masterTemplate(`{"selector":{"matchExpressions":[{"key":"x","operator":"Near"}]}}`), "", "Master.StatefulSet.selector", "Near"},
		"reserved volume name":                 {workerTemplate(`{"template":{"spec":{"volumes":[{"name":"spark-cluster-conf"}]}}}`), "", "Workers.StatefulSet.template.spec.volumes", "is reserved"},
		"reserved claim name":                  {workerTemplate(`{"volumeClaimTemplates":[{"metadata":{"name":"spark-cluster-conf"}}]}`), "", "Workers.StatefulSet.template.spec.volumes", "is reserved"},
		"reserved mount path":                  {masterTemplate(`{"template":{"spec":{"containers":[{"name":"master","volumeMounts":[{"name":"v","mountPath":"/etc/spark-cluster/"}]}]}}}`), "", "Master.StatefulSet.template.spec.containers", "mount the volume elsewhere"},
		"mount path below the reserved path":   {masterTemplate(`{"template":{"spec":{"containers":[{"name":"master","volumeMounts":[{"name":"v","mountPath":"/etc/spark-cluster/x"}]}]}}}`), "", "Master.StatefulSet.template.spec.containers", "mount the volume elsewhere"},
		"reserved port name with another port": {masterTemplate(`{"template":{"spec":{"containers":[{"name":"master","ports":[{"name":"web","containerPort":80}]}]}}}`), "", "Master.StatefulSet.template.spec.containers", "give the other port another name"},
		"reserved port with another name":      {masterTemplate(`{"template":{"spec":{"containers":[{"name":"master","ports":[{"name":"http","containerPort":8080}]}]}}}`), "", "Master.StatefulSet.template.spec.containers", "use that name"},
		"invalid pod label": {workerTemplate(`{"template":{"metadata":{"labels":{"a b":"c"}}}}`),
			"", "Workers.StatefulSet.template.metadata.labels", "is not a valid label name"},
		"reserved pod label": {workerTemplate(`{"template":{"metadata":{"labels":{"own/x":"c"}}}}`),
			"", "Workers.StatefulSet.template.metadata.labels", "reserved for the operator"},
		"a reserved annotation":   {func(r *Request) { r.Master.ServiceMeta.Annotations = map[string]string{"own/x": "y"} }, "", "Master.ServiceMeta.annotations", "reserved for the operator"},
		"invalid annotation name": {func(r *Request) { r.Workers.StatefulSetMeta.Annotations = map[string]string{"a b": "y"} }, "", "Workers.StatefulSetMeta.annotations", "is not a valid annotation name"},
		"invalid label value": {func(r *Request) { r.Workers.ServiceMeta.Labels = map[string]string{"a": "b c"} },
			"", "Workers.ServiceMeta.labels", "is not a valid label value"},
		"Service that is a list": {func(r *Request) { r.Workers.Service = []byte("[]") }, "",
			"Workers.Service", "cannot be read"},
		"Service of another type": {func(r *Request) { r.Master.Service = []byte(`{"type":"LoadBalancer"}`) }, "",
			"Master.Service.type", "create another Service"},
		"invalid autoscaler": {func(r *Request) { r.Autoscaler = []byte(`{"metrics":{}}`) }, "",
			"Autoscaler", "metrics: is an object, not a list"},
		"invalid autoscaler that is not needed": {func(r *Request) {
			r.Autoscaler,
				r.MaxWorkers = []byte(`{"metrics":{}}`), 2
		}, "", "Autoscaler", "metrics: is an object, not a list"},
		"NUL in a value":          {with("spark.x", "a\x00b"), "spark.x", "", "NUL"},
		"value that is not UTF-8": {with("spark.x", "a\xffb"), "spark.x", "", "UTF-8"},
		"equals sign in a key":    {with("spark.x=y", "z"), "spark.x=y", "", "not a valid property name"},
		"too large configuration": {with("spark.x", strings.Repeat("x", 1<<20)), "", "Conf",
			"more than a ConfigMap or Secret holds"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Build(simple(func(r *Request) { r.Reserved = "own/" }, c.change))

			wrong, ok := errors.AsType[*Error](err)
			if !ok || wrong.Key != c.key || wrong.Field != c.field || !strings.Contains(wrong.Message, c.say) {
				t.Fatalf("the error is %#v, want key %q, field %q and %q", err, c.key, c.field, c.say)
			}

			if about := c.key + c.field; !strings.HasPrefix(err.Error(), about+": ") {
				t.Errorf("%q does not begin with %q", err, about)
			}
		})
	}
}

// TestBuildTouchesNothing builds the same Request twice, and checks that Build does not change the Request.
func TestBuildTouchesNothing(t *testing.T) {
	again := func() Request {
		return simple(with("spark.ssl.keyPassword", "x"), masterTemplate(full("master")),
			workerTemplate(full("worker")), func(r *Request) {
				r.Master.Service, r.Autoscaler = []byte(`{"ports":[{"port":1}],"future":{"x":1}}`),
					[]byte(`{"metrics":[],"future":1}`)
				r.Master.ServiceMeta = Metadata{Labels: map[string]string{"a": "b"},
					Annotations: map[string]string{"c": "d"}}
			})
	}
	r := again()

	first, second := build(t, r), build(t, r)
	if diff := cmp.Diff(again(), r, cmp.AllowUnexported(conf.Conf{})); diff != "" {
		t.Errorf("the Request was changed:\n%s", diff)
	}

	if diff := cmp.Diff(texts(t, first), texts(t, second)); diff != "" {
		t.Errorf("the same Request gives other objects:\n%s", diff)
	}

	changed := texts(t, first)
	if diff := cmp.Diff(changed, texts(t, first)); diff != "" {
		t.Errorf("All changes the objects:\n%s", diff)
	}
}

// texts returns all objects as JSON.
func texts(t testing.TB, o Objects) (all []string) {
	t.Helper()

	objects, err := o.All()
	if err != nil {
		t.Fatal(err)
	}

	for _, object := range objects {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}

		all = append(all, string(text))
	}
	return all
}

// full returns a StatefulSet's spec that sets many fields, including unknown ones. The argument name is the name of the
// daemon's container.
func full(name string) string {
	return `{"future":1,"replicas":7,"podManagementPolicy":"OrderedReady","serviceName":"svc","revisionHistoryLimit":3,"minReadySeconds":4,
	"updateStrategy":{"type":"OnDelete"},"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"},
	"selector":{"matchLabels":{"mine":"yes"}},
	"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"future":2}}],
	"template":{"metadata":{"labels":{"mine":"yes"},"annotations":{"note":"1"}},
	"spec":{"future":3,"schedulerName":"mine","terminationGracePeriodSeconds":30,"serviceAccountName":"spark","nodeSelector":{"a":"b"},
	"dnsConfig":{"searches":["example.com"],"nameservers":["1.1.1.1"]},
	"securityContext":{"fsGroup":185},"volumes":[{"name":"v","emptyDir":{}}],"initContainers":[{"name":"first","image":"i"}],
	"containers":[{"name":"sidecar","image":"s","future":4},{"name":"` + name +
		`","image":"mine","command":["tini","--"],"args":["a"],"future":5,
	"env":[{"name":"MINE","value":"1"}],"ports":[{"name":"extra","containerPort":9}],"resources":{"requests":{"cpu":"1"}},
	"volumeMounts":[{"name":"v","mountPath":"/v"}],"readinessProbe":{"exec":{"command":["true"]}},
	"securityContext":{"runAsUser":185,"allowPrivilegeEscalation":true}}]}}}`
}

// TestTemplateIsKept checks for each field of the template full whether Build keeps, extends or sets it.
func TestTemplateIsKept(t *testing.T) {
	o := build(t, simple(workerTemplate(full("worker"))))

	all, err := o.All()
	if err != nil {
		t.Fatal(err)
	}

	set := all[slices.IndexFunc(all, func(o Object) bool {
		return o.GetName() == "qa-worker" && o.GetObjectKind().GroupVersionKind().Kind == "StatefulSet"
	})]

	tree, ok := set.(*unstructured.Unstructured)
	if !ok {
		t.Fatalf("a StatefulSet with unknown fields is a %T", set)
	}

	at := func(path ...any) any {
		var here any = tree.Object
		for _, step := range path {
			switch step := step.(type) {
			case string:
				here = here.(map[string]any)[step]
			case int:
				here = here.([]any)[step]
			}
		}
		return here
	}
	pod := []any{"spec", "template", "spec"}

	worker := slices.Concat(pod, []any{"containers", 1})
	for _, c := range []struct {
		path []any
		want any
	}{
		// Kept.
		{[]any{"spec", "future"}, int64(1)}, {[]any{"spec", "revisionHistoryLimit"}, int64(3)},
		{[]any{"spec", "minReadySeconds"}, int64(4)},
		{[]any{"spec", "updateStrategy", "type"}, "OnDelete"},
		{[]any{"spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted"}, "Delete"},
		{[]any{"spec", "volumeClaimTemplates", 0, "spec", "future"}, int64(2)}, {append(pod, "future"), int64(3)},
		{append(pod, "containers", 0, "future"), int64(4)},
		{append(worker, "future"), int64(5)}, {append(pod, "serviceAccountName"), "spark"},
		{append(pod, "nodeSelector", "a"), "b"},
		{append(pod, "securityContext", "fsGroup"), int64(185)}, {append(pod, "initContainers", 0, "name"), "first"},
		{append(pod, "containers", 0, "image"), "s"},
		{append(worker, "resources", "requests", "cpu"), "1"},
		{append(worker, "securityContext", "allowPrivilegeEscalation"), true},
		{append(worker, "readinessProbe", "exec", "command", 0), "true"},
		{[]any{"spec", "template", "metadata", "annotations", "note"}, "1"},
		{append(pod, "dnsConfig", "nameservers", 0), "1.1.1.1"},
		// Kept if the configuration does not set them.
		{append(worker, "image"), "mine"}, {append(pod, "schedulerName"), "mine"},
		{append(pod, "terminationGracePeriodSeconds"), int64(30)},
		// Extended.
		{append(worker, "command"), []any{"tini", "--", "bash"}}, {append(worker, "args", 0), "a"},
		{append(worker, "args", 1), "-c"},
		{append(worker, "env", 0, "name"), "MINE"}, {append(worker, "ports", 0, "name"), "extra"},
		{append(worker, "ports", 1, "name"), "web"},
		{append(worker, "volumeMounts", 0, "name"), "v"}, {append(worker, "volumeMounts", 1, "mountPath"), mountDir},
		{append(pod, "volumes", 0, "name"), "v"},
		{append(pod, "dnsConfig", "searches"), []any{"example.com", "qa-worker-svc.spark.svc.cluster.local"}},
		{[]any{"spec", "selector", "matchLabels"},
			map[string]any{"mine": "yes", LabelRole: "worker", LabelClusterName: "qa"}},
		{[]any{"spec", "template", "metadata", "labels", "mine"}, "yes"},
		{[]any{"spec", "template", "metadata", "labels", LabelRole}, "worker"},
		// Set by Build.
		{[]any{"spec", "replicas"}, int64(2)}, {[]any{"spec", "podManagementPolicy"}, "Parallel"},
		{[]any{"spec", "serviceName"}, "qa-worker-svc"},
	} {
		if diff := cmp.Diff(c.want, at(c.path...)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.path, diff)
		}
	}
}

func TestConfigurationWinsOverTemplate(t *testing.T) {
	o := build(t, simple(workerTemplate(full("worker")),
		with(imageKey, "repo/spark:{{SPARK_VERSION}}-x", schedulerKey, "yunikorn")))

	spec := o.Workers.Spec.Template.Spec
	if c := container(t, o.Workers, "worker"); c.Image != "repo/spark:4.1.4-x" || spec.SchedulerName != "yunikorn" {
		t.Errorf("image %q and scheduler %q", c.Image, spec.SchedulerName)
	}

	if diff := cmp.Diff([]string{
		"Workers.StatefulSet: template.spec.schedulerName has no effect: spark.kubernetes.scheduler.name is \"yunikorn\"",
		"Workers.StatefulSet: image of container worker has no effect: spark.kubernetes.container.image sets another",
	}, warningTexts(o)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func warningTexts(o Objects) (all []string) {
	for _, w := range o.Warnings {
		all = append(all, w.String())
	}
	return all
}

// TestTheDaemonsContainer checks that Build finds the daemon's container at any index, and never changes another
// container.
func TestTheDaemonsContainer(t *testing.T) {
	for template, want := range map[string][]string{
		``:                                    {"master"},
		`{}`:                                  {"master"},
		`{"name":"master"}`:                   {"master"},
		`{"name":"log"}`:                      {"master", "log"},
		`{"name":"log"},{"name":"master"}`:    {"log", "master"},
		`{"name":"log"},{"future":1}`:         {"log", "master"},
		`{"image":"a"},{"name":"log"}`:        {"master", "log"},
		`{"image":"a"},{"name":"master"}`:     {"", "master"},
		`{"name":"worker"},{"name":"Master"}`: {"master", "worker", "Master"},
	} {
		o := build(t, simple(masterTemplate(`{"template":{"spec":{"containers":[`+template+`]}}}`)))

		var got []string
		for _, c := range o.Master.Spec.Template.Spec.Containers {
			got = append(got, c.Name)
			if runs := slices.Contains(c.Command, "bash"); runs != (c.Name == "master") {
				t.Errorf("%s: container %q runs the daemon: %t", template, c.Name, runs)
			}
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: containers (-want +got):\n%s", template, diff)
		}

		for _, text := range texts(t, o) {
			if strings.Contains(template, "future") && strings.Contains(text, `"qa-master"`) &&
				strings.Contains(text, "StatefulSet") && !strings.Contains(text, `"future":1`) {
				t.Errorf("%s: a field that no type knows is lost", template)
			}
		}
	}
}

// TestDigest checks that the digest in the pods' annotation changes only if the pods' template or the configuration
// changes, because a change of the digest replaces the pods.
func TestDigest(t *testing.T) {
	digests := func(r Request) (out [2]string) {
		o := build(t, r)
		for i, set := range []*appsv1.StatefulSet{o.Master, o.Workers} {
			out[i] = set.Spec.Template.Annotations[defaultDigestAnnotation]
		}
		return out
	}

	before := digests(simple(with("spark.ssl.keyPassword", "x")))
	for name, c := range map[string]struct {
		change          func(*Request)
		master, workers bool
	}{
		"no change":                   {func(*Request) {}, false, false},
		"more workers":                {counts(4, 2, 5), false, false},
		"other bounds of the workers": {counts(2, 1, 9), false, false},
		"metadata":                    {func(r *Request) { r.Master.StatefulSetMeta.Labels = map[string]string{"a": "b"} }, false, false},
		"the Service": {func(r *Request) { r.Master.Service = []byte(`{"ports":[{"port":1}]}`) },
			false, false},
		"the autoscaler":                  {func(r *Request) { r.Autoscaler = []byte(`{"metrics":[]}`) }, false, false},
		"changed value":                   {with("spark.a", "c"), true, true},
		"changed secret":                  {with("spark.ssl.keyPassword", "y"), true, true},
		"additional key":                  {with("spark.b", "c"), true, true},
		"the image":                       {with(imageKey, "i"), true, true},
		"the version":                     {func(r *Request) { r.SparkVersion = "4.2.0" }, true, true},
		"a template":                      {masterTemplate(`{"template":{"spec":{"nodeName":"n"}}}`), true, false},
		"an unknown field":                {workerTemplate(`{"template":{"spec":{"future":1}}}`), false, true},
		"fields outside the pod template": {workerTemplate(`{"minReadySeconds":1,"future":2}`), false, false},
	} {
		after := digests(simple(with("spark.ssl.keyPassword", "x"), c.change))
		if master, workers := before[0] != after[0], before[1] != after[1]; master != c.master || workers != c.workers {
			t.Errorf("%s: the master is replaced: %t, workers: %t; want %t, %t", name, master, workers, c.master,
				c.workers)
		}
	}

	own := build(t, simple(func(r *Request) { r.DigestAnnotation = "own/made-of" }))
	if own.Master.Spec.Template.Annotations["own/made-of"] == "" {
		t.Error("the digest is not under the name that was asked for")
	}
}

// TestErrorNamesSameReservedKey checks that, if two keys are reserved, the error always names the same key, because the
// error becomes part of a status.
func TestErrorNamesSameReservedKey(t *testing.T) {
	r := simple(workerTemplate(`{"template":{"metadata":{"labels":{"own/x":"c"},"annotations":{"own/a":"c"}}}}`),
		func(r *Request) { r.Reserved = "own/" })

	names := map[string]bool{}
	for range 50 {
		_, err := Build(r)
		names[fmt.Sprint(err)] = true
	}

	if len(names) != 1 {
		t.Errorf("it is refused with %v", names)
	}
}
