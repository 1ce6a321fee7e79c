package connect

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MainClass is the server (spark-connect, org.apache.spark.sql.connect.service).
const MainClass = "org.apache.spark.sql.connect.service.SparkConnectServer"

// DefaultMaster is spark.master where a Request has none: the API server as a pod sees it.
const DefaultMaster = "k8s://https://kubernetes.default.svc"

// RoleServer is the value of the label spark-role of a server's pod.
const RoleServer = "connect-server"

// Build returns the objects of one server. The error is a *submit.Error that names the configuration key or the field of Request.
func Build(r Request) (Objects, error) {
	return Objects{
		Config: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: ConfigMapName(r.Name), Namespace: r.Namespace}},
		Server: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: ServerName(r.Name), Namespace: r.Namespace}},
	}, nil
}
