package standalone

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// member is what is made of a role's template.
type member struct {
	role, field string
	spec        *appsv1.StatefulSetSpec
	extra       map[string]any
	// spark is the place of the daemon's container.
	spark int
}

func (m *member) container() *corev1.Container { return &m.spec.Template.Spec.Containers[m.spark] }

// master makes the master's StatefulSet. It has no governing Service, as the Java operator's, since that cannot be changed once it is there.
func (d *draft) master(o *Objects) error {
	m, err := d.member(RoleMaster, fieldMasterSet, d.r.Master)
	if err != nil {
		return err
	}
	m.spec.Replicas = new(int32(1))
	if err := d.daemon(m); err != nil {
		return err
	}
	d.recovery(m)
	o.Master = d.statefulSet(m, d.r.Master.StatefulSetMeta)
	o.keep(o.Master, m.extra)
	return nil
}

// workers makes the workers' StatefulSet.
func (d *draft) workers(o *Objects) error {
	m, err := d.member(RoleWorker, fieldWorkerSet, d.r.Workers)
	if err != nil {
		return err
	}
	m.spec.Replicas = new(d.atFirst())
	m.spec.ServiceName = ServiceName(d.r.Name, RoleWorker)
	if err := d.daemon(m); err != nil {
		return err
	}
	d.searchDomain(m)
	o.Workers = d.statefulSet(m, d.r.Workers.StatefulSetMeta)
	o.keep(o.Workers, m.extra)
	return nil
}

// member reads a template and lays over it what master and workers have in common.
func (d *draft) member(role, field string, said Member) (*member, error) {
	spec, extra, err := podtemplate.As[appsv1.StatefulSetSpec](said.StatefulSet)
	if err != nil {
		return nil, fieldError(field, "%v", err)
	}
	m := &member{role: role, field: field, spec: spec, extra: extra}
	m.find()
	spec.PodManagementPolicy = appsv1.ParallelPodManagement
	if err := d.templateMeta(m); err != nil {
		return nil, err
	}
	if err := d.setSelector(m); err != nil {
		return nil, err
	}
	if err := d.pod(m); err != nil {
		return nil, err
	}
	return m, d.mount(m)
}

// find finds the daemon's container: the one of the role's name, else one without a name, else a new one before all others, which are not it.
func (m *member) find() {
	spec := &m.spec.Template.Spec
	at := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == m.role })
	if at < 0 {
		at = slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == "" })
	}
	if at < 0 {
		at = 0
		spec.Containers = slices.Insert(spec.Containers, 0, corev1.Container{Name: m.role})
	}
	m.spark = at
	if spec.Containers[at].Name == "" {
		spec.Containers[at].Name = m.role
		nameExtra(m.extra, at, m.role)
	}
}

// nameExtra gives the fields of a container that no type knows the name by which they are put back.
func nameExtra(extra map[string]any, at int, name string) {
	template, _ := extra["template"].(map[string]any)
	spec, _ := template["spec"].(map[string]any)
	if containers, _ := spec["containers"].([]any); at < len(containers) {
		if fields, ok := containers[at].(map[string]any); ok {
			fields["name"] = name
		}
	}
}

// templateMeta puts the labels of the cluster on the pods.
func (d *draft) templateMeta(m *member) error {
	meta := &m.spec.Template.ObjectMeta
	field := m.field + ".template.metadata"
	if err := checkLabels(field+".labels", meta.Labels); err != nil {
		return err
	}
	if err := d.checkReserved(field, meta.Labels, meta.Annotations); err != nil {
		return err
	}
	own := maps.Clone(d.r.Labels)
	if own == nil {
		own = map[string]string{}
	}
	maps.Copy(own, d.podLabels(m.role))
	for _, key := range slices.Sorted(maps.Keys(meta.Labels)) {
		if mine, ok := own[key]; ok && mine != meta.Labels[key] {
			d.warns.OfField(field, "label %s is not the template's to say, it is %q", key, mine)
		}
	}
	if meta.Labels == nil {
		meta.Labels = map[string]string{}
	}
	maps.Copy(meta.Labels, own)
	return nil
}

// setSelector adds the role to the template's selector. The name of the cluster is not in it, as it is not in the Java operator's: a selector cannot be
// changed, and a StatefulSet that was made there can be kept. Pods of another cluster are safe, since a StatefulSet takes only pods that have its own
// name before their number, and none that have an owner. An autoscaler knows no such rule: it measures all pods that the selector selects, and none where
// another autoscaler's selects them, too. So for one the name is added, whatever that costs.
func (d *draft) setSelector(m *member) error {
	selector := m.spec.Selector.DeepCopy()
	if selector == nil {
		selector = &metav1.LabelSelector{}
	}
	if selector.MatchLabels == nil {
		selector.MatchLabels = map[string]string{}
	}
	selector.MatchLabels[LabelRole] = m.role
	if m.role == RoleWorker && d.r.Autoscaled() {
		selector.MatchLabels[LabelClusterName] = d.r.Name
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return fieldError(m.field+".selector", "%v", err)
	}
	if !parsed.Matches(labels.Set(m.spec.Template.Labels)) {
		return fieldError(m.field+".selector", "%s does not select the pods, which have other labels; give them those in template.metadata.labels, or leave the selector out", parsed)
	}
	m.spec.Selector = selector
	return nil
}

