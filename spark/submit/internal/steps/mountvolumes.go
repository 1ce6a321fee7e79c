package steps

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/names"
)

// maxClaim limits the length of a claim's name after its ID markers are replaced. It is longer than a valid name, so
// that a later check can reject an invalid name with a better message.
const maxClaim = 4 * validation.DNS1123SubdomainMaxLength

// onDemand in the name of a claim requests a new claim for this pod.
const onDemand = "OnDemand"

// MaxClaims is the maximum number of claims that are created for a driver.
const MaxClaims = 20

// Volume contains the settings of one volume, from the keys spark.kubernetes.ROLE.volumes.KIND.NAME.*.
type Volume struct {
	role, kind, Name string
	// settings maps the parts of the keys after the volume's name, such as mount.path, to their values.
	settings map[string]string
}

// key returns the full configuration key of one of the volume's settings.
func (v Volume) key(setting string) string {
	return fmt.Sprintf("spark.kubernetes.%s.volumes.%s.%s.%s", v.role, v.kind, v.Name, setting)
}

// mountVolumesStep mounts the volumes that the configuration declares, and builds claims on demand
// (MountVolumesFeatureStep). For the volumes of executors, the step performs only checks, because the driver reads the
// keys of these volumes again.
func mountVolumesStep(d *draft.Draft) error {
	executors, err := Volumes(d, submit.RoleExecutor)
	if err != nil {
		return err
	}

	for _, v := range executors {
		if _, err := VolumeSource(d, v, "claim"); err != nil {
			return err
		}

		if _, err := VolumeMount(d, v); err != nil {
			return err
		}
	}

	volumes, err := Volumes(d, submit.RoleDriver)
	if err != nil {
		return err
	}

	for i, v := range volumes {
		// Spark numbers claims in the order of a hash set; this step numbers them in the order of kind and name.
		claim := names.Bounded("", d.Request.ResourceNamePrefix, fmt.Sprint("-driver-pvc-", i))

		source, err := VolumeSource(d, v, claim)
		if err != nil {
			return err
		}

		mount, err := VolumeMount(d, v)
		if err != nil {
			return err
		}

		if v.kind == "persistentVolumeClaim" {
			if err := addClaim(d, v, source.PersistentVolumeClaim.ClaimName); err != nil {
				return err
			}
		}

		d.Mount(corev1.Volume{Name: v.Name, VolumeSource: source}, mount)
	}
	return nil
}

// Volumes returns the volumes of a role, sorted by kind and name. It returns an error for settings that are invalid for
// drivers and executors alike.
func Volumes(d *draft.Draft, role string) ([]Volume, error) {
	prefix := "spark.kubernetes." + role + ".volumes."

	byID := map[string]Volume{}
	for rest, value := range d.Conf.WithPrefix(prefix) {
		parts := strings.SplitN(rest, ".", 3)
		if len(parts) < 3 {
			return nil, submit.KeyErrorf(prefix+rest, "should be %sKIND.NAME.SETTING", prefix)
		}

		switch parts[0] {
		case "hostPath", "persistentVolumeClaim", "emptyDir", "nfs":
		default:
			return nil, submit.KeyErrorf(prefix+rest, "%q is not a kind of volume that Spark supports (hostPath, persistentVolumeClaim, emptyDir, nfs); declare others "+
				"in a pod template", parts[0])
		}

		if errs := validation.IsDNS1123Label(parts[1]); len(errs) > 0 {
			return nil, submit.KeyErrorf(prefix+rest, "%q is not a valid volume name: %s", parts[1], errs[0])
		}

		id := parts[0] + "." + parts[1]
		if _, ok := byID[id]; !ok {
			byID[id] = Volume{role: role, kind: parts[0], Name: parts[1], settings: map[string]string{}}
		}

		byID[id].settings[parts[2]] = value
	}

	list := slices.SortedFunc(maps.Values(byID), func(a, b Volume) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.Name, b.Name))
	})

	paths := map[string]string{}
	for _, v := range list {
		path := v.settings["mount.path"]
		if path == "" {
			return nil, submit.KeyErrorf(v.key("mount.path"), "is missing")
		}

		if other, ok := paths[path]; ok {
			return nil, submit.KeyErrorf(v.key("mount.path"), "%s is also the mount path of volume %q; change one of the paths", conf.Quote(v.key("mount.path"), path), other)
		}

		paths[path] = v.Name
	}
	return list, nil
}

