package specification

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// LocalVolumePrefix is the prefix of the names of volumes that Spark uses as local directories. The operator passes
// these volumes as Spark configuration and does not add them to the pod (LocalDirsFeatureStep).
const LocalVolumePrefix = "spark-local-dir-"

// localVolumes converts the mounts of spark-local-dir-* volumes into Spark's own volume configuration.
func localVolumes(c *conf.Conf, volumes []corev1.Volume, role string, pod *v1beta2.SparkPodSpec) error {
	places := volumePlaces(volumes)

	var ofTemplate map[string]int // read when the first mount needs it
	for i, mount := range pod.VolumeMounts {
		at, found := places[mount.Name]

		local := strings.HasPrefix(mount.Name, LocalVolumePrefix)
		if !found && !local {
			if ofTemplate == nil {
				ofTemplate = volumePlaces(rawtemplate.Pod(pod.Template).Spec.Volumes)
			}

			_, found = ofTemplate[mount.Name]
		}

		field := fmt.Sprintf("spec.%s.volumeMounts[%d].name", role, i)
		if !found {
			return &dialect.FieldError{Field: field, Message: fmt.Sprintf("%q names a volume that is not in spec.volumes; add it there", mount.Name)}
		}

		if !local {
			continue
		}

		kind, options, readOnly := localVolumeOptions(volumes[at])
		if kind == "" {
			return &dialect.FieldError{Field: field, Message: fmt.Sprintf(
				"Spark uses the volume %q as a local directory, because its name begins with %q; use an emptyDir, hostPath, nfs or persistentVolumeClaim, or another name",
				mount.Name, LocalVolumePrefix)}
		}

		prefix := fmt.Sprintf("spark.kubernetes.%s.volumes.%s.%s.", role, kind, mount.Name)
		c.Set(prefix+"mount.path", mount.MountPath)

		if mount.SubPath != "" {
			c.Set(prefix+"mount.subPath", mount.SubPath)
		}

		if mount.SubPathExpr != "" {
			c.Set(prefix+"mount.subPathExpr", mount.SubPathExpr)
		}

		if mount.ReadOnly || readOnly {
			c.Set(prefix+"mount.readOnly", "true")
		}

		setMap(c, prefix+"options.", options)
	}
	return nil
}

// volumePlaces maps each volume name to the index of the first volume with this name.
func volumePlaces(volumes []corev1.Volume) map[string]int {
	places := make(map[string]int, len(volumes))
	for i := range slices.Backward(volumes) {
		places[volumes[i].Name] = i
	}
	return places
}

// localVolumeOptions returns Spark's volume type and options for a volume (MountVolumesFeatureStep). The type is "" if
// Spark does not support the volume's source. The result readOnly is true if the source is read-only. Spark has no
// volume option for this, so the caller sets mount.readOnly.
func localVolumeOptions(v corev1.Volume) (kind string, options map[string]string, readOnly bool) {
	options = map[string]string{}
	switch {
	case v.EmptyDir != nil:
		if v.EmptyDir.Medium != "" {
			options["medium"] = string(v.EmptyDir.Medium)
		}

		if v.EmptyDir.SizeLimit != nil {
			options["sizeLimit"] = v.EmptyDir.SizeLimit.String()
		}
		return "emptyDir", options, false
	case v.HostPath != nil:
		options["path"] = v.HostPath.Path
		if v.HostPath.Type != nil {
			options["type"] = string(*v.HostPath.Type)
		}
		return "hostPath", options, false
	case v.NFS != nil:
		options["path"], options["server"] = v.NFS.Path, v.NFS.Server
		return "nfs", options, v.NFS.ReadOnly
	case v.PersistentVolumeClaim != nil:
		options["claimName"] = v.PersistentVolumeClaim.ClaimName
		return "persistentVolumeClaim", options, v.PersistentVolumeClaim.ReadOnly
	}
	return "", nil, false
}

// mounts adds the volume mounts of the Spark container to an overlay, and the volumes of spec.volumes that any
// container of the pod mounts: init containers, sidecars, and the containers of the pod template. A volume is added
// only once. A volume of a template has precedence for the template's own containers. Mounts of unknown volumes are
// rejected elsewhere: those of the Spark container by localVolumes, all others when the pod is built.
func mounts(o *overlay.Overlay, volumes []corev1.Volume, pod *v1beta2.SparkPodSpec) {
	if len(volumes) == 0 && len(pod.VolumeMounts) == 0 {
		return
	}

	places, added := volumePlaces(volumes), volumePlaces(o.Volumes)

	add := func(name string) {
		at, found := places[name]
		if _, twice := added[name]; found && !twice {
			added[name] = len(o.Volumes)
			o.Volumes = append(o.Volumes, volumes[at])
		}
	}
	for _, mount := range pod.VolumeMounts {
		if strings.HasPrefix(mount.Name, LocalVolumePrefix) {
			added[mount.Name] = -1 // Spark adds this volume
			continue
		}

		o.VolumeMounts = append(o.VolumeMounts, mount)
		add(mount.Name)
	}

	visit := func(containers []corev1.Container) {
		for i := range containers {
			for _, name := range podtemplate.Volumes(&containers[i]) {
				add(name)
			}
		}
	}
	visit(pod.InitContainers)
	visit(pod.Sidecars)

	if len(volumes) == 0 || pod.Template == nil {
		return
	}

	template := rawtemplate.Pod(pod.Template).Spec
	for i := range template.Volumes {
		if _, ok := added[template.Volumes[i].Name]; !ok {
			added[template.Volumes[i].Name] = -1
		}
	}

	visit(template.InitContainers)
	visit(template.Containers)
}
