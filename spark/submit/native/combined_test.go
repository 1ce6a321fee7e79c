package native_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// typedKeys lists the keys whose values Build parses, such as numbers and booleans. For each of these keys, the map
// contains the settings without which Build does not read the key, as alternating keys and values. A test gives each
// key a value that refers to the key itself. Build replaces references in such values, so it must return an error that
// names the key.
var typedKeys = map[string][]string{
	"spark.driver.cores":                                               nil,
	"spark.driver.memoryOverhead":                                      nil,
	"spark.driver.memoryOverheadFactor":                                nil,
	"spark.driver.minMemoryOverhead":                                   nil,
	"spark.driver.port":                                                nil,
	"spark.driver.blockManager.port":                                   nil,
	"spark.blockManager.port":                                          nil,
	"spark.ui.port":                                                    nil,
	"spark.connect.grpc.binding.port":                                  nil,
	"spark.dynamicAllocation.enabled":                                  nil,
	"spark.executor.cores":                                             nil,
	"spark.executor.instances":                                         nil,
	"spark.kubernetes.configMap.maxSize":                               nil,
	"spark.kubernetes.container.image":                                 nil,
	"spark.kubernetes.container.image.pullPolicy":                      nil,
	"spark.kubernetes.container.image.pullSecrets":                     nil,
	"spark.kubernetes.driver.container.image":                          nil,
	"spark.kubernetes.driver.limit.cores":                              nil,
	"spark.kubernetes.driver.request.cores":                            nil,
	"spark.kubernetes.driver.pod.excludedFeatureSteps":                 nil,
	"spark.kubernetes.driver.pod.featureSteps":                         nil,
	"spark.kubernetes.driver.podTemplateContainerName":                 nil,
	"spark.kubernetes.driver.scheduler.name":                           nil,
	"spark.kubernetes.scheduler.name":                                  nil,
	"spark.kubernetes.driver.securityContext.allowPrivilegeEscalation": nil,
	"spark.kubernetes.securityContext.allowPrivilegeEscalation":        nil,
	"spark.kubernetes.driver.service.ipFamilies":                       nil,
	"spark.kubernetes.driver.service.ipFamilyPolicy":                   nil,
	"spark.kubernetes.driver.service.publishNotReadyAddresses":         nil,
	"spark.kubernetes.executor.pod.featureSteps":                       nil,
	"spark.kubernetes.executor.podTemplateContainerName":               nil,
	"spark.kubernetes.authenticate.driver.serviceAccountName":          nil,
	"spark.kubernetes.hadoop.configMapName":                            nil,
	"spark.kubernetes.kerberos.krb5.configMapName":                     nil,
	"spark.kubernetes.kerberos.tokenSecret.name":                       nil,
	"spark.kubernetes.kerberos.tokenSecret.itemKey":                    nil,
	"spark.kubernetes.local.dirs.tmpfs":                                nil,
	"spark.kubernetes.memoryOverheadFactor":                            nil,
	"spark.pyspark.python":                                             nil,
	"spark.pyspark.driver.python":                                      nil,
	"spark.kubernetes.legacy.useReadWriteOnceAccessMode": kit.VolumeConf("driver", "persistentVolumeClaim",
		"options.claimName", "OnDemand", "options.storageClass", "c",
		"options.sizeLimit", "1Gi"),
}

func TestEveryTypedKeyIsNamedByItsError(t *testing.T) {
	for key, more := range typedKeys {
		r := kit.With(append(slices.Clone(more), key, "x${"+key+"}")...)
		r.SparkVersion = "4.3.0"

		r.DriverTemplate, r.ExecutorTemplate = []byte(`{"spec":{"containers":[{"name":"c"}]}}`),
			[]byte(`{"spec":{"containers":[{"name":"c"}]}}`)
		if strings.HasPrefix(key, "spark.pyspark") {
			r.Resource = "local:///a.py"
		}

		if key == "spark.kubernetes.scheduler.name" || key == "spark.blockManager.port" {
			r.Conf.Delete("spark.kubernetes.driver.scheduler.name", "spark.driver.blockManager.port")
		}

		kit.RefusedFor(t, r, key, "leads back to itself")
	}
}