func (v Volume) required(setting string) (string, error) {
	value, ok := v.settings[setting]
	if !ok {
		return "", submit.KeyErrorf(v.key(setting), "is missing")
	}
	return value, nil
}

// readOnly returns the value of mount.readOnly. It does not replace references, because Spark does not replace
// references in the settings of a volume.
func (v Volume) readOnly() (bool, error) {
	text, ok := v.settings["mount.readOnly"]
	switch {
	case !ok || strings.EqualFold(text, "false"):
		return false, nil
	case strings.EqualFold(text, "true"):
		return true, nil
	}
	return false, submit.KeyErrorf(v.key("mount.readOnly"), "should be true or false, but is %s", conf.Quote(v.key("mount.readOnly"), text))
}

// VolumeMount returns the mount of a volume.
func VolumeMount(d *draft.Draft, v Volume) (corev1.VolumeMount, error) {
	m := corev1.VolumeMount{MountPath: v.settings["mount.path"], SubPath: v.settings["mount.subPath"]}

	var err error
	if m.ReadOnly, err = v.readOnly(); err != nil {
		return m, err
	}

	expr, hasExpr := v.settings["mount.subPathExpr"]
	if expr != "" && !d.Line.VolumeExtras {
		return m, submit.KeyErrorf(v.key("mount.subPathExpr"), "is not known to Spark %s; remove the key, or use Spark 4.0 or later", d.Line)
	}

	if _, ok := v.settings["mount.subPath"]; ok && hasExpr && d.Line.VolumeExtras {
		return m, submit.KeyErrorf(v.key("mount.subPathExpr"), "cannot be used together with mount.subPath; remove one of the two")
	}

	m.SubPathExpr = expr
	return m, nil
}

// VolumeSource returns the source of a volume. The argument claim is the name of a claim on demand.
func VolumeSource(d *draft.Draft, v Volume, claim string) (corev1.VolumeSource, error) {
	var s corev1.VolumeSource

	readOnly, err := v.readOnly()
	if err != nil {
		return s, err
	}

	switch v.kind {
	case "hostPath":
		path, err := v.required("options.path")
		if err != nil {
			return s, err
		}

		kind := corev1.HostPathUnset
		if d.Line.VolumeExtras {
			kind = corev1.HostPathType(v.settings["options.type"])
		}

		s.HostPath = &corev1.HostPathVolumeSource{Path: path, Type: &kind}
	case "nfs":
		path, err := v.required("options.path")
		if err != nil {
			return s, err
		}

		server, err := v.required("options.server")
		if err != nil {
			return s, err
		}

		s.NFS = &corev1.NFSVolumeSource{Path: path, Server: server}
	case "emptyDir":
		s.EmptyDir = &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMedium(v.settings["options.medium"])}
		if _, ok := v.settings["options.sizeLimit"]; ok {
			limit, err := volumeSize(d, v)
			if err != nil {
				return s, err
			}

			s.EmptyDir.SizeLimit = &limit
		}
	case "persistentVolumeClaim":
		s.PersistentVolumeClaim, err = claimSource(d, v, claim, readOnly)
		return s, err
	}
	return s, nil
}

