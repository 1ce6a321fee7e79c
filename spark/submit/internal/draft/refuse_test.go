package draft_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
	"github.com/sparkoperator/spark-operator/spark/submit/runner"
)

func TestRefusedConfiguration(t *testing.T) {
	const claim = "spark.kubernetes.driver.volumes.persistentVolumeClaim.v."
	for _, c := range []struct {
		pairs      []string
		name, text string
	}{
		// Keys that would read from the submitter's machine.
		{[]string{"spark.kubernetes.driver.podTemplateFile", "/etc/x"}, "spark.kubernetes.driver.podTemplateFile",
			"never read"},
		{[]string{"spark.kubernetes.driver.podTemplateFile", "https://example.org/x"},
			"spark.kubernetes.driver.podTemplateFile", "give the content as the driver's pod template"},
		{[]string{"spark.kubernetes.executor.podTemplateFile", "s3a://b/x"},
			"spark.kubernetes.executor.podTemplateFile", "give the content as the executors' pod template"},
		{[]string{"spark.kubernetes.authenticate.driver.caCertFile", "/ca"},
			"spark.kubernetes.authenticate.driver.caCertFile", "mounted.caCertFile"},
		{[]string{"spark.kubernetes.authenticate.driver.clientKeyFile", "/k"},
			"spark.kubernetes.authenticate.driver.clientKeyFile", "mount a Secret"},
		{[]string{"spark.kubernetes.authenticate.driver.clientCertFile", "/c"},
			"spark.kubernetes.authenticate.driver.clientCertFile", "mount a Secret"},
		{[]string{"spark.kubernetes.authenticate.submission.oauthTokenFile", "/var/run/secrets/token"},
			"spark.kubernetes.authenticate.submission.oauthTokenFile", "own credentials"},
		{[]string{"spark.kubernetes.kerberos.krb5.path", "/etc/krb5.conf"}, "spark.kubernetes.kerberos.krb5.path",
			"krb5.configMapName"},
		{[]string{"spark.kerberos.keytab", "/etc/k", "spark.kerberos.principal", "p"}, "spark.kerberos.keytab",
			"local://"},
		{[]string{"spark.yarn.keytab", "file:///etc/k", "spark.kerberos.principal", "p"}, "spark.yarn.keytab",
			"local://"},
		{[]string{"spark.jars", "local:///a.jar,/b.jar"}, "spark.jars", `"/b.jar" is a file of the submitter`},
		{[]string{"spark.files", "file:///etc/passwd"}, "spark.files", "local:///PATH"},
		{[]string{"spark.files", "FILE:/etc/passwd"}, "spark.files", "never read"},
		{[]string{"spark.archives", "env.tar.gz#env"}, "spark.archives", "never read"},
		{[]string{"spark.archives", "../a:b.zip"}, "spark.archives", "never read"},
		{[]string{"spark.submit.pyFiles", "lib.zip"}, "spark.submit.pyFiles", "never read"},
		{[]string{"spark.jars", "s3a://b/*.jar"}, "spark.jars", "list the files"},
		{[]string{"spark.kubernetes.driver.pod.featureSteps", "org.example.Step"},
			"spark.kubernetes.driver.pod.featureSteps", `"org.example.Step" cannot run outside a JVM`},

		// Configurations that Spark rejects too.
		{[]string{"spark.driver.bindAddress", "0.0.0.0"}, "spark.driver.bindAddress", "not supported"},
		{[]string{"spark.kubernetes.container.image", ""}, "spark.kubernetes.container.image", "needs an image"},
		{[]string{"spark.kubernetes.container.image.pullPolicy", "always"},
			"spark.kubernetes.container.image.pullPolicy", "Always, Never or IfNotPresent"},
		{[]string{"spark.kubernetes.driver.label.spark-role", "x"}, "spark.kubernetes.driver.label.spark-role",
			"Spark's own"},
		{[]string{"spark.kubernetes.executor.label.spark-app-selector", "x"},
			"spark.kubernetes.executor.label.spark-app-selector", "Spark's own"},
		{[]string{"spark.driver.memory", "lots"}, "spark.driver.memory", "512m or 2g"},
		{[]string{"spark.driver.memory", "1.5g"}, "spark.driver.memory", "whole number"},
		{[]string{"spark.driver.memory", "0g"}, "spark.driver.memory", "more than zero"},
		{[]string{"spark.driver.memory", "${spark.executor.memory}"}, "spark.driver.memory", "whole number"},
		{[]string{"spark.executor.memory", "some"}, "spark.executor.memory", "whole number"},
		{[]string{"spark.driver.cores", "0"}, "spark.driver.cores", "more than zero"},
		{[]string{"spark.executor.cores", "two"}, "spark.executor.cores", "whole number"},
		{[]string{"spark.executor.instances", "0"}, "spark.executor.instances", "more than zero"},
		{[]string{"spark.executor.instances", "-1", "spark.dynamicAllocation.enabled", "true"},
			"spark.executor.instances", "more than zero"},
		{[]string{"spark.driver.memoryOverheadFactor", "0"}, "spark.driver.memoryOverheadFactor", "more than zero"},
		{[]string{"spark.kubernetes.memoryOverheadFactor", "-0.1"}, "spark.kubernetes.memoryOverheadFactor",
			"zero or more"},
		{[]string{"spark.kubernetes.memoryOverheadFactor", "NaN"}, "spark.kubernetes.memoryOverheadFactor",
			"zero or more"},
		{[]string{"spark.driver.resource.gpu.amount", "1"}, "spark.driver.resource.gpu.vendor", "vendor"},
		{[]string{"spark.driver.resource.gpu.vendor", "nvidia.com"}, "spark.driver.resource.gpu.amount", "amount"},
		{[]string{"spark.driver.port", "http"}, "spark.driver.port", "whole number"},
		{[]string{"spark.kubernetes.driver.service.ipFamilyPolicy", "Single"},
			"spark.kubernetes.driver.service.ipFamilyPolicy", "SingleStack"},
		{[]string{"spark.kubernetes.driver.service.ipFamilies", "IPv5"}, "spark.kubernetes.driver.service.ipFamilies",
			"IPv5"},
		{[]string{"spark.kubernetes.driver.secretKeyRef.A", "secret"}, "spark.kubernetes.driver.secretKeyRef.A",
			"SECRET:KEY"},
		{[]string{"spark.kubernetes.driver.secretKeyRef.A", "a:b:c"}, "spark.kubernetes.driver.secretKeyRef.A",
			"SECRET:KEY"},
		{[]string{"spark.kerberos.keytab", "local:///k"}, "spark.kerberos.keytab", "principal"},
		{[]string{"spark.kerberos.principal", "p"}, "spark.kerberos.principal", "keytab"},
		{[]string{"spark.kubernetes.kerberos.tokenSecret.name", "s"}, "spark.kubernetes.kerberos.tokenSecret.name",
			"itemKey"},
		{[]string{"spark.kubernetes.kerberos.tokenSecret.itemKey", "k"},
			"spark.kubernetes.kerberos.tokenSecret.itemKey", "tokenSecret.name"},
		{[]string{"spark.kubernetes.configMap.maxSize", "2097152"}, "spark.kubernetes.configMap.maxSize",
			"cannot be more"},
		{[]string{"spark.kubernetes.container.image", strings.Repeat("${spark.a}", 1<<10), "spark.a",
			strings.Repeat("x", 1<<11)}, "spark.kubernetes.container.image", "longer than"},
		{[]string{"spark.kubernetes.container.image", "${spark.a}", "spark.a", "${spark.a}"},
			"spark.kubernetes.container.image", "leads back"},

		{[]string{"spark.kubernetes.configMap.maxSize", "1k"}, "spark.kubernetes.configMap.maxSize", "whole number"},
		{[]string{"spark.driver.extraJavaOptions", "-Da=b -Xmx2g"}, "spark.driver.extraJavaOptions",
			"spark.driver.memory"},
		{[]string{"spark.executor.extraJavaOptions", "-Xmx2g"}, "spark.executor.extraJavaOptions",
			"spark.executor.memory"},
		{[]string{"spark.jars.packages", "g:a:1, g:a"}, "spark.jars.packages", "GROUP:ARTIFACT:VERSION"},
		{[]string{"spark.jars.packages", "g:a: "}, "spark.jars.packages", "GROUP:ARTIFACT:VERSION"},
		{[]string{"spark.jars.packages", "g:a:1", "spark.jars.excludes", "g"}, "spark.jars.excludes", "GROUP:ARTIFACT"},
		{[]string{"spark.jars", "local:///a b.jar"}, "spark.jars", "%20"},
		{[]string{"spark.files", "https://example.org/a[1].txt"}, "spark.files", "%XX"},
		{[]string{"spark.files", "https://example.org/100%.txt"}, "spark.files", "%XX"},

		// Volumes, including the executors'.
		{[]string{claim + "options.claimName", "c"}, claim + "mount.path", "missing"},
		{[]string{claim + "mount.path", "/v"}, claim + "options.claimName", "missing"},
		{[]string{claim + "mount.path", "/v", claim + "options.claimName", "c", claim + "mount.readOnly", "yes"},
			claim + "mount.readOnly", "true or false"},
		{[]string{claim + "mount.path", "/v", claim + "options.claimName", "OnDemand"}, claim + "options.claimName",
			"storageClass"},
		{[]string{claim + "mount.path", "/v", claim + "options.claimName", "c", claim + "options.sizeLimit", "100"},
			claim + "options.sizeLimit", "100Gi"},
		{[]string{claim + "mount.path", "/v", claim + "options.claimName", "c", claim + "options.sizeLimit", "much"},
			claim + "options.sizeLimit", "10Gi"},
		{[]string{claim + "mount.path", "/v", claim + "options.claimName", "c", claim + "mount.subPath", "a",
			claim + "mount.subPathExpr", "b"}, claim + "mount.subPathExpr", "together"},
		{[]string{claim + "mount.path", "/v", claim + "options.claimName", "OnDemand", claim + "options.storageClass",
			"c", claim + "options.sizeLimit", "1Gi",
			claim + "label.spark-app-selector", "x"}, claim + "label.spark-app-selector", "Spark's own"},
		{[]string{"spark.kubernetes.driver.volumes.emptyDir.a.mount.path", "/v",
			"spark.kubernetes.driver.volumes.emptyDir.b.mount.path", "/v"},
			"spark.kubernetes.driver.volumes.emptyDir.b.mount.path", `volume "a"`},
		{[]string{"spark.kubernetes.driver.volumes.nfs.n.mount.path", "/v",
			"spark.kubernetes.driver.volumes.nfs.n.options.path", "/x"},
			"spark.kubernetes.driver.volumes.nfs.n.options.server", "missing"},
		{[]string{"spark.kubernetes.driver.volumes.hostPath.n.mount.path", "/v"},
			"spark.kubernetes.driver.volumes.hostPath.n.options.path", "missing"},
		{[]string{"spark.kubernetes.driver.volumes.emptyDir.short", "/v"},
			"spark.kubernetes.driver.volumes.emptyDir.short", "KIND.NAME.SETTING"},
		{[]string{"spark.kubernetes.executor.volumes.floppy.a.mount.path", "/v"},
			"spark.kubernetes.executor.volumes.floppy.a.mount.path", "floppy"},
		{[]string{"spark.kubernetes.executor.volumes.hostPath.a.mount.path", "/v"},
			"spark.kubernetes.executor.volumes.hostPath.a.options.path", "missing"},

		// Configurations that would fail later.
		{[]string{"spark.driver.memory", "2048"}, "spark.driver.memory", "2048"},
		{[]string{"spark.driver.memory", "2gb"}, "spark.driver.memory", "-Xmx"},
		{[]string{"spark.driver.memory", "1073741824b"}, "spark.driver.memory", "k, m, g or t"},
		{[]string{"spark.driver.memory", "9223372036854775807k"}, "spark.driver.memory", "too large"},
		{[]string{"spark.driver.memory", "8388607t", "spark.driver.memoryOverhead", "1p"}, "spark.driver.memory",
			"more than a Kubernetes quantity"},
		{[]string{"spark.kubernetes.driver.request.cores", "half"}, "spark.kubernetes.driver.request.cores", "500m"},
		{[]string{"spark.kubernetes.driver.limit.cores", "500m"}, "spark.kubernetes.driver.limit.cores",
			"below the request"},
		{[]string{"spark.ui.port", "0"}, "spark.ui.port", "1 to 65535"},
		{[]string{"spark.ui.port", "7078"}, "spark.ui.port", "spark.driver.port"},
		{[]string{"spark.kubernetes.driver.label.a b", "x"}, "spark.kubernetes.driver.label.a b",
			"not a valid label name"},
		{[]string{"spark.kubernetes.driver.label.a", "x y"}, "spark.kubernetes.driver.label.a",
			"not a valid label value"},
		{[]string{"spark.kubernetes.driver.annotation.a b", "x"}, "spark.kubernetes.driver.annotation.a b",
			"not a valid annotation name"},
		{[]string{"spark.kubernetes.driver.service.label.a", "-"}, "spark.kubernetes.driver.service.label.a",
			"not a valid label value"},
		{[]string{"spark.kubernetes.driver.service.label.spark-app-selector", "spark-of-another"},
			"spark.kubernetes.driver.service.label.spark-app-selector", "Spark's own"},
		{[]string{"spark.kubernetes.driver.service.label.spark-role", "executor"},
			"spark.kubernetes.driver.service.label.spark-role", "Spark's own"},
		{[]string{"spark.kubernetes.driver.service.annotation.", "x"}, "spark.kubernetes.driver.service.annotation.",
			"not a valid annotation name"},
		{[]string{"spark.kubernetes.node.selector.a", "x y"}, "spark.kubernetes.node.selector.a", "node label"},
		{[]string{"spark.kubernetes.driverEnv.A=B", "x"}, "spark.kubernetes.driverEnv.A=B", "environment variable"},
		{[]string{"spark.kubernetes.driver.secrets.a.b", "/x"}, "spark.kubernetes.driver.secrets.a.b", "pod template"},
		{[]string{"spark.kubernetes.driver.secrets.a", ""}, "spark.kubernetes.driver.secrets.a", "path"},
		{[]string{"spark.kubernetes.driver.secrets.a", "/opt/spark/conf/"}, "Driver.VolumeMounts", "both mounted"},
		{[]string{"spark.huge", strings.Repeat("x", 1<<20)}, "Conf", "more than a ConfigMap holds"},
		{[]string{"spark.kubernetes.driver.pod.excludedFeatureSteps", draft.FeaturePackage + "BasicDriverFeatureStep"},
			"spark.kubernetes.driver.pod.excludedFeatureSteps", "cannot run without BasicDriverFeatureStep"},
	} {
		t.Run(c.name, func(t *testing.T) { kit.RefusedFor(t, kit.With(c.pairs...), c.name, c.text) })
	}
}

