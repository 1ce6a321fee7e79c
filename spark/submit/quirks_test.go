package submit

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

func TestVersions(t *testing.T) {
	for _, c := range []struct{ version, line, warning string }{
		{"3.5.9", "3.5", ""},
		{"3.5", "3.5", ""},
		{"v4.0.2", "4.0", ""},
		{"4.1.4", "4.1", ""},
		{"4.1.0-SNAPSHOT", "4.1", ""},
		{"4.2.1", "4.2", ""},
		{"4.3.0", "4.3", ""},
		{"4.3.0.1-vendor", "4.3", ""},
		{"4.4.0", "4.3", "newer"},
		{"5.0.0", "4.3", "newer"},
		{"4.10.0", "4.3", "newer"},
		{"3.1.1", "3.5", "older"},
		{"2.4.8", "3.5", "older"},
		{"3.6.0", "3.5", "not a supported version"},
		{"", "4.3", "is not a version"},
		{"latest", "4.3", "is not a version"},
		{"4", "4.3", "is not a version"},
		{"4.1x", "4.3", "is not a version"},
		{"99999999999999999999.1", "4.3", "is not a version"},
	} {
		q, warning := quirksFor(c.version)
		if q.String() != c.line || !strings.Contains(warning, c.warning) || (warning == "") != (c.warning == "") {
			t.Errorf("quirksFor(%q) = %s, %q, want %s and a warning with %q", c.version, q, warning, c.line, c.warning)
		}
		r := minimal()
		r.SparkVersion = c.version
		if o := build(t, r); slices.Contains(o.Warnings, warning) != (warning != "") {
			t.Errorf("%q: warnings of Build are %q", c.version, o.Warnings)
		}
		r.StrictVersion = true
		_, err := Build(r)
		if wrong, ok := errors.AsType[*Error](err); (warning != "") != ok || ok && wrong.Field != "SparkVersion" {
			t.Errorf("%q, strict: %v", c.version, err)
		}
	}
	if diff := cmp.Diff([]string{"3.5", "4.0", "4.1", "4.2", "4.3"}, SupportedVersions()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

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
		"3.5": {Ports: 3, Label: "", Image: "i:{{SPARK_VERSION}}", SparkUser: "me", Memory: "1408Mi", Access: "ReadWriteOnce"},
		"4.0": {Ports: 3, Label: "spark-1", Image: "i:{{SPARK_VERSION}}", SparkUser: "me", Memory: "1536Mi", Access: "ReadWriteOncePod", SubPathExpr: true},
		"4.1": {Ports: 4, Label: "spark-1", Image: "i:4.1.9", SparkUser: "me", Memory: "1536Mi", Access: "ReadWriteOncePod", SubPathExpr: true},
		"4.2": {Ports: 4, Label: "spark-1", Image: "i:4.2.9", SparkUser: "me", Memory: "1536Mi", Access: "ReadWriteOncePod", SubPathExpr: true, GRPC: true, Policy: true},
		"4.3": {Ports: 4, Label: "spark-1", Image: "i:4.3.9", SparkUser: "eve", Memory: "1536Mi", Access: "ReadWriteOncePod", SubPathExpr: true, GRPC: true, Policy: true, NoEscalation: true},
	}
	const volume = "spark.kubernetes.driver.volumes.persistentVolumeClaim.v."
	for line, facts := range want {
		t.Run(line, func(t *testing.T) {
			r := with("spark.kubernetes.container.image", "i:{{SPARK_VERSION}}", "spark.driver.minMemoryOverhead", "512m",
				volume+"mount.path", "/v", volume+"options.claimName", "OnDemand", volume+"options.storageClass", "c", volume+"options.sizeLimit", "1Gi")
			r.AppID, r.User, r.ProxyUser, r.SparkVersion = "spark-1", "me", "eve", line+".9"
			if facts.Label != "" {
				r.Conf.Set("spark.kubernetes.driver.label.id", "{{APP_ID}}")
			}
			if facts.SubPathExpr {
				r.Conf.Set(volume+"mount.subPathExpr", "$(POD)")
			}
			o := build(t, r)
			spark := sparkContainer(t, o)
			got := facts
			got.Ports, got.Image, got.SparkUser = len(spark.Ports), spark.Image, spark.Env[0].Value
			got.Label = o.Driver.Labels["id"]
			got.Memory = spark.Resources.Requests.Memory().String()
			got.NoEscalation = spark.SecurityContext != nil && spark.SecurityContext.AllowPrivilegeEscalation != nil && !*spark.SecurityContext.AllowPrivilegeEscalation
			got.SubPathExpr = slices.ContainsFunc(spark.VolumeMounts, func(m corev1.VolumeMount) bool { return m.SubPathExpr != "" })
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
	r := with("spark.kubernetes.driver.label.id", "{{APP_ID}}")
	r.SparkVersion = "3.5.9"
	refusedFor(t, r, "spark.kubernetes.driver.label.id", "is not a valid label value")
}
