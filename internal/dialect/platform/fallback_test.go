package platform

import "testing"

// TestFallbackKeys checks the key that Spark uses if the given key is not set. The sources are the feature steps of
// Spark's client: node selectors and the scheduler of a role override those of both roles, the factor of a role
// overrides that of both roles, and variables from Secrets come after the other variables.
func TestFallbackKeys(t *testing.T) {
	for key, want := range map[string]string{
		"spark.kubernetes.driver.node.selector.disk":                         "spark.kubernetes.node.selector.disk",
		"spark.kubernetes.executor.node.selector.example.com/disk":           "spark.kubernetes.node.selector.example.com/disk",
		"spark.kubernetes.driver.scheduler.name":                             "spark.kubernetes.scheduler.name",
		"spark.kubernetes.executor.scheduler.name":                           "spark.kubernetes.scheduler.name",
		"spark.kubernetes.driver.secretKeyRef.TOKEN":                         "spark.kubernetes.driverEnv.TOKEN",
		"spark.kubernetes.executor.secretKeyRef.TOKEN":                       "spark.executorEnv.TOKEN",
		"spark.driver.memoryOverheadFactor":                                  "spark.kubernetes.memoryOverheadFactor",
		"spark.executor.memoryOverheadFactor":                                "spark.kubernetes.memoryOverheadFactor",
		"spark.kubernetes.executor.securityContext.allowPrivilegeEscalation": "spark.kubernetes.securityContext.allowPrivilegeEscalation",
		"":                                       "",
		"spark.kubernetes.node.selector.disk":    "",
		"spark.kubernetes.driver.node.selectors": "",
		"spark.kubernetes.driverEnv.TOKEN":       "",
		"spark.kubernetes.driver.label.node.selector.a": "",
		"spark.driver.memoryOverhead":                   "",
		"spark.driver.memory":                           "",
		"spark.kubernetes.worker.node.selector.disk":    "",
	} {
		if got := FallbackKey(key); got != want {
			t.Errorf("the fallback of %q is %q, want %q", key, got, want)
		}

		if again := FallbackKey(want); again != "" {
			t.Errorf("the fallback %q has the fallback %q", want, again)
		}
	}
}

// TestSetsFallback checks that only the fallback of a key counts, even if its value is empty. A key without a fallback
// must not match a configuration with an empty key.
func TestSetsFallback(t *testing.T) {
	own := map[string]string{"": "x", "spark.kubernetes.node.selector.disk": "",
		"spark.kubernetes.executor.scheduler.name": "s"}
	for key, want := range map[string]bool{
		"spark.kubernetes.driver.node.selector.disk": true, "spark.kubernetes.driver.node.selector.zone": false,
		"spark.kubernetes.node.selector.disk": false, "spark.kubernetes.driver.scheduler.name": false,
		"spark.driver.memory": false,
	} {
		if got := SetsFallback(own, key); got != want {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}

	if SetsFallback(nil, "spark.kubernetes.driver.scheduler.name") {
		t.Error("no configuration sets a fallback")
	}
}
