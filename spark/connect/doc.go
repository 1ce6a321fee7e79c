// Package connect builds what a Spark Connect server is made of on Kubernetes: the pod of the server, which is a driver in client mode, the
// ConfigMap with the template of its executors, and the Service that clients connect to. It knows no custom resource and touches no cluster: Build
// and Service are pure functions of a Request. The executors are made by the server itself, as by every driver.
//
// # The command line
//
// The container runs bash with a constant script, which does the one thing that needs the running pod, the address that executors call back,
// and then becomes spark-submit. Every option is an argument of its own behind it: no text of the user's is ever part of a script. Kubernetes expands
// "$(NAME)" and "$$" in arguments, so those are escaped.
//
// Sources: org.apache.spark.sql.connect.service.SparkConnectServer, sbin/start-connect-server.sh, org.apache.spark.deploy.SparkSubmitArguments,
// org.apache.spark.scheduler.cluster.k8s; the API of Kubernetes (Container.args).
package connect
