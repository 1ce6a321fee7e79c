package batch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/batch"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/gang"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// create is the action that launches the first attempt.
var create = lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}

// gangs returns a dialect whose configuration enables every batch scheduler.
func gangs(change ...func(*application.Options)) application.Dialect {
	o := application.Options{Batch: batch.Options{Enabled: true, KubeSchedulers: []string{"tuned", "coscheduler"}}}
	for _, c := range change {
		c(&o)
	}
	return application.Dialect{Options: o}
}

func byDefault(name string) func(*application.Options) {
	return func(o *application.Options) { o.Batch.Default = name }
}

// launched returns the objects of an application's first attempt, and its first executor pod.
func launched(t testing.TB, d application.Dialect, app *v1beta2.SparkApplication) (submit.Objects, *corev1.Pod) {
	t.Helper()

	objects, err := d.Render(app, create, sparkapp.T0)
	if err != nil {
		t.Fatal(err)
	}

	executor, err := d.Executor(app, 1, 1, "driver", sparkapp.T0)
	if err != nil && !errors.Is(err, launch.ErrNoExecutors) {
		t.Fatal(err)
	}
	return objects, executor
}

// podGroups returns the PodGroups among the objects that are created before the driver.
func podGroups(objects submit.Objects) (groups []*unstructured.Unstructured) {
	for _, object := range objects.Before {
		if group, ok := object.(*unstructured.Unstructured); ok {
			groups = append(groups, group)
		}
	}
	return groups
}

func minResources(t testing.TB, objects submit.Objects) map[string]string {
	t.Helper()

	groups := podGroups(objects)
	if len(groups) != 1 {
		t.Fatalf("%d pod groups", len(groups))
	}

	amounts, _, err := unstructured.NestedStringMap(groups[0].Object, "spec", "minResources")
	if err != nil {
		t.Fatal(err)
	}
	return amounts
}

