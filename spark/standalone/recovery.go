package standalone

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// recovery warns where a master that begins again would not find what the one before it wrote: its workers, applications and drivers. A user asks for it by
// spark.deploy.recoveryMode FILESYSTEM (ROCKSDB from Spark 4.0 on) and spark.deploy.recoveryDirectory, and gives the master's template a volume for it.
// The workers that are read there are kept: the new master tells each its address, and preferConfiguredMasterAddress makes them look for it meanwhile.
func (d *draft) recovery(m *member) {
	mode, _ := d.conf.Get(recoveryModeKey)
	if mode = strings.ToUpper(strings.TrimSpace(mode)); mode != "FILESYSTEM" && mode != "ROCKSDB" {
		return
	}
	dir, _ := d.conf.Get(recoveryPathKey)
	if dir = strings.TrimSpace(dir); !path.IsAbs(dir) {
		d.warns.OfKey(recoveryModeKey, "is %s, but %s is no absolute path; give it the path of a directory on a volume of the master", mode, recoveryPathKey)
		return
	}
	mount, shown := mountOf(m.container(), path.Clean(dir)), conf.Quote(recoveryPathKey, dir)
	switch {
	case mount == nil:
		d.warns.OfKey(recoveryPathKey, "%s is on no volume of container %s: a new master forgets workers and applications; give the master's statefulSetSpec a volumeClaimTemplate and a volumeMount",
			shown, m.role)
	case mount.ReadOnly:
		d.warns.OfKey(recoveryPathKey, "%s is on a volume that is mounted read-only; mount it without readOnly", shown)
	case !m.lasting(mount.Name):
		d.warns.OfKey(recoveryPathKey, "%s is on volume %q, which goes with the master's pod; use a volumeClaimTemplate or a persistentVolumeClaim", shown, mount.Name)
	}
}

// mountOf is the mount that a directory is on: the one with the longest path. It is nil where there is none.
func mountOf(c *corev1.Container, dir string) (found *corev1.VolumeMount) {
	for i := range c.VolumeMounts {
		at := path.Clean(c.VolumeMounts[i].MountPath)
		inside := dir == at || strings.HasPrefix(dir, strings.TrimRight(at, "/")+"/")
		if inside && (found == nil || len(at) > len(path.Clean(found.MountPath))) {
			found = &c.VolumeMounts[i]
		}
	}
	return found
}

// lasting reports whether a volume outlives the pod and can be written to, as far as its kind tells.
func (m *member) lasting(volume string) bool {
	if slices.ContainsFunc(m.spec.VolumeClaimTemplates, func(c corev1.PersistentVolumeClaim) bool { return c.Name == volume }) {
		return true
	}
	i := slices.IndexFunc(m.spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume })
	if i < 0 {
		return true // the API server refuses the mount
	}
	v := m.spec.Template.Spec.Volumes[i]
	return v.EmptyDir == nil && v.Ephemeral == nil && v.ConfigMap == nil && v.Secret == nil && v.Projected == nil && v.DownwardAPI == nil && v.Image == nil
}
