package admit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
)

// executor returns an executor pod as Spark builds it, with the label and the annotations of s.
func executor(t *testing.T, s Settings) *corev1.Pod {
	t.Helper()

	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "side", Image: "side:1"},
		{
			Name: "mine", Image: "spark:1",
			Env:       []corev1.EnvVar{{Name: "A", Value: "old"}, {Name: "SPARK_LOCAL_DIRS", Value: "/var/data"}},
			Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"/opt/decom.sh"}}}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi"),
					"nvidia.com/gpu": resource.MustParse("1")},
				Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi"),
					"nvidia.com/gpu": resource.MustParse("1")},
			},
		},
		{Name: "injected", Image: "injected:1"},
	}}}
	if err := s.Mark(pod, "mine"); err != nil {
		t.Fatal(err)
	}
	return pod
}

var full = overlay.Overlay{
	MemoryLimit: new(resource.MustParse("4Gi")), GPU: overlay.GPU{Name: "nvidia.com/gpu", Quantity: 2},
	Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"bye"}}}},
	Env: []corev1.EnvVar{
		{Name: "SPARK_LOCAL_DIRS", Value: "/mine"},
		{Name: "SPARK_USER", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
	},
}

// TestApplyChangesTheSparkContainer checks every setting. Apply must find the Spark container by its name, because
// another webhook has added a container after it.
func TestApplyChangesTheSparkContainer(t *testing.T) {
	pod := executor(t, Settings{By: Webhook, Overlay: full})
	want := pod.DeepCopy()
	spark := &want.Spec.Containers[1]
	spark.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("4Gi"),
		"nvidia.com/gpu": resource.MustParse("2")}
	spark.Resources.Requests["nvidia.com/gpu"] = resource.MustParse("2")
	spark.Lifecycle = full.Lifecycle
	spark.Env = append(spark.Env, full.Env...)

	if err := Apply(pod); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
}

func TestPodWithoutTheLabelIsNotChanged(t *testing.T) {
	pod := executor(t, Settings{By: Webhook, Overlay: full})
	delete(pod.Labels, Label)

	before := pod.DeepCopy()
	if err := Apply(pod); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(before, pod); diff != "" {
		t.Errorf("pod (-before +after):\n%s", diff)
	}
}

// TestApplyIsIdempotent applies random settings, from a fixed seed, twice to the same pod. It checks that the second
// call changes nothing. This is necessary because the API server may call the webhook again after another webhook has
// changed the pod.
func TestApplyIsIdempotent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range effort.Count(t, 500) {
		var o overlay.Overlay
		if r.IntN(2) == 0 {
			o.MemoryLimit = new(resource.MustParse(fmt.Sprint(1+r.IntN(9), "Gi")))
		}

		if r.IntN(2) == 0 {
			o.GPU = overlay.GPU{Name: []string{"nvidia.com/gpu", "amd.com/gpu"}[r.IntN(2)],
				Quantity: int64(1 + r.IntN(3))}
		}

		if r.IntN(2) == 0 {
			o.Lifecycle = full.Lifecycle
		}

		for range r.IntN(4) {
			v := corev1.EnvVar{Name: []string{"A", "B", "SPARK_LOCAL_DIRS"}[r.IntN(3)], Value: fmt.Sprint(r.IntN(3))}
			if r.IntN(3) == 0 {
				v.Value, v.ValueFrom = "", &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}
			}

			o.Env = append(o.Env, v)
		}

		pod := executor(t, Settings{By: Webhook, Overlay: o})
		if err := Apply(pod); err != nil {
			t.Fatalf("settings %d: %v\n%+v", i, err, o)
		}

		for j, v := range pod.Spec.Containers[1].Env { // as an API server does between two calls
			if v.ValueFrom != nil {
				pod.Spec.Containers[1].Env[j].ValueFrom.FieldRef.APIVersion = "v1"
			}
		}

		once := pod.DeepCopy()
		if err := Apply(pod); err != nil {
			t.Fatalf("settings %d fit once, but not twice: %v\n%+v", i, err, o)
		}

		if diff := cmp.Diff(once, pod); diff != "" {
			t.Fatalf("settings %d twice (-once +twice):\n%s", i, diff)
		}
	}
}

// TestChoose checks which mechanism applies which settings.
func TestChoose(t *testing.T) {
	limit, gpu := full.MemoryLimit, full.GPU
	large := []corev1.EnvVar{{Name: "SPARK_JAVA_OPT_0", Value: strings.Repeat("x", maxJSON)}}

	simple := overlay.Overlay{MemoryLimit: limit, GPU: gpu}
	for name, c := range map[string]struct {
		have Available
		o    overlay.Overlay
		want Settings
	}{
		"nothing is available": {Available{}, full, Settings{}},
		"nothing is needed": {Available{Policy: true, Webhook: true}, overlay.Overlay{HostNetwork: true},
			Settings{}},
		"a policy is preferred": {Available{Policy: true, Webhook: true}, simple,
			Settings{By: Policy, Overlay: simple}},
		"the webhook alone": {Available{Webhook: true}, simple, Settings{By: Webhook, Overlay: simple}},
		"a policy is not enough": {Available{Policy: true, Webhook: true}, full,
			Settings{By: Webhook, Overlay: full}},
		"a part by the policy":  {Available{Policy: true}, full, Settings{By: Policy, Overlay: simple}},
		"no part by the policy": {Available{Policy: true}, overlay.Overlay{Env: full.Env}, Settings{}},
		"too large for an annotation": {Available{Webhook: true}, overlay.Overlay{MemoryLimit: limit, Env: large},
			Settings{By: Webhook, Overlay: overlay.Overlay{MemoryLimit: limit}}},
		"too large, and a policy": {Available{Policy: true, Webhook: true},
			overlay.Overlay{MemoryLimit: limit, Env: large},
			Settings{By: Policy, Overlay: overlay.Overlay{MemoryLimit: limit}}},
		"only what is too large": {Available{Policy: true, Webhook: true}, overlay.Overlay{Env: large},
			Settings{}},
	} {
		if diff := cmp.Diff(c.want, c.have.Choose(c.o)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestBadAnnotationsAreErrors checks that an invalid annotation causes an error with the name of the annotation. Only
// users can write invalid annotations.
func TestBadAnnotationsAreErrors(t *testing.T) {
	for annotation, texts := range map[string][]string{
		MemoryLimitAnnotation: {"", "much", "1e999999999", "512Mi"},
		gpuAnnotation:         {"", "nvidia.com/gpu", "=1", "nvidia.com/gpu=many"},
		lifecycleAnnotation:   {"", "{", "[]", `{"preStop":{"sleep":{"seconds":"x"}}}`, strings.Repeat(" ", maxJSON+1)},
		envAnnotation: {"", "{}", `[{"name":1}]`, "[" + strings.Repeat(`{},`, 2000) + `{}]`,
			`[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"1e999999999"}}}]`},
	} {
		for _, text := range texts {
			pod := executor(t, Settings{By: Webhook, Overlay: overlay.Overlay{}})
			pod.Annotations[annotation] = text

			want := "metadata.annotations[" + annotation + "]"
			if text == "512Mi" {
				want = "MemoryLimit: 512Mi is below the memory that the container requests, 1Gi"
			}

			if err := Apply(pod); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %.60q: %v, want %s", annotation, text, err, want)
			}
		}
	}
}
