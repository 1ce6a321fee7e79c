package worst

import (
	"fmt"
	"strings"
)

// KeyFamilies contains patterns for large Spark configurations, as a map from keys to values. If a key contains %d, an
// application may set many such keys, one for each number. Any other key may have a long list as its value. KeysOf
// returns the configuration entries of a pattern.
var KeyFamilies = map[string]string{
	"spark.kubernetes.driverEnv.E%d":                          "v",
	"spark.kubernetes.driver.label.l%d":                       "v",
	"spark.kubernetes.driver.annotation.a%d":                  "{{APP_ID}}",
	"spark.kubernetes.driver.service.label.l%d":               "v",
	"spark.kubernetes.driver.service.annotation.a%d":          "v",
	"spark.kubernetes.driver.secrets.s%d":                     "/secrets/%d",
	"spark.kubernetes.driver.secretKeyRef.E%d":                "secret:key",
	"spark.kubernetes.driver.volumes.emptyDir.v%d.mount.path": "/mnt/%d",
	"spark.kubernetes.driver.volumes.hostPath.v%d.mount.path": "/mnt/%d",
	"spark.kubernetes.node.selector.n%d":                      "v",
	"spark.kubernetes.driver.node.selector.n%d":               "v",
	"spark.kubernetes.executor.label.l%d":                     "v",
	"spark.kubernetes.executor.annotation.a%d":                "v",
	"spark.kubernetes.executor.secrets.s%d":                   "/secrets/%d",
	"spark.kubernetes.executor.secretKeyRef.E%d":              "secret:key",
	"spark.kubernetes.executor.volumes.nfs.v%d.mount.path":    "/mnt/%d",
	"spark.executorEnv.E%d":                                   "v",
	"spark.driver.resource.gpu%d.amount":                      "1",
	"spark.executor.resource.gpu%d.amount":                    "1",
	"spark.network.n%d":                                       "v",
	"spark.k%d":                                               "${spark.driver.memory}",
	"spark.x%d.password":                                      "v",
	"foreign.k%d":                                             "v",
	"spark.jars":                                              "local:///jar-%d.jar",
	"spark.files":                                             "local:///file-%d",
	"spark.archives":                                          "local:///a-%d.zip",
	"spark.submit.pyFiles":                                    "local:///a-%d.py",
	"spark.jars.packages":                                     "g:a%d:1",
	"spark.local.dir":                                         "/dir-%d",
	"spark.kubernetes.container.image.pullSecrets":            "secret-%d",
	"spark.kubernetes.driver.pod.featureSteps":                "org.example.Step%d",
	"spark.kubernetes.driver.pod.excludedFeatureSteps":        "org.example.Step%d",
	"spark.kubernetes.executor.pod.excludedFeatureSteps":      "org.example.Step%d",
	"spark.kubernetes.driver.service.ipFamilies":              "IPv4",
	"spark.driver.extraJavaOptions":                           "-Da%d=b",
	"spark.executor.extraJavaOptions":                         "-Da%d=b ${env:X}",
	"spark.driver.defaultJavaOptions":                         "${spark.driver.memory} ${env:X}",
	"spark.kubernetes.memoryOverheadFactor":                   "0%d",
	"spark.driver.memory":                                     "${spark.driver.cores}",
}

// KeysOf returns n configuration entries for one entry of KeyFamilies. If the key contains no %d, KeysOf returns only
// one entry, whose value is a list of n items.
func KeysOf(key, value string, n int) map[string]string {
	numbered := func(text string, i int) string { return strings.ReplaceAll(text, "%d", fmt.Sprint(i)) }

	out := map[string]string{}
	if !strings.Contains(key, "%d") {
		items := make([]string, n)
		for i := range items {
			items[i] = numbered(value, i)
		}

		separator := ","
		if strings.Contains(key, "Options") {
			separator = " "
		}

		out[key] = strings.Join(items, separator)
		return out
	}

	for i := range n {
		out[numbered(key, i)] = numbered(value, i)
	}
	return out
}
