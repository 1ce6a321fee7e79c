// Package standalone builds what a standalone Spark cluster is made of on Kubernetes: a StatefulSet and a headless Service for the master and for the
// workers, what both read their configuration from, and, as asked for, NetworkPolicies, the workers' autoscaler and PodDisruptionBudget. It knows no custom
// resource and touches no cluster: Build is a pure function of a Request.
//
// Names, labels, ports and environment are those of the Java operator of the Apache Spark project, so that whoever selects, connects or scrapes by them
// finds the same. Three things are done otherwise:
//
// # Daemons run in the foreground
//
// There, sbin/start-master.sh sends the daemon into the background, and a loop asks every second whether it lives: its log is a file that nobody sees, its
// exit code is lost, and signals end the loop and not Spark. Here bash runs a constant script that reads what those scripts read (sbin/spark-config.sh,
// conf/spark-env.sh) and becomes bin/spark-class with the same class and arguments, below tini where the image has it. The log is the container's, the exit
// code is Spark's, and SIGTERM reaches it. No text of the user's is part of the script.
//
// # The configuration is not in the environment
//
// There, every pair is in the value of SPARK_MASTER_OPTS and SPARK_WORKER_OPTS, secrets with it, where everybody reads them who may read pods. Here
// those variables name files, "@/etc/spark-cluster/conf.options", from which the JVM reads the same options (the java command, "@argfiles"; Java 9 and newer): a
// ConfigMap, and for pairs that look secret (spark.redaction.regex) a Secret. Each value arrives as it was written. --properties-file is not used: it takes
// the place of the image's conf/spark-defaults.conf, loses the blanks at the ends of values, and leaves out what does not begin with "spark.".
//
// # Users' templates
//
// Of the StatefulSets replicas and podManagementPolicy are Build's, of the Services clusterIP, and of everything name and namespace. Command, arguments, environment, ports,
// selectors, search domains and labels are added to. Everything else stays, with fields that k8s.io/api does not know. The image, the scheduler and the grace period
// are the template's where the configuration does not say them; that other operator overwrites them.
//
// Sources: org.apache.spark.deploy.master.Master and MasterArguments, org.apache.spark.deploy.worker.Worker and WorkerArguments, sbin/start-master.sh,
// sbin/start-worker.sh, org.apache.spark.launcher.SparkClassCommandBuilder; the Kubernetes API (apps/v1, autoscaling/v2, networking.k8s.io/v1, policy/v1).
package standalone
