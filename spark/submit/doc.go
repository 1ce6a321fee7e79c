// Package submit builds what Spark's own Kubernetes client builds for one application in cluster mode: the driver pod, its ConfigMaps,
// its headless Service and the objects of optional features. It knows no custom resource and touches no cluster: Build is a pure function
// of a Request, and whoever creates the objects is the caller.
//
// # How it is made
//
// Build folds a list of steps over a draft, one step for each of Spark's driver feature steps
// (org.apache.spark.deploy.k8s.features), in Spark's order and under Spark's names: step_basic.go is BasicDriverFeatureStep. What differs
// between Spark lines is a row in quirks.go, keyed on the declared Spark version.
//
// # What is better than spark-submit
//
//   - ConfigMaps, Secrets, claims and the Service come before the pod that needs them, owned by the caller's object, so that the
//     kubelet never waits for a mount and nothing is left behind by a crash in between.
//   - What cannot work is refused before anything is written, with the configuration key and the way out: a size that the driver's JVM
//     would not take ("2048" becomes -Xmx2048, which is bytes; "2gb" is no JVM size), a label that the API server would refuse, a list too
//     large for a ConfigMap.
//   - Nothing is read from disk, environment, clock, network or a random source. A key that names a file or a URL of the submitter is
//     refused: whoever writes the configuration must not make the caller read with the caller's rights.
//   - Namespace, owner, names and master are the Request's, whatever the configuration says.
//   - Application arguments reach the application as they are: Kubernetes expands "$(NAME)" in a container's arguments, Build escapes it.
//   - The driver sees no environment variables for every Service of its namespace (enableServiceLinks is false), and the end of its
//     log becomes its termination message (FallbackToLogsOnError).
//   - No NetworkPolicy or claim carries the label spark-app-selector, by which a driver deletes claims and Services when it stops.
//   - Spark's own labels cannot be set on the driver's Service either (spark.kubernetes.driver.service.label.*). Spark takes the user's
//     there, and the Service would go when another application stops. This is stricter than Spark.
//   - The Spark container is the last of the driver pod, behind sidecars too, and where there are several the pod says which it is by the
//     annotation kubectl.kubernetes.io/default-container.
//   - Messages never show the value of a key that looks like a secret (spark.redaction.regex), and references are replaced up to a limit.
//   - Names never exceed their limits, and the same Request gives the same names.
//
// # Versions
//
// Request.SparkVersion is declared, never guessed. A version newer than the table, or one that cannot be read, is built as the newest known
// line and an older one as the oldest line, each with a warning; Request.StrictVersion refuses them instead.
package submit