// TestGangSums compares the resources that a PodGroup requests with sums computed by hand.
func TestGangSums(t *testing.T) {
	for _, c := range []struct{ name, piece, cpu, memory string }{
		{"one driver and one executor with 1 GiB each", `{}`, "2", "2816Mi"},
		{"three executors", `{executor: {instances: 3}}`, "4", "5632Mi"},
		{"512 MiB, with the minimum overhead of 384 MiB", `{driver: {memory: 512m}, executor: {memory: 512m}}`, "2",
			"1792Mi"},
		{"a number without a unit means MiB", `{executor: {memory: "2048"}}`, "2", "3840Mi"},
		{"an overhead of 10% of 10 GiB", `{driver: {memory: 10g}, executor: {memory: 10g}}`, "2", "22Gi"},
		{"an explicit overhead", `{driver: {memory: 1g, memoryOverhead: 1g}, executor: {memory: 1g, memoryOverhead: "100"}}`, "2", "3172Mi"},
		{"an overhead factor for both roles",
			`{memoryOverheadFactor: "0.5", driver: {memory: 2g}, executor: {memory: 4g}}`, "2", "9Gi"},
		{"an overhead factor for each role",
			`{memoryOverheadFactor: "0.5", driver: {memory: 2g}, executor: {memory: 4g},
			sparkConf: {spark.driver.memoryOverheadFactor: "1", spark.executor.memoryOverheadFactor: "0.25"}}`, "2",
			"9Gi"},
		{"a smaller minimum overhead, since Spark 4.0",
			`{sparkConf: {spark.driver.minMemoryOverhead: 128m, spark.executor.minMemoryOverhead: 64m}}`, "2",
			"2278Mi"},
		{"a minimum overhead, which Spark 3.5 ignores",
			`{sparkVersion: 3.5.8, sparkConf: {spark.driver.minMemoryOverhead: 128m, spark.executor.minMemoryOverhead: 64m}}`, "2", "2816Mi"},
		{"an overhead of 40% for Python, and PySpark memory",
			`{mainApplicationFile: "local:///a.py", driver: {memory: 2g}, executor: {memory: 2g},
			sparkConf: {spark.executor.pyspark.memory: 512m}}`, "2", "6246Mi"},
		{"off-heap memory", `{sparkConf: {spark.memory.offHeap.enabled: "true", spark.memory.offHeap.size: 1g}}`, "2",
			"3840Mi"},
		{"disabled off-heap memory", `{sparkConf: {spark.memory.offHeap.size: 1g}}`, "2", "2816Mi"},
		{"cores", `{driver: {cores: 2}, executor: {cores: 4, instances: 2}}`, "10", "4224Mi"},
		{"coreRequest instead of cores",
			`{driver: {cores: 2, coreRequest: 250m}, executor: {cores: 4, coreRequest: 1500m, instances: 2}}`, "3250m",
			"4224Mi"},
		{"limits do not count", `{driver: {coreLimit: "4"}, executor: {coreLimit: "4", memoryLimit: 8g}}`, "2",
			"2816Mi"},
		{"dynamic allocation starts with the largest of three numbers",
			`{dynamicAllocation: {enabled: true, initialExecutors: 2, minExecutors: 3, maxExecutors: 50}, executor: {instances: 1}}`, "4", "5632Mi"},
		{"dynamic allocation without initial executors",
			`{dynamicAllocation: {enabled: true, maxExecutors: 50}, executor: {instances: 0}}`, "1", "1408Mi"},
		{"only sparkConf", `{executor: {instances: null}, sparkConf: {spark.executor.instances: "4", spark.executor.memory: 2g, spark.executor.cores: "2", spark.driver.memory: 3g}}`, "9", "13184Mi"},
		{"a driver without executors", `{driver: {kubernetesMaster: "local[2]"}, executor: {instances: 5}}`, "1",
			"1408Mi"},
		{"a sidecar in each pod", `{driver: {sidecars: [{name: s, image: i, resources: {requests: {cpu: 100m, memory: 64Mi}}}]},
			executor: {instances: 2, sidecars: [{name: s, image: i, resources: {requests: {cpu: 200m, memory: 32Mi}}}]}}`, "3500m", "4352Mi"},
		{"an init container that needs more than the rest",
			`{driver: {initContainers: [{name: a, image: i, resources: {requests: {cpu: 4}}}]}}`, "5", "2816Mi"},
		{"a sidecar in a template", `{executor: {instances: 2, template: {spec: {containers: [{name: spark-kubernetes-executor}, {name: s, image: i, resources: {requests: {cpu: 1}}}]}}}}`, "5", "4224Mi"},
		{"resources set by the user", `{batchSchedulerOptions: {resources: {cpu: 7, memory: 3Gi}}}`, "7", "3Gi"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, scheduler := range []string{"volcano", "coscheduler"} {
				objects, _ := launched(t, gangs(),
					sparkapp.Of(t, "spec: {executor: {instances: 1}, batchScheduler: "+scheduler+"}", "spec: "+c.piece))

				got := minResources(t, objects)
				if got["cpu"] != c.cpu || got["memory"] != c.memory {
					t.Errorf("%s: cpu %s and memory %s, want %s and %s", scheduler, got["cpu"], got["memory"], c.cpu,
						c.memory)
				}
			}
		})
	}
}

// TestGangDevices checks that a PodGroup requests devices such as GPUs in addition to CPU and memory.
func TestGangDevices(t *testing.T) {
	objects, _ := launched(t, gangs(),
		sparkapp.Of(t, `spec: {batchScheduler: volcano, executor: {instances: 3, gpu: {name: nvidia.com/gpu, quantity: 2}}}`))
	if got := minResources(t, objects)["nvidia.com/gpu"]; got != "6" {
		t.Errorf("%q", got)
	}
}

