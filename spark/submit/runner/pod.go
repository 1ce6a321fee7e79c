package runner

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/line"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/steps"
)

// buildPod returns the pod that runs spark-submit. The caller must first put the driver's template, with the overlay
// applied, into the draft's pod and Spark container, because buildPod copies settings from them.
func buildPod(d *draft.Draft, files *fileSet) (*corev1.Pod, error) {
	driver, spark := d.Pod, d.Spark

	account, err := accountOf(d, &driver.Spec)
	if err != nil {
		return nil, err
	}

	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: submit.RunnerName(d.Request.ResourceNamePrefix), Namespace: d.Request.Namespace,
			Labels: labelsOf(d), Annotations: annotationsOf(d), OwnerReferences: submit.Owners(d.Request.Owner),
		},
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			ActiveDeadlineSeconds:        new(int64(deadline)),
			ServiceAccountName:           account,
			DeprecatedServiceAccount:     account,
			AutomountServiceAccountToken: driver.Spec.AutomountServiceAccountToken,
			EnableServiceLinks:           driver.Spec.EnableServiceLinks,
			ImagePullSecrets:             driver.Spec.ImagePullSecrets,
			SecurityContext:              podSecurity(driver.Spec.SecurityContext),
			NodeSelector:                 maps.Clone(driver.Spec.NodeSelector),
			Affinity:                     driver.Spec.Affinity,
			Tolerations:                  driver.Spec.Tolerations,
			PriorityClassName:            driver.Spec.PriorityClassName,
			RuntimeClassName:             driver.Spec.RuntimeClassName,
			HostAliases:                  driver.Spec.HostAliases,
			HostNetwork:                  driver.Spec.HostNetwork,
			DNSPolicy:                    driver.Spec.DNSPolicy,
			DNSConfig:                    driver.Spec.DNSConfig,
		},
	}
	d.Pod = pod

	d.Spark = corev1.Container{
		Name:                     submit.RunnerContainer,
		Args:                     commandLine(d),
		Env:                      environmentOf(d, spark.Env, files),
		EnvFrom:                  spark.EnvFrom,
		Resources:                resources(),
		SecurityContext:          containerSecurity(spark.SecurityContext, driver.Spec.SecurityContext),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	for _, part := range []func(*draft.Draft) error{steps.BasicImage, basicNodes, steps.MountSecrets, steps.EnvSecrets} {
		if err := part(d); err != nil {
			return nil, err
		}
	}

	mountFiles(d, driver.Spec.Volumes, spark.VolumeMounts, files)
	pod.Spec.Containers = []corev1.Container{d.Spark}
	return pod, nil
}

// accountOf returns the service account of the runner: the account that the configuration names for the runner,
// else the account that the Request names for the runner, else the driver's account.
func accountOf(d *draft.Draft, driver *corev1.PodSpec) (string, error) {
	account, err := d.Conf.String(submit.RunnerAccountKey, d.Request.RunnerServiceAccount)
	if err != nil || account != "" {
		return account, err
	}
	return d.Conf.String(draft.DriverAccountKey, cmp.Or(driver.ServiceAccountName, driver.DeprecatedServiceAccount))
}

// basicNodes applies the driver's node selectors to the runner. The runner needs these nodes, because users select
// nodes that have the image or that can reach a file system.
func basicNodes(d *draft.Draft) error {
	for _, prefix := range []string{"spark.kubernetes.node.selector.", "spark.kubernetes.driver.node.selector."} {
		for key, value := range d.Conf.WithPrefix(prefix) {
			if d.Pod.Spec.NodeSelector == nil {
				d.Pod.Spec.NodeSelector = map[string]string{}
			}

			d.Pod.Spec.NodeSelector[key] = value
		}
	}
	return nil
}

