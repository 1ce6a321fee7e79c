// Package standalone builds the Kubernetes objects of a standalone Spark cluster: one StatefulSet and one headless
// Service for the master and one of each for the workers, their configuration, and, if requested, NetworkPolicies and
// the workers' autoscaler and PodDisruptionBudget. It does not depend on custom resources and does not talk to a
// cluster: Build is a pure function of a Request.
//
// Names, labels, ports and environment are those of the Java operator of the Apache Spark project, so that users who
// select, connect or scrape by them need no change. This package differs from the Java operator in three ways:
//
// # Daemons run in the foreground
//
// In the Java operator, sbin/start-master.sh sends the daemon into the background, and a loop checks every second
// whether the daemon runs. The log goes to a file instead of the container's log, the exit code is lost, and signals
// end the loop but not Spark. In this package, bash runs a constant script. The script reads the files that Spark's
// start scripts read (sbin/spark-config.sh, conf/spark-env.sh) and then executes bin/spark-class with the same class
// and arguments, below tini if the image has it. So the log is the container's log, the exit code is Spark's, and
// SIGTERM reaches Spark. The script contains no text of the user.
//
// # The configuration is not in the environment
//
// In the Java operator, the values of SPARK_MASTER_OPTS and SPARK_WORKER_OPTS contain every pair of the configuration,
// including secrets, and everybody who may read pods can read them. In this package, those variables name files,
// "@/etc/spark-cluster/conf.options", from which the JVM reads the same options (the java command, "@argfiles"; Java 9
// and newer). The files are in a ConfigMap and, for pairs that look like secrets (spark.redaction.regex), in a Secret.
// Each value arrives as it was written. The package does not use --properties-file, because that option replaces the
// image's conf/spark-defaults.conf, loses the blanks at the ends of values, and drops keys that do not begin with
// "spark.".
//
// # Users' templates
//
// Build sets replicas and podManagementPolicy of the StatefulSets, clusterIP of the Services, and name and namespace of
// all objects. It adds to command, arguments, environment, ports, selectors, search domains and labels. All other
// fields of a template are kept, including fields that the types of k8s.io/api do not have. The image, the scheduler
// and the grace period are the template's unless the configuration sets them; the Java operator overwrites them.
//
// Sources: org.apache.spark.deploy.master.Master and MasterArguments, org.apache.spark.deploy.worker.Worker and
// WorkerArguments, sbin/start-master.sh, sbin/start-worker.sh, org.apache.spark.launcher.SparkClassCommandBuilder; the
// Kubernetes API (apps/v1, autoscaling/v2, networking.k8s.io/v1, policy/v1).
package standalone