// TestGangIsWhatIsAskedFor checks, for random combinations of settings, that the resources of the PodGroup equal the
// sum of the requests of the created pods.
func TestGangIsWhatIsAskedFor(t *testing.T) {
	random := rand.New(rand.NewPCG(2026, 6))

	choices := [][]string{
		{``, `{sparkVersion: 3.5.8}`, `{sparkVersion: 4.2.0}`},
		{``, `{mainApplicationFile: "local:///a.py"}`, `{mainApplicationFile: "local:///a.R"}`},
		{``, `{driver: {memory: 512m}}`, `{driver: {memory: 7g, memoryOverhead: 512m}}`, `{driver: {memory: 5005m}}`},
		{``, `{executor: {memory: "1500"}}`, `{executor: {memory: 3g, memoryOverhead: 1g}}`},
		{``, `{memoryOverheadFactor: "0.3"}`, `{sparkConf: {spark.executor.memoryOverheadFactor: "0.33"}}`},
		{``, `{driver: {cores: 3}}`, `{driver: {coreRequest: 350m}}`},
		{``, `{executor: {cores: 3}}`, `{executor: {coreRequest: "2"}}`,
			`{executor: {gpu: {name: nvidia.com/gpu, quantity: 1}}}`},
		{``, `{executor: {instances: 0}, dynamicAllocation: {enabled: true}}`, `{executor: {instances: 17}}`,
			`{dynamicAllocation: {enabled: true, minExecutors: 4}}`},
		{``, `{sparkConf: {spark.memory.offHeap.enabled: "true", spark.memory.offHeap.size: 300m}}`,
			`{sparkConf: {spark.executor.pyspark.memory: 700m}}`},
		{``, `{driver: {sidecars: [{name: s, image: i, resources: {requests: {cpu: 70m}}}]}}`,
			`{executor: {sidecars: [{name: s, image: i, resources: {limits: {memory: 33Mi}}}]}}`},
	}
	for range 150 {
		pieces := []string{"spec: {batchScheduler: volcano}"}
		for _, choice := range choices {
			if piece := choice[random.IntN(len(choice))]; piece != "" {
				pieces = append(pieces, "spec: "+piece)
			}
		}

		app := sparkapp.Of(t, pieces...)
		objects, executor := launched(t, gangs(), app)

		want := map[string]string{}
		for name, amount := range gang.Sum(gang.Task{Pod: objects.Driver, Count: 1},
			gang.Task{Pod: executor, Count: specification.InitialExecutors(&app.Spec)}) {
			want[string(name)] = amount.String()
		}

		if diff := cmp.Diff(want, minResources(t, objects)); diff != "" {
			t.Fatalf("%s\n(-pods +group):\n%s", strings.Join(pieces, "\n"), diff)
		}
	}
}

