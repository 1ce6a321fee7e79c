package connect

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

// MainClass is the server (spark-connect, org.apache.spark.sql.connect.service).
const MainClass = "org.apache.spark.sql.connect.service.SparkConnectServer"

// DefaultMaster is spark.master where a Request has none: the API server as a pod sees it.
const DefaultMaster = submit.DefaultMaster

// RoleServer is the value of the label spark-role of a server's pod.
const RoleServer = "connect-server"

// Keys of the ConfigMap, each mounted as a file of its own into mountDir where it is there.
const (
	// TemplateKey is the template of the executors.
	TemplateKey = "executor-pod-template.yaml"
	// PropertiesKey are those values of the configuration that would not arrive as arguments. It is a key of the Secret instead where one of them, or any
	// other value, looks like a secret.
	PropertiesKey = "spark.properties"
)

const (
	confVolume   = "spark-conf"
	secretVolume = "spark-conf-secret"
	mountDir     = "/tmp/spark"
)

// maxConfigMap is the most that a ConfigMap may hold, in bytes (corev1.MaxSecretSize).
const maxConfigMap = 1 << 20

// Build returns the objects of one server. The error is a *submit.Error that names the configuration key or the field of Request.
//
// The pod is the template's, but for: name, namespace, owner and restart policy (Never: whoever called makes the next server); the command line; the
// image, where the template names none; the label spark-role, spark-version and those of the Request; POD_IP and SPARK_NO_DAEMONIZE. Ports, and what
// of probes, service account, pull policy, pull secrets and resources the template leaves open, is added.
//
// Of the configuration the namespace, the pod's name, the executors' name prefix and template, the labels, master, deploy mode, spark.driver.host,
// spark.driver.bindAddress and spark.kubernetes.executor.useDriverPodIP are Build's to say, and where the user said something else there is a warning.
func Build(r Request) (Objects, error) {
	d, err := newDraft(r)
	if err != nil {
		return Objects{}, err
	}
	executor, err := d.executors()
	if err != nil {
		return Objects{}, err
	}
	server, err := d.server()
	if err != nil {
		return Objects{}, err
	}
	settled, err := d.settled(executor)
	if err != nil {
		return Objects{}, err
	}
	options, properties, secret, err := d.commandLine(settled)
	if err != nil {
		return Objects{}, err
	}
	files := map[string]string{TemplateKey: executor.text}
	out := Objects{}
	if secret {
		out.Secret = d.secret(properties)
	} else {
		files[PropertiesKey] = properties
	}
	maps.DeleteFunc(files, func(_, text string) bool { return text == "" })
	if size := len(executor.text) + len(properties); size > maxConfigMap {
		field := "Conf"
		if len(executor.text) > len(properties) {
			field = "ExecutorTemplate"
		}
		return Objects{}, fieldError(field, "%d bytes are more than a ConfigMap holds (%d); make it smaller", size, maxConfigMap)
	}
	spark := server.container()
	spark.Command, spark.Args = []string{"bash", "-c"}, arguments(options)
	if err := server.mountFiles(out.Secret, ConfigMapName(r.Name), slices.Sorted(maps.Keys(files))); err != nil {
		return Objects{}, err
	}
	extra, err := d.keepExtra(server)
	if err != nil {
		return Objects{}, err
	}
	out.Config, out.Server, out.ServerExtra, out.Warnings = d.config(files), server.Pod, extra, d.warns
	return out, nil
}

// secret makes the Secret with the file of properties. Its name holds a digest of the owner's UID, so that it is neither a user's nor one that a deleted
// server of the same name left: nobody needs to read it to know whose it is.
func (d *draft) secret(properties string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Name: SecretName(d.r.Name, d.r.Owner.UID), Namespace: d.r.Namespace, Labels: merged(d.r.ObjectLabels, d.r.Labels), OwnerReferences: owners(d.r.Owner),
		},
		Data:      map[string][]byte{PropertiesKey: []byte(properties)},
		Immutable: new(true),
	}
}

// config makes the ConfigMap. There is one for every server, as an attempt is known by it.
func (d *draft) config(data map[string]string) *corev1.ConfigMap {
	labels := map[string]string{}
	maps.Copy(labels, d.r.ObjectLabels)
	maps.Copy(labels, d.r.Labels)
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: ConfigMapName(d.r.Name), Namespace: d.r.Namespace, Labels: labels, OwnerReferences: owners(d.r.Owner),
		},
		Data:      data,
		Immutable: new(true),
	}
}

// owners makes an owner the controller.
func owners(owner metav1.OwnerReference) []metav1.OwnerReference {
	if owner.UID == "" {
		return nil
	}
	controller := *owner.DeepCopy()
	controller.Controller = new(true)
	return []metav1.OwnerReference{controller}
}
