package connect

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// server is the server's pod while Build builds it.
type server struct {
	podtemplate.Template
	// spark is the index of the Spark container.
	spark int
}

func (s *server) container() *corev1.Container { return &s.Pod.Spec.Containers[s.spark] }

// server builds the server's pod, except for the command line and the files that the command line names.
func (d *draft) server() (*server, error) {
	t, err := podtemplate.Read(d.r.ServerTemplate)
	if err != nil {
		return nil, submit.FieldErrorf("ServerTemplate", "%v", err)
	}

	d.warnDropped("ServerTemplate", t.Dropped)

	wanted, err := d.conf.String("spark.kubernetes.driver.podTemplateContainerName", overlay.DriverContainer)
	if err != nil {
		return nil, submit.AsError(err)
	}

	s := &server{Template: t}

	s.spark = s.FindOrAdd(wanted, overlay.DriverContainer)
	for _, part := range []func(*server) error{d.meta, d.image, d.account, d.process, d.resources} {
		if err := part(s); err != nil {
			return nil, err
		}
	}

	setPodDefaults(s.Pod, s.container())
	return s, nil
}

// meta sets the pod's metadata. Labels and annotations that the configuration sets for a driver are set on the server's
// pod too.
func (d *draft) meta(s *server) error {
	pod := s.Pod
	pod.APIVersion, pod.Kind = "v1", "Pod"
	pod.Name, pod.Namespace, pod.OwnerReferences = ServerName(d.r.Name), d.r.Namespace, submit.Owners(d.r.Owner)

	labels := map[string]string{}
	for key, value := range d.conf.WithPrefix(driverLabelKey) {
		if err := checkLabel(key, value); err != nil {
			return submit.KeyErrorf(driverLabelKey+key, "%v", err)
		}

		labels[key] = value
	}

	own := maps.Clone(d.r.Labels)
	if own == nil {
		own = map[string]string{}
	}

	own[submit.RoleLabel] = RoleServer
	if v := d.r.SparkVersion; v != "" && len(validation.IsValidLabelValue(v)) == 0 {
		own[submit.VersionLabel] = v
	}

	for _, key := range slices.Sorted(maps.Keys(pod.Labels)) {
		if mine, ok := own[key]; ok && mine != pod.Labels[key] {
			d.warns.OfField("ServerTemplate", "metadata.labels: %s has no effect: the operator sets it to %q", conf.Shorten(key), mine)
		}
	}

	pod.Labels = merged(pod.Labels, labels, own)

	const annotationKey = "spark.kubernetes.driver.annotation."

	annotations := map[string]string{}
	for key, value := range d.conf.WithPrefix(annotationKey) {
		if errs := validation.IsQualifiedName(strings.ToLower(key)); len(errs) > 0 {
			return submit.KeyErrorf(annotationKey+key, "%q is not a valid annotation name: %s", conf.Shorten(key), errs[0])
		}

		annotations[key] = value
	}

	pod.Annotations = merged(pod.Annotations, annotations, d.r.Annotations)
	if len(pod.Spec.Containers) > 1 {
		pod.Annotations = merged(map[string]string{submit.DefaultContainerAnnotation: s.container().Name}, pod.Annotations)
	}

	if policy := pod.Spec.RestartPolicy; policy != "" && policy != corev1.RestartPolicyNever {
		d.warns.OfField("ServerTemplate", "spec.restartPolicy: %s has no effect: the operator sets Never, and replaces a server that ends by a new pod", policy)
	}

	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	return nil
}

// merged returns a new map with the entries of all layers; later layers override earlier ones. The result is nil if
// there are no entries.
func merged(layers ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, layer := range layers {
		maps.Copy(out, layer)
	}

	if len(out) == 0 {
		return nil
	}
	return out
}