func claimSource(d *draft.Draft, v Volume, claim string, readOnly bool) (*corev1.PersistentVolumeClaimVolumeSource, error) {
	name, err := v.required("options.claimName")
	if err != nil {
		return nil, err
	}
	// OnDemand is replaced at any place in the name: my-OnDemand-claim gets the unique name in its middle.
	if name, err = conf.Substitute(name, onDemand, claim, maxClaim); err != nil {
		return nil, submit.KeyErrorf(v.key("options.claimName"), "%v", err)
	}
	// The name of an executor's claim is complete only when its ID is known.
	if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 && v.role == submit.RoleDriver {
		return nil, submit.KeyErrorf(v.key("options.claimName"), "%s is not a valid claim name: %s", conf.Quote(v.key("options.claimName"), name), errs[0])
	}

	if _, ok := v.settings["options.sizeLimit"]; ok {
		if _, err := volumeSize(d, v); err != nil {
			return nil, err
		}
	}
	return &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name, ReadOnly: readOnly}, nil
}

// volumeSize returns options.sizeLimit as a Kubernetes quantity. From Spark 4.0 on, a number below 1024 without a unit
// is an error, because the unit was most likely forgotten.
func volumeSize(d *draft.Draft, v Volume) (resource.Quantity, error) {
	key, text := v.key("options.sizeLimit"), v.settings["options.sizeLimit"]

	q, err := bounds.Quantity(text)
	if fault, ok := errors.AsType[*bounds.Fault](err); ok {
		return q, submit.KeyErrorf(key, "%s", fault.Message)
	}

	if err != nil {
		return q, submit.KeyErrorf(key, "should be an amount such as 500Mi or 10Gi, but is %s", conf.Quote(key, text))
	}

	if d.Line.VolumeExtras && strings.Trim(text, "0123456789") == "" && q.CmpInt64(1024) < 0 {
		return q, submit.KeyErrorf(key, "%s bytes are too few; add a unit, such as %[1]sGi", conf.Shorten(text))
	}
	return q, nil
}

// addClaim builds a claim if the volume has both a storage class and a size. Like Spark, it does so even if the claim
// has a fixed name. The claim does not have the label by which a stopping driver deletes claims, because Kubernetes
// deletes the claim together with the claim's owner.
func addClaim(d *draft.Draft, v Volume, name string) error {
	class, hasClass := v.settings["options.storageClass"]

	_, hasSize := v.settings["options.sizeLimit"]
	if !hasClass || !hasSize {
		if strings.Contains(v.settings["options.claimName"], onDemand) {
			return submit.KeyErrorf(v.key("options.claimName"), "a claim on demand needs options.storageClass and options.sizeLimit, too; without them no claim is created")
		}
		return nil
	}

	size, err := volumeSize(d, v)
	if err != nil {
		return err
	}
	const key = "spark.kubernetes.legacy.useReadWriteOnceAccessMode"

	legacy, err := d.Conf.Bool(key, d.Line.LegacyAccess)
	if err != nil {
		return err
	}

	mode := corev1.ReadWriteOncePod
	if legacy {
		mode = corev1.ReadWriteOnce
	}

	pvc := &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: d.Meta(name),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{mode},
			StorageClassName: &class,
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		},
	}
	if err := claimMeta(d, v, &pvc.ObjectMeta); err != nil {
		return err
	}

	if d.Claims++; d.Claims > MaxClaims {
		return submit.KeyErrorf(v.key("options.claimName"), "at most %d claims can be created for a driver; use existing claims for some of the volumes", MaxClaims)
	}

	d.Add(pvc)
	return nil
}

func claimMeta(d *draft.Draft, v Volume, m *metav1.ObjectMeta) error {
	for _, setting := range slices.Sorted(maps.Keys(v.settings)) {
		value := v.settings[setting]
		if key, ok := strings.CutPrefix(setting, "label."); ok && d.Line.VolumeExtras {
			if err := draft.CheckLabel(key, value); err != nil {
				return submit.KeyErrorf(v.key(setting), "%v", err)
			}

			if m.Labels == nil {
				m.Labels = map[string]string{}
			}

			if _, ours := d.Request.Labels[key]; !ours {
				m.Labels[key] = value
			}
		}

		if key, ok := strings.CutPrefix(setting, "annotation."); ok && d.Line.VolumeExtras {
			if m.Annotations == nil {
				m.Annotations = map[string]string{}
			}

			m.Annotations[key] = value
		}
	}
	return nil
}
