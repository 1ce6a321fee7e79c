package overlay

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Error is the reason why an overlay does not fit its pod. The API server would reject such a pod too, with a less
// helpful message.
type Error struct {
	// Field is the name of the field of Overlay.
	Field string
	// Message says what conflicts.
	Message string
}

// Error returns the field, then the message.
func (e *Error) Error() string { return e.Field + ": " + e.Message }

// Apply applies o to pod. The argument container is the name of the pod's Spark container. Apply is idempotent. The
// error is an *Error; after an error the pod may be partly changed, so the caller should discard it.
func Apply(pod *corev1.Pod, container string, o Overlay) error {
	at := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == container })
	if at < 0 {
		return &Error{Field: "Container", Message: fmt.Sprintf("the pod has no container %q", container)}
	}
	// Sidecars are added last, because adding to the list of containers reallocates the list and invalidates the
	// pointer spark.
	spark := &pod.Spec.Containers[at]
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
	a.containers("Sidecars", &pod.Spec.Containers, at, o.Sidecars)
	return a.err
}

// applier is the state of Apply. It keeps the first error, so that the steps of Apply need not check for errors.
type applier struct {
	pod   *corev1.Pod
	spark *corev1.Container
	// volumes maps the name of a volume of the pod to its index. mounts maps the path of a mount of the Spark container
	// to its index. Both are nil before the first use.
	volumes, mounts map[string]int
	err             error
}

func (a *applier) fail(field, format string, args ...any) {
	if a.err == nil {
		a.err = &Error{Field: field, Message: fmt.Sprintf(format, args...)}
	}
}

func (a *applier) meta(o Overlay) {
	mergeMap(&a.pod.Labels, o.Labels)
	mergeMap(&a.pod.Annotations, o.Annotations)

	if len(o.OwnerReferences) == 0 {
		return
	}

	owners := index(a.pod.OwnerReferences, func(r *metav1.OwnerReference) types.UID { return r.UID })
	for _, ref := range o.OwnerReferences {
		if _, ok := owners[ref.UID]; !ok {
			owners[ref.UID] = len(a.pod.OwnerReferences)
			a.pod.OwnerReferences = append(a.pod.OwnerReferences, *ref.DeepCopy())
		}
	}
}

func (a *applier) env(o Overlay) {
	a.addEnv(o.Env)
	a.spark.EnvFrom = addMissing(a.spark.EnvFrom, o.EnvFrom, (*corev1.EnvFromSource).DeepCopy)
}

// addEnv appends variables to the Spark container. If a container has several variables of the same name, the last one
// counts. addEnv therefore compares each new variable with the container's last variable of the same name, and leaves
// the new one out if the two are equal. This comparison also makes addEnv idempotent.
func (a *applier) addEnv(add []corev1.EnvVar) {
	if len(add) == 0 {
		return
	}

	wanted, have := make(map[string]int, len(add)), make(map[string]int, len(add))
	for i := range add {
		wanted[add[i].Name] = i
	}

	for i := range a.spark.Env {
		have[a.spark.Env[i].Name] = i
	}

	for i, v := range add {
		if wanted[v.Name] != i {
			continue
		}

		if last, ok := have[v.Name]; !ok || !sameVariable(a.spark.Env[last], v) {
			a.spark.Env = append(a.spark.Env, *v.DeepCopy())
		}
	}
}

// sameVariable reports whether two environment variables are equal, apart from defaults that an API server sets.
func sameVariable(have, want corev1.EnvVar) bool {
	if have.ValueFrom == nil || want.ValueFrom == nil {
		return equality.Semantic.DeepEqual(have, want)
	}

	have, want = *have.DeepCopy(), *want.DeepCopy()
	for _, from := range []*corev1.EnvVarSource{have.ValueFrom, want.ValueFrom} {
		if from.FieldRef != nil {
			from.FieldRef.APIVersion = cmp.Or(from.FieldRef.APIVersion, "v1")
		}

		if from.FileKeyRef != nil && from.FileKeyRef.Optional == nil {
			from.FileKeyRef.Optional = new(false)
		}
	}
	return equality.Semantic.DeepEqual(have, want)
}

