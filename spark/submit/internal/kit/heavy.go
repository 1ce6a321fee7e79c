package kit

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// HeavyRequest returns a request that uses every step.
func HeavyRequest() submit.Request {
	r := With(
		"spark.driver.memory", "2g",
		"spark.kubernetes.driver.request.cores", "500m",
		"spark.kubernetes.driver.limit.cores", "2",
		"spark.driver.resource.gpu.amount", "1",
		"spark.driver.resource.gpu.vendor", "nvidia.com",
		"spark.kubernetes.driverEnv.GREETING", "",
		"spark.kubernetes.driver.label.team", "a-{{APP_ID}}",
		"spark.kubernetes.driver.annotation.note", "id {{APP_ID}}, executor {{EXECUTOR_ID}}.",
		"spark.kubernetes.node.selector.zone", "z1",
		"spark.kubernetes.driver.node.selector.zone", "z2",
		"spark.kubernetes.container.image.pullSecrets", "one, two",
		"spark.kubernetes.authenticate.driver.serviceAccountName", "spark",
		"spark.kubernetes.driver.service.annotation.note", "svc",
		"spark.kubernetes.driver.secrets.creds", "/mnt/creds",
		"spark.kubernetes.driver.secretKeyRef.PASSWORD", "creds:password",
		"spark.kubernetes.driver.volumes.hostPath.host.mount.path", "/host",
		"spark.kubernetes.driver.volumes.hostPath.host.options.path", "/var/tmp",
		"spark.kubernetes.driver.volumes.persistentVolumeClaim.data.mount.path", "/data",
		"spark.kubernetes.driver.volumes.persistentVolumeClaim.data.options.claimName", "OnDemand",
		"spark.kubernetes.driver.volumes.persistentVolumeClaim.data.options.storageClass", "fast",
		"spark.kubernetes.driver.volumes.persistentVolumeClaim.data.options.sizeLimit", "1Gi",
		"spark.kubernetes.kerberos.krb5.configMapName", "krb5",
		"spark.kubernetes.local.dirs.tmpfs", "true",
		"spark.jars", "https://example.org/a.jar",
		"spark.sql.text", " a:b=c#d!\\é",
	)
	r.Arguments = []string{"$(POD)", "$$", "plain$"}
	r.ProxyUser = "eve"
	r.ConfFiles = map[string]string{"log4j2.properties": "rootLogger.level = info\n", "spark-defaults.conf": "spark.x y"}
	r.HadoopConfFiles = map[string]string{"core-site.xml": "<configuration/>\n"}
	r.DriverTemplate = []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"from":"template"},"namespace":"elsewhere"},
		"spec":{"containers":[{"name":"spark-kubernetes-driver","args":["before"],"resources":{"limits":{"cpu":4,"ephemeral-storage":"1Gi"}}},
		{"name":"side","image":"side:1"}],"tolerations":[{"operator":"Exists"}]}}`)
	limit := resource.MustParse("3Gi")
	r.Driver = overlay.Overlay{
		Env:      []corev1.EnvVar{{Name: "EXTRA", Value: "1"}},
		Sidecars: []corev1.Container{{Name: "late", Image: "late:1"}},
		Labels:   map[string]string{"overlay": "driver"},
	}
	r.Executor = overlay.Overlay{
		Env:             []corev1.EnvVar{{Name: "EXTRA", Value: "2"}},
		MemoryLimit:     &limit,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "example.org/v1", Kind: "App", Name: "my-app", UID: "uid-1"}},
	}
	return r
}
