package gang

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

func podOf(t *testing.T, text string) *corev1.Pod {
	t.Helper()

	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict([]byte(text), pod); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return pod
}

// inWords returns the amounts of a resource list as text.
func inWords(list corev1.ResourceList) map[string]string {
	words := map[string]string{}
	for name, amount := range list {
		words[string(name)] = amount.String()
	}
	return words
}

func TestRequests(t *testing.T) {
	for _, c := range []struct {
		name, pod string
		want      map[string]string
	}{
		{"nothing", `{}`, map[string]string{}},
		{"one container", `{spec: {containers: [{resources: {requests: {cpu: 1, memory: 1408Mi}, limits: {memory: 1408Mi}}}]}}`,
			map[string]string{"cpu": "1", "memory": "1408Mi"}},
		{"with a sidecar", `{spec: {containers: [{resources: {requests: {cpu: 500m, memory: 1Gi}}}, {resources: {requests: {cpu: 1, memory: 512Mi}}}]}}`,
			map[string]string{"cpu": "1500m", "memory": "1536Mi"}},
		{"a limit is a request where there is none",
			`{spec: {containers: [{resources: {limits: {cpu: 2, nvidia.com/gpu: 1}, requests: {cpu: 1}}}]}}`,
			map[string]string{"cpu": "1", "nvidia.com/gpu": "1"}},
		{"a request of nothing stays that",
			`{spec: {containers: [{resources: {limits: {cpu: 2}, requests: {cpu: 0}}}]}}`, map[string]string{}},
		{"an init container that needs more",
			`{spec: {initContainers: [{resources: {requests: {cpu: 3, memory: 1Mi}}}], containers: [{resources: {requests: {cpu: 1, memory: 1Gi}}}]}}`,
			map[string]string{"cpu": "3", "memory": "1Gi"}},
		{"init containers do not add up",
			`{spec: {initContainers: [{resources: {requests: {cpu: 2}}}, {resources: {requests: {cpu: 2}}}], containers: [{resources: {requests: {cpu: 1}}}]}}`,
			map[string]string{"cpu": "2"}},
		{"one that goes on beside", `{spec: {initContainers: [{restartPolicy: Always, resources: {requests: {cpu: 1}}}], containers: [{resources: {requests: {cpu: 1}}}]}}`,
			map[string]string{"cpu": "2"}},
		{"one after one that goes on",
			`{spec: {initContainers: [{restartPolicy: Always, resources: {requests: {cpu: 1}}}, {resources: {requests: {cpu: 4}}}], containers: [{resources: {requests: {cpu: 1}}}]}}`,
			map[string]string{"cpu": "5"}},
		{"one before one that goes on",
			`{spec: {initContainers: [{resources: {requests: {cpu: 4}}}, {restartPolicy: Always, resources: {requests: {cpu: 1}}}], containers: [{resources: {requests: {cpu: 1}}}]}}`,
			map[string]string{"cpu": "4"}},
		{"of the pod as a whole", `{spec: {resources: {requests: {cpu: 3}}, containers: [{resources: {requests: {cpu: 1, memory: 1Gi}}}, {resources: {requests: {cpu: 1}}}]}}`,
			map[string]string{"cpu": "3", "memory": "1Gi"}},
		{"a limit of the pod as a whole, which containers request in part",
			`{spec: {resources: {limits: {cpu: 8, memory: 4Gi}}, containers: [{resources: {requests: {cpu: 1}}}, {resources: {requests: {cpu: 1}}}]}}`,
			map[string]string{"cpu": "2", "memory": "4Gi"}},
		{"what the runtime takes", `{spec: {overhead: {cpu: 250m, memory: 120Mi}, containers: [{resources: {requests: {cpu: 1, memory: 1Gi}}}]}}`,
			map[string]string{"cpu": "1250m", "memory": "1144Mi"}},
		{"huge pages and devices", `{spec: {containers: [{resources: {limits: {hugepages-2Mi: 4Mi, vendor.example/device: 2}}}, {resources: {limits: {vendor.example/device: 1}}}]}}`,
			map[string]string{"hugepages-2Mi": "4Mi", "vendor.example/device": "3"}},
		{"a sidecar with a negative request",
			`{spec: {containers: [{resources: {requests: {memory: 550Gi}}}, {resources: {requests: {memory: -1000Gi}}}]}}`,
			map[string]string{"memory": "550Gi"}},
	} {
		pod := podOf(t, c.pod)

		before := pod.DeepCopy()
		if diff := cmp.Diff(c.want, inWords(Requests(pod))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}

		if diff := cmp.Diff(before, pod); diff != "" {
			t.Errorf("%s: the pod was changed (-before +after):\n%s", c.name, diff)
		}
	}

	if got := Requests(nil); len(got) > 0 {
		t.Errorf("no pod asks for %v", got)
	}
}