// TestScheduledAsOne checks which scheduler the driver and the executors use, which labels and annotations name their
// group, and that the group exists.
func TestScheduledAsOne(t *testing.T) {
	const volcanoKey, schedulingKey = "scheduling.k8s.io/group-name", "scheduling.x-k8s.io/pod-group"
	for _, c := range []struct {
		name, piece string
		dialect     application.Dialect
		scheduler   string
		driver      map[string]string // of the labels and annotations that matter here
		executor    map[string]string
		group       string // kind of API and name
	}{
		{"no batch scheduler", `{}`, gangs(), "", nil, nil, ""},
		{"Volcano", `{batchScheduler: volcano}`, gangs(), "volcano",
			map[string]string{volcanoKey: "spark-pi-pg"}, map[string]string{volcanoKey: "spark-pi-pg"},
			"scheduling.volcano.sh/v1beta1 spark-pi-pg"},
		{"coscheduling", `{batchScheduler: coscheduler}`, gangs(), "coscheduler",
			map[string]string{schedulingKey: "pi-pg"}, map[string]string{schedulingKey: "pi-pg"},
			"scheduling.x-k8s.io/v1alpha1 pi-pg"},
		{"another scheduler", `{batchScheduler: tuned}`, gangs(), "tuned",
			map[string]string{schedulingKey: "pi-pg"}, map[string]string{schedulingKey: "pi-pg"},
			"scheduling.x-k8s.io/v1alpha1 pi-pg"},
		{"YuniKorn", `{batchScheduler: yunikorn, batchSchedulerOptions: {queue: root.research}}`, gangs(), "yunikorn",
			map[string]string{"queue": "root.research", "yunikorn.apache.org/task-group-name": "spark-driver"},
			map[string]string{"queue": "root.research", "yunikorn.apache.org/task-group-name": "spark-executor"}, ""},
		{"batchScheduler overrides schedulerName",
			`{batchScheduler: volcano, driver: {schedulerName: a}, executor: {schedulerName: b}}`, gangs(), "volcano",
			map[string]string{volcanoKey: "spark-pi-pg"}, map[string]string{volcanoKey: "spark-pi-pg"},
			"scheduling.volcano.sh/v1beta1 spark-pi-pg"},
		{"batchScheduler overrides sparkConf",
			`{batchScheduler: volcano, sparkConf: {spark.kubernetes.scheduler.name: x, spark.kubernetes.driver.scheduler.name: z}}`, gangs(), "volcano",
			map[string]string{volcanoKey: "spark-pi-pg"}, map[string]string{volcanoKey: "spark-pi-pg"},
			"scheduling.volcano.sh/v1beta1 spark-pi-pg"},

		{"the operator's default", `{}`, gangs(byDefault("volcano")), "volcano",
			map[string]string{volcanoKey: "spark-pi-pg"}, map[string]string{volcanoKey: "spark-pi-pg"},
			"scheduling.volcano.sh/v1beta1 spark-pi-pg"},
		{"a scheduler other than the default", `{batchScheduler: yunikorn}`, gangs(byDefault("volcano")), "yunikorn",
			map[string]string{"yunikorn.apache.org/task-group-name": "spark-driver"},
			map[string]string{"yunikorn.apache.org/task-group-name": "spark-executor"}, ""},
		{"schedulerName overrides the default", `{driver: {schedulerName: mine}, executor: {schedulerName: mine}}`,
			gangs(byDefault("volcano")), "mine", nil, nil, ""},
		{"schedulerName equal to the default", `{driver: {schedulerName: volcano}}`, gangs(byDefault("volcano")),
			"volcano",
			map[string]string{volcanoKey: "spark-pi-pg"}, map[string]string{volcanoKey: "spark-pi-pg"},
			"scheduling.volcano.sh/v1beta1 spark-pi-pg"},
		{"schedulerName in a template",
			`{driver: {template: {spec: {schedulerName: mine, containers: [{name: spark-kubernetes-driver}]}}}, executor: {schedulerName: mine}}`,
			gangs(byDefault("volcano")), "mine", nil, nil, ""},

		{"the driver names its own group",
			`{batchScheduler: volcano, driver: {annotations: {scheduling.k8s.io/group-name: mine}}}`, gangs(),
			"volcano",
			map[string]string{volcanoKey: "mine"}, nil, ""},
		{"the driver names its own group in sparkConf",
			`{batchScheduler: volcano, sparkConf: {spark.kubernetes.driver.annotation.scheduling.k8s.io/group-name: mine}}`, gangs(), "volcano",
			map[string]string{volcanoKey: "mine"}, nil, ""},
		{"the driver names its own group in a template",
			`{batchScheduler: volcano, driver: {template: {metadata: {annotations: {scheduling.k8s.io/group-name: mine}}, spec: {containers: [{name: spark-kubernetes-driver}]}}}}`,
			gangs(), "volcano", map[string]string{volcanoKey: "mine"}, nil, ""},
		{"the executors name their own group",
			`{batchScheduler: volcano, executor: {annotations: {scheduling.k8s.io/group-name: mine}}}`, gangs(),
			"volcano",
			map[string]string{volcanoKey: "spark-pi-pg"}, map[string]string{volcanoKey: "mine"},
			"scheduling.volcano.sh/v1beta1 spark-pi-pg"},
		{"the driver names its own group in a label",
			`{batchScheduler: tuned, driver: {labels: {scheduling.x-k8s.io/pod-group: mine}}}`, gangs(), "tuned",
			map[string]string{schedulingKey: "mine"}, nil, ""},

		{"switched off", `{batchScheduler: volcano, batchSchedulerOptions: {queue: q}}`, application.Dialect{},
			"volcano", nil, nil, ""},
		{"switched off, an unknown scheduler", `{batchScheduler: whoever}`, application.Dialect{}, "whoever", nil,
			nil, ""},
		{"switched off, with a default", `{}`,
			application.Dialect{Options: application.Options{Batch: batch.Options{Default: "volcano"}}}, "", nil,
			nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			app := sparkapp.Of(t, "spec: "+c.piece)
			for _, mode := range []string{"Native", "SparkSubmit"} {
				app.Spec.Submission = &v1beta2.SubmissionSpec{Mode: v1beta2.SubmissionMode(mode)}
				objects, executor := launched(t, c.dialect, app)

				group := ""
				for _, g := range podGroups(objects) {
					group += g.GetAPIVersion() + " " + g.GetName()
				}

				if group != c.group {
					t.Errorf("%s: group %q, want %q", mode, group, c.group)
				}

				driver := objects.Driver
				if mode == "SparkSubmit" {
					checkRunner(t, objects.Driver)

					driver = c.dialect.Review(app, sparkapp.T0).Pods()[0].Pod
				}

				for role, pod := range map[string]*corev1.Pod{"driver": driver, "executor": executor} {
					want := map[string]map[string]string{"driver": c.driver, "executor": c.executor}[role]
					if pod.Spec.SchedulerName != c.scheduler {
						t.Errorf("%s: the %s's scheduler is %q, want %q", mode, role, pod.Spec.SchedulerName,
							c.scheduler)
					}

					if diff := cmp.Diff(want, gangMarks(pod)); diff != "" {
						t.Errorf("%s: the %s (-want +got):\n%s", mode, role, diff)
					}
				}
			}
		})
	}
}

