package steps_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
)

// TestLines checks how the differences between Spark lines appear in the objects.
func TestLines(t *testing.T) {
	type facts struct {
		Ports                   int
		GRPC, Policy            bool
		Label, Image, SparkUser string
		Memory                  string
		NoEscalation            bool
		Access                  string
		SubPathExpr             bool
	}
	want := map[string]facts{
		"3.5": {Ports: 3, Label: "", Image: "i:{{SPARK_VERSION}}", SparkUser: "me", Memory: "1408Mi",
			Access: "ReadWriteOnce"},
		"4.0": {Ports: 3, Label: "spark-1", Image: "i:{{SPARK_VERSION}}", SparkUser: "me", Memory: "1536Mi",
			Access: "ReadWriteOncePod", SubPathExpr: true},
		"4.1": {Ports: 4, Label: "spark-1", Image: "i:4.1.9", SparkUser: "me", Memory: "1536Mi",
			Access: "ReadWriteOncePod", SubPathExpr: true},
		"4.2": {Ports: 4, Label: "spark-1", Image: "i:4.2.9", SparkUser: "me", Memory: "1536Mi",
			Access: "ReadWriteOncePod", SubPathExpr: true, GRPC: true, Policy: true},
		"4.3": {Ports: 4, Label: "spark-1", Image: "i:4.3.9", SparkUser: "eve", Memory: "1536Mi",
			Access: "ReadWriteOncePod", SubPathExpr: true, GRPC: true, Policy: true, NoEscalation: true},
	}

	const volume = "spark.kubernetes.driver.volumes.persistentVolumeClaim.v."
	for line, facts := range want {
		t.Run(line, func(t *testing.T) {
			r := kit.With("spark.kubernetes.container.image", "i:{{SPARK_VERSION}}", "spark.driver.minMemoryOverhead",
				"512m",
				volume+"mount.path", "/v", volume+"options.claimName", "OnDemand", volume+"options.storageClass", "c",
				volume+"options.sizeLimit", "1Gi")

			r.AppID, r.User, r.ProxyUser, r.SparkVersion = "spark-1", "me", "eve", line+".9"
			if facts.Label != "" {
				r.Conf.Set("spark.kubernetes.driver.label.id", "{{APP_ID}}")
			}

			if facts.SubPathExpr {
				r.Conf.Set(volume+"mount.subPathExpr", "$(POD)")
			}

			o := kit.Build(t, r)
			spark := kit.SparkContainer(t, o)
			got := facts
			got.Ports, got.Image, got.SparkUser = len(spark.Ports), spark.Image, spark.Env[0].Value
			got.Label = o.Driver.Labels["id"]
			got.Memory = spark.Resources.Requests.Memory().String()
			got.NoEscalation = spark.SecurityContext != nil && spark.SecurityContext.AllowPrivilegeEscalation != nil &&
				!*spark.SecurityContext.AllowPrivilegeEscalation
			got.SubPathExpr = slices.ContainsFunc(spark.VolumeMounts,
				func(m corev1.VolumeMount) bool { return m.SubPathExpr != "" })

			got.GRPC, got.Policy = false, false
			for _, object := range o.Before {
				switch object := object.(type) {
				case *corev1.Service:
					last := object.Spec.Ports[len(object.Spec.Ports)-1]
					got.GRPC = last.AppProtocol != nil && *last.AppProtocol == "grpc"
				case *networkingv1.NetworkPolicy:
					got.Policy = true
				case *corev1.PersistentVolumeClaim:
					got.Access = string(object.Spec.AccessModes[0])
				}
			}

			if diff := cmp.Diff(facts, got); diff != "" {
				t.Errorf("Spark %s (-want +got):\n%s", line, diff)
			}
		})
	}
}

// TestAppIDInLabelsBefore40IsRefused checks that the marker {{APP_ID}} in a label is rejected for Spark versions before
// 4.0. These versions do not replace the marker, and the API server would reject a label value with braces.
func TestAppIDInLabelsBefore40IsRefused(t *testing.T) {
	r := kit.With("spark.kubernetes.driver.label.id", "{{APP_ID}}")
	r.SparkVersion = "3.5.9"
	kit.RefusedFor(t, r, "spark.kubernetes.driver.label.id", "is not a valid label value")
}
