package cluster

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/cluster/status"
)

// refusingRules are rules that reject every custom resource.
type refusingRules struct{ dialect.Rules }

func (refusingRules) Faults(*dialect.Subject) []*dialect.FieldError {
	return []*dialect.FieldError{{Field: "spec", Message: "is not allowed; ask the platform"}}
}

// TestRunningClusterContinuesUnderStricterRules checks that a running cluster keeps its objects when new rules of the
// platform reject its spec, and that one event reports this. The same rules must reject a new cluster.
func TestRunningClusterContinuesUnderStricterRules(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t)
	w.pass()
	w.observePods(2)
	w.pass()
	before := w.states()

	w.c.Rules = refusingRules{}
	for range 3 {
		object := w.sc.DeepCopy()
		if !w.c.AuxiliaryObjects(object, w.seen).Unsettled {
			t.Fatal("the objects of the running cluster change")
		}

		w.pass()
	}

	if got := w.states(); got != before {
		t.Errorf("the states are %s, before %s", got, before)
	}

	reported := 0
	for _, reason := range w.reported {
		if reason == status.EventClusterInvalid {
			reported++
		}
	}

	if stalled := w.condition("Stalled"); reported != 1 || stalled.Reason != "InvalidSpec" {
		t.Errorf("reported %d times; %+v", reported, stalled)
	}

	fresh := newClusterWorld(t)
	fresh.c.Rules = refusingRules{}
	fresh.pass()
	fresh.wantStates("Submitted Failed ResourceReleased")

	w.c.Rules = nil
	w.pass()

	if w.c.AuxiliaryObjects(w.sc.DeepCopy(), w.seen).Unsettled {
		t.Error("the objects of the cluster are not updated although the rules allow its spec again")
	}
}

// recordingRules are rules of a platform that allow everything and record what they are to judge.
type recordingRules struct {
	dialect.Rules
	subject *dialect.Subject
}

func (r *recordingRules) Faults(subject *dialect.Subject) []*dialect.FieldError {
	r.subject = subject
	return nil
}

// judged returns the description of a cluster that its dialect gives to the rules of the platform.
func judged(t *testing.T, c Clusters, sc *sparkv1.SparkCluster) *dialect.Subject {
	t.Helper()

	rules := &recordingRules{}

	c.Rules = rules
	if faults := c.Review(sc).Faults; len(faults) > 0 || rules.subject == nil {
		t.Fatalf("the rules judge nothing, because of %v", faults)
	}
	return rules.subject
}

// TestPodsOfAClusterAreDescribedToTheRules checks which pods the rules judge, and the fields that their messages name.
// The image of the daemon's container is found by the container's name, because sidecars may follow it.
func TestPodsOfAClusterAreDescribedToTheRules(t *testing.T) {
	for name, c := range map[string]struct{ spec, master, worker string }{
		"no templates": {`{}`, "apache/spark:4.1.4", "apache/spark:4.1.4"},
		"sidecars before and after": {`{masterSpec: {statefulSetSpec: {template: {spec: {containers: [{name: log, image: l}, {name: master, image: m}, {name: mesh, image: o}]}}}},
			workerSpec: {statefulSetSpec: {template: {spec: {containers: [{name: worker, image: w}, {name: log, image: l}]}}}}}`, "m", "w"},
		"sidecars alone":             {`{masterSpec: {statefulSetSpec: {template: {spec: {containers: [{name: log, image: l}]}}}}}`, "apache/spark:4.1.4", "apache/spark:4.1.4"},
		"an image in sparkConf":      {`{sparkConf: {spark.kubernetes.container.image: i}, workerSpec: {statefulSetSpec: {template: {spec: {containers: [{name: worker, image: w}, {name: log, image: l}]}}}}}`, "i", "i"},
		"a container without a name": {`{workerSpec: {statefulSetSpec: {template: {spec: {containers: [{image: w}, {name: log, image: l}]}}}}}`, "apache/spark:4.1.4", "w"},
	} {
		sc := sparkCluster()
		if err := yaml.UnmarshalStrict([]byte(c.spec), &sc.Spec); err != nil {
			t.Fatal(err)
		}

		pods, faults := judged(t, testClusters, sc).Pods()
		for i := range pods {
			if pods[i].Meta == nil || pods[i].Spec == nil || len(pods[i].Spec.Containers) == 0 {
				t.Errorf("%s: the %s has no content", name, pods[i].Role)
			}

			if c := pods[i].Container; c.Name != pods[i].Role || pods[i].OwnCommand || len(pods[i].OptionFiles) != 2 {
				t.Errorf("%s: the %s has the container %s and the files %v", name, pods[i].Role, c.Name,
					pods[i].OptionFiles)
			}

			pods[i].Meta, pods[i].Spec, pods[i].Container, pods[i].OptionFiles = nil, nil, nil, nil
		}

		want := []dialect.Pod{
			{Role: "master", Field: "spec.masterSpec", ImageField: "spec.masterSpec", Image: c.master,
				AccountField: "spec.masterSpec.statefulSetSpec.template.spec.serviceAccountName"},
			{Role: "worker", Field: "spec.workerSpec", ImageField: "spec.workerSpec", Image: c.worker, Worker: true,
				AccountField: "spec.workerSpec.statefulSetSpec.template.spec.serviceAccountName"},
		}
		if diff := cmp.Diff(want, pods); diff != "" || len(faults) > 0 {
			t.Errorf("%s, faults %v (-want +got):\n%s", name, faults, diff)
		}
	}
}

