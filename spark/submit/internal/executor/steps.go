package executor

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/steps"
)

// executorAccountStep sets the pod's service account: the account of the template, else the account that the
// configuration names for executors, else the driver's account. From the template, it reads only the deprecated field
// serviceAccount and ignores serviceAccountName, as Spark's ExecutorKubernetesCredentialsFeatureStep does.
func executorAccountStep(e *execution) error {
	if e.Pod.Spec.DeprecatedServiceAccount != "" {
		return nil
	}

	account, err := e.FirstOf(draft.ExecutorAccountKey, draft.DriverAccountKey)
	if account != "" {
		e.Pod.Spec.ServiceAccountName, e.Pod.Spec.DeprecatedServiceAccount = account, account
	}
	return err
}

// executorVolumesStep mounts the volumes that the configuration declares (MountVolumesFeatureStep).
func executorVolumesStep(e *execution) error {
	volumes, err := steps.Volumes(e.Draft, submit.RoleExecutor)
	if err != nil {
		return err
	}

	for i, v := range volumes {
		source, err := steps.VolumeSource(e.Draft, v, fmt.Sprint(e.name, "-pvc-", i))
		if err != nil {
			return err
		}

		mount, err := steps.VolumeMount(e.Draft, v)
		if err != nil {
			return err
		}

		e.Mount(corev1.Volume{Name: v.Name, VolumeSource: source}, mount)
	}
	return nil
}

// executorHadoopStep mounts the driver's Hadoop configuration (HadoopConfExecutorFeatureStep).
func executorHadoopStep(e *execution) error {
	name, err := e.Conf.String("spark.kubernetes.executor.hadoopConfigMapName", "")
	if err != nil || name == "" {
		return err
	}

	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
	e.Mount(corev1.Volume{Name: steps.HadoopVolume, VolumeSource: corev1.VolumeSource{ConfigMap: source}}, corev1.VolumeMount{MountPath: steps.HadoopDir})
	e.AddEnv("HADOOP_CONF_DIR", steps.HadoopDir)
	return nil
}
