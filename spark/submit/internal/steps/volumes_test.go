package steps_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
)

func TestClaimNames(t *testing.T) {
	const prefix = "my-app-1-c05dd8a1fbc0dc03-driver-pvc-0"
	for given, want := range map[string]string{
		"OnDemand": prefix, "fixed": "fixed", "a.b": "a.b", "x-OnDemand": "x-" + prefix, "OnDemand-y": prefix + "-y",
	} {
		o := kit.Build(t, kit.With(kit.VolumeConf("driver", "persistentVolumeClaim", "options.claimName", given,
			"options.storageClass", "c", "options.sizeLimit", "1Gi")...))
		if got := kit.VolumeOf(t, o, "v").PersistentVolumeClaim.ClaimName; got != want {
			t.Errorf("%q names the claim %q, want %q", given, got, want)
		}

		if claim := kit.Find[*corev1.PersistentVolumeClaim](t, o, want); *claim.Spec.StorageClassName != "c" {
			t.Errorf("%q: claim is %+v", given, claim.Spec)
		}
	}
}

func TestVolumeSettingsAreRead(t *testing.T) {
	for text, want := range map[string]bool{"true": true, "TRUE": true, "false": false, "False": false} {
		o := kit.Build(t, kit.With(kit.VolumeConf("driver", "persistentVolumeClaim", "options.claimName", "c",
			"mount.readOnly", text)...))

		i := slices.IndexFunc(kit.SparkContainer(t, o).VolumeMounts,
			func(m corev1.VolumeMount) bool { return m.Name == "v" })
		if got := kit.SparkContainer(t, o).VolumeMounts[i].ReadOnly; got != want ||
			kit.VolumeOf(t, o, "v").PersistentVolumeClaim.ReadOnly != want {
			t.Errorf("mount.readOnly=%s is %t", text, got)
		}
	}

	for _, version := range submit.SupportedVersions() {
		r := kit.With(kit.VolumeConf("driver", "hostPath", "options.path", "/h", "options.type", "Directory")...)
		r.SparkVersion = version

		want := corev1.HostPathDirectory
		if version == "3.5" {
			want = corev1.HostPathUnset
		}

		if got := kit.VolumeOf(t, kit.Build(t, r), "v").HostPath.Type; got == nil || *got != want {
			t.Errorf("Spark %s: type is %v, want %q", version, got, want)
		}
	}
}

// TestVolumesRefused checks that Build rejects faults in the volumes of executors. Without this check, only the running
// driver would detect such faults.
func TestVolumesRefused(t *testing.T) {
	for what, c := range map[string]struct {
		kind, setting string
		pairs         []string
		text          string
	}{
		"not a boolean": {"emptyDir", "mount.readOnly", []string{"mount.readOnly", "yes"},
			"true or false"},
		"boolean with blanks": {"emptyDir", "mount.readOnly", []string{"mount.readOnly", " true"},
			"true or false"},
		"empty boolean": {"emptyDir", "mount.readOnly", []string{"mount.readOnly", ""},
			"true or false"},
		"subPath and subPathExpr": {"emptyDir", "mount.subPathExpr",
			[]string{"mount.subPath", "", "mount.subPathExpr", "$(A)"}, "together"},
		"empty subPath and subPathExpr": {"emptyDir", "mount.subPathExpr",
			[]string{"mount.subPath", "", "mount.subPathExpr", ""}, "together"},
		"size without a unit": {"emptyDir", "options.sizeLimit", []string{"options.sizeLimit", "1000"},
			"1000Gi"},
		"no claim name":           {"persistentVolumeClaim", "options.claimName", nil, "missing"},
		"hostPath without a path": {"hostPath", "options.path", nil, "missing"},
		"NFS without a server":    {"nfs", "options.server", []string{"options.path", "/"}, "missing"},
		"NFS without a path":      {"nfs", "options.path", []string{"options.server", "s"}, "missing"},
	} {
		for _, role := range []string{"driver", "executor"} {
			t.Run(what+" of the "+role, func(t *testing.T) {
				kit.RefusedFor(t, kit.With(kit.VolumeConf(role, c.kind, c.pairs...)...),
					"spark.kubernetes."+role+".volumes."+c.kind+".v."+c.setting, c.text)
			})
		}
	}

	kit.RefusedFor(t, kit.With(kit.VolumeConf("driver", "persistentVolumeClaim", "options.claimName", "A_b")...),
		"spark.kubernetes.driver.volumes.persistentVolumeClaim.v.options.claimName", "not a valid claim name")
	kit.Build(t, kit.With(kit.VolumeConf("executor", "persistentVolumeClaim", "options.claimName",
		"OnDemand-SPARK_EXECUTOR_ID")...))
}
