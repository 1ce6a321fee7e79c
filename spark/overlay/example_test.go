package overlay_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// ExampleApply lays a node selector and a variable over a driver pod. A second application changes nothing.
func ExampleApply() {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: overlay.DriverContainer}}}}

	o := overlay.Overlay{
		NodeSelector: map[string]string{"disk": "ssd"},
		Env:          []corev1.EnvVar{{Name: "REGION", Value: "north"}},
	}
	for range 2 {
		if err := overlay.Apply(pod, overlay.DriverContainer, o); err != nil {
			fmt.Println(err)
			return
		}
	}

	fmt.Println(pod.Spec.NodeSelector, pod.Spec.Containers[0].Env)
	// Output:
	// map[disk:ssd] [{REGION north nil}]
}

// ExampleError shows that a list entry is never replaced by accident. The error names the field of the overlay.
func ExampleError() {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: overlay.DriverContainer}},
		Volumes: []corev1.Volume{{Name: "data",
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
	}}
	err := overlay.Apply(pod, overlay.DriverContainer, overlay.Overlay{
		Volumes: []corev1.Volume{{Name: "data",
			VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}}}},
	})
	fmt.Println(err)
	// Output:
	// Volumes: the pod has another volume named "data"; give one of the two another name
}
