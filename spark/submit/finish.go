package submit

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// maxConfigMap is the maximum size of a ConfigMap in bytes (corev1.MaxSecretSize, and the default of
// spark.kubernetes.configMap.maxSize).
const maxConfigMap = 1 << 20

// DefaultContainerAnnotation is the annotation with the name of the container that kubectl uses by default.
const DefaultContainerAnnotation = "kubectl.kubernetes.io/default-container"

// ConfVolume is the volume of a driver pod with the driver's configuration.
const ConfVolume = "spark-conf-volume-driver"

// finish builds the driver's ConfigMap and adds the Spark container to the pod, as Spark's client does after the steps
// (KubernetesClientApplication and KubernetesClientUtils). Then it applies the Request's overlay to the pod.
func (d *draft) finish() error {
	data, err := d.confFiles()
	if err != nil {
		return err
	}
	comment := []string{"Java properties built from Kubernetes config map with name: " + d.r.ConfigMapName}
	if !d.r.SubmitTime.IsZero() {
		comment = append(comment, d.r.SubmitTime.UTC().Format("Mon Jan 02 15:04:05 UTC 2006"))
	}
	// Spark ignores the order of the keys. The keys are sorted so that a reader finds them easily.
	data[propertiesFile] = conf.MarshalProperties(d.props.Sorted(), comment...)
	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: d.r.ConfigMapName}}
	for _, file := range slices.Sorted(maps.Keys(data)) {
		source.Items = append(source.Items, corev1.KeyToPath{Key: file, Path: file, Mode: new(int32(0o644))})
	}
	// Spark also puts the namespace into the data, under a key that no volume item names.
	data["spark.kubernetes.namespace"] = d.r.Namespace
	if err := checkFiles("Conf", data); err != nil {
		return err
	}
	d.configMap(d.r.ConfigMapName, data)
	d.mount(corev1.Volume{Name: ConfVolume, VolumeSource: corev1.VolumeSource{ConfigMap: source}}, corev1.VolumeMount{MountPath: confDir})
	d.env("SPARK_CONF_DIR", confDir)

	setPodDefaults(d.pod, &d.spark)
	d.pod.APIVersion, d.pod.Kind = "v1", "Pod"
	d.pod.OwnerReferences = Owners(d.r.Owner)
	d.pod.Spec.Containers = append(d.pod.Spec.Containers, d.spark)
	if err := applyOverlay("Driver", d.pod, d.spark.Name, d.r.Driver); err != nil {
		return err
	}
	maps.Copy(d.pod.Labels, d.r.Labels)
	if len(d.pod.Spec.Containers) > 1 {
		if d.pod.Annotations == nil {
			d.pod.Annotations = map[string]string{}
		}
		if _, ok := d.pod.Annotations[DefaultContainerAnnotation]; !ok {
			d.pod.Annotations[DefaultContainerAnnotation] = d.spark.Name
		}
	}
	if len(d.extra) > 0 {
		if _, err := d.keepExtra("DriverTemplate", d.pod, d.spark.Name, d.extra, d.r.Driver); err != nil {
			return err
		}
	}
	return d.checkPod()
}

// confFiles returns the files of Request.ConfFiles that fit into the driver's ConfigMap. It selects the files as Spark
// does (KubernetesClientUtils.loadSparkConfDirFiles): it adds small files first, until
// spark.kubernetes.configMap.maxSize is reached.
func (d *draft) confFiles() (map[string]string, error) {
	const key = "spark.kubernetes.configMap.maxSize"
	limit, err := d.conf.Int(key, maxConfigMap)
	if err != nil {
		return nil, err
	}
	if limit > maxConfigMap {
		return nil, KeyErrorf(key, "cannot be more than %d", maxConfigMap)
	}
	names := slices.Collect(maps.Keys(d.r.ConfFiles))
	// Spark sorts the files by their size in bytes, but the limit counts characters.
	size := func(name string) int { return len(name) + utf8.RuneCountInString(d.r.ConfFiles[name]) }
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a)+len(d.r.ConfFiles[a]), len(b)+len(d.r.ConfFiles[b])), cmp.Compare(a, b))
	})
	data := map[string]string{}
	total := 0
	for _, name := range names {
		switch {
		case SkipsConfFile(name):
			d.warn("configuration file %s is left out, as in Spark: archives, templates, spark*conf and spark*properties are not copied", name)
		case !utf8.ValidString(d.r.ConfFiles[name]):
			d.warn("configuration file %s is left out: it is not UTF-8 text, which a ConfigMap requires", name)
		case total+size(name) >= limit:
			d.warn("configuration file %s is left out, because the files together would exceed the size that %s allows (%d); make the files smaller", name, key, limit)
		default:
			data[name] = d.r.ConfFiles[name]
			total += size(name)
		}
	}
	if err := checkFiles("ConfFiles", data); err != nil {
		return nil, err
	}
	return data, nil
}