func TestRefusedRequests(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(*submit.Request)
		field, text string
	}{
		"no namespace": {func(r *submit.Request) { r.Namespace = "" }, "Namespace", "not a valid namespace name"},
		"long version": {func(r *submit.Request) {
			r.SparkVersion = "4.1." + strings.Repeat("1", 1<<10)
			r.Conf.Set("spark.kubernetes.container.image", strings.Repeat("{{SPARK_VERSION}}", 1<<10))
		}, "SparkVersion", "no longer than 128"},
		"no id": {func(r *submit.Request) { r.AppID = "" }, "AppID", "label value"},
		"no prefix": {func(r *submit.Request) { r.ResourceNamePrefix = "" },
			"ResourceNamePrefix", "cannot be the prefix of"},
		"invalid pod name": {func(r *submit.Request) { r.DriverPodName = "Big" }, "DriverPodName",
			"not a valid pod name"},
		"long pod name": {func(r *submit.Request) { r.DriverPodName = strings.Repeat("a", 254) },
			"DriverPodName", "253"},
		"invalid ConfigMap name": {func(r *submit.Request) { r.ConfigMapName = "a_b" }, "ConfigMapName",
			"not a valid ConfigMap name"},
		"invalid master": {func(r *submit.Request) { r.Master = "local[2]" }, "Master", "k8s://"},
		"no class":       {func(r *submit.Request) { r.MainClass = "" }, "MainClass", "main class"},
		"no class, no jar": {func(r *submit.Request) { r.MainClass, r.Resource = "", "" }, "MainClass",
			"main class"},
		"local resource": {func(r *submit.Request) { r.Resource = "/app.jar" }, "Resource",
			"local:///PATH"},
		"file resource": {func(r *submit.Request) { r.Resource = "file:///app.py" }, "Resource",
			"never read"},
		"reserved label": {func(r *submit.Request) { r.Labels = map[string]string{"spark-role": "x"} }, "Labels",
			"Spark's own"},
		"invalid label value": {func(r *submit.Request) { r.Labels = map[string]string{"a": "b c"} },
			"Labels", "not a valid label value"},
		"reserved label of the driver": {func(r *submit.Request) { r.Driver.Labels = map[string]string{"spark-app-selector": "x"} }, "Driver.Labels", "Spark's own"},
		"invalid label of executors": {func(r *submit.Request) { r.Executor.Labels = map[string]string{"-": "x"} },
			"Executor.Labels", "not a valid label name"},
		"invalid driver template": {func(r *submit.Request) { r.DriverTemplate = []byte(`{"spec":{"containers":3}}`) },
			"DriverTemplate", "spec.containers: is the number 3, not a list"},
		"driver template that is not YAML": {func(r *submit.Request) { r.DriverTemplate = []byte(`spec: {`) },
			"DriverTemplate", "not a pod template"},
		"invalid executor template": {func(r *submit.Request) { r.ExecutorTemplate = []byte(`[]`) },
			"ExecutorTemplate", "not a pod template"},
		"too large template": {func(r *submit.Request) {
			r.ExecutorTemplate = []byte(`{"metadata":{"annotations":{"a":"` + strings.Repeat("x", 1<<20) + `"}}}`)
		}, "ExecutorTemplate", "more than a ConfigMap"},
		"Hadoop files and Hadoop ConfigMap": {func(r *submit.Request) {
			r.HadoopConfFiles = map[string]string{"a": "b"}
			r.Conf.Set("spark.kubernetes.hadoop.configMapName", "h")
		}, "spark.kubernetes.hadoop.configMapName", "together"},
		"invalid name of a Hadoop file":        {func(r *submit.Request) { r.HadoopConfFiles = map[string]string{"a/b": ""} }, "HadoopConfFiles", "not a valid ConfigMap key"},
		"Hadoop file that is not UTF-8":        {func(r *submit.Request) { r.HadoopConfFiles = map[string]string{"a": "\xff"} }, "HadoopConfFiles", "UTF-8"},
		"invalid name of a configuration file": {func(r *submit.Request) { r.ConfFiles = map[string]string{"two words": "a"} }, "ConfFiles", "not a valid ConfigMap key"},
		"proxy and Kerberos": {func(r *submit.Request) {
			r.ProxyUser = "eve"
			r.Conf.Set("spark.yarn.principal", "p")
		}, "spark.yarn.principal", "proxy user"},
		"reserved volume name in the overlay": {func(r *submit.Request) { r.Driver.Volumes = []corev1.Volume{{Name: "spark-conf-volume-driver"}} }, "Driver.Volumes", "another volume"},
		"reserved volume name in the template": {func(r *submit.Request) {
			r.DriverTemplate = []byte(`{"spec":{"volumes":[{"name":"spark-local-dir-1","emptyDir":{}}]}}`)
		}, "Driver.Volumes", "two volumes"},
		"second controller": {func(r *submit.Request) {
			r.Driver.OwnerReferences = []metav1.OwnerReference{{UID: "other", Controller: new(true)}}
		}, "Driver.OwnerReferences", "already has a controller"},
		"sidecar with the name of the Spark container": {func(r *submit.Request) {
			r.Executor = overlay.Overlay{Sidecars: []corev1.Container{{Name: "spark-kubernetes-executor", Image: "x"}}}
		}, "Executor.Sidecars", "another image"},
		"unsupported Python version": {func(r *submit.Request) {
			r.Resource, r.SparkVersion = "local:///a.py", "4.0.2"
			r.Conf.Set("spark.kubernetes.pyspark.pythonVersion", "2")
		}, "spark.kubernetes.pyspark.pythonVersion", "only 3"},
		"subPathExpr before 4.0": {func(r *submit.Request) {
			r.SparkVersion = "3.5.9"
			r.Conf.Set("spark.kubernetes.driver.volumes.emptyDir.a.mount.path", "/a")
			r.Conf.Set("spark.kubernetes.driver.volumes.emptyDir.a.mount.subPathExpr", "x")
		}, "spark.kubernetes.driver.volumes.emptyDir.a.mount.subPathExpr", "4.0"},
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.Minimal()
			c.change(&r)
			kit.RefusedFor(t, r, c.field, c.text)
		})
	}
}

