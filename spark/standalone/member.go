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

// member is the parsed template of a role's StatefulSet, to which Build applies its changes. Its `field` is the name of
// the Request's field that contains the template; errors begin with this name. The map extra contains the fields of the
// template that the Go types do not have.
type member struct {
	role, field string
	spec        *appsv1.StatefulSetSpec
	extra       map[string]any
	// spark is the index of the daemon's container.
	spark int
}

func (m *member) container() *corev1.Container { return &m.spec.Template.Spec.Containers[m.spark] }

// master builds the master's StatefulSet. Like the master's StatefulSet of the Java operator, it has no governing
// Service. The field serviceName cannot be changed later, so a StatefulSet that the Java operator created could not be
// kept otherwise.
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

// workers builds the workers' StatefulSet.
func (d *draft) workers(o *Objects) error {
	m, err := d.member(RoleWorker, fieldWorkerSet, d.r.Workers)
	if err != nil {
		return err
	}

	m.spec.Replicas = new(d.initialWorkers())

	m.spec.ServiceName = serviceName(d.r.Name, RoleWorker)
	if err := d.daemon(m); err != nil {
		return err
	}

	d.searchDomain(m)
	o.Workers = d.statefulSet(m, d.r.Workers.StatefulSetMeta)
	o.keep(o.Workers, m.extra)
	return nil
}

// member parses the template of a role's StatefulSet, and applies the changes that the master and the workers have in
// common.
func (d *draft) member(role, field string, user Member) (*member, error) {
	spec, extra, err := podtemplate.As[appsv1.StatefulSetSpec](user.StatefulSet)
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

// find selects the daemon's container: the container with the role's name, else the first container without a name,
// else a new container before all others.
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

// nameExtra adds a name to the container with the given index in extra, the tree of fields that the Go types do not
// have. Later, these fields are merged into the container that has this name.
func nameExtra(extra map[string]any, at int, name string) {
	template, _ := extra["template"].(map[string]any)

	spec, _ := template["spec"].(map[string]any)
	if containers, _ := spec["containers"].([]any); at < len(containers) {
		if fields, ok := containers[at].(map[string]any); ok {
			fields["name"] = name
		}
	}
}

// templateMeta sets the labels of the cluster on the pods' template.
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
			d.warns.OfField(field, "label %s of the template has no effect: the operator sets it to %q", key, mine)
		}
	}

	if meta.Labels == nil {
		meta.Labels = map[string]string{}
	}

	maps.Copy(meta.Labels, own)
	return nil
}

// setSelector adds the role to the template's selector. For autoscaled workers it also adds the name of the cluster.
//
// The selector of all other StatefulSets omits the cluster's name, like the selector of the Java operator. A selector
// cannot be changed later, so a StatefulSet that the Java operator created can be kept only if the selectors are equal.
// Pods of another cluster are safe, since a StatefulSet adopts only pods without an owner whose name is its own name
// and a number. An autoscaler has no such rule: it measures all pods that the selector selects, and no pods if another
// autoscaler's selector selects them too. So the selector of an autoscaled StatefulSet needs the cluster's name,
// although an existing StatefulSet then has to be replaced.
func (d *draft) setSelector(m *member) error {
	selector := m.spec.Selector.DeepCopy()
	if selector == nil {
		selector = &metav1.LabelSelector{}
	}

	if selector.MatchLabels == nil {
		selector.MatchLabels = map[string]string{}
	}

	selector.MatchLabels[LabelRole] = m.role
	if m.role == RoleWorker && d.r.autoscaled() {
		selector.MatchLabels[LabelClusterName] = d.r.Name
	}

	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return fieldError(m.field+".selector", "%v", err)
	}

	if !parsed.Matches(labels.Set(m.spec.Template.Labels)) {
		return fieldError(m.field+".selector", "%s does not match the labels of the pod template; add the labels that the selector requires to template.metadata.labels, or remove the selector", parsed)
	}

	m.spec.Selector = selector
	return nil
}

// pod applies the configuration to the pods' template, and sets defaults for fields that the template does not set.
func (d *draft) pod(m *member) error {
	spec, spark := &m.spec.Template.Spec, m.container()

	scheduler, _ := d.conf.Get(schedulerKey)
	if scheduler != "" && spec.SchedulerName != "" && spec.SchedulerName != scheduler {
		d.warns.OfField(m.field, "template.spec.schedulerName has no effect: %s is %q", schedulerKey, scheduler)
	}

	spec.SchedulerName = cmp.Or(scheduler, spec.SchedulerName, corev1.DefaultSchedulerName)
	if spec.TerminationGracePeriodSeconds == nil {
		// A daemon has nothing to save, because Spark tolerates the loss of masters and workers. Without a grace
		// period, the next pod starts sooner.
		spec.TerminationGracePeriodSeconds = new(int64(0))
	}

	image, _ := d.conf.Get(imageKey)
	if image != "" && spark.Image != "" && spark.Image != image {
		d.warns.OfField(m.field, "image of container %s has no effect: %s sets another", spark.Name, imageKey)
	}

	if spark.Image = cmp.Or(image, spark.Image); spark.Image == "" {
		if d.r.SparkVersion == "" {
			return &Error{Field: "SparkVersion", Missing: true, Message: "is empty, and neither " + imageKey + " nor the template names an image; set the version of Spark, such as 4.1.1"}
		}

		spark.Image = "apache/spark:" + d.r.SparkVersion // the Apache Spark project's image
	}

	if spec.EnableServiceLinks == nil {
		// The pods get no variables for the namespace's Services, because Spark's scripts would read some of them.
		spec.EnableServiceLinks = new(false)
	}

	if spark.TerminationMessagePolicy == "" {
		spark.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}

	dropPrivileges(spark)
	return nil
}