// TestSettingsOfAClusterAreDescribedToTheRules checks that the rules see sparkConf with the platform's defaults, in the
// order of the keys, and that the name of a field with a long key is short.
func TestSettingsOfAClusterAreDescribedToTheRules(t *testing.T) {
	long := strings.Repeat("k", 300)
	sc := sparkCluster(func(sc *sparkv1.SparkCluster) {
		sc.Labels = map[string]string{"team": "a"}
		sc.Spec.SparkConf = map[string]string{"spark.b": "2", "spark.a": "1", long: "3"}
	})
	before := sc.DeepCopy()
	subject := judged(t, Clusters{Options{Defaults: platformDefaults()}}, sc)

	want := []dialect.Setting{
		{Key: long, Value: "3", Field: "spec.sparkConf[" + strings.Repeat("k", 200) + "...]"},
		{Key: "spark.a", Value: "1", Field: "spec.sparkConf[spark.a]"},
		{Key: "spark.b", Value: "2", Field: "spec.sparkConf[spark.b]"},
		{Key: "spark.worker.cleanup.enabled", Value: "true", Field: "spec.sparkConf[spark.worker.cleanup.enabled]"},
	}
	for range 10 { // each call iterates over the map in another order
		if diff := cmp.Diff(want, subject.Settings()); diff != "" {
			t.Fatalf("settings (-want +got):\n%s", diff)
		}
	}

	pods, _ := subject.Pods()
	if !slices.ContainsFunc(pods, func(p dialect.Pod) bool {
		return p.Worker && p.Spec.NodeSelector["pool"] == "spot" && p.Image == "registry.example.org/spark:4.1.4"
	}) {
		t.Error("the workers lack the defaults")
	}

	if diff := cmp.Diff(before, sc); diff != "" || subject.Labels["team"] != "a" {
		t.Errorf("labels %v; the cluster is changed:\n%s", subject.Labels, diff)
	}
}

// TestWorkersOfAClusterAreLimited checks the number of workers that the rules limit, and the field that sets it.
func TestWorkersOfAClusterAreLimited(t *testing.T) {
	const counts = "spec.clusterTolerations.instanceConfig."
	for name, c := range map[string]struct {
		first, least, most int64
		want               dialect.Workers
	}{
		"a constant number":            {3, 3, 3, dialect.Workers{Field: counts + "initWorkers", Max: 3}},
		"no workers":                   {0, 0, 0, dialect.Workers{Field: counts + "initWorkers"}},
		"a minimum above the maximum":  {4, 9, 2, dialect.Workers{Field: counts + "initWorkers", Max: 4}},
		"an autoscaler":                {1, 1, 50, dialect.Workers{Field: counts + "maxWorkers", Max: 50}},
		"an autoscaler at its maximum": {5, 1, 5, dialect.Workers{Field: counts + "maxWorkers", Max: 5}},
	} {
		sc := sparkCluster(func(sc *sparkv1.SparkCluster) {
			sc.Spec.ClusterTolerations.InstanceConfig = sparkv1.WorkerInstanceConfig{InitWorkers: c.first,
				MinWorkers: c.least, MaxWorkers: c.most}
		})
		if got := judged(t, testClusters, sc).Workers(); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