// TestRefusedOptions checks that no file and no argument of an application can be read as an option of spark-submit.
// The launcher of Spark searches the arguments of some classes for options; other applications may have any arguments.
func TestRefusedOptions(t *testing.T) {
	const option = "--conf=spark.jars=local:///a.jar"
	for _, resource := range []string{option, "-c", " " + option, "\t\u00a0-c", option + ".py", option + ".R"} {
		r := kit.Minimal()
		r.Resource = resource
		kit.RefusedFor(t, r, "Resource",
			"would be read as an option by spark-submit; name a file that does not begin with a hyphen")

		if _, err := runner.Build(r); err == nil || !strings.Contains(err.Error(), "would be read as an option") {
			t.Errorf("%q: a runner gets %v", resource, err)
		}
	}

	r := kit.Minimal()
	r.Resource = "local:///$(FILE).jar"
	kit.RefusedFor(t, r, "Resource", "write the name without $(")

	for _, key := range draft.FileLists {
		r := kit.Minimal()
		r.Conf.Set(key, "local:///a.jar, -a:b")
		kit.RefusedFor(t, r, key, `"-a:b" would be read as an option`)
	}

	for _, class := range draft.MixingClasses {
		r := kit.Minimal()

		r.MainClass, r.Arguments = class, []string{"a", "--hiveconf", "b=c"}
		if _, err := native.Build(r); err != nil {
			t.Errorf("%s: %v", class, err)
		}

		for _, argument := range []string{"--conf", "-c", option, "$(A)"} {
			r.Arguments = []string{"a", argument, "b"}
			kit.RefusedFor(t, r, "Arguments", "which searches the arguments of the class "+class)
		}

		r.Resource = "local:///a.py"
		if _, err := native.Build(r); err != nil {
			t.Errorf("a Python application with the class %s: %v", class, err)
		}
	}

	r = kit.Minimal()

	r.Arguments = []string{"--conf", "a", "$(A)", "-"}
	if _, err := native.Build(r); err != nil {
		t.Error(err)
	}
}