// pod says what the configuration says about the pods, and what is wanted of all where the template is silent.
func (d *draft) pod(m *member) error {
	spec, spark := &m.spec.Template.Spec, m.container()
	scheduler, _ := d.conf.Get(schedulerKey)
	if scheduler != "" && spec.SchedulerName != "" && spec.SchedulerName != scheduler {
		d.warns.OfField(m.field, "template.spec.schedulerName has no effect: %s is %q", schedulerKey, scheduler)
	}
	spec.SchedulerName = cmp.Or(scheduler, spec.SchedulerName, corev1.DefaultSchedulerName)
	if spec.TerminationGracePeriodSeconds == nil {
		// A daemon has nothing to save: Spark takes lost masters and workers as they come, and the next pod is there sooner.
		spec.TerminationGracePeriodSeconds = new(int64(0))
	}
	image, _ := d.conf.Get(imageKey)
	if image != "" && spark.Image != "" && spark.Image != image {
		d.warns.OfField(m.field, "image of container %s has no effect: %s says another", spark.Name, imageKey)
	}
	if spark.Image = cmp.Or(image, spark.Image); spark.Image == "" {
		if d.r.SparkVersion == "" {
			return fieldError("SparkVersion", "is empty, and neither %s nor the template names an image; say the version of Spark, such as 4.1.1", imageKey)
		}
		spark.Image = "apache/spark:" + d.r.SparkVersion // the Apache Spark project's
	}
	if spec.EnableServiceLinks == nil {
		spec.EnableServiceLinks = new(false) // variables of the namespace's Services, some of which Spark's scripts would read
	}
	if spark.TerminationMessagePolicy == "" {
		spark.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}
	dropPrivileges(spark)
	return nil
}

// dropPrivileges keeps a daemon from gaining privileges, unless its template says otherwise. A privileged container cannot be without: Kubernetes refuses the pod.
func dropPrivileges(c *corev1.Container) {
	if c.SecurityContext == nil {
		c.SecurityContext = &corev1.SecurityContext{}
	}
	s := c.SecurityContext
	privileged := s.Privileged != nil && *s.Privileged || s.Capabilities != nil && slices.Contains(s.Capabilities.Add, "CAP_SYS_ADMIN")
	if s.AllowPrivilegeEscalation == nil && !privileged {
		s.AllowPrivilegeEscalation = new(false)
	}
}

// mount puts the files of options where the daemon reads them.
func (d *draft) mount(m *member) error {
	spec, spark := &m.spec.Template.Spec, m.container()
	if slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == confVolume }) ||
		slices.ContainsFunc(m.spec.VolumeClaimTemplates, func(c corev1.PersistentVolumeClaim) bool { return c.Name == confVolume }) {
		return fieldError(m.field+".template.spec.volumes", "the name %q is taken by the cluster's configuration; give the volume another", confVolume)
	}
	for _, v := range spark.VolumeMounts {
		if path := strings.TrimRight(v.MountPath, "/"); path == mountDir || strings.HasPrefix(path, mountDir+"/") {
			return fieldError(m.field+".template.spec.containers", "volumeMounts of container %s: %s is taken by the cluster's configuration; mount it elsewhere", spark.Name, v.MountPath)
		}
	}
	sources := []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: ConfigMapName(d.r.Name)}, Items: []corev1.KeyToPath{{Key: OptionsKey, Path: OptionsKey}},
	}}}
	if d.secret != "" {
		sources = append(sources, corev1.VolumeProjection{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: d.secret}, Items: []corev1.KeyToPath{{Key: SecretOptionsKey, Path: SecretOptionsKey}},
		}})
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: confVolume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}})
	spark.VolumeMounts = append(spark.VolumeMounts, corev1.VolumeMount{Name: confVolume, MountPath: mountDir, ReadOnly: true})
	return nil
}

// searchDomain lets pods of the cluster find workers by the bare names of their pods.
func (d *draft) searchDomain(m *member) {
	spec := &m.spec.Template.Spec
	if spec.DNSConfig == nil {
		spec.DNSConfig = &corev1.PodDNSConfig{}
	}
	domain := ServiceName(d.r.Name, RoleWorker) + "." + d.r.Namespace + ".svc." + strings.Trim(d.r.ClusterDomain, ".")
	if !slices.Contains(spec.DNSConfig.Searches, domain) {
		spec.DNSConfig.Searches = append(spec.DNSConfig.Searches, domain)
	}
}

// statefulSet is the object. Its pods carry a digest of what they are made of, so that an edit of the configuration alone replaces them, too.
func (d *draft) statefulSet(m *member, said Metadata) *appsv1.StatefulSet {
	text, err := json.Marshal(m.spec.Template)
	if err != nil {
		text = []byte(err.Error()) // it is made of Kubernetes' types, which are JSON
	}
	unknown, err := json.Marshal(m.extra["template"])
	if err != nil {
		unknown = nil // it was JSON
	}
	meta := &m.spec.Template.ObjectMeta
	if meta.Annotations == nil {
		meta.Annotations = map[string]string{}
	}
	meta.Annotations[d.r.DigestAnnotation] = digest(string(text), string(unknown), d.digest)
	return &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: d.meta(StatefulSetName(d.r.Name, m.role), m.role, said),
		Spec:       *m.spec,
	}
}