// labelsOf returns the runner's labels: the labels that the user sets on the driver, and the labels of the Request.
// Some clouds give a pod its identity by the user's labels. The function omits the label spark-app-selector and the
// labels that put the driver into a gang.
func labelsOf(d *draft.Draft) map[string]string {
	labels := maps.Clone(d.Pod.Labels)
	if labels == nil {
		labels = map[string]string{}
	}

	for key, value := range d.Conf.WithPrefix("spark.kubernetes.driver.label.") {
		if !strings.Contains(value, "{{") {
			labels[key] = value
		}
	}

	delete(labels, submit.SelectorLabel)
	maps.Copy(labels, d.Request.Driver.Labels)
	maps.DeleteFunc(labels, func(key, _ string) bool { return isGangKey(key) || slices.Contains(yunikornLabels, key) })

	for _, more := range []map[string]string{d.Request.Labels, {
		submit.VersionLabel: line.Label(d.Request.SparkVersion, d.Line),
		submit.AppNameKey:   submit.AppNameLabel(d.Request.AppName),
		submit.RoleLabel:    submit.RoleSubmitter,
	}} {
		maps.Copy(labels, more)
	}
	return labels
}

// gangPrefixes are the prefixes of labels and annotations by which Volcano, YuniKorn, the coscheduling plugin and Kueue
// put a pod into a gang or a queue. A runner with the driver's labels would wait forever for the rest of its gang,
// because the driver is created only after the runner has run.
var gangPrefixes = []string{
	"scheduling.k8s.io/", "scheduling.volcano.sh/", "volcano.sh/", "yunikorn.apache.org/", "scheduling.x-k8s.io/", "scheduling.sigs.k8s.io/", "kueue.x-k8s.io/",
}

// yunikornLabels are the labels of YuniKorn that begin with none of gangPrefixes.
var yunikornLabels = []string{"queue", "applicationId"}

func isGangKey(key string) bool {
	return slices.ContainsFunc(gangPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// scrapeAnnotations is the prefix of annotations with which Prometheus scrapes a pod. The runner does not get them,
// because only the driver serves the metrics.
const scrapeAnnotations = "prometheus.io/"

// annotationsOf returns the annotations that the user and the overlay set on the driver, except for those of
// Prometheus and of gang schedulers.
func annotationsOf(d *draft.Draft) map[string]string {
	annotations := maps.Clone(d.Pod.Annotations)
	delete(annotations, submit.DefaultContainerAnnotation)

	for key, value := range d.Conf.WithPrefix("spark.kubernetes.driver.annotation.") {
		if annotations == nil {
			annotations = map[string]string{}
		}

		if !strings.Contains(value, "{{") {
			annotations[key] = value
		}
	}

	maps.DeleteFunc(annotations, func(key, _ string) bool { return strings.HasPrefix(key, scrapeAnnotations) || isGangKey(key) })

	if len(annotations) == 0 {
		return nil
	}
	return annotations
}

// environmentOf returns the environment of spark-submit: first the submitter's environment in the Request, then the
// driver's own variables. Spark-submit takes some settings of the driver from its environment. If a name occurs twice,
// Kubernetes uses the last value.
func environmentOf(d *draft.Draft, driver []corev1.EnvVar, files *fileSet) []corev1.EnvVar {
	var env []corev1.EnvVar
	add := func(name, value string) { env = append(env, corev1.EnvVar{Name: name, Value: value}) }

	options := jvmOptions
	if d.Request.Krb5Conf != nil {
		options += " -Djava.security.krb5.conf=" + filesDir + "/krb5.conf"
	}

	add("SPARK_SUBMIT_OPTS", options)
	add("SPARK_USER", userOf(d))

	for _, name := range slices.Sorted(maps.Keys(d.Request.Environment)) {
		add(name, d.Request.Environment[name])
	}

	if dir := files.addAll("conf", d.Request.ConfFiles); dir != "" {
		add("SPARK_CONF_DIR", dir)
	}

	if dir := files.addAll("hadoop", d.Request.HadoopConfFiles); dir != "" {
		add("HADOOP_CONF_DIR", dir)
	}

	env = append(env, driver...)

	for name, value := range d.Conf.WithPrefix("spark.kubernetes.driverEnv.") {
		add(name, value)
	}
	return env
}

// userOf returns the SPARK_USER that native.Build would set on the driver. Spark-submit passes its own SPARK_USER on to
// the driver.
func userOf(d *draft.Draft) string {
	if d.Request.ProxyUser != "" && d.Request.User == "" {
		return d.Request.ProxyUser
	}

	if d.Request.User == "" {
		return "spark"
	}
	return d.Request.User
}

// mountFiles mounts the runner's Secret, an empty directory for temporary files, and the driver's volumes that two
// pods can have at the same time (isSharable). The empty directory is needed because /tmp may be read-only in the
// image. Claims and hostPath volumes are not mounted, because they are for the driver alone.
func mountFiles(d *draft.Draft, volumes []corev1.Volume, mounts []corev1.VolumeMount, files *fileSet) {
	slices.SortFunc(files.items, func(a, b corev1.KeyToPath) int { return strings.Compare(a.Key, b.Key) })
	d.Mount(corev1.Volume{Name: filesVolume, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: d.Pod.Name, Items: files.items},
	}}, corev1.VolumeMount{MountPath: filesDir, ReadOnly: true})

	for _, m := range mounts {
		i := slices.IndexFunc(volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		if i < 0 || !isSharable(&volumes[i]) || mountedAt(d, m.MountPath) {
			continue
		}

		if !slices.ContainsFunc(d.Pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name }) {
			d.Pod.Spec.Volumes = append(d.Pod.Spec.Volumes, volumes[i])
		}

		d.Spark.VolumeMounts = append(d.Spark.VolumeMounts, m)
	}

	if !mountedAt(d, "/tmp") {
		d.Mount(corev1.Volume{Name: tempVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}, corev1.VolumeMount{MountPath: "/tmp"})
	}
}

