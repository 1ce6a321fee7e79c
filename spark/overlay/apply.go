package overlay

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Error is an overlay that does not fit its pod. The API server would refuse such a pod too, with less to say.
type Error struct {
	// Field of Overlay.
	Field string
	// Message says what is in the way.
	Message string
}

// Error names the field first.
func (e *Error) Error() string { return e.Field + ": " + e.Message }

// Apply lays o over pod; container is the name of its Spark container. Applying the same overlay twice is applying it once. An error is an
// *Error; the pod may then be half changed and should be thrown away.
func Apply(pod *corev1.Pod, container string, o Overlay) error {
	index := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == container })
	if index < 0 {
		return &Error{Field: "Container", Message: fmt.Sprintf("the pod has no container %q", container)}
	}
	// Sidecars come after everything else: adding to the list of containers moves it, and with it what spark points to.
	spark := &pod.Spec.Containers[index]
	a := applier{pod: pod, spark: spark}
	a.meta(o)
	a.env(o)
	a.storage(o)
	a.ports(o.Ports)
	a.network(o)
	a.placement(o)
	a.limits(o)
	a.security(o)
	a.life(o)
	a.containers("InitContainers", &pod.Spec.InitContainers, len(pod.Spec.InitContainers), o.InitContainers)
	a.containers("Sidecars", &pod.Spec.Containers, index, o.Sidecars)
	return a.err
}

// FindContainer returns the name of the pod's Spark container: the first of names that is there, else the last container, which is where
// Spark puts its own (BasicDriverFeatureStep and BasicExecutorFeatureStep take it out of a template; the pod's builder appends it). It is
// empty for a pod without containers.
func FindContainer(pod *corev1.Pod, names ...string) string {
	for _, name := range names {
		if slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == name }) {
			return name
		}
	}
	if len(pod.Spec.Containers) == 0 {
		return ""
	}
	return pod.Spec.Containers[len(pod.Spec.Containers)-1].Name
}

// applier carries the first error, so that the steps read as a list.
type applier struct {
	pod   *corev1.Pod
	spark *corev1.Container
	err   error
}

func (a *applier) fail(field, format string, args ...any) {
	if a.err == nil {
		a.err = &Error{Field: field, Message: fmt.Sprintf(format, args...)}
	}
}

func (a *applier) meta(o Overlay) {
	mergeMap(&a.pod.Labels, o.Labels)
	mergeMap(&a.pod.Annotations, o.Annotations)
	for _, ref := range o.OwnerReferences {
		if !slices.ContainsFunc(a.pod.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == ref.UID }) {
			a.pod.OwnerReferences = append(a.pod.OwnerReferences, *ref.DeepCopy())
		}
	}
}

func (a *applier) env(o Overlay) {
	a.addEnv(o.Env)
	a.spark.EnvFrom = addMissing(a.spark.EnvFrom, o.EnvFrom, (*corev1.EnvFromSource).DeepCopy)
}

// addEnv makes every variable of add the one that counts. Comparing with the last of a name, not with any, is what makes twice once.
func (a *applier) addEnv(add []corev1.EnvVar) {
	for i, v := range add {
		sameName := func(e corev1.EnvVar) bool { return e.Name == v.Name }
		if slices.ContainsFunc(add[i+1:], sameName) {
			continue
		}
		last := lastIndexFunc(a.spark.Env, sameName)
		if last < 0 || !equality.Semantic.DeepEqual(a.spark.Env[last], v) {
			a.spark.Env = append(a.spark.Env, *v.DeepCopy())
		}
	}
}

func (a *applier) storage(o Overlay) {
	if o.HadoopConfigMap != "" {
		a.configMap("HadoopConfigMap", HadoopConfVolume, o.HadoopConfigMap, HadoopConfDir)
		a.addEnv([]corev1.EnvVar{{Name: "HADOOP_CONF_DIR", Value: HadoopConfDir}})
	}
	if o.SparkConfigMap != "" {
		a.configMap("SparkConfigMap", SparkConfVolume, o.SparkConfigMap, SparkConfDir)
		a.addEnv([]corev1.EnvVar{{Name: "SPARK_CONF_DIR", Value: SparkConfDir}})
	}
	for _, m := range o.ConfigMaps {
		a.configMap("ConfigMaps", ConfigMapVolume(m.Name), m.Name, m.Path)
	}
	for _, v := range o.Volumes {
		a.volume("Volumes", v)
	}
	for _, m := range o.VolumeMounts {
		a.mount("VolumeMounts", m)
	}
}