// TestBounds checks values at the limits that Spark applies when its context starts, in Spark 3.5 and 4.1. The test of
// test/e2e/recorded starts a SparkContext of each line with values at these limits.
func TestBounds(t *testing.T) {
	for key, c := range map[string]struct{ refused, accepted, old string }{ // Spark 3.5 accepts the values old
		"spark.kubernetes.allocation.batch.size":                      {"0 -1 x 1.5", "1 10 ${env:SIZE}", "1"},
		"spark.kubernetes.allocation.batch.delay":                     {"100ms 100 0 -1s 1.5s x ${spark.none}", "101ms 101 1s", "100ms 1"},
		"spark.kubernetes.allocation.maximum":                         {"0 -1", "1", "0 x"},
		"spark.kubernetes.allocation.maxPendingPods":                  {"0", "1", "1"},
		"spark.kubernetes.allocation.driver.readinessTimeout":         {"0 999ms -1s", "1 1s 1000ms", "1s"},
		"spark.kubernetes.allocation.executor.timeout":                {"0 0s -1ms", "1 1ms", "1"},
		"spark.kubernetes.executor.apiPollingInterval":                {"0", "1", "1"},
		"spark.kubernetes.executor.eventProcessingInterval":           {"0s", "1ms", "1"},
		"spark.memory.storageFraction":                                {"1 1.0 -0.1 NaN x", "0 0.5 0.99", "0"},
		"spark.memory.offHeap.size":                                   {"-1 -1g x", "0 1g", "0"},
		"spark.scheduler.listenerbus.eventqueue.capacity":             {"0", "1", "1"},
		"spark.scheduler.listenerbus.metrics.maxListenerClassesTimed": {"-2", "-1", "0"},
		"spark.scheduler.numCancelledJobGroupsToTrack":                {"0", "1", "0"},
		"spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": {"0", "1", "1"},
		"spark.buffer.size":                                           {"-1", "0", "0"},
		"spark.diskStore.subDirectories":                              {"0", "1", "1"},
		"spark.log.level":                                             {"x WARNING", "WARN info Off", "WARN"},
	} {
		for value := range strings.FieldsSeq(c.refused) {
			kit.RefusedFor(t, kit.With(key, value), key, "should be")
		}

		for version, values := range map[string]string{"4.1.4": c.accepted, "3.5.9": c.old} {
			for value := range strings.FieldsSeq(values) {
				r := kit.With(key, value)
				r.SparkVersion = version

				if _, err := native.Build(r); err != nil {
					t.Errorf("Spark %s: %s=%s: %v", version, key, value, err)
				}
			}
		}
	}

	r := kit.With("spark.kubernetes.allocation.batch.delay", "50ms") // this allocator does not read it
	r.Conf.Set("spark.kubernetes.allocation.pods.allocator", "statefulset")

	if _, err := native.Build(r); err != nil {
		t.Error(err)
	}
}