// gangMarks returns the labels and annotations that make a pod a member of a gang, a group of pods that are scheduled
// together. It leaves out YuniKorn's task groups. It returns nil if the pod belongs to no gang.
func gangMarks(pod *corev1.Pod) map[string]string {
	var marks map[string]string
	for _, have := range []map[string]string{pod.Labels, pod.Annotations} {
		for _, key := range []string{gang.VolcanoAnnotation, gang.CoschedulingLabel, gang.QueueLabel,
			gang.TaskGroupAnnotation} {
			if value, found := have[key]; found {
				if marks == nil {
					marks = map[string]string{}
				}

				marks[key] = value
			}
		}
	}
	return marks
}

// checkRunner checks that the pod that runs spark-submit belongs to no gang and uses no batch scheduler.
func checkRunner(t *testing.T, pod *corev1.Pod) {
	t.Helper()

	if marks := gangMarks(pod); marks != nil || pod.Annotations[gang.TaskGroupsAnnotation] != "" ||
		pod.Spec.SchedulerName != "" {
		t.Errorf("the pod that runs spark-submit has %v, %v and the scheduler %q", marks, pod.Annotations,
			pod.Spec.SchedulerName)
	}
}

func TestYuniKornTaskGroups(t *testing.T) {
	type group struct {
		Name         string
		MinMember    int
		MinResource  map[string]string
		NodeSelector map[string]string
		Labels       map[string]string
		Tolerations  []corev1.Toleration
	}
	for _, c := range []struct {
		name, piece string
		want        []group
	}{
		{"the defaults", `{}`, []group{
			{Name: "spark-driver", MinMember: 1, MinResource: map[string]string{"cpu": "1", "memory": "1408Mi"}},
			{Name: "spark-executor", MinMember: 1, MinResource: map[string]string{"cpu": "1", "memory": "1408Mi"}},
		}},
		{"no initial executors", `{dynamicAllocation: {enabled: true}, executor: {instances: 0}}`, []group{
			{Name: "spark-driver", MinMember: 1, MinResource: map[string]string{"cpu": "1", "memory": "1408Mi"}},
		}},
		{"several executors with node selectors and tolerations",
			`{driver: {labels: {team: a}, nodeSelector: {pool: a}},
			executor: {instances: 5, cores: 2, memory: 4g, nodeSelector: {pool: b}, tolerations: [{key: spot, operator: Exists}]}}`, []group{
				{Name: "spark-driver", MinMember: 1, MinResource: map[string]string{"cpu": "1", "memory": "1408Mi"},
					NodeSelector: map[string]string{"pool": "a"}, Labels: map[string]string{"team": "a"}},
				{Name: "spark-executor", MinMember: 5, MinResource: map[string]string{"cpu": "2", "memory": "4505Mi"},
					NodeSelector: map[string]string{"pool": "b"},
					Tolerations:  []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}}},
			}},
	} {
		objects, executor := launched(t, gangs(),
			sparkapp.Of(t, `spec: {batchScheduler: yunikorn, sparkConf: {"spark.kubernetes.driver.annotation.yunikorn.apache.org/task-groups": theirs}, executor: {instances: 1}}`, "spec: "+c.piece))

		var got []group
		if err := json.Unmarshal([]byte(objects.Driver.Annotations[gang.TaskGroupsAnnotation]), &got); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}

		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}

		if executor.Annotations[gang.TaskGroupsAnnotation] != "" {
			t.Errorf("%s: executors have the task groups too", c.name)
		}
	}
}