// mountedAt reports whether a volume is already mounted at a path.
func mountedAt(d *draft.Draft, path string) bool {
	return slices.ContainsFunc(d.Spark.VolumeMounts, func(m corev1.VolumeMount) bool {
		return strings.TrimRight(m.MountPath, "/") == strings.TrimRight(path, "/")
	})
}

// isSharable reports whether the driver and the runner can have the volume at the same time. They can share a volume
// whose content comes from the API server. They can also both declare the same emptyDir volume, because each pod gets
// an empty directory of its own.
func isSharable(v *corev1.Volume) bool {
	return v.Secret != nil || v.ConfigMap != nil || v.Projected != nil || v.DownwardAPI != nil || v.EmptyDir != nil
}

// podSecurity returns the driver's pod security context. If this context has no seccomp profile, or if its
// profile is Unconfined, the result has the container runtime's default profile (RuntimeDefault) instead.
func podSecurity(driver *corev1.PodSecurityContext) *corev1.PodSecurityContext {
	s := driver.DeepCopy()
	if s == nil {
		s = &corev1.PodSecurityContext{}
	}

	if s.WindowsOptions == nil && (s.SeccompProfile == nil || s.SeccompProfile.Type == corev1.SeccompProfileTypeUnconfined) {
		s.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	return s
}

// containerSecurity returns the driver's security context without any privilege, because spark-submit needs none. The
// result keeps the user (runAsUser) and runAsNonRoot of the driver's context: the runner has the driver's image, which
// may not work with another user.
func containerSecurity(driver *corev1.SecurityContext, pod *corev1.PodSecurityContext) *corev1.SecurityContext {
	s := driver.DeepCopy()
	if s == nil {
		s = &corev1.SecurityContext{}
	}

	if pod != nil && pod.WindowsOptions != nil || s.WindowsOptions != nil {
		return s // Windows supports none of the following fields
	}

	s.Privileged, s.ProcMount = nil, nil
	if s.SeccompProfile != nil && s.SeccompProfile.Type == corev1.SeccompProfileTypeUnconfined {
		s.SeccompProfile = nil // the profile of the pod's security context applies
	}

	s.AllowPrivilegeEscalation = new(false)
	s.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
	return s
}
