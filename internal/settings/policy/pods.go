package policy

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/internal/dialect"
)

// judgesPods reports whether the set has a rule about pods.
func (s *set) judgesPods() bool {
	return s.images != nil || s.serviceAccounts != nil || s.nodeSelectors != nil || s.tolerations != nil || s.priorityClasses != nil ||
		s.runtimeClasses != nil || s.schedulers != nil || len(s.sums) > 0 || s.podSecurity != "" && s.podSecurity != podSecurityOff
}

// pods checks the pods and their number.
func (r *refusals) pods(subject *dialect.Subject) {
	s := r.set
	if s.limits.Executors != nil || len(s.sums) > 0 {
		r.count(subject.Workers())
	}

	if s.priorityClasses != nil {
		for _, class := range subject.PriorityClasses {
			r.priorityClass(class.Field, class.Value)
		}
	}

	if !s.judgesPods() {
		return
	}

	pods, faults := subject.Pods()
	for _, fault := range faults {
		r.append(fault)
	}

	if len(faults) > 0 {
		return
	}

	for i := range pods {
		r.pod(&pods[i])
	}

	r.amounts(pods, subject.Workers())
}

// pod checks one pod.
func (r *refusals) pod(pod *dialect.Pod) {
	r.images(pod)
	r.account(pod)
	r.placement(pod)
	r.devices(pod)
	r.podSecurity(pod)
}

// unpredictableKeys are keys whose effect on pods only a running JVM can determine, each with the values whose effect
// is known. A value counts as written, because Spark does not trim the names of files and of the allocator: " direct"
// is a class.
var unpredictableKeys = map[string][]string{
	"spark.kubernetes.driver.podTemplateFile":    {""},
	"spark.kubernetes.executor.podTemplateFile":  {""},
	"spark.kubernetes.driver.pod.featureSteps":   {"", volcanoClass},
	"spark.kubernetes.executor.pod.featureSteps": {"", volcanoClass},
	"spark.kubernetes.allocation.pods.allocator": {"", "direct"},
	// Whether Spark reads this key depends on the version in the image, which the operator does not know for sure.
	"spark.kubernetes.executor.pod.excludedFeatureSteps": {""},
}

// volcanoClass is Spark's own feature step for pod groups.
const volcanoClass = "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep"

// unpredictable reports whether a key with a value changes pods in a way that the operator cannot compute.
func unpredictable(key, value string) bool {
	harmless, found := unpredictableKeys[key]
	return found && !slices.Contains(harmless, value)
}

// images checks the images of all containers and image volumes of a pod.
func (r *refusals) images(pod *dialect.Pod) {
	if r.set.images == nil {
		return
	}

	check := func(field, what, image string) {
		if !r.set.images.matches(image, canonicalImage(image)) || strings.Contains(image, reference) {
			r.add(field, what+" "+shown(image), "images", oneOf(*r.set.images, ""))
		}
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			if image := containers[i].Image; image == pod.Image {
				check(pod.ImageField, "the image", image)
			} else {
				check(pod.Field, "the image of the container "+containers[i].Name+",", image)
			}
		}
	}

	for i := range pod.Spec.EphemeralContainers {
		container := &pod.Spec.EphemeralContainers[i]
		check(pod.Field, "the image of the container "+container.Name+",", container.Image)
	}

	for i := range pod.Spec.Volumes {
		if volume := &pod.Spec.Volumes[i]; volume.Image != nil {
			check(pod.Field, "the image of the volume "+volume.Name+",", volume.Image.Reference)
		}
	}
}

// account checks the service account of a pod.
func (r *refusals) account(pod *dialect.Pod) {
	if r.set.serviceAccounts == nil {
		return
	}

	if account := cmp.Or(pod.Spec.ServiceAccountName, pod.Spec.DeprecatedServiceAccount, "default"); !r.set.serviceAccounts.matches(account) {
		r.add(pod.AccountField, "the service account "+shown(account), "serviceAccounts", oneOf(*r.set.serviceAccounts, ""))
	}
}

// placement checks on which nodes a pod may run, and its priority.
func (r *refusals) placement(pod *dialect.Pod) {
	if r.set.nodeSelectors != nil {
		r.nodes(pod)
	}

	if r.set.tolerations != nil {
		for i := range pod.Spec.Tolerations {
			if text := tolerationText(&pod.Spec.Tolerations[i]); !r.set.tolerations.matches(text) {
				r.add(pod.Field, "the toleration "+shown(text), "tolerations", oneOf(*r.set.tolerations, "remove it"))
			}
		}
	}

	r.priorityClass(pod.Field, pod.Spec.PriorityClassName)

	if class := pod.Spec.RuntimeClassName; class != nil {
		r.named(pod.Field, "the runtime class", *class, "runtimeClasses", r.set.runtimeClasses)
	}

	if scheduler := pod.Spec.SchedulerName; scheduler != corev1.DefaultSchedulerName {
		r.named(pod.Field, "the scheduler", scheduler, "schedulers", r.set.schedulers)
	}
}

func (r *refusals) priorityClass(field, class string) {
	r.named(field, "the priority class", class, "priorityClasses", r.set.priorityClasses)
}

// named checks a name that a pod may leave out. The parameter rule is the rule with the allowed names.
func (r *refusals) named(field, what, name, rule string, allowed *patterns) {
	if allowed != nil && name != "" && !allowed.matches(name) {
		r.add(field, what+" "+shown(name), rule, oneOf(*allowed, "remove it"))
	}
}

// nodes checks the node selector, the node affinity and the node name of a pod.
func (r *refusals) nodes(pod *dialect.Pod) {
	check := func(what, text string) {
		if !r.set.nodeSelectors.matches(text) {
			r.add(pod.Field, what+" "+shown(text), "nodeSelectors", oneOf(*r.set.nodeSelectors, "remove it"))
		}
	}
	if name := pod.Spec.NodeName; name != "" {
		check("the node name", "nodeName="+name)
	}

	for _, key := range slices.Sorted(maps.Keys(pod.Spec.NodeSelector)) {
		check("the node selector", key+"="+pod.Spec.NodeSelector[key])
	}

	for _, requirement := range affinityOf(pod.Spec) {
		if requirement.Operator != corev1.NodeSelectorOpIn {
			check("the node affinity", requirement.Key+"=*")
			continue
		}

		for _, value := range requirement.Values {
			check("the node affinity", requirement.Key+"="+value)
		}
	}
}

// affinityOf returns all requirements of a pod's node affinity.
func affinityOf(spec *corev1.PodSpec) (all []corev1.NodeSelectorRequirement) {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return nil
	}

	var terms []corev1.NodeSelectorTerm
	if required := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		terms = slices.Clone(required.NodeSelectorTerms)
	}

	for _, preferred := range spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		terms = append(terms, preferred.Preference)
	}

	for _, term := range terms {
		all = append(append(all, term.MatchExpressions...), term.MatchFields...)
	}
	return all
}

// tolerationText returns a toleration as key=value:effect. A toleration of all keys has the key *.
func tolerationText(t *corev1.Toleration) string {
	text := cmp.Or(t.Key, "*")
	if t.Operator != corev1.TolerationOpExists {
		text += "=" + t.Value
	}

	if t.Effect != "" {
		text += ":" + string(t.Effect)
	}
	return text
}