// settings returns the keys and values from which random configurations are chosen: valid values, invalid values, and
// values that conflict with other settings.
func settings() []string {
	out := []string{
		"spark.driver.memory", "2g", "spark.driver.memory", "512m", "spark.driver.memory", "2048",
		"spark.driver.memoryOverhead", "1g",
		"spark.driver.memoryOverheadFactor", "0.333", "spark.kubernetes.memoryOverheadFactor", "0.25",
		"spark.driver.minMemoryOverhead", "100m",
		"spark.driver.cores", "3", "spark.kubernetes.driver.limit.cores", "2", "spark.kubernetes.driver.request.cores",
		"500m",
		"spark.driver.resource.gpu.amount", "1", "spark.driver.resource.gpu.vendor", "nvidia.com",
		"spark.ui.port", "4041", "spark.driver.port", "4041", "spark.blockManager.port", "1",
		"spark.connect.grpc.binding.port", "15003",
		"spark.kubernetes.driverEnv.A", "a", "spark.kubernetes.driverEnv.SPARK_USER", "b",
		"spark.kubernetes.driver.label.a", "{{APP_ID}}",
		"spark.kubernetes.driver.annotation.a", "{{APP_ID}}", "spark.kubernetes.driver.service.label.a", "b",
		"spark.kubernetes.driver.secrets.s", "/s",
		"spark.kubernetes.driver.secretKeyRef.S", "s:k", "spark.kubernetes.driver.service.ipFamilies", "IPv6,IPv4",
		"spark.kubernetes.hadoop.configMapName", "h", "spark.kubernetes.kerberos.krb5.configMapName", "k",
		"spark.kerberos.principal", "p",
		"spark.kerberos.keytab", "local:///k", "spark.yarn.keytab", "/k", "spark.local.dir", "/s,/t",
		"spark.kubernetes.local.dirs.tmpfs", "true",
		"spark.kubernetes.driver.pod.featureSteps", draft.VolcanoClass,
		"spark.kubernetes.driver.pod.featureSteps", "x.Y",
		"spark.kubernetes.driver.pod.excludedFeatureSteps",
		draft.FeaturePackage + "LocalDirsFeatureStep," + draft.FeaturePackage + "NetworkPolicyFeatureStep",
		"spark.kubernetes.driver.pod.excludedFeatureSteps", draft.FeaturePackage + "BasicDriverFeatureStep",
		"spark.kubernetes.driver.podTemplateFile", "/t", "spark.jars", "s3a://b/*", "spark.jars", "https://h/a.jar",
		"spark.files", "/f",
		"spark.kubernetes.file.upload.path", "s3a://u", "spark.kubernetes.authenticate.driver.oauthToken", "hunter2",
		"spark.kubernetes.authenticate.driver.serviceAccountName", "sa",
		"spark.kubernetes.authenticate.submission.oauthToken", "hunter2",
		"spark.my.password", "hunter2", "spark.kubernetes.container.image", "${spark.my.password}",
		"spark.executor.instances", "0",
		"spark.dynamicAllocation.enabled", "true", "spark.kubernetes.scheduler.name", "volcano",
		"spark.kubernetes.container.image.pullPolicy", "always",
		"spark.kubernetes.securityContext.allowPrivilegeEscalation", "true", "spark.kubernetes.executor.label.a", "b",
	}
	for _, kind := range []string{"emptyDir", "hostPath", "nfs", "persistentVolumeClaim", "floppy"} {
		out = append(out, kit.VolumeConf("driver", kind)...)
		out = append(out, "options.path", "/p", "options.server", "s", "options.claimName", "OnDemand",
			"options.storageClass", "c", "options.sizeLimit", "1Gi")
	}
	// The volumes' options follow their kind and form a key with it.
	kind := ""
	for i := 0; i < len(out); i += 2 {
		if rest, ok := strings.CutPrefix(out[i], "spark.kubernetes.driver.volumes."); ok {
			kind, _, _ = strings.Cut(rest, ".")
		}

		if strings.HasPrefix(out[i], "options.") {
			out[i] = "spark.kubernetes.driver.volumes." + kind + ".v." + out[i]
		}
	}
	return out
}