// image sets the image of the Spark container to the template's image, else the Request's image, else the
// configuration's image. Pull policy and pull secrets come from the configuration if the template does not set them.
func (d *draft) image(s *server) error {
	spark := s.container()
	firstOf := func(keys ...string) (string, error) {
		for _, key := range keys {
			if text, err := d.conf.String(key, ""); err != nil || text != "" {
				return text, submit.AsError(err)
			}
		}
		return "", nil
	}

	configured, err := firstOf(driverImageKey, imageKey)
	if err != nil {
		return err
	}

	if spark.Image = cmp.Or(spark.Image, d.r.Image, configured); spark.Image == "" {
		return submit.Missing(submit.FieldErrorf("Image", "the server needs an image: set one for the server and the executors, or in the server's template"))
	}

	if spark.ImagePullPolicy == "" {
		const key = imageKey + ".pullPolicy"

		policy, err := firstOf(key)
		if err != nil {
			return err
		}

		switch spark.ImagePullPolicy = corev1.PullPolicy(policy); spark.ImagePullPolicy {
		case "", corev1.PullAlways, corev1.PullNever, corev1.PullIfNotPresent:
		default:
			return submit.KeyErrorf(key, "should be Always, Never or IfNotPresent, but is %s", conf.Quote(key, policy))
		}
	}

	if len(s.Pod.Spec.ImagePullSecrets) > 0 {
		return nil
	}

	secrets, err := d.conf.List(imageKey+".pullSecrets", nil)
	for _, name := range secrets {
		s.Pod.Spec.ImagePullSecrets = append(s.Pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	return submit.AsError(err)
}

// account sets the service account that the configuration names for a driver, unless the template names one.
func (d *draft) account(s *server) error {
	spec := &s.Pod.Spec

	account, err := d.conf.String("spark.kubernetes.authenticate.driver.serviceAccountName", "")
	if spec.ServiceAccountName == "" && spec.DeprecatedServiceAccount == "" {
		spec.ServiceAccountName = account
	}
	return submit.AsError(err)
}

// process sets the environment, the ports and the probes of the Spark container.
func (d *draft) process(s *server) error {
	spark := s.container()
	if len(spark.Command)+len(spark.Args) > 0 {
		d.warns.OfField("ServerTemplate", "command and args of container %s have no effect: it runs the Connect server", spark.Name)
	}

	ours := []corev1.EnvVar{
		{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"}}},
		{Name: "SPARK_NO_DAEMONIZE", Value: "true"},
	}

	env := slices.Clone(ours)
	for _, e := range spark.Env {
		if slices.ContainsFunc(ours, func(o corev1.EnvVar) bool { return o.Name == e.Name }) {
			if e.Value != "true" && (e.ValueFrom == nil || e.ValueFrom.FieldRef == nil) {
				d.warns.OfField("ServerTemplate", "env: %s has no effect, the operator sets it", e.Name)
			}
			continue
		}

		env = append(env, e)
	}
	// The operator's variables come first, so that the user's can refer to them.
	spark.Env = env
	addPorts(spark, d.ports)

	if spark.StartupProbe == nil {
		spark.StartupProbe = &corev1.Probe{
			ProbeHandler: probe(d.ports), InitialDelaySeconds: 5, PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 30,
		}
	}

	if spark.ReadinessProbe == nil {
		spark.ReadinessProbe = &corev1.Probe{ProbeHandler: probe(d.ports), PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3}
	}
	return nil
}

// probe returns a probe that checks whether clients can connect.
func probe(ports []port) corev1.ProbeHandler {
	return corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(serverPort(ports))}}
}

// mountFiles mounts the keys of the ConfigMap. If there is a Secret, mountFiles also mounts the Secret's file.
func (s *server) mountFiles(secret *corev1.Secret, configMap string, keys []string) error {
	var items []corev1.KeyToPath
	for _, key := range keys {
		items = append(items, corev1.KeyToPath{Key: key, Path: key})
	}

	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, Items: items}
	if err := s.mount(confVolume, corev1.VolumeSource{ConfigMap: source}, keys); err != nil || secret == nil {
		return err
	}

	hidden := &corev1.SecretVolumeSource{SecretName: secret.Name, Items: []corev1.KeyToPath{{Key: propertiesKey, Path: propertiesKey}}}
	return s.mount(secretVolume, corev1.VolumeSource{Secret: hidden}, []string{propertiesKey})
}

// mount mounts the keys of a volume in mountDir. Each key is mounted as a single file, so that the mount hides no other
// file of that directory. If there are no keys, mount adds no volume.
func (s *server) mount(volume string, source corev1.VolumeSource, keys []string) error {
	if len(keys) == 0 {
		return nil
	}

	spark := s.container()
	if slices.ContainsFunc(s.Pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume }) {
		return submit.FieldErrorf("ServerTemplate", "spec.volumes: the name %q is reserved for the server's configuration; rename the volume", volume)
	}

	for _, key := range keys {
		path := mountDir + "/" + key
		if slices.ContainsFunc(spark.VolumeMounts, func(m corev1.VolumeMount) bool { return strings.TrimRight(m.MountPath, "/") == path }) {
			return submit.FieldErrorf("ServerTemplate", "volumeMounts: %s of container %s is reserved for the server's configuration; mount the volume elsewhere", path, spark.Name)
		}

		spark.VolumeMounts = append(spark.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: path, SubPath: key, ReadOnly: true})
	}

	s.Pod.Spec.Volumes = append(s.Pod.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: source})
	return nil
}

// keepExtra returns the template's fields that the Go types do not have. It adds a warning for each of these fields
// that cannot be merged into the pod.
func (d *draft) keepExtra(s *server) (map[string]any, error) {
	if len(s.Extra) == 0 {
		return nil, nil
	}

	tree, err := podtemplate.Tree(s.Pod)
	if err != nil {
		return nil, submit.FieldErrorf("ServerTemplate", "%v", err)
	}

	podtemplate.Graft(tree, runtime.DeepCopyJSON(s.Extra), func(path string) { d.warns.OfField("ServerTemplate", "%s: has fields that cannot be kept", path) })
	return s.Extra, nil
}
