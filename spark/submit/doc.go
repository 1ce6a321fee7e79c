// Package submit builds what Spark's own Kubernetes client builds for one application in cluster mode: the driver pod, its ConfigMaps, its
// headless Service and the objects of optional features. It knows no custom resource and touches no cluster: Build is a pure function of a
// Request, and whoever creates the objects is the caller. Package spark/cmdline makes a Request of spark-submit's command line; BuildRunner makes
// a pod that submits by the real spark-submit, for what needs a JVM.
//
// # How it is made
//
// Build folds a list of steps over a draft, one step for each of Spark's driver feature steps (org.apache.spark.deploy.k8s.features), in
// Spark's order and under Spark's names: step_basic.go is BasicDriverFeatureStep. Spark's VolcanoFeatureStep is there too, where
// spark.kubernetes.driver.pod.featureSteps names it. What differs between Spark lines is a row in quirks.go, keyed on the declared Spark
// version. The result is held against recordings of what spark-submit of each line sends (testdata/recordings).
//
// # How it is used
//
// Create Objects.Before in their order, then what Objects.DriverObject returns: the driver pod, with the fields of its template that
// k8s.io/api does not know. All are owned by Request.Owner, so that they can exist before the pod and go with the owner. Executors are made by
// the driver; Request.ExecutorTemplate and Request.Executor reach them by a pod template in a ConfigMap.
//
// # What is better than spark-submit
//
//   - ConfigMaps, Secrets, claims, the PodGroup and the Service come before the pod that needs them, owned by the caller's object, so that the
//     kubelet never waits for a mount and nothing is left behind by a crash in between.
//   - What cannot work is refused before anything is written, with the configuration key and the way out: a size that the driver's JVM would
//     not take ("2048" becomes -Xmx2048, which is bytes; "2gb" is no JVM size), a label, name or port that the API server would refuse, a claim
//     that nothing makes, a list too large for a ConfigMap.
//   - Nothing is read from disk, environment, clock, network or a random source: it is all in the Request. A key that names a file or a URL of
//     the submitter is refused: whoever writes the configuration must not make the caller read with the caller's rights. The contents go into
//     the Request instead (templates, credentials, keytab, krb5.conf, Hadoop's and Spark's configuration files).
//   - Namespace, owner, names and master are the Request's, whatever the configuration says.
//   - Application arguments reach the application as they are: Kubernetes expands "$(NAME)" in a container's arguments, Build escapes it.
//   - The driver sees no environment variables for every Service of its namespace (enableServiceLinks is false), and the end of its
//     log becomes its termination message (FallbackToLogsOnError). Executors get the same where there is a template for them.
//   - No NetworkPolicy or claim carries the label spark-app-selector, by which a driver deletes claims and Services when it stops.
//   - Spark's own labels cannot be set on the driver's Service either (spark.kubernetes.driver.service.label.*). Spark takes the user's
//     there, and the Service would go when another application stops. This is stricter than Spark.
//   - The Spark container is the last of the driver pod, behind sidecars too, and where there are several the pod says which it is by the
//     annotation kubectl.kubernetes.io/default-container.
//   - Local directories, and files of URIs that need a Hadoop client, are asked for only where they are used: spark-submit needs the client of
//     s3a:// to pass such a URI on, Build does not.
//   - A krb5.conf is mounted as /etc/krb5.conf whatever its file is called; Spark mounts an empty directory where it is called otherwise.
//   - Messages never show the value of a key that looks like a secret (spark.redaction.regex), and references are replaced up to a limit.
//   - Names never exceed their limits, and the same Request gives the same names.
//
// # What Build cannot do
//
// Error.NotNative tells the refusals that the real spark-submit, run in the application's own image, would not give: files to upload
// (spark.kubernetes.file.upload.path), patterns in URIs of other file systems, the main class in a jar's manifest, feature steps of other
// classes, files of the image that a key names, and with Request.StrictVersion a Spark version that is not known. Such a refusal comes only when
// nothing else about the request is wrong. Tokens of a submitter's Kerberos ticket are never made: there is no ticket.
//
// # Versions of Spark
//
// Request.SparkVersion is declared, never guessed. The lines are those of SupportedVersions. A version newer than the table, or one that cannot
// be read, is built as the newest known line and an older one as the oldest line, each with a warning; Request.StrictVersion refuses them
// instead. Spark 3.3 and 3.4 take what the line 3.5 gives them: what it adds they do not look at.
//
// # Stability
//
// The packages spark/conf, spark/overlay, spark/submit and spark/cmdline follow semantic versioning with the module (https://semver.org). Within a major
// version their exported names stay, with their meaning; structs may get fields, whose zero value means what was before, so name the fields of a
// literal; Error's Key, Field and NotNative are part of it, its Message and the warnings are words for people. What Build returns is not frozen:
// it follows Spark, and a minor version may add a line of Spark, mend a difference from spark-submit or refuse what could never work; the release
// notes tell each. For one version of this module the same Request always gives the same objects. Before version 1.0.0 a minor version may
// change names, too. The packages need k8s.io/api, k8s.io/apimachinery, and what these need.
package submit