// dropPrivileges prevents a daemon from gaining privileges, unless its template sets allowPrivilegeEscalation. It does
// not change privileged containers, because Kubernetes rejects a privileged container that sets
// allowPrivilegeEscalation to false.
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

// mount mounts the option files into the directory in which the daemon reads them.
func (d *draft) mount(m *member) error {
	spec, spark := &m.spec.Template.Spec, m.container()
	if slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == confVolume }) ||
		slices.ContainsFunc(m.spec.VolumeClaimTemplates, func(c corev1.PersistentVolumeClaim) bool { return c.Name == confVolume }) {
		return fieldError(m.field+".template.spec.volumes", "the name %q is reserved for the cluster's configuration; rename the volume", confVolume)
	}

	for _, v := range spark.VolumeMounts {
		if path := strings.TrimRight(v.MountPath, "/"); path == mountDir || strings.HasPrefix(path, mountDir+"/") {
			return fieldError(m.field+".template.spec.containers", "volumeMounts of container %s: %s is reserved for the cluster's configuration; mount the volume elsewhere", spark.Name, v.MountPath)
		}
	}

	sources := []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: configMapName(d.r.Name)}, Items: []corev1.KeyToPath{{Key: OptionsKey, Path: OptionsKey}},
	}}}
	if d.secret != "" {
		sources = append(sources, corev1.VolumeProjection{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: d.secret}, Items: []corev1.KeyToPath{{Key: SecretOptionsKey, Path: SecretOptionsKey}},
		}})
	}

	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: confVolume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}})
	spark.VolumeMounts = append(spark.VolumeMounts, corev1.VolumeMount{Name: confVolume, MountPath: mountDir, ReadOnly: true})

	var claims []string
	for i := range m.spec.VolumeClaimTemplates {
		claims = append(claims, m.spec.VolumeClaimTemplates[i].Name)
	}

	if unknown := podtemplate.FindUnknownMount(spec, claims...); unknown != nil {
		return fieldError(m.field+".template."+unknown.Place, "%s", unknown.Message())
	}
	return nil
}

// searchDomain adds a search domain with which the worker pods resolve one another's bare pod names.
func (d *draft) searchDomain(m *member) {
	spec := &m.spec.Template.Spec
	if spec.DNSConfig == nil {
		spec.DNSConfig = &corev1.PodDNSConfig{}
	}

	domain := serviceName(d.r.Name, RoleWorker) + "." + d.r.Namespace + ".svc." + strings.Trim(d.r.ClusterDomain, ".")
	if !slices.Contains(spec.DNSConfig.Searches, domain) {
		spec.DNSConfig.Searches = append(spec.DNSConfig.Searches, domain)
	}
}

// statefulSet returns the StatefulSet of a role. Its pods have a digest of the template and the configuration as an
// annotation, so that the pods are also replaced if only the configuration changes.
func (d *draft) statefulSet(m *member, user Metadata) *appsv1.StatefulSet {
	text, err := json.Marshal(m.spec.Template)
	if err != nil {
		text = []byte(err.Error()) // cannot happen: Kubernetes' types can always be written as JSON
	}

	unknown, err := json.Marshal(m.extra["template"])
	if err != nil {
		unknown = nil // cannot happen: the unknown fields were decoded from JSON
	}

	meta := &m.spec.Template.ObjectMeta
	if meta.Annotations == nil {
		meta.Annotations = map[string]string{}
	}

	meta.Annotations[d.r.DigestAnnotation] = digest(d.digested(string(text), string(unknown))...)
	return &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: d.meta(StatefulSetName(d.r.Name, m.role), m.role, user),
		Spec:       *m.spec,
	}
}

// digested returns the texts from which a StatefulSet's digest is computed. It leaves out Request.Restart if this field
// is empty. Without a restart request, the digest is therefore the same as before the field existed, and an upgrade of
// the operator replaces no pods.
func (d *draft) digested(template, unknown string) []string {
	parts := []string{template, unknown, d.digest}
	if d.r.Restart != "" {
		parts = append(parts, d.r.Restart)
	}
	return parts
}