func (a *applier) configMap(field, volume, name, path string) {
	a.volume(field, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
	}})
	a.mount(field, corev1.VolumeMount{Name: volume, MountPath: path, ReadOnly: true})
}

func (a *applier) volume(field string, v corev1.Volume) {
	i := slices.IndexFunc(a.pod.Spec.Volumes, func(w corev1.Volume) bool { return w.Name == v.Name })
	switch {
	case i < 0:
		a.pod.Spec.Volumes = append(a.pod.Spec.Volumes, *v.DeepCopy())
	case !sameVolume(a.pod.Spec.Volumes[i], v):
		a.fail(field, "the pod has another volume named %q; give one of the two another name", v.Name)
	}
}

// sameVolume compares what the user says; an API server fills in the file mode of a volume that does not say one.
func sameVolume(have, want corev1.Volume) bool {
	have, want = *have.DeepCopy(), *want.DeepCopy()
	for _, v := range []*corev1.Volume{&have, &want} {
		for _, mode := range []**int32{
			field(v.ConfigMap, func(s *corev1.ConfigMapVolumeSource) **int32 { return &s.DefaultMode }),
			field(v.Secret, func(s *corev1.SecretVolumeSource) **int32 { return &s.DefaultMode }),
			field(v.Projected, func(s *corev1.ProjectedVolumeSource) **int32 { return &s.DefaultMode }),
			field(v.DownwardAPI, func(s *corev1.DownwardAPIVolumeSource) **int32 { return &s.DefaultMode }),
		} {
			if mode != nil && *mode != nil && **mode == corev1.ConfigMapVolumeSourceDefaultMode {
				*mode = nil
			}
		}
		if v.HostPath != nil && v.HostPath.Type != nil && *v.HostPath.Type == corev1.HostPathUnset {
			v.HostPath.Type = nil
		}
	}
	return equality.Semantic.DeepEqual(have, want)
}

func field[S, F any](source *S, of func(*S) *F) *F {
	if source == nil {
		return nil
	}
	return of(source)
}

func (a *applier) mount(field string, m corev1.VolumeMount) {
	i := slices.IndexFunc(a.spark.VolumeMounts, func(n corev1.VolumeMount) bool { return n.MountPath == m.MountPath })
	switch {
	case i < 0:
		a.spark.VolumeMounts = append(a.spark.VolumeMounts, *m.DeepCopy())
	case !equality.Semantic.DeepEqual(a.spark.VolumeMounts[i], m):
		a.fail(field, "volume %q cannot be mounted at %s: volume %q is there", m.Name, m.MountPath, a.spark.VolumeMounts[i].Name)
	}
}

func (a *applier) ports(add []corev1.ContainerPort) {
	for _, p := range add {
		if p.Protocol == "" {
			p.Protocol = corev1.ProtocolTCP
		}
		same, taken := false, int32(0)
		for _, q := range a.spark.Ports {
			protocol := q.Protocol
			if protocol == "" {
				protocol = corev1.ProtocolTCP
			}
			switch {
			case q.Name == p.Name && q.ContainerPort == p.ContainerPort && protocol == p.Protocol:
				same = true
			case q.Name == p.Name && p.Name != "":
				taken = q.ContainerPort
			}
		}
		switch {
		case taken != 0:
			a.fail("Ports", "port name %q is taken by port %d", p.Name, taken)
		case !same:
			a.spark.Ports = append(a.spark.Ports, p)
		}
	}
}

func (a *applier) network(o Overlay) {
	spec := &a.pod.Spec
	if o.HostNetwork {
		spec.HostNetwork = true
		spec.DNSPolicy = corev1.DNSClusterFirstWithHostNet
	}
	spec.HostAliases = addMissing(spec.HostAliases, o.HostAliases, (*corev1.HostAlias).DeepCopy)
	if o.DNSConfig != nil {
		spec.DNSConfig = o.DNSConfig.DeepCopy()
	}
}

func (a *applier) placement(o Overlay) {
	spec := &a.pod.Spec
	if o.PriorityClassName != "" && spec.PriorityClassName != o.PriorityClassName {
		spec.PriorityClassName = o.PriorityClassName
		// A webhook runs after the API server has resolved the old class; a number that does not fit the new one is refused.
		spec.Priority, spec.PreemptionPolicy = nil, nil
	}
	if o.SchedulerName != "" {
		spec.SchedulerName = o.SchedulerName
	}
	mergeMap(&spec.NodeSelector, o.NodeSelector)
	if o.Affinity != nil {
		spec.Affinity = o.Affinity.DeepCopy()
	}
	spec.Tolerations = addMissing(spec.Tolerations, o.Tolerations, (*corev1.Toleration).DeepCopy)
}