// TestPodGroupIsOurs checks that the PodGroup has the labels by which the operator finds it, is owned by the
// application, and contains the values of the application's options.
func TestPodGroupIsOurs(t *testing.T) {
	app := sparkapp.Of(t, `spec: {batchScheduler: volcano, batchSchedulerOptions: {queue: research, priorityClassName: high}}`)
	objects, _ := launched(t, gangs(), app)

	group := podGroups(objects)[0]
	if objects.Before[0] != submit.Object(group) {
		t.Error("it is not the first")
	}

	if diff := cmp.Diff(objects.Driver.Labels[sparkoperator.LabelAppUID]+
		objects.Driver.Labels[sparkoperator.LabelAttempt],
		group.GetLabels()[sparkoperator.LabelAppUID]+group.GetLabels()[sparkoperator.LabelAttempt]); diff != "" {
		t.Error(diff)
	}

	if refs := group.GetOwnerReferences(); len(refs) != 1 || refs[0].UID != app.UID ||
		group.GetNamespace() != app.Namespace {
		t.Errorf("in %s, owned by %v", group.GetNamespace(), refs)
	}

	spec := group.Object["spec"].(map[string]any)
	if spec["queue"] != "research" || spec["priorityClassName"] != "high" || spec["minMember"] != int64(1) {
		t.Errorf("%v", spec)
	}
}

func TestBatchRefusals(t *testing.T) {
	for _, c := range []struct{ name, piece, field, says string }{
		{"an unknown scheduler", `{batchScheduler: whoever}`, "spec.batchScheduler",
			`"whoever" is not a batch scheduler that the operator supports; it supports volcano, yunikorn, coscheduler, tuned`},
		{"an invalid queue of Volcano", `{batchScheduler: volcano, batchSchedulerOptions: {queue: A B}}`,
			"spec.batchSchedulerOptions.queue", `"A B" is not a valid queue name`},
		{"an invalid queue of YuniKorn", `{batchScheduler: yunikorn, batchSchedulerOptions: {queue: a/b}}`,
			"spec.batchSchedulerOptions.queue", `"a/b" is not a valid queue name`},
		{"an invalid priority class", `{batchScheduler: volcano, batchSchedulerOptions: {priorityClassName: High}}`,
			"spec.batchSchedulerOptions.priorityClassName", "not a valid priority class"},
		{"an invalid size of the driver", `{batchScheduler: volcano, driver: {memory: 1.5g}}`,
			"spec.driver.memory", ""},
		{"an invalid size of executors", `{batchScheduler: yunikorn, executor: {memory: 4Gi}}`,
			"spec.executor.memory", ""},
	} {
		_, err := gangs().Render(sparkapp.Of(t, "spec: "+c.piece), create, sparkapp.T0)

		field, ok := errors.AsType[*dialect.FieldError](err)
		if !ok || field.Field != c.field || !strings.Contains(field.Message, c.says) {
			t.Errorf("%s: %v, want %s: %s", c.name, err, c.field, c.says)
		}
	}
	// With an unknown scheduler the application fails, and no attempt is launched.
	app := sparkapp.Of(t, `spec: {batchScheduler: whoever, restartPolicy: {type: Always}}`)
	if invalid := dialect.Invalid(gangs().Faults(app, sparkapp.T0)); invalid == nil ||
		!strings.Contains(invalid.Message, "coscheduler") {
		t.Errorf("%v", invalid)
	}
}