func (a *applier) storage(o Overlay) {
	if o.HadoopConfigMap != "" {
		a.configMap("HadoopConfigMap", hadoopConfVolume, o.HadoopConfigMap, HadoopConfDir)
		a.addEnv([]corev1.EnvVar{{Name: "HADOOP_CONF_DIR", Value: HadoopConfDir}})
	}

	if o.SparkConfigMap != "" {
		a.configMap("SparkConfigMap", sparkConfVolume, o.SparkConfigMap, SparkConfDir)
		a.addEnv([]corev1.EnvVar{{Name: "SPARK_CONF_DIR", Value: SparkConfDir}})
	}

	for _, m := range o.ConfigMaps {
		a.configMap("ConfigMaps", configMapVolumeName(m.Name), m.Name, m.Path)
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
	if a.volumes == nil {
		a.volumes = index(a.pod.Spec.Volumes, func(w *corev1.Volume) string { return w.Name })
	}

	i, ok := a.volumes[v.Name]
	switch {
	case !ok:
		a.volumes[v.Name] = len(a.pod.Spec.Volumes)
		a.pod.Spec.Volumes = append(a.pod.Spec.Volumes, *v.DeepCopy())
	case !sameVolume(a.pod.Spec.Volumes[i], v):
		a.fail(field, "the pod has another volume named %q; give one of the two another name", v.Name)
	}
}

// sameVolume reports whether two volumes are equal, apart from defaults that an API server sets, such as file modes.
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

func field[S, F any](source *S, get func(*S) *F) *F {
	if source == nil {
		return nil
	}
	return get(source)
}

func (a *applier) mount(field string, m corev1.VolumeMount) {
	if a.mounts == nil {
		a.mounts = index(a.spark.VolumeMounts, func(n *corev1.VolumeMount) string { return n.MountPath })
	}

	i, ok := a.mounts[m.MountPath]
	switch {
	case !ok:
		a.mounts[m.MountPath] = len(a.spark.VolumeMounts)
		a.spark.VolumeMounts = append(a.spark.VolumeMounts, *m.DeepCopy())
	case !equality.Semantic.DeepEqual(a.spark.VolumeMounts[i], m):
		a.fail(field, "volume %q cannot be mounted at %s: volume %q is already mounted there", m.Name, m.MountPath, a.spark.VolumeMounts[i].Name)
	}
}

// port contains the fields that identify a port of a container.
type port struct {
	name     string
	number   int32
	protocol corev1.Protocol
}

func portOf(p corev1.ContainerPort) port {
	return port{name: p.Name, number: p.ContainerPort, protocol: cmp.Or(p.Protocol, corev1.ProtocolTCP)}
}

func (a *applier) ports(add []corev1.ContainerPort) {
	if len(add) == 0 {
		return
	}

	have, named := map[port]bool{}, map[string][]port{}

	note := func(p port) {
		if !have[p] {
			have[p] = true
			if p.name != "" {
				named[p.name] = append(named[p.name], p)
			}
		}
	}
	for _, q := range a.spark.Ports {
		note(portOf(q))
	}

	for _, p := range add {
		p.Protocol = cmp.Or(p.Protocol, corev1.ProtocolTCP)
		this := portOf(p)
		// The loop ends at the first name that has two ports, which limits its work.
		if i := slices.IndexFunc(named[p.Name], func(other port) bool { return other != this }); i >= 0 {
			a.fail("Ports", "port name %q is taken by port %d", p.Name, named[p.Name][i].number)
			return
		}

		if !have[this] {
			note(this)

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
		// A webhook runs after the API server has resolved the old class, and the API server rejects a priority that
		// does not fit the new class.
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
		name, amount := corev1.ResourceName(o.GPU.Name), *resource.NewQuantity(o.GPU.Quantity, resource.DecimalSI)
		a.setLimit(name, amount)
		// The API server has filled in the request of a pod that it admits, and requires that the two are equal.
		if _, ok := a.spark.Resources.Requests[name]; ok {
			a.spark.Resources.Requests[name] = amount
		}
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

	a.pod.Spec.ImagePullSecrets = addMissing(a.pod.Spec.ImagePullSecrets, o.ImagePullSecrets, (*corev1.LocalObjectReference).DeepCopy)
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

// containers inserts the containers of `add` into *list before the index `at` and keeps their order. If *list already
// has a container with the same name and image, the new one is left out. If it has a container with the same name but a
// different image, the method records an error.
func (a *applier) containers(field string, list *[]corev1.Container, at int, add []corev1.Container) {
	if len(add) == 0 {
		return
	}

	images := make(map[string]string, len(*list)+len(add))
	for i := range slices.Backward(*list) {
		images[(*list)[i].Name] = (*list)[i].Image
	}

	fresh := make([]corev1.Container, 0, len(add))
	for i := range add {
		c := &add[i]
		switch image, ok := images[c.Name]; {
		case !ok:
			images[c.Name] = c.Image
			fresh = append(fresh, *c.DeepCopy())
		case image != c.Image:
			a.fail(field, "the pod has a container %q with another image, %q", c.Name, image)
		}
	}
	// All containers are inserted at once, because each insertion moves the elements behind it.
	*list = slices.Insert(*list, at, fresh...)
}

// configMapVolumeName returns the name of the volume for a ConfigMap, "<name>-vol". If this name contains a dot or is
// too long for a volume, dots become dashes and the ConfigMap's name is cut. In this case, eight hexadecimal digits of
// the name's SHA-256 are added, so that the volumes of different ConfigMaps have different names.
func configMapVolumeName(name string) string {
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

// addMissing appends a copy of each given item to list, unless list already has an equal item. Two items are equal if
// their JSON is equal. T must therefore not have fields that JSON omits. It must not have quantities or similar fields
// either, in which two different texts can mean the same value.
func addMissing[T any](list, add []T, copyOf func(*T) *T) []T {
	if len(add) == 0 {
		return list
	}

	have := make(map[string]bool, len(list)+len(add))
	for i := range list {
		have[jsonOf(&list[i])] = true
	}

	for i := range add {
		if key := jsonOf(&add[i]); !have[key] {
			have[key] = true

			list = append(list, *copyOf(&add[i]))
		}
	}
	return list
}

func jsonOf(item any) string {
	text, err := json.Marshal(item)
	if err != nil {
		return err.Error() // cannot happen: Kubernetes' types can always be written as JSON
	}
	return string(text)
}

// index returns a map from each key to the index of the first item with that key.
func index[T any, K comparable](list []T, key func(*T) K) map[K]int {
	places := make(map[K]int, len(list))
	for i := range slices.Backward(list) {
		places[key(&list[i])] = i
	}
	return places
}

// IsZero reports whether o changes nothing.
func (o Overlay) IsZero() bool { return reflect.ValueOf(o).IsZero() }