func (a *applier) limits(o Overlay) {
	if o.MemoryLimit != nil {
		if request, ok := a.spark.Resources.Requests[corev1.ResourceMemory]; ok && o.MemoryLimit.Cmp(request) < 0 {
			a.fail("MemoryLimit", "%s is below the memory that the container requests, %s", o.MemoryLimit.String(), request.String())
		}
		a.setLimit(corev1.ResourceMemory, o.MemoryLimit.DeepCopy())
	}
	if o.GPU.Name != "" && o.GPU.Quantity > 0 {
		a.setLimit(corev1.ResourceName(o.GPU.Name), *resource.NewQuantity(o.GPU.Quantity, resource.DecimalSI))
	}
}

func (a *applier) setLimit(name corev1.ResourceName, q resource.Quantity) {
	if a.spark.Resources.Limits == nil {
		a.spark.Resources.Limits = corev1.ResourceList{}
	}
	a.spark.Resources.Limits[name] = q
}

func (a *applier) security(o Overlay) {
	if o.SecurityContext != nil {
		a.spark.SecurityContext = o.SecurityContext.DeepCopy()
	}
	if o.PodSecurityContext != nil {
		a.pod.Spec.SecurityContext = o.PodSecurityContext.DeepCopy()
	}
	if o.ServiceAccountName != "" {
		a.pod.Spec.ServiceAccountName = o.ServiceAccountName
		a.pod.Spec.DeprecatedServiceAccount = o.ServiceAccountName
	}
	for _, s := range o.ImagePullSecrets {
		if !slices.Contains(a.pod.Spec.ImagePullSecrets, s) {
			a.pod.Spec.ImagePullSecrets = append(a.pod.Spec.ImagePullSecrets, s)
		}
	}
	if o.EnableServiceLinks != nil {
		a.pod.Spec.EnableServiceLinks = new(*o.EnableServiceLinks)
	}
}

func (a *applier) life(o Overlay) {
	if o.TerminationGracePeriodSeconds != nil {
		a.pod.Spec.TerminationGracePeriodSeconds = new(*o.TerminationGracePeriodSeconds)
	}
	if o.Lifecycle != nil {
		a.spark.Lifecycle = o.Lifecycle.DeepCopy()
	}
	if o.ShareProcessNamespace {
		a.pod.Spec.ShareProcessNamespace = new(true)
	}
	if o.TerminationMessagePolicy != "" {
		a.spark.TerminationMessagePolicy = o.TerminationMessagePolicy
	}
}

// containers inserts those that are not there at an index, in their order.
func (a *applier) containers(field string, list *[]corev1.Container, at int, add []corev1.Container) {
	for _, c := range add {
		i := slices.IndexFunc(*list, func(d corev1.Container) bool { return d.Name == c.Name })
		switch {
		case i < 0:
			*list = slices.Insert(*list, at, *c.DeepCopy())
			at++
		case (*list)[i].Image != c.Image:
			a.fail(field, "the pod has a container %q with another image, %q", c.Name, (*list)[i].Image)
		}
	}
}

// ConfigMapVolume is the name of the volume for a ConfigMap: "<name>-vol", and for a name that a volume cannot have (a dot, or too long)
// dashes for dots, cut, with eight hexadecimal digits of its SHA-256 so that two names never meet.
func ConfigMapVolume(name string) string {
	const suffix, limit = "-vol", 63
	if volume := name + suffix; len(volume) <= limit && !strings.Contains(name, ".") {
		return volume
	}
	sum := sha256.Sum256([]byte(name))
	tail := "-" + hex.EncodeToString(sum[:4]) + suffix
	plain := strings.ReplaceAll(name, ".", "-")
	return strings.TrimRight(plain[:min(len(plain), limit-len(tail))], "-") + tail
}

func mergeMap(into *map[string]string, add map[string]string) {
	if len(add) == 0 {
		return
	}
	if *into == nil {
		*into = make(map[string]string, len(add))
	}
	maps.Copy(*into, add)
}

// addMissing appends copies of those in add that are not in list.
func addMissing[T any](list, add []T, copyOf func(*T) *T) []T {
	for _, item := range add {
		if !slices.ContainsFunc(list, func(have T) bool { return equality.Semantic.DeepEqual(have, item) }) {
			list = append(list, *copyOf(&item))
		}
	}
	return list
}

func lastIndexFunc[T any](list []T, match func(T) bool) int {
	for i, item := range slices.Backward(list) {
		if match(item) {
			return i
		}
	}
	return -1
}

// IsZero tells whether o changes nothing.
func (o Overlay) IsZero() bool { return reflect.ValueOf(o).IsZero() }