// SkipsConfFile reports whether Spark omits a file with this name when it copies its configuration directory into the
// driver's ConfigMap.
func SkipsConfFile(name string) bool {
	for _, suffix := range []string{".gz", ".zip", ".jar", ".tar", ".template"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return strings.HasPrefix(name, "spark") && (strings.HasSuffix(name, "conf") || strings.HasSuffix(name, "properties"))
}

// checkFiles returns an error for data that a ConfigMap cannot hold.
func checkFiles(field string, data map[string]string) error {
	total := 0
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if errs := validation.IsConfigMapKey(name); len(errs) > 0 {
			return FieldErrorf(field, "%q is not a valid ConfigMap key: %s", name, errs[0])
		}
		if !utf8.ValidString(data[name]) {
			return FieldErrorf(field, "%s is not UTF-8 text, which a ConfigMap requires; convert the file to UTF-8", name)
		}
		total += len(data[name])
	}
	if total > maxConfigMap {
		return FieldErrorf(field, "%d bytes are more than a ConfigMap holds (%d); make the configuration smaller", total, maxConfigMap)
	}
	return nil
}

// checkPod rejects a driver pod that the API server would reject. Otherwise the API server would reject the pod only
// after all other objects are created.
func (d *draft) checkPod() error {
	if err := d.checkVolumes("Driver", d.pod, d.r.Driver); err != nil {
		return err
	}
	controllers := 0
	for _, o := range d.pod.OwnerReferences {
		if o.Controller != nil && *o.Controller {
			controllers++
		}
	}
	if controllers > 1 {
		return FieldErrorf("Driver.OwnerReferences", "the driver pod already has a controller; remove controller: true from the reference")
	}
	if err := d.checkExecutorVolumes(); err != nil {
		return err
	}
	return d.checkMounts()
}

// checkVolumes rejects a pod that has two volumes of one name, or mounts a volume which it does not have. The argument
// name is the field of the Request with the pod's overlay o. Mounts are not checked if the user names feature steps,
// because they may add volumes.
func (d *draft) checkVolumes(name string, pod *corev1.Pod, o overlay.Overlay) error {
	volumes := map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		if volumes[v.Name] {
			return FieldErrorf(name+".Volumes", "the %s pod has two volumes named %q; rename the volume of the template or overlay, since the other is Spark's", strings.ToLower(name), v.Name)
		}
		volumes[v.Name] = true
	}
	if steps, _ := d.conf.Get("spark.kubernetes." + strings.ToLower(name) + ".pod.featureSteps"); steps != "" {
		return nil
	}
	unknown := podtemplate.FindUnknownMount(&pod.Spec)
	if unknown == nil {
		return nil
	}
	list, of := "Sidecars", o.Sidecars
	if unknown.Init {
		list, of = "InitContainers", o.InitContainers
	}
	i := slices.IndexFunc(of, func(c corev1.Container) bool { return c.Name == unknown.Container })
	if i < 0 {
		return FieldErrorf(name+"Template", "%s: %s", unknown.Place, unknown.Message())
	}
	return FieldErrorf(fmt.Sprintf("%s.%s[%d].%s", name, list, i, unknown.Path), "%s", unknown.Message())
}

// checkExecutorVolumes rejects volumes and mounts for which the API server would reject every executor. The driver
// would try again without end. Spark adds volumes to those of the template, so a whole executor is built if the
// template's volumes depend on that. Executor reports the fault.
func (d *draft) checkExecutorVolumes() error {
	if d.executors == nil || !podtemplate.NeedsSparkVolumes(&d.executors.Spec) {
		return nil
	}
	_, err := Executor(d.r, 1, "")
	if wrong, ok := errors.AsType[*Error](err); ok && !wrong.NotNative {
		return wrong
	}
	return nil
}

func (d *draft) checkMounts() error {
	for _, c := range d.pod.Spec.Containers {
		paths := map[string]string{}
		for _, m := range c.VolumeMounts {
			path := strings.TrimRight(m.MountPath, "/")
			if other, ok := paths[path]; ok {
				return FieldErrorf("Driver.VolumeMounts", "%s", fmt.Sprintf("volumes %q and %q are both mounted at %s of container %q; change one of the mount paths", other, m.Name, m.MountPath, c.Name))
			}
			paths[path] = m.Name
		}
	}
	return nil
}
