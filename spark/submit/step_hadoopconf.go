package submit

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

const (
	hadoopVolume = "hadoop-properties"
	hadoopDir    = "/opt/hadoop/conf"
)

// hadoopConfStep mounts Hadoop's configuration files (HadoopConfDriverFeatureStep) from the Request or from a ConfigMap
// of the namespace. Executors mount the same files.
func hadoopConfStep(d *draft) error {
	const key = "spark.kubernetes.hadoop.configMapName"
	name, err := d.conf.String(key, "")
	if err != nil {
		return err
	}
	files := slices.Sorted(maps.Keys(d.r.HadoopConfFiles))
	if name != "" && len(files) > 0 {
		return KeyErrorf(key, "cannot be used together with Hadoop configuration files of the submitter (HADOOP_CONF_DIR); remove one of the two")
	}
	source := &corev1.ConfigMapVolumeSource{}
	if len(files) > 0 {
		name = bounded("", d.r.ResourceNamePrefix, "-hadoop-config")
		if err := checkFiles("HadoopConfFiles", d.r.HadoopConfFiles); err != nil {
			return err
		}
		for _, file := range files {
			source.Items = append(source.Items, corev1.KeyToPath{Key: file, Path: file})
		}
		d.configMap(name, maps.Clone(d.r.HadoopConfFiles))
	}
	if name == "" {
		return nil
	}
	source.Name = name
	d.mount(corev1.Volume{Name: hadoopVolume, VolumeSource: corev1.VolumeSource{ConfigMap: source}}, corev1.VolumeMount{MountPath: hadoopDir})
	d.env("HADOOP_CONF_DIR", hadoopDir)
	d.props.Set("spark.kubernetes.executor.hadoopConfigMapName", name)
	return nil
}
