package submit

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runnerPod makes the pod that runs spark-submit. The draft's pod and Spark container are the driver's template with the overlay on it.
func (d *draft) runnerPod(files *runnerFiles) (*corev1.Pod, error) {
	driver, spark := d.pod, d.spark
	account, err := d.runnerAccount(&driver.Spec)
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: RunnerName(d.r.ResourceNamePrefix), Namespace: d.r.Namespace,
			Labels: d.runnerLabels(), Annotations: d.runnerAnnotations(), OwnerReferences: d.owners(),
		},
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			ActiveDeadlineSeconds:        new(int64(RunnerDeadline)),
			ServiceAccountName:           account,
			DeprecatedServiceAccount:     account,
			AutomountServiceAccountToken: driver.Spec.AutomountServiceAccountToken,
			EnableServiceLinks:           driver.Spec.EnableServiceLinks,
			ImagePullSecrets:             driver.Spec.ImagePullSecrets,
			SecurityContext:              runnerPodSecurity(driver.Spec.SecurityContext),
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
	d.pod = pod
	d.spark = corev1.Container{
		Name:                     RunnerContainer,
		Args:                     d.runnerArgs(),
		Env:                      d.runnerEnv(spark.Env, files),
		EnvFrom:                  spark.EnvFrom,
		Resources:                runnerResources(),
		SecurityContext:          runnerSecurity(spark.SecurityContext, driver.Spec.SecurityContext),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	for _, part := range []func(*draft) error{basicImage, basicNodes, mountSecretsStep, envSecretsStep} {
		if err := part(d); err != nil {
			return nil, err
		}
	}
	d.runnerVolumes(driver.Spec.Volumes, spark.VolumeMounts, files)
	pod.Spec.Containers = []corev1.Container{d.spark}
	return pod, nil
}

// runnerAccount is the service account of the runner: what the configuration names for it, else the Request's, else the driver's.
func (d *draft) runnerAccount(driver *corev1.PodSpec) (string, error) {
	account, err := d.conf.String(RunnerAccountKey, d.r.RunnerServiceAccount)
	if err != nil || account != "" {
		return account, err
	}
	return d.conf.String(driverAccountKey, cmp.Or(driver.ServiceAccountName, driver.DeprecatedServiceAccount))
}

// basicNodes selects the driver's nodes, for the same reasons: who sets them has the image, or the way to a file system, there.
func basicNodes(d *draft) error {
	for _, prefix := range []string{"spark.kubernetes.node.selector.", "spark.kubernetes.driver.node.selector."} {
		for key, value := range d.conf.WithPrefix(prefix) {
			if d.pod.Spec.NodeSelector == nil {
				d.pod.Spec.NodeSelector = map[string]string{}
			}
			d.pod.Spec.NodeSelector[key] = value
		}
	}
	return nil
}

