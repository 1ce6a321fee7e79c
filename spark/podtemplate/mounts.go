package podtemplate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Volumes returns the names of the volumes that a container mounts or has as block devices.
func Volumes(c *corev1.Container) (names []string) {
	for i := range c.VolumeMounts {
		names = append(names, c.VolumeMounts[i].Name)
	}

	for i := range c.VolumeDevices {
		names = append(names, c.VolumeDevices[i].Name)
	}
	return names
}

// NeedsSparkVolumes reports whether the volumes of a template can only be checked in the whole pod, to which Spark has
// added its own volumes. This is so if a container mounts a volume that the template does not have, or if a volume may
// have the name of one of Spark's.
func NeedsSparkVolumes(template *corev1.PodSpec) bool {
	return FindUnknownMount(template) != nil || slices.ContainsFunc(template.Volumes, func(v corev1.Volume) bool { return strings.HasPrefix(v.Name, "spark-") })
}

// UnknownMount is a mount of a volume that the pod does not have. The API server rejects a pod with such a mount.
type UnknownMount struct {
	// Init is true if Container is an init container.
	Init bool
	// Container is the name of the container, and Path is the place in it.
	Container, Path string
	// Place is the place of the mount in the pod, such as "spec.initContainers[0].volumeMounts[0].name".
	Place  string
	volume string
}

// Message says which container mounts which volume, and what to do about it.
func (u *UnknownMount) Message() string {
	return fmt.Sprintf("container %q mounts the volume %q, which the pod does not have; add this volume, or correct the name", conf.Shorten(u.Container), conf.Shorten(u.volume))
}

// FindUnknownMount returns the first mount of a volume that the pod does not have, or nil if there is none. The pod
// also has volumes with the names in others, such as the claim templates of a StatefulSet.
func FindUnknownMount(spec *corev1.PodSpec, others ...string) (first *UnknownMount) {
	known := make(map[string]bool, len(spec.Volumes)+len(others))
	for i := range spec.Volumes {
		known[spec.Volumes[i].Name] = true
	}

	for _, name := range others {
		known[name] = true
	}

	look := func(list string, init bool, containers []corev1.Container) {
		for i := range containers {
			for j := range containers[i].VolumeMounts {
				volume := containers[i].VolumeMounts[j].Name
				if known[volume] || first != nil {
					continue
				}

				path := fmt.Sprintf("volumeMounts[%d].name", j)
				first = &UnknownMount{Init: init, Container: containers[i].Name, Path: path, Place: fmt.Sprintf("spec.%s[%d].%s", list, i, path), volume: volume}
			}
		}
	}
	look("initContainers", true, spec.InitContainers)
	look("containers", false, spec.Containers)
	return first
}
