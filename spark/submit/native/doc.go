// Package native builds the Kubernetes objects that Spark's own client (spark-submit) builds for one application in
// cluster mode: the driver pod, its ConfigMaps, its headless Service and the objects of optional features. Build is a
// pure function of a submit.Request; the caller creates the objects. Executor returns the pods that the driver will
// create.
//
// # How it works
//
// Four packages below spark/submit/internal share the work:
//
//   - draft holds the state of one pod. Its checks reject a request before the first step, and its methods add objects,
//     volumes and variables.
//   - steps runs a list of steps over the draft, one step for each of Spark's driver feature steps
//     (org.apache.spark.deploy.k8s.features), in Spark's order and under Spark's names: basic.go is
//     BasicDriverFeatureStep. Spark's VolcanoFeatureStep is included; it runs if
//     spark.kubernetes.driver.pod.featureSteps names it.
//   - executor runs the steps of Spark's executors over the configuration and the template that the driver gets.
//   - line has the differences between Spark lines, one field for each. The declared Spark version selects
//     their values.
//
// Build runs the steps, adds the driver's ConfigMap and applies the overlay. It needs the executor too, because it
// rejects an application whose executors the API server would reject. Tests compare the result with recordings of the
// objects that spark-submit of each line sends (spark/submit/testdata/recordings).
//
// # How to use it
//
// Create Objects.Before in any order, then the result of Objects.DriverObject: the driver pod, including the fields of
// its template that the types of k8s.io/api do not have. Request.Owner owns all objects, so they can exist before the
// pod and are deleted with the owner. The driver creates the executors; Request.ExecutorTemplate and Request.Executor
// take effect through a pod template in a ConfigMap, which the driver reads.
//
// # What is better than spark-submit
//
//   - ConfigMaps, Secrets, claims, the PodGroup and the Service are created before the pod that needs them and are
//     owned by the caller's object. The kubelet never waits for a mount, and a crash between two creations leaves no
//     orphans.
//   - Requests that cannot work are rejected before anything is written. The error names the configuration key and the
//     fix. One example is a size that the driver's JVM would misread: "2048" becomes -Xmx2048, which is bytes, and
//     "2gb" is not a JVM size. Others are a label, name or port that the API server would reject, a claim that nothing
//     creates, and a list too large for a ConfigMap.
//   - Build reads nothing from disk, environment, clock, network or a random source: everything is in the Request. It
//     rejects keys that name a file or a URL of the submitter, because the author of a configuration must not make the
//     caller read files with the caller's rights. The Request has fields for the contents of these files instead
//     (templates, credentials, keytab, krb5.conf, Hadoop's and Spark's configuration files).
//   - Namespace, owner, names and master come from the Request, whatever the configuration says.
//   - Application arguments reach the application unchanged: Kubernetes expands "$(NAME)" in a container's arguments,
//     so Build escapes it.
//   - The driver does not get environment variables for every Service of its namespace (enableServiceLinks is false),
//     and the end of its log becomes its termination message (FallbackToLogsOnError). If the executors have a template,
//     the same applies to them.
//   - NetworkPolicies and claims do not have the label spark-app-selector, because a stopping driver deletes claims and
//     Services with this label.
//   - Spark's own labels cannot be set on the driver's Service either (spark.kubernetes.driver.service.label.*). Spark
//     accepts them there, and the Service would then be deleted when another application stops.
//   - The Spark container is the last container of the driver pod, after sidecars. If the pod has several containers,
//     the annotation kubectl.kubernetes.io/default-container names the Spark container.
//   - Local directories, and files with URIs that need a Hadoop client, are not opened. Spark-submit needs the s3a://
//     client to pass such a URI on; Build does not.
//   - A krb5.conf is mounted as /etc/krb5.conf whatever its file name is. Spark mounts an empty directory if the file
//     has another name.
//   - Messages never show the value of a key that looks like a secret (spark.redaction.regex), and the replacement of
//     references is limited.
//   - Names never exceed their limits, and the same Request gives the same names.
//
// # What Build cannot do
//
// Some requests are rejected by Build, but accepted by the real spark-submit in the application's own image.
// Error.NotNative marks these requests. They need files to upload (spark.kubernetes.file.upload.path), patterns in URIs
// of other file systems, the main class in a jar's manifest, feature steps of other classes, or files of the image that
// a key names. A request with an unknown Spark version is marked too if Request.StrictVersion is set. Build returns
// such an error only if the request has no other fault. Build never creates tokens from a submitter's Kerberos ticket,
// because there is no ticket.
//
// # Compatibility
//
// The package is part of the library that package spark/submit describes, and follows semantic versioning with the
// module.
package native
