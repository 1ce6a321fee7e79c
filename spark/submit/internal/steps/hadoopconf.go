package steps

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/names"
)

// The volume of a pod with Hadoop's configuration files, and where it is mounted.
const (
	HadoopVolume = "hadoop-properties"
	HadoopDir    = "/opt/hadoop/conf"
)

// hadoopConfStep mounts Hadoop's configuration files (HadoopConfDriverFeatureStep) from the Request or from a ConfigMap
// of the namespace. Executors mount the same files.
func hadoopConfStep(d *draft.Draft) error {
	const key = "spark.kubernetes.hadoop.configMapName"

	name, err := d.Conf.String(key, "")
	if err != nil {
		return err
	}

	files := conf.SortedKeys(d.Request.HadoopConfFiles)
	if name != "" && len(files) > 0 {
		return submit.KeyErrorf(key, "cannot be used together with Hadoop configuration files of the submitter (HADOOP_CONF_DIR); remove one of the two")
	}

	source := &corev1.ConfigMapVolumeSource{}
	if len(files) > 0 {
		name = names.Bounded("", d.Request.ResourceNamePrefix, "-hadoop-config")
		if err := draft.CheckFiles("HadoopConfFiles", d.Request.HadoopConfFiles); err != nil {
			return err
		}

		for _, file := range files {
			source.Items = append(source.Items, corev1.KeyToPath{Key: file, Path: file})
		}

		d.AddConfigMap(name, maps.Clone(d.Request.HadoopConfFiles))
	}

	if name == "" {
		return nil
	}

	source.Name = name
	d.Mount(corev1.Volume{Name: HadoopVolume, VolumeSource: corev1.VolumeSource{ConfigMap: source}}, corev1.VolumeMount{MountPath: HadoopDir})
	d.AddEnv("HADOOP_CONF_DIR", HadoopDir)
	d.Props.Set("spark.kubernetes.executor.hadoopConfigMapName", name)
	return nil
}
