package platform

import "strings"

// FallbackKey returns the configuration key for the same setting that Spark uses if the given key is not set, or "" if
// there is none. An example is spark.kubernetes.node.selector.disk for spark.kubernetes.driver.node.selector.disk. A
// default of the given key would override the fallback, so it must not be used if a custom resource sets the fallback.
//
// Keep FallbackKey and the table fallbacks of package conf consistent. The table contains the fallbacks of Spark's
// configuration entries. FallbackKey needs only that of allowPrivilegeEscalation: no default may set a role's image,
// the client ignores the fallback of the driver's port, and the minimum of executors is a setting of its own.
func FallbackKey(key string) string {
	const kube = "spark.kubernetes."
	for role, env := range map[string]string{"driver": "spark.kubernetes.driverEnv.", "executor": "spark.executorEnv."} {
		if key == "spark."+role+".memoryOverheadFactor" {
			return kube + "memoryOverheadFactor"
		}

		rest, ok := strings.CutPrefix(key, kube+role+".")
		if !ok {
			continue
		}

		if name, ok := strings.CutPrefix(rest, "secretKeyRef."); ok {
			return env + name // Spark adds the variables from Secrets last (EnvSecretsFeatureStep)
		}

		switch {
		case strings.HasPrefix(rest, "node.selector."), rest == "scheduler.name",
			rest == "securityContext.allowPrivilegeEscalation":
			return kube + rest
		}
	}
	return ""
}

// SetsFallback reports whether a Spark configuration sets the fallback of a key (FallbackKey).
func SetsFallback(own map[string]string, key string) bool {
	fallback := FallbackKey(key)
	_, set := own[fallback]
	return set && fallback != ""
}
