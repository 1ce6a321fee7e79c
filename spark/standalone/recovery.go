package standalone

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// recovery warns if the configuration enables the master's recovery, but a restarted master would not find the state
// that the previous master recorded: its workers, applications and drivers.
//
// To enable recovery, a user sets spark.deploy.recoveryMode to FILESYSTEM (or ROCKSDB from Spark 4.0 on) and
// spark.deploy.recoveryDirectory to a directory, and adds a volume for the directory to the master's template. The new
// master then sends its address to each recorded worker. The workers also connect to the master's configured address,
// because Build sets spark.worker.preferConfiguredMasterAddress.
func (d *draft) recovery(m *member) {
	mode, _ := d.conf.Get(recoveryModeKey)
	if mode = strings.ToUpper(strings.TrimSpace(mode)); mode != "FILESYSTEM" && mode != "ROCKSDB" {
		return
	}

	dir, _ := d.conf.Get(recoveryPathKey)
	if dir = strings.TrimSpace(dir); !path.IsAbs(dir) {
		d.warns.OfKey(recoveryModeKey, "is %s, but %s is not an absolute path; set it to a directory on a volume of the master", mode, recoveryPathKey)
		return
	}

	mount, shown := findMount(m.container(), path.Clean(dir)), conf.Quote(recoveryPathKey, dir)
	switch {
	case mount == nil:
		d.warns.OfKey(recoveryPathKey, "%s is not on a volume of container %s, so a new master forgets workers and applications; add a volumeClaimTemplate and a volumeMount to the master's statefulSetSpec",
			shown, m.role)
	case mount.ReadOnly:
		d.warns.OfKey(recoveryPathKey, "%s is on a volume that is mounted read-only; mount it without readOnly", shown)
	case !m.isPersistent(mount.Name):
		d.warns.OfKey(recoveryPathKey, "%s is on volume %q, which is deleted with the master's pod; use a volumeClaimTemplate or a persistentVolumeClaim", shown, mount.Name)
	}
}

// findMount returns the volume mount that contains a directory, or nil if there is none. If several mounts contain the
// directory, it returns the one with the longest path.
func findMount(c *corev1.Container, dir string) (found *corev1.VolumeMount) {
	for i := range c.VolumeMounts {
		at := path.Clean(c.VolumeMounts[i].MountPath)

		inside := dir == at || strings.HasPrefix(dir, strings.TrimRight(at, "/")+"/")
		if inside && (found == nil || len(at) > len(path.Clean(found.MountPath))) {
			found = &c.VolumeMounts[i]
		}
	}
	return found
}

// isPersistent reports whether the type of a volume allows writes and outlives the pod. A volume that does not exist
// counts as persistent, because Build rejects its mount.
func (m *member) isPersistent(volume string) bool {
	if slices.ContainsFunc(m.spec.VolumeClaimTemplates, func(c corev1.PersistentVolumeClaim) bool { return c.Name == volume }) {
		return true
	}

	i := slices.IndexFunc(m.spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume })
	if i < 0 {
		return true // the API server rejects the mount
	}

	v := m.spec.Template.Spec.Volumes[i]
	return v.EmptyDir == nil && v.Ephemeral == nil && v.ConfigMap == nil && v.Secret == nil && v.Projected == nil && v.DownwardAPI == nil && v.Image == nil
}
