// Package connect builds the Kubernetes objects of a Spark Connect server: the server's pod, which is a driver in
// client mode, the ConfigMap with the template of its executors, and the Service for clients. It does not depend on
// custom resources and sends no requests to a cluster: Build and Service are pure functions of a Request. The server
// itself creates the executors, as every driver does.
//
// # The command line
//
// The container runs bash with a constant script. The script determines the pod's address, which is not known before
// the pod runs, and then executes spark-submit. Every option is an argument of its own after the script, so no text of
// the user is part of a script. Kubernetes expands "$(NAME)" and "$$" in arguments, so these are escaped.
//
// Sources: org.apache.spark.sql.connect.service.SparkConnectServer, sbin/start-connect-server.sh,
// org.apache.spark.deploy.SparkSubmitArguments, org.apache.spark.scheduler.cluster.k8s; the API of Kubernetes
// (Container.args).
package connect
