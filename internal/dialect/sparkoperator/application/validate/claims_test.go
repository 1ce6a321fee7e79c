package validate

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// claimOnDemand is a change that adds a volume for which Spark would create a PersistentVolumeClaim for the driver.
var claimOnDemand = sparkapp.WithConf(driverClaimPrefix+"data.options.claimName", "OnDemand",
	driverClaimPrefix+"data.options.storageClass", "fast",
	driverClaimPrefix+"data.options.sizeLimit", "1Gi", driverClaimPrefix+"data.mount.path", "/data")

// TestDriverClaims checks which volumes are rejected because Spark would create a PersistentVolumeClaim for the driver.
func TestDriverClaims(t *testing.T) {
	onDemandVolume := func(a *v1beta2.SparkApplication) {
		for _, name := range []string{"spark-local-dir-1", "spark-local-dir-2"} {
			a.Spec.Volumes = append(a.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "OnDemand"},
			}})
		}

		a.Spec.Driver.VolumeMounts = []corev1.VolumeMount{{Name: "spark-local-dir-2", MountPath: "/d"}}
		a.Spec.Executor.VolumeMounts = []corev1.VolumeMount{{Name: "spark-local-dir-1", MountPath: "/d"}}
	}
	for _, c := range []struct {
		name string
		edit func(*v1beta2.SparkApplication)
		want string // field|words of the error; empty: no error
	}{
		{"the claim name OnDemand", claimOnDemand,
			"spec.sparkConf[" + driverClaimPrefix + "data.options.claimName]|create the claim yourself"},
		{"a storage class and a size",
			sparkapp.WithConf(driverClaimPrefix+"data.options.claimName", "mine",
				driverClaimPrefix+"data.options.storageClass", "fast",
				driverClaimPrefix+"data.options.sizeLimit", "1Gi", driverClaimPrefix+"data.mount.path", "/data"),
			"spec.sparkConf[" + driverClaimPrefix + "data.options.storageClass]|remove storageClass and sizeLimit"},
		{"an existing claim, and OnDemand only for executors",
			sparkapp.WithConf(driverClaimPrefix+"data.options.claimName", "mine", driverClaimPrefix+"data.mount.path",
				"/data",
				"spark.kubernetes.executor.volumes.persistentVolumeClaim.data.options.claimName", "OnDemand"), ""},
		{"a volume that the driver mounts", onDemandVolume,
			"spec.volumes[1].persistentVolumeClaim.claimName|create the claim yourself"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := DriverClaims(sparkapp.Sample(c.edit))

			field, says, _ := strings.Cut(c.want, "|")
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("found %v", got)
			case c.want != "" && (len(got) != 1 || got[0].Field != field || !strings.Contains(got[0].Message, says)):
				t.Errorf("found %v, want %s with %q", got, field, says)
			}
		})
	}
}
