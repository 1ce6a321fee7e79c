package overlay

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/test/kit/effort"
)

// randomOverlay returns a random overlay. It uses only a few names, so that the overlay's entries collide with each
// other and with the entries of the pod.
func randomOverlay(r *rand.Rand) Overlay {
	name := func() string { return string(rune('A' + r.IntN(4))) }
	some := func(f func()) {
		for range r.IntN(4) {
			f()
		}
	}
	var o Overlay
	some(func() { o.Env = append(o.Env, corev1.EnvVar{Name: name(), Value: name()}) })
	some(func() { o.EnvFrom = append(o.EnvFrom, corev1.EnvFromSource{Prefix: name()}) })
	some(func() { o.ConfigMaps = append(o.ConfigMaps, ConfigMap{Name: name(), Path: "/" + name()}) })
	some(func() {
		o.Volumes = append(o.Volumes,
			corev1.Volume{Name: name(), VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	})
	some(func() {
		o.VolumeMounts = append(o.VolumeMounts, corev1.VolumeMount{Name: name(), MountPath: "/" + name() + name()})
	})
	some(func() {
		o.Ports = append(o.Ports, corev1.ContainerPort{Name: []string{"", "a", "b"}[r.IntN(3)],
			ContainerPort: int32(1 + r.IntN(3))})
	})
	some(func() {
		o.Tolerations = append(o.Tolerations, corev1.Toleration{Key: name(), TolerationSeconds: new(int64(r.IntN(2)))})
	})
	some(func() { o.HostAliases = append(o.HostAliases, corev1.HostAlias{IP: name()}) })
	some(func() { o.Sidecars = append(o.Sidecars, corev1.Container{Name: name(), Image: name()}) })
	some(func() { o.InitContainers = append(o.InitContainers, corev1.Container{Name: name(), Image: "i"}) })
	some(func() {
		o.ImagePullSecrets = append(o.ImagePullSecrets, corev1.LocalObjectReference{Name: name()})
	})
	some(func() {
		o.OwnerReferences = append(o.OwnerReferences, metav1.OwnerReference{UID: types.UID(name()), Name: name()})
	})
	some(func() { o.NodeSelector = map[string]string{name(): name(), name(): name()} })
	some(func() { o.Labels = map[string]string{name(): name()} })
	some(func() { o.MemoryLimit = new(resource.MustParse(fmt.Sprint(r.IntN(9), "Gi"))) })
	some(func() { o.GPU = GPU{Name: name(), Quantity: int64(r.IntN(3))} })
	some(func() { o.HadoopConfigMap = name() })
	some(func() { o.HostNetwork = true })
	return o
}

// TestApplyIsIdempotent applies random overlays, from a fixed seed, twice to the same pod. It checks that the second
// call of Apply changes nothing. An overlay that does not fit the pod must not fit it the second time either.
func TestApplyIsIdempotent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	fit := 0

	count := effort.Count(t, 500)
	for i := range count {
		o := randomOverlay(r)

		pod := driver()
		if Apply(pod, DriverContainer, o) != nil {
			continue
		}
		fit++

		once := pod.DeepCopy()
		if err := Apply(pod, DriverContainer, o); err != nil {
			t.Fatalf("overlay %d fits once, but not twice: %v\n%+v", i, err, o)
		}

		if diff := cmp.Diff(once, pod); diff != "" {
			t.Fatalf("overlay %d twice (-once +twice):\n%s", i, diff)
		}
	}

	if fit < count/10 {
		t.Errorf("only %d of the overlays fit the pod: the test says too little", fit)
	}
}

// TestNothingIsLost checks that Apply neither removes nor moves the entries that a pod's lists had before.
func TestNothingIsLost(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		pod, before := driver(), driver()
		if Apply(pod, DriverContainer, randomOverlay(r)) != nil {
			continue
		}

		last := len(pod.Spec.Containers) - 1

		spark, original := pod.Spec.Containers[last], before.Spec.Containers[1]
		for _, list := range []struct {
			name      string
			got, want any
		}{
			{"the last container", spark.Name, original.Name},
			{"the first container", pod.Spec.Containers[0], before.Spec.Containers[0]},
			{"env", spark.Env[:len(original.Env)], original.Env},
			{"ports", spark.Ports[:len(original.Ports)], original.Ports},
			{"mounts", spark.VolumeMounts[:len(original.VolumeMounts)], original.VolumeMounts},
			{"volumes", pod.Spec.Volumes[:len(before.Spec.Volumes)], before.Spec.Volumes},
			{"tolerations", pod.Spec.Tolerations[:len(before.Spec.Tolerations)], before.Spec.Tolerations},
			{"owners", pod.OwnerReferences[:1], before.OwnerReferences},
		} {
			if diff := cmp.Diff(list.want, list.got); diff != "" {
				t.Fatalf("%s (-before +after):\n%s", list.name, diff)
			}
		}
	}
}

// TestEveryFieldIsApplied checks that TestApply has a case for every field of Overlay. Without a case, nothing would
// detect that Apply ignores a field.
func TestEveryFieldIsApplied(t *testing.T) {
	touched := map[string]bool{}
	for _, c := range changes() {
		v := reflect.ValueOf(c.overlay)
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				touched[v.Type().Field(i).Name] = true
			}
		}
	}

	for field := range reflect.TypeFor[Overlay]().Fields() {
		if !touched[field.Name] {
			t.Errorf("no case of TestApply sets %s", field.Name)
		}
	}
}
