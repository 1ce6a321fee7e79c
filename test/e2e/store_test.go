package e2e

import (
	"fmt"
	"path"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
	"github.com/sparkoperator/spark-operator/test/kit/gobuild"
)

// These are the port of an object store, its program in the pod, and its credentials.
const (
	storePort   = 7070
	storeServer = "/opt/server"
	storeUser   = "tester"
	storeSecret = "secret-of-the-tester"
)

// startStore starts an S3 server with one bucket, in a pod with the given further containers. These share the
// directory /data, and each has one port. The bucket is the directory /data/bucket. The store exists until the cluster
// stops, and its Service leads to it even while its node is lost.
func (w *suite) startStore(t *testing.T, name string, further ...corev1.Container) {
	t.Helper()
	w.startServer(t, name, "s3", "github.com/versity/versitygw/cmd/versitygw",
		"mkdir -p /data/bucket && exec "+storeServer+" --access "+storeUser+" --secret "+storeSecret+" --port :7070 posix /data", further...)
}

// startGoogleStore starts fake-gcs-server with one bucket, in a pod.
func (w *suite) startGoogleStore(t *testing.T, name string) {
	t.Helper()

	address := fmt.Sprintf("%s.default.svc:%d", name, storePort)
	w.startServer(t, name, "gcs", "github.com/fsouza/fake-gcs-server", "mkdir -p /data/bucket && exec "+storeServer+
		" -scheme http -port 7070 -backend memory -data /data -public-host "+address+" -external-url http://"+address)
}

// startServer builds the server of an object store in a module below tools, and starts it by a command in a pod.
func (w *suite) startServer(t *testing.T, name, module, pkg, command string, further ...corev1.Container) {
	t.Helper()
	server := gobuild.Must(t, path.Join("tools", module), pkg)

	containers := append([]corev1.Container{{
		Name: module, Ports: []corev1.ContainerPort{{ContainerPort: storePort}}, Args: []string{"bash", "-c", command},
		VolumeMounts: []corev1.VolumeMount{{Name: "server", MountPath: storeServer, ReadOnly: true}},
	}}, further...)

	var ports []corev1.ServicePort
	for i := range containers {
		c := &containers[i]
		port := c.Ports[0].ContainerPort
		ports = append(ports, corev1.ServicePort{Name: c.Name, Port: port})
		c.Image = cluster.SparkImage
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "data", MountPath: "/data"})
		c.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1,
			ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(port)}}}
	}

	meta := metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": name}}
	w.createAll(t,
		&corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"user": storeUser, "secret": storeSecret}},
		&corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{Containers: containers, Volumes: []corev1.Volume{
			{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "server", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: server,
				Type: new(corev1.HostPathFile)}}},
		}}},
		&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: meta.Labels, Ports: ports,
			PublishNotReadyAddresses: true}})
	w.awaitPod(t, name, "to serve", podReady)
}