// TestRandomConfigurations builds random combinations of settings. It checks that Build returns the same result twice,
// that the result is valid objects or an *Error, and that the result contains no secret.
func TestRandomConfigurations(t *testing.T) {
	random, pool := rand.New(rand.NewPCG(1, 2)), settings()

	built, refused, notNative := 0, map[string]bool{}, 0
	for range 3000 {
		var chosen []string
		for range 1 + random.IntN(8) {
			i := random.IntN(len(pool)/2) * 2
			chosen = append(chosen, pool[i], pool[i+1])
		}

		r := kit.With(chosen...)
		r.SparkVersion = submit.SupportedVersions()[random.IntN(len(submit.SupportedVersions()))]
		r.Resource = []string{"local:///a.jar", "local:///a.py", "s3a://b/a.R", "/a.jar"}[random.IntN(20)*3/19]
		o, err := native.Build(r)

		again, err2 := native.Build(r)
		if diff := cmp.Diff(o, again); diff != "" || (err == nil) != (err2 == nil) || err != nil &&
			err.Error() != err2.Error() {
			t.Fatalf("%q: %v, then %v (-first +second):\n%s", chosen, err, err2, diff)
		}

		if err != nil {
			wrong, ok := errors.AsType[*submit.Error](err)
			if !ok || (wrong.Key == "") == (wrong.Field == "") || wrong.Message == "" ||
				strings.Contains(err.Error(), "hunter2") {
				t.Fatalf("%q: the error is %#v", chosen, err)
			}

			refused[wrong.Key+wrong.Field] = true
			if wrong.NotNative {
				notNative++
			}
			continue
		}
		built++

		checkSound(t, chosen, o)
	}

	if built < 200 || len(refused) < 20 || notNative < 30 {
		t.Errorf("of 3000 configurations %d are built, %d refused as not native, and refused are %d keys and fields: the pool is no good", built, notNative, len(refused))
	}
}

// checkSound checks properties that the objects of any configuration must have.
func checkSound(t *testing.T, chosen []string, o submit.Objects) {
	t.Helper()

	volumes := map[string]bool{}
	for _, v := range o.Driver.Spec.Volumes {
		if volumes[v.Name] {
			t.Errorf("%q: two volumes %s", chosen, v.Name)
		}

		volumes[v.Name] = true
	}

	for _, c := range o.Driver.Spec.Containers {
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%q: container %s mounts %s, which is no volume", chosen, c.Name, m.Name)
			}
		}

		for name, limit := range c.Resources.Limits {
			if request, ok := c.Resources.Requests[name]; ok && request.Cmp(limit) > 0 {
				t.Errorf("%q: the request of %s is above its limit", chosen, name)
			}
		}
	}

	names := map[string]bool{}
	for _, object := range everything(o) {
		id := object.GetObjectKind().GroupVersionKind().Kind + "/" + object.GetName()
		if errs := validation.IsDNS1123Subdomain(object.GetName()); len(errs) > 0 || names[id] {
			t.Errorf("%q: %s: no name, or twice: %v", chosen, id, errs)
		}

		names[id] = true

		text, err := json.Marshal(object)
		if err != nil {
			t.Errorf("%q: %s: %v", chosen, id, err)
		}
		// A token may only be in its Secret. A password in a key of the user may be where the user puts it.
		if !slices.Contains(chosen, "spark.my.password") && strings.Contains(string(text), "hunter2") &&
			object.GetObjectKind().GroupVersionKind().Kind != "Secret" {
			t.Errorf("%q: the token stands in %s", chosen, id)
		}
	}

	for _, w := range o.Warnings {
		if strings.Contains(w, "hunter2") {
			t.Errorf("%q: a warning shows a secret: %s", chosen, w)
		}
	}
}