// runnerLabels are the user's for the driver, by which clouds give a pod its identity, and the Request's; never Spark's selector, nor what makes the
// driver one of a gang.
func (d *draft) runnerLabels() map[string]string {
	labels := maps.Clone(d.pod.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	for key, value := range d.conf.WithPrefix("spark.kubernetes.driver.label.") {
		if !strings.Contains(value, "{{") {
			labels[key] = value
		}
	}
	delete(labels, SelectorLabel)
	maps.Copy(labels, d.r.Driver.Labels)
	maps.DeleteFunc(labels, func(key, _ string) bool { return ofGang(key) || slices.Contains(yunikornLabels, key) })
	for _, more := range []map[string]string{d.r.Labels, {
		VersionLabel: versionLabel(d.r.SparkVersion, d.q),
		AppNameKey:   AppNameLabel(d.r.AppName),
		RoleLabel:    RoleSubmitter,
	}} {
		maps.Copy(labels, more)
	}
	return labels
}

// gangPrefixes begin the labels and annotations by which Volcano, YuniKorn, the coscheduling plugin and Kueue put a pod into a gang or a queue. A
// runner with the driver's would be held back until the gang is whole, which it never is: the driver comes after the runner.
var gangPrefixes = []string{
	"scheduling.k8s.io/", "scheduling.volcano.sh/", "volcano.sh/", "yunikorn.apache.org/", "scheduling.x-k8s.io/", "scheduling.sigs.k8s.io/", "kueue.x-k8s.io/",
}

// yunikornLabels are those of YuniKorn that have no prefix.
var yunikornLabels = []string{"queue", "applicationId"}

func ofGang(key string) bool {
	return slices.ContainsFunc(gangPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// scrapeAnnotations begin those by which Prometheus is told to look at a pod; what it would look for, the driver serves.
const scrapeAnnotations = "prometheus.io/"

// runnerAnnotations are the user's for the driver, and those of the overlay, but for those that lead Prometheus to the driver or make it one of a gang.
func (d *draft) runnerAnnotations() map[string]string {
	annotations := maps.Clone(d.pod.Annotations)
	delete(annotations, DefaultContainerAnnotation)
	for key, value := range d.conf.WithPrefix("spark.kubernetes.driver.annotation.") {
		if annotations == nil {
			annotations = map[string]string{}
		}
		if !strings.Contains(value, "{{") {
			annotations[key] = value
		}
	}
	maps.DeleteFunc(annotations, func(key, _ string) bool { return strings.HasPrefix(key, scrapeAnnotations) || ofGang(key) })
	if len(annotations) == 0 {
		return nil
	}
	return annotations
}

// runnerEnv is the environment of spark-submit, which takes some of the driver's from it: what the Request says of the submitter's, then the
// driver's own. Of a name that comes twice Kubernetes takes the last.
func (d *draft) runnerEnv(driver []corev1.EnvVar, files *runnerFiles) []corev1.EnvVar {
	var env []corev1.EnvVar
	add := func(name, value string) { env = append(env, corev1.EnvVar{Name: name, Value: value}) }
	options := runnerOptions
	if d.r.Krb5Conf != nil {
		options += " -Djava.security.krb5.conf=" + runnerDir + "/krb5.conf"
	}
	add("SPARK_SUBMIT_OPTS", options)
	add("SPARK_USER", d.runnerUser())
	for _, name := range slices.Sorted(maps.Keys(d.r.Environment)) {
		add(name, d.r.Environment[name])
	}
	if dir := files.addAll("conf", d.r.ConfFiles); dir != "" {
		add("SPARK_CONF_DIR", dir)
	}
	if dir := files.addAll("hadoop", d.r.HadoopConfFiles); dir != "" {
		add("HADOOP_CONF_DIR", dir)
	}
	env = append(env, driver...)
	for name, value := range d.conf.WithPrefix("spark.kubernetes.driverEnv.") {
		add(name, value)
	}
	return env
}

// runnerUser is what Build makes SPARK_USER; spark-submit passes its own on to the driver.
func (d *draft) runnerUser() string {
	if d.r.ProxyUser != "" && d.r.User == "" {
		return d.r.ProxyUser
	}
	if d.r.User == "" {
		return "spark"
	}
	return d.r.User
}

// runnerVolumes mounts the Secret, a directory for temporary files (the image's may be read-only), and of the driver's volumes those that only
// bring something along: a claim, or a directory of a node, is the driver's alone.
func (d *draft) runnerVolumes(volumes []corev1.Volume, mounts []corev1.VolumeMount, files *runnerFiles) {
	slices.SortFunc(files.items, func(a, b corev1.KeyToPath) int { return strings.Compare(a.Key, b.Key) })
	d.mount(corev1.Volume{Name: runnerVolume, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: d.pod.Name, Items: files.items},
	}}, corev1.VolumeMount{MountPath: runnerDir, ReadOnly: true})
	for _, m := range mounts {
		i := slices.IndexFunc(volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		if i < 0 || !bringsAlong(&volumes[i]) || d.mountedAt(m.MountPath) {
			continue
		}
		if !slices.ContainsFunc(d.pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name }) {
			d.pod.Spec.Volumes = append(d.pod.Spec.Volumes, volumes[i])
		}
		d.spark.VolumeMounts = append(d.spark.VolumeMounts, m)
	}
	if !d.mountedAt("/tmp") {
		d.mount(corev1.Volume{Name: tempVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}, corev1.VolumeMount{MountPath: "/tmp"})
	}
}

// mountedAt tells whether something is mounted at a path already.
func (d *draft) mountedAt(path string) bool {
	return slices.ContainsFunc(d.spark.VolumeMounts, func(m corev1.VolumeMount) bool {
		return strings.TrimRight(m.MountPath, "/") == strings.TrimRight(path, "/")
	})
}

// bringsAlong tells whether a volume has content of its own that two pods can have at once, or none.
func bringsAlong(v *corev1.Volume) bool {
	return v.Secret != nil || v.ConfigMap != nil || v.Projected != nil || v.DownwardAPI != nil || v.EmptyDir != nil
}

// runnerPodSecurity is the driver's pod security context, with the default seccomp profile where that has none.
func runnerPodSecurity(driver *corev1.PodSecurityContext) *corev1.PodSecurityContext {
	s := driver.DeepCopy()
	if s == nil {
		s = &corev1.PodSecurityContext{}
	}
	if s.WindowsOptions == nil && (s.SeccompProfile == nil || s.SeccompProfile.Type == corev1.SeccompProfileTypeUnconfined) {
		s.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	return s
}

// runnerSecurity keeps of the driver's security context who runs, and takes every privilege away: spark-submit needs none. Whether root may run
// is left to the driver, whose image it is.
func runnerSecurity(driver *corev1.SecurityContext, pod *corev1.PodSecurityContext) *corev1.SecurityContext {
	s := driver.DeepCopy()
	if s == nil {
		s = &corev1.SecurityContext{}
	}
	if pod != nil && pod.WindowsOptions != nil || s.WindowsOptions != nil {
		return s // Windows knows none of the following
	}
	s.Privileged, s.ProcMount = nil, nil
	if s.SeccompProfile != nil && s.SeccompProfile.Type == corev1.SeccompProfileTypeUnconfined {
		s.SeccompProfile = nil // the pod's counts
	}
	s.AllowPrivilegeEscalation = new(false)
	s.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
	return s
}
