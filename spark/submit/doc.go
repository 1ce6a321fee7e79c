// Package submit describes one submission of a Spark application to Kubernetes in cluster mode. A caller asks for it by
// a Request and gets Objects to create, or an Error. The package also has the names, the labels and the versions of
// Spark on which both sides must agree. It does not depend on custom resources and does not talk to a cluster.
//
// Four packages use these types:
//
//   - spark/cmdline parses a spark-submit command line into a Request.
//   - spark/submit/native builds the objects of a Request, as Spark's own client would, without a JVM. It also builds
//     the executor pods that the driver will request.
//   - spark/submit/runner builds a pod that runs the real spark-submit, for applications that cannot be submitted
//     without a JVM (Error.NotNative).
//   - spark/connect uses them for the server of Spark Connect, which is a driver.
//
// # Versions of Spark
//
// Request.SparkVersion is declared, never guessed. SupportedVersions returns the supported lines. A version that is
// newer than all supported lines, or that cannot be parsed, is treated as the newest line. An older version is treated
// as the oldest line. The result then has a warning; if Request.StrictVersion is set, the request is rejected instead.
// Spark 3.3 and 3.4 accept the objects of the line 3.5, because they ignore the additions.
//
// # Compatibility
//
// The packages spark/conf, spark/overlay, spark/podtemplate, spark/cmdline, and spark/submit with native and runner are
// a library. They follow semantic versioning with the module (https://semver.org). Within a major version, exported
// names keep their meaning. Structs may get new fields whose zero value keeps the old behaviour, so name the fields of
// a literal. Error's Key, Field and NotNative are part of the contract; its Message and the warnings are text for
// people. The objects that native.Build returns may change as Spark changes. A minor version may add a Spark line, fix
// a difference from spark-submit or reject a request that could never work; the release notes list each change. For one
// version of this module the same Request always gives the same objects. Before version 1.0.0 a minor version may also
// change names. The packages need k8s.io/api, k8s.io/apimachinery, and their dependencies.
package submit
