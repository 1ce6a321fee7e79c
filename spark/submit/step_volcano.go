package submit

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// volcanoClass is Spark's only feature step that runs only if spark.kubernetes.driver.pod.featureSteps names it.
const volcanoClass = featurePackage + "VolcanoFeatureStep"

// The keys that hold a template of the PodGroup, or name its file.
const (
	volcanoFileKey = "spark.kubernetes.scheduler.volcano.podGroupTemplateFile"
	volcanoJSONKey = "spark.kubernetes.scheduler.volcano.podGroupTemplateJson"
)

const (
	podGroupVersion    = "scheduling.volcano.sh/v1beta1"
	podGroupKind       = "PodGroup"
	podGroupAnnotation = "scheduling.k8s.io/group-name"
)

// volcanoStep adds the PodGroup by which Volcano schedules the driver and the executors together (VolcanoFeatureStep).
// The PodGroup is created before the driver pod, which names the PodGroup. The executors name the PodGroup too: the
// driver runs Spark's Volcano step for each executor if spark.kubernetes.executor.pod.featureSteps contains this step.
func volcanoStep(d *draft) error {
	if !d.volcano {
		return nil
	}
	name := d.r.AppID + "-podgroup"
	if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
		return FieldErrorf("AppID", "becomes part of a PodGroup's name, and %q is not a valid name: %s", name, errs[0])
	}
	group, err := podGroup(d)
	if err != nil {
		return err
	}
	group["apiVersion"], group["kind"] = podGroupVersion, podGroupKind
	u := &unstructured.Unstructured{Object: group}
	meta := d.meta(name)
	labels := u.GetLabels()
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if err := checkPair("label", key, labels[key]); err != nil {
			return FieldErrorf("PodGroupTemplate", "%v", err)
		}
	}
	if labels == nil {
		labels = meta.Labels
	} else {
		maps.Copy(labels, meta.Labels)
	}
	annotations := u.GetAnnotations()
	delete(group, "metadata")
	delete(group, "status")
	u.SetName(meta.Name)
	u.SetNamespace(meta.Namespace)
	if len(labels) > 0 {
		u.SetLabels(labels)
	}
	if len(annotations) > 0 {
		u.SetAnnotations(annotations)
	}
	if len(meta.OwnerReferences) > 0 {
		u.SetOwnerReferences(meta.OwnerReferences)
	}
	if _, ok := group["spec"].(map[string]any); !ok {
		group["spec"] = map[string]any{}
	}
	// The PodGroup is created first, like Spark's "pre-resources".
	d.before = slices.Insert(d.before, 0, Object(u))
	if d.pod.Annotations == nil {
		d.pod.Annotations = map[string]string{}
	}
	d.pod.Annotations[podGroupAnnotation] = name
	return nil
}

// maxPodGroup is the maximum length of a PodGroup template. An ordinary template has some hundred bytes.
const maxPodGroup = 64 << 10

// podGroup returns the template of the PodGroup: the template of the Request, else the template of the configuration,
// else an empty template. The key of the configuration is named podGroupTemplateJson, so its value is parsed only as
// JSON. A YAML parser would expand aliases, so 130 KB of text from the author of an application could become gigabytes.
func podGroup(d *draft) (map[string]any, error) {
	template, read, wrong := d.r.PodGroupTemplate, podtemplate.Decode, func(format string, args ...any) error { return FieldErrorf("PodGroupTemplate", format, args...) }
	if len(template) == 0 {
		text, ok := d.conf.Get(volcanoJSONKey)
		switch {
		case !ok:
			return map[string]any{}, nil
		case !d.q.podGroupJSON:
			d.warn("%s: has no effect in Spark %s; use Spark 4.2 or later", volcanoJSONKey, d.q)
			return map[string]any{}, nil
		}
		template, read, wrong = []byte(text), podtemplate.DecodeJSON, func(format string, args ...any) error { return KeyErrorf(volcanoJSONKey, format, args...) }
	}
	if len(template) > maxPodGroup {
		return nil, wrong("is %d bytes long; the limit is %d bytes", len(template), maxPodGroup)
	}
	tree, err := read(template)
	if err != nil {
		return nil, wrong("is not a PodGroup: %s", conf.Shorten(err.Error()))
	}
	for _, f := range [...]struct{ field, want string }{{"apiVersion", podGroupVersion}, {"kind", podGroupKind}} {
		if value, ok := tree[f.field]; ok && value != f.want {
			return nil, wrong("should be a %s of %s, but has another %s", podGroupKind, podGroupVersion, f.field)
		}
	}
	for _, field := range []string{"metadata", "spec"} {
		if value, ok := tree[field]; ok && value != nil {
			if _, ok := value.(map[string]any); !ok {
				return nil, wrong("is not a PodGroup: %s should be an object", field)
			}
		}
	}
	return tree, nil
}