// TestLimits checks the limits of pods as a ResourceQuota counts them.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name, pod string
		want      map[string]string
	}{
		{"nothing", `{}`, map[string]string{}},
		{"requests alone", `{spec: {containers: [{resources: {requests: {cpu: 1}}}]}}`, map[string]string{}},
		{"with a sidecar that has no limit",
			`{spec: {containers: [{resources: {limits: {cpu: 2, memory: 1Gi}}}, {resources: {requests: {cpu: 1}}}]}}`,
			map[string]string{"cpu": "2", "memory": "1Gi"}},
		{"init containers", `{spec: {initContainers: [{restartPolicy: Always, resources: {limits: {cpu: 1}}}, {resources: {limits: {cpu: 4}}}], containers: [{resources: {limits: {cpu: 1}}}]}}`,
			map[string]string{"cpu": "5"}},
		{"of the pod as a whole", `{spec: {resources: {limits: {cpu: 3}}, containers: [{resources: {limits: {cpu: 1, memory: 1Gi}}}]}}`,
			map[string]string{"cpu": "3", "memory": "1Gi"}},
		{"overhead", `{spec: {overhead: {cpu: 250m, memory: 120Mi}, containers: [{resources: {limits: {memory: 1Gi}}}]}}`, map[string]string{"memory": "1144Mi"}},
	} {
		pod := podOf(t, c.pod)

		before := pod.DeepCopy()
		if diff := cmp.Diff(c.want, inWords(Limits(pod))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}

		if diff := cmp.Diff(before, pod); diff != "" {
			t.Errorf("%s: the pod was changed (-before +after):\n%s", c.name, diff)
		}
	}

	if got := Limits(nil); len(got) > 0 {
		t.Errorf("no pod has the limits %v", got)
	}
}

func TestSum(t *testing.T) {
	driver := podOf(t, `{spec: {containers: [{resources: {requests: {cpu: 500m, memory: 1408Mi}}}]}}`)

	executor := podOf(t, `{spec: {containers: [{resources: {requests: {cpu: 2, memory: 2867Mi}, limits: {nvidia.com/gpu: 1}}}]}}`)
	for _, c := range []struct {
		name  string
		tasks []Task
		want  map[string]string
	}{
		{"nobody", nil, map[string]string{}},
		{"a driver alone", []Task{{driver, 1}, {executor, 0}}, map[string]string{"cpu": "500m", "memory": "1408Mi"}},
		{"fewer than none", []Task{{driver, -3}}, map[string]string{}},
		{"a gang", []Task{{driver, 1}, {executor, 3}},
			map[string]string{"cpu": "6500m", "memory": "10009Mi", "nvidia.com/gpu": "3"}},
		{"a hundred thousand", []Task{{executor, 100000}},
			map[string]string{"cpu": "200k", "memory": "286700000Mi", "nvidia.com/gpu": "100k"}},
		{"no pod", []Task{{nil, 5}}, map[string]string{}},
	} {
		if diff := cmp.Diff(c.want, inWords(Sum(c.tasks...))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestRequestsAreThePeak simulates random pods from their first container to their last, and checks that the CPU
// request equals the highest sum of the requests of containers that run at the same time.
func TestRequestsAreThePeak(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 3))
	always := corev1.ContainerRestartPolicyAlways
	container := func() corev1.Container {
		return corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(random.Int64N(4000), resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(random.Int64N(64)<<20, resource.BinarySI),
		}}}
	}

	cpu := func(c *corev1.Container) int64 { return c.Resources.Requests.Cpu().MilliValue() }
	for range 2000 {
		pod := &corev1.Pod{}

		var peak, running int64
		for range random.IntN(4) {
			c := container()
			if random.IntN(2) == 0 {
				c.RestartPolicy = &always
			}

			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)

			peak = max(peak, running+cpu(&c))
			if c.RestartPolicy != nil {
				running += cpu(&c)
			}
		}

		for range 1 + random.IntN(3) {
			c := container()
			pod.Spec.Containers = append(pod.Spec.Containers, c)
			running += cpu(&c)
		}

		asked := Requests(pod)
		if want, got := max(peak, running), asked.Cpu().MilliValue(); got != want {
			text, _ := yaml.Marshal(pod.Spec)
			t.Fatalf("%dm, want %dm:\n%s", got, want, text)
		}
	}
}

