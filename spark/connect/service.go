package connect

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The ports of a server's Service, by name. The pod's are those of its configuration, by default the same.
const (
	DriverPort       = 7078
	BlockManagerPort = 7079
	UIPort           = 4040
	ServerPort       = 15002

	DriverPortName       = "driver-rpc"
	BlockManagerPortName = "blockmanager"
	UIPortName           = "web-ui"
	ServerPortName       = "spark-connect-server"
)

// ServiceName is the name of a server's Service: base's, else ServerName.
func ServiceName(name string, base *corev1.Service) string {
	if base != nil && base.Name != "" {
		return base.Name
	}
	return ServerName(name)
}

// Service returns the Service that reaches the server, built on base, which may be nil. The error is a *submit.Error.
func Service(r Request, base *corev1.Service) (*corev1.Service, error) {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: ServiceName(r.Name, base), Namespace: r.Namespace}}, nil
}
