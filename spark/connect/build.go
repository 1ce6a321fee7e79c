package connect

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// mainClass is the main class of a Connect server (spark-connect, org.apache.spark.sql.connect.service).
const mainClass = "org.apache.spark.sql.connect.service.SparkConnectServer"

// RoleServer is the value of the label spark-role of a server's pod.
const RoleServer = "connect-server"

// The keys under which the server's files are stored in its ConfigMap or its Secret. Each key that exists is mounted as
// a file in mountDir.
const (
	// templateKey is the key of the executors' pod template.
	templateKey = "executor-pod-template.yaml"
	// propertiesKey is the key of the properties file, which contains the values of the configuration that Spark would
	// not receive unchanged as arguments. If any value looks like a secret, the file is in the Secret instead of the
	// ConfigMap.
	propertiesKey = "spark.properties"
)

const (
	confVolume   = "spark-conf"
	secretVolume = "spark-conf-secret"
	mountDir     = "/tmp/spark"
)

// maxConfigMap is the maximum size of a ConfigMap in bytes (corev1.MaxSecretSize).
const maxConfigMap = 1 << 20

// Build returns the objects of one Connect server. The error is a *submit.Error that names the configuration key or the
// field of Request.
//
// The pod is the Request's template with these changes:
//   - Build sets the name, the namespace, the owner, the restart policy (Never, because the caller creates the next
//     server), the command line, the labels spark-role and spark-version, the labels of the Request, and the
//     environment variables POD_IP and SPARK_NO_DAEMONIZE.
//   - Build sets the image if the template names none.
//   - Build adds ports. It also adds probes, the service account, the pull policy, pull secrets and resources if the
//     template does not set them.
//
// Build sets these keys of the configuration and warns if the user set another value: the namespace, the pod's name,
// the executors' name prefix and template, the labels, master, deploy mode, spark.driver.host, spark.driver.bindAddress
// and spark.kubernetes.executor.useDriverPodIP.
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

	settings, err := d.serverConf(executor)
	if err != nil {
		return Objects{}, err
	}

	options, properties, secret, err := d.commandLine(settings)
	if err != nil {
		return Objects{}, err
	}

	files := map[string]string{templateKey: executor.text}

	out := Objects{}
	if secret {
		out.Secret = d.secret(properties)
	} else {
		files[propertiesKey] = properties
	}

	maps.DeleteFunc(files, func(_, text string) bool { return text == "" })

	if size := len(executor.text) + len(properties); size > maxConfigMap {
		field := "Conf"
		if len(executor.text) > len(properties) {
			field = "ExecutorTemplate"
		}
		return Objects{}, submit.FieldErrorf(field, "%d bytes are more than a ConfigMap holds (%d); make the configuration or the template smaller", size, maxConfigMap)
	}

	spark := server.container()
	spark.Command, spark.Args = []string{"bash", "-c"}, arguments(options)

	if err := server.mountFiles(out.Secret, configMapName(r.Name), slices.Sorted(maps.Keys(files))); err != nil {
		return Objects{}, err
	}

	extra, err := d.keepExtra(server)
	if err != nil {
		return Objects{}, err
	}

	if err := checkVolumes(r, server.Pod, executor.pod); err != nil {
		return Objects{}, err
	}

	out.Container = spark.Name
	out.Config, out.Server, out.ServerExtra, out.Warnings = d.config(files), server.Pod, extra, d.warns
	return out, nil
}

// checkVolumes rejects a mount of a volume that the pod does not have. Spark adds volumes to those of the
// executors' template, so a whole executor is built if the template's volumes depend on that.
func checkVolumes(r Request, server, executor *corev1.Pod) error {
	if unknown := podtemplate.FindUnknownMount(&server.Spec); unknown != nil {
		return submit.FieldErrorf("ServerTemplate", "%s: %s", unknown.Place, unknown.Message())
	}

	if executor == nil || !podtemplate.NeedsSparkVolumes(&executor.Spec) {
		return nil
	}

	_, err := Executor(r, 1, "")
	return err
}

// secret returns the Secret with the properties file. The name of the Secret contains a digest of the owner's UID. A
// user's Secret, or an orphan of a deleted server with the same name, therefore has another name, and the caller need
// not read a Secret to find out who owns it.
func (d *draft) secret(properties string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Name: secretName(d.r.Name, d.r.Owner.UID), Namespace: d.r.Namespace, Labels: merged(d.r.ObjectLabels, d.r.Labels), OwnerReferences: submit.Owners(d.r.Owner),
		},
		Data:      map[string][]byte{propertiesKey: []byte(properties)},
		Immutable: new(true),
	}
}

// config returns the ConfigMap. Every server has one, because the ConfigMap identifies an attempt.
func (d *draft) config(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: configMapName(d.r.Name), Namespace: d.r.Namespace, Labels: merged(d.r.ObjectLabels, d.r.Labels), OwnerReferences: submit.Owners(d.r.Owner),
		},
		Data:      data,
		Immutable: new(true),
	}
}