// TestSumIsAddition checks that the sum over tasks equals the sum over their pods one by one, in any order.
func TestSumIsAddition(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var tasks, single []Task
		for range random.IntN(4) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewMilliQuantity(random.Int64N(9000), resource.DecimalSI),
				corev1.ResourceMemory: *resource.NewQuantity(random.Int64N(1<<45), resource.BinarySI),
				corev1.ResourceName(fmt.Sprintf("vendor.example/d%d",
					random.IntN(2))): *resource.NewQuantity(random.Int64N(3), resource.DecimalSI),
			}}}}}}
			count := random.Int32N(20)

			tasks = append(tasks, Task{pod, count})
			for range count {
				single = append(single, Task{pod, 1})
			}
		}

		random.Shuffle(len(single), func(i, j int) { single[i], single[j] = single[j], single[i] })

		if diff := cmp.Diff(inWords(Sum(single...)), inWords(Sum(tasks...))); diff != "" {
			t.Fatalf("(-one by one +at once):\n%s", diff)
		}
	}
}

// TestNoContainerLowersTheSums checks with random pods that another container, of whatever amounts, never lowers the
// requests and limits of a pod. The sums once counted negative amounts, so a sidecar could pay for a driver.
func TestNoContainerLowersTheSums(t *testing.T) {
	random := rand.New(rand.NewPCG(36, 1))
	always := corev1.ContainerRestartPolicyAlways
	amounts := func() corev1.ResourceList {
		list := corev1.ResourceList{}
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, "nvidia.com/gpu"} {
			if random.IntN(2) == 0 {
				list[name] = *resource.NewQuantity(random.Int64N(20)-10, resource.DecimalSI)
			}
		}
		return list
	}

	container := func() corev1.Container {
		c := corev1.Container{Resources: corev1.ResourceRequirements{Requests: amounts(), Limits: amounts()}}
		if random.IntN(3) == 0 {
			c.RestartPolicy = &always
		}
		return c
	}
	for range 2000 {
		pod := &corev1.Pod{}
		for range random.IntN(4) {
			pod.Spec.Containers = append(pod.Spec.Containers, container())
		}

		for range random.IntN(4) {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, container())
		}

		pod.Spec.Overhead = amounts()
		before := map[string]corev1.ResourceList{"requests": Requests(pod), "limits": Limits(pod)}

		more := pod.DeepCopy()
		if random.IntN(2) == 0 {
			more.Spec.Containers = append(more.Spec.Containers, container())
		} else {
			more.Spec.InitContainers = append(more.Spec.InitContainers, container())
		}

		for what, after := range map[string]corev1.ResourceList{"requests": Requests(more), "limits": Limits(more)} {
			for name, amount := range before[what] {
				if have := after[name]; have.Cmp(amount) < 0 || amount.Sign() < 0 {
					t.Fatalf("the %s of %s fell from %s to %s with another container:\n%+v", what, name,
						amount.String(), have.String(), more.Spec)
				}
			}
		}
	}
}