func TestBatchWarnings(t *testing.T) {
	for _, c := range []struct {
		name, piece string
		dialect     application.Dialect
		want        []string // a part of each warning
	}{
		{"no batch scheduler and no options", `{}`, gangs(), nil},
		{"Volcano supports all options",
			`{batchScheduler: volcano, batchSchedulerOptions: {queue: q, priorityClassName: p, resources: {cpu: 1}}}`,
			gangs(), nil},
		{"YuniKorn supports only queues",
			`{batchScheduler: yunikorn, batchSchedulerOptions: {queue: q, priorityClassName: p, resources: {cpu: 1}}}`,
			gangs(),
			[]string{"priorityClassName: has no effect with YuniKorn", "resources: has no effect with YuniKorn"}},
		{"coscheduling supports only resources",
			`{batchScheduler: tuned, batchSchedulerOptions: {queue: q, priorityClassName: p, resources: {cpu: 1}}}`,
			gangs(),
			[]string{"queue: has no effect with coscheduling", "priorityClassName: has no effect with coscheduling"}},
		{"options without a scheduler", `{batchSchedulerOptions: {queue: q}}`, gangs(),
			[]string{"queue: has no effect without a batch scheduler"}},
		{"empty options without a scheduler", `{batchSchedulerOptions: {}}`, gangs(), nil},
		{"switched off", `{batchScheduler: volcano}`, application.Dialect{},
			[]string{"switched off by the operator's configuration (batchScheduler.enabled)"}},
		{"switched off, with options", `{batchScheduler: volcano, batchSchedulerOptions: {queue: q}}`,
			application.Dialect{}, []string{"switched off", "queue: has no effect"}},
	} {
		objects, _ := launched(t, c.dialect, sparkapp.Of(t, "spec: "+c.piece))
		if len(objects.Warnings) != len(c.want) || !slices.EqualFunc(objects.Warnings, c.want, strings.Contains) {
			t.Errorf("%s: %q, want %q", c.name, objects.Warnings, c.want)
		}
	}
}

// TestSparksOwnVolcanoStep checks an application that uses Spark's own feature step for Volcano. If the operator may
// create PodGroups, the operator builds the driver. Otherwise spark-submit builds it. In both cases there is only one
// PodGroup.
func TestSparksOwnVolcanoStep(t *testing.T) {
	const step = `spec: {sparkConf: {spark.kubernetes.driver.pod.featureSteps: org.apache.spark.deploy.k8s.features.VolcanoFeatureStep}}`
	for _, c := range []struct {
		name      string
		dialect   application.Dialect
		scheduler string
		submitter bool
	}{
		{"switched off", application.Dialect{}, "", true},
		{"switched on", gangs(), "", false},
		{"switched on, and named", gangs(), "volcano", false},
	} {
		app := sparkapp.Of(t, step, fmt.Sprintf("spec: {batchScheduler: %q}", c.scheduler))

		objects, err := c.dialect.Render(app, create, sparkapp.T0)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}

		if submitter := strings.HasSuffix(objects.Driver.Name, "-submit"); submitter != c.submitter {
			t.Errorf("%s: by spark-submit: %t", c.name, submitter)
		}

		if c.submitter {
			continue
		}

		groups := podGroups(objects)
		if len(groups) != 1 || objects.Driver.Annotations[gang.VolcanoAnnotation] != groups[0].GetName() {
			t.Errorf("%s: %d groups, and the driver is of %q", c.name, len(groups),
				objects.Driver.Annotations[gang.VolcanoAnnotation])
		}
	}
}
