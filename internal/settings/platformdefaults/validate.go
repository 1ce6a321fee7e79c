package platformdefaults

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// These are limits for the list of entries, since statuses contain the resulting settings: the status of a cluster
// contains the settings for the cluster, and the status of an application contains a part of the settings for each
// attempt.
const (
	maxEntries = 100
	maxSize    = 64 << 10 // of all entries, as JSON, in bytes
	maxSeconds = int64(100 * 365 * 24 * 3600)
)

// reservedPrefix is the prefix of the operator's own labels and annotations.
const reservedPrefix = "sparkoperator.dev/"

// sparkLabels are labels by which Spark and the operator find pods.
var sparkLabels = []string{
	"spark-app-selector", "spark-app-name", "spark-role", "spark-exec-id", "spark-exec-resourceprofile-id", "spark-version",
}

// denied contains the configuration keys that cannot have a default, in lower case. The value of each entry says what
// to do instead.
var denied = map[string]string{
	"spark.master":                                       "the operator sets it",
	"spark.submit.deploymode":                            "the operator sets it",
	"spark.app.id":                                       "it would be the same for all applications",
	"spark.app.name":                                     "it would be the same for all applications",
	"spark.kubernetes.namespace":                         "an application runs in its own namespace",
	"spark.kubernetes.driver.pod.name":                   "it would be the same for all applications",
	"spark.kubernetes.executor.podnameprefix":            "it would be the same for all applications",
	"spark.kubernetes.driver.master":                     "set kubernetesMaster in the section application",
	"spark.kubernetes.driver.container.image":            "set the field images instead",
	"spark.kubernetes.executor.container.image":          "set the field images instead",
	"spark.kubernetes.driver.podtemplatefile":            "set the field driver instead",
	"spark.kubernetes.executor.podtemplatefile":          "set the field executor instead",
	"spark.kubernetes.driver.podtemplatecontainername":   "set the field driver instead",
	"spark.kubernetes.executor.podtemplatecontainername": "set the field executor instead",
}

// DeniedKey returns why a configuration key cannot have a default, or "" if it can.
func DeniedKey(key string) string {
	folded := strings.ToLower(strings.TrimSpace(key))
	switch why := denied[folded]; {
	case why != "":
		return why
	case !strings.HasPrefix(key, "spark."):
		return `Spark reads only keys that begin with "spark."`
	case strings.HasPrefix(folded, "spark.kubernetes.authenticate."):
		return "service accounts and credentials are the application's own choice"
	case strings.Contains(folded, ".label."+reservedPrefix):
		return "labels that begin with " + reservedPrefix + " are the operator's own"
	}
	return ""
}

// Validate returns the faults of a list of entries, with their paths.
func Validate(path *field.Path, entries []Default) (errs field.ErrorList) {
	if len(entries) > maxEntries {
		return field.ErrorList{field.TooMany(path, len(entries), maxEntries)}
	}

	if text, err := json.Marshal(entries); err == nil && len(text) > maxSize {
		return field.ErrorList{field.Invalid(path, fmt.Sprintf("%d bytes", len(text)), fmt.Sprintf("must be at most %d bytes, because the statuses of custom resources contain parts of the defaults", maxSize))}
	}

	named := map[string]bool{}
	for i := range entries {
		d, at := &entries[i], path.Index(i)
		if d.Name != "" && named[d.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), d.Name))
		}

		named[d.Name] = true
		errs = append(errs, validateEntry(at, d)...)
	}
	return errs
}

func validateEntry(at *field.Path, d *Default) (errs field.ErrorList) {
	if d.Name != "" {
		errs = append(errs, checked(at.Child("name"), d.Name, validation.IsDNS1123Label)...)
	}

	switch selector, err := labels.Parse(d.NamespaceSelector); {
	case err != nil:
		errs = append(errs, field.Invalid(at.Child("namespaceSelector"), d.NamespaceSelector, err.Error()))
	case selector.Empty() && d.NamespaceSelector != "":
		errs = append(errs, field.Invalid(at.Child("namespaceSelector"), d.NamespaceSelector, "selects every namespace; if you want every namespace, remove the selector"))
	}

	errs = append(errs, validateHistoryServer(at.Child("historyServer"), d.HistoryServer)...)
	errs = append(errs, validateConf(at, d)...)
	errs = append(errs, validateImages(at, d)...)
	errs = append(errs, validatePod(at.Child("driver"), &d.Driver)...)

	errs = append(errs, validatePod(at.Child("executor"), &d.Executor)...)
	for _, limit := range []struct {
		name  string
		value *int64
	}{
		{"driverStartSeconds", d.Timeouts.DriverStartSeconds}, {"driverReadySeconds", d.Timeouts.DriverReadySeconds},
		{"executorsStartSeconds", d.Timeouts.ExecutorsStartSeconds}, {"runSeconds", d.Timeouts.RunSeconds},
	} {
		errs = append(errs, validateSeconds(at.Child("timeouts", limit.name), limit.value)...)
	}
	return append(errs, validateSeconds(at.Child("timeToLiveSeconds"), d.TimeToLiveSeconds)...)
}

// validateHistoryServer checks an address to which links lead.
func validateHistoryServer(at *field.Path, address string) field.ErrorList {
	if address == "" {
		return nil
	}

	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" || !slices.Contains([]string{"http", "https"}, parsed.Scheme) {
		return field.ErrorList{field.Invalid(at, conf.HideAddresses(address), "must be an address such as https://history.example.com, without a user, a query or a fragment")}
	}
	return nil
}

func validateSeconds(at *field.Path, value *int64) field.ErrorList {
	if value != nil && (*value < 0 || *value > maxSeconds) {
		return field.ErrorList{field.Invalid(at, *value, "must be at least 0 and at most 100 years")}
	}
	return nil
}

// validateConf checks the Spark configuration of an entry. It also reports two fields of the entry that set the same
// key to different values.
func validateConf(at *field.Path, d *Default) (errs field.ErrorList) {
	inText := map[string]string{}

	parsed, err := conf.UnmarshalProperties(d.SparkDefaults)
	if err != nil {
		errs = append(errs, field.Invalid(at.Child("sparkDefaults"), field.OmitValueType{}, err.Error()))
	} else {
		inText = parsed.Map()
	}

	for _, source := range []struct {
		at   func(key string) *field.Path
		conf map[string]string
	}{
		{func(key string) *field.Path { return at.Child("sparkConf").Key(key) }, d.SparkConf},
		{func(key string) *field.Path { return at.Child("sparkDefaults").Key(key) }, inText},
	} {
		for _, key := range slices.Sorted(maps.Keys(source.conf)) {
			if why := DeniedKey(key); why != "" {
				errs = append(errs, field.Forbidden(source.at(key), "cannot have a default: "+why))
			}
		}
	}

	for _, key := range slices.Sorted(maps.Keys(d.SparkConf)) {
		if other, both := inText[key]; both && strings.TrimSpace(other) != strings.TrimSpace(d.SparkConf[key]) {
			errs = append(errs, field.Forbidden(at.Child("sparkConf").Key(key), "sparkDefaults sets the key to another value; remove one of the two"))
		}
	}

	keys := map[string]string{}
	maps.Copy(keys, inText)
	maps.Copy(keys, d.SparkConf)
	return append(errs, validateTyped(at, d, keys)...)
}

// validateTyped reports fields of an entry that contradict the entry's sparkConf or sparkDefaults. For example, the
// field images and the key spark.kubernetes.container.image must not both be set. The argument `keys` contains the
// content of sparkConf and sparkDefaults.
func validateTyped(at *field.Path, d *Default, keys map[string]string) (errs field.ErrorList) {
	for _, typed := range []struct {
		name, key string
		set       bool
	}{
		{"eventLogDirectory", eventLogKey, d.EventLogDirectory != ""},
		{"images", platform.ImageKey, len(d.Images) > 0},
		{"imagePullSecrets", pullSecretsKey, len(d.ImagePullSecrets) > 0},
	} {
		if _, both := keys[typed.key]; both && typed.set {
			errs = append(errs, field.Forbidden(at.Child(typed.name), "this entry also sets "+typed.key+"; remove one of the two"))
		}
	}

	if d.EventLogDirectory != "" && strings.EqualFold(strings.TrimSpace(keys[eventLogEnabledKey]), "false") {
		errs = append(errs, field.Forbidden(at.Child("eventLogDirectory"), "this entry also sets "+eventLogEnabledKey+" to false; remove one of the two"))
	}
	return errs
}

// line matches the number of a Spark release line, such as 4.1.
var line = regexp.MustCompile(`^[0-9]{1,3}\.[0-9]{1,3}$`)

func validateImages(at *field.Path, d *Default) (errs field.ErrorList) {
	for _, key := range slices.Sorted(maps.Keys(d.Images)) {
		image := d.Images[key]
		if !line.MatchString(key) {
			errs = append(errs, field.Invalid(at.Child("images").Key(key), key, `must be a line of Spark, such as "4.1"`))
		}

		if image == "" || strings.ContainsAny(image, " \t\n") || len(image) > 1024 {
			errs = append(errs, field.Invalid(at.Child("images").Key(key), image, "must be the name of an image"))
		}
	}

	for i, name := range d.ImagePullSecrets {
		errs = append(errs, checked(at.Child("imagePullSecrets").Index(i), name, validation.IsDNS1123Subdomain)...)
	}
	return errs
}

func validatePod(at *field.Path, pod *platform.Pod) (errs field.ErrorList) {
	for _, key := range slices.Sorted(maps.Keys(pod.Labels)) {
		errs = append(errs, validateLabel(at.Child("labels").Key(key), key, pod.Labels[key])...)
		if isOwnLabel(key) {
			errs = append(errs, field.Forbidden(at.Child("labels").Key(key), "Spark or the operator sets this label itself; give the label another name"))
		}
	}

	for _, key := range slices.Sorted(maps.Keys(pod.Annotations)) {
		errs = append(errs, checked(at.Child("annotations").Key(key), key, func(key string) []string { return validation.IsQualifiedName(strings.ToLower(key)) })...)

		if strings.HasPrefix(key, reservedPrefix) {
			errs = append(errs, field.Forbidden(at.Child("annotations").Key(key), "the operator sets this annotation itself; give the annotation another name"))
		}
	}

	for _, key := range slices.Sorted(maps.Keys(pod.NodeSelector)) {
		errs = append(errs, validateLabel(at.Child("nodeSelector").Key(key), key, pod.NodeSelector[key])...)
	}

	for i := range pod.Tolerations {
		errs = append(errs, validateToleration(at.Child("tolerations").Index(i), &pod.Tolerations[i])...)
	}

	if name := pod.PriorityClassName; name != "" {
		errs = append(errs, checked(at.Child("priorityClassName"), name, validation.IsDNS1123Subdomain)...)
	}

	errs = append(errs, validateEnv(at.Child("env"), pod.Env)...)
	return append(errs, validateSecurity(at, pod)...)
}

// isOwnLabel reports whether Spark or the operator sets a label itself.
func isOwnLabel(key string) bool {
	return slices.Contains(sparkLabels, key) ||
		slices.ContainsFunc([]string{reservedPrefix, "spark.operator/", "sparkoperator.k8s.io/"}, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

func validateEnv(path *field.Path, env []corev1.EnvVar) (errs field.ErrorList) {
	names := map[string]bool{}
	for i := range env {
		v, at := &env[i], path.Index(i)
		errs = append(errs, checked(at.Child("name"), v.Name, validation.IsEnvVarName)...)

		if names[v.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), v.Name))
		}

		names[v.Name] = true
		if v.Value != "" && v.ValueFrom != nil {
			errs = append(errs, field.Forbidden(at.Child("valueFrom"), "value is set as well; remove one of the two"))
		}
	}
	return errs
}

// checked returns the problems that a check finds in a value.
func checked(at *field.Path, value string, check func(string) []string) (errs field.ErrorList) {
	for _, problem := range check(value) {
		errs = append(errs, field.Invalid(at, value, problem))
	}
	return errs
}

func validateLabel(at *field.Path, key, value string) field.ErrorList {
	return append(checked(at, key, validation.IsQualifiedName), checked(at, value, validation.IsValidLabelValue)...)
}

func validateToleration(at *field.Path, t *corev1.Toleration) (errs field.ErrorList) {
	if t.Key != "" {
		errs = append(errs, checked(at.Child("key"), t.Key, validation.IsQualifiedName)...)
	}

	switch t.Operator {
	case "", corev1.TolerationOpEqual:
		if t.Key == "" {
			errs = append(errs, field.Required(at.Child("key"), "only the operator Exists may have no key"))
		}
	case corev1.TolerationOpExists:
		if t.Value != "" {
			errs = append(errs, field.Forbidden(at.Child("value"), "must be empty for the operator Exists"))
		}
	default:
		errs = append(errs, field.NotSupported(at.Child("operator"), t.Operator, []string{string(corev1.TolerationOpEqual), string(corev1.TolerationOpExists)}))
	}

	effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	if t.Effect != "" && !slices.Contains(effects, t.Effect) {
		errs = append(errs, field.NotSupported(at.Child("effect"), t.Effect, effects))
	}

	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		errs = append(errs, field.Forbidden(at.Child("tolerationSeconds"), "needs the effect NoExecute"))
	}
	return errs
}

// validateSecurity reports settings that would keep every pod from starting.
func validateSecurity(at *field.Path, pod *platform.Pod) (errs field.ErrorList) {
	isTrue := func(b *bool) bool { return b != nil && *b }

	isFalse := func(b *bool) bool { return b != nil && !*b }
	if c := pod.SecurityContext; c != nil {
		if isTrue(c.RunAsNonRoot) && c.RunAsUser != nil && *c.RunAsUser == 0 {
			errs = append(errs, field.Forbidden(at.Child("securityContext", "runAsUser"), "0 contradicts runAsNonRoot; remove one of the two"))
		}

		if isTrue(c.Privileged) && isFalse(c.AllowPrivilegeEscalation) {
			errs = append(errs, field.Forbidden(at.Child("securityContext", "allowPrivilegeEscalation"), "false contradicts privileged; remove one of the two"))
		}
	}

	if c := pod.PodSecurityContext; c != nil && isTrue(c.RunAsNonRoot) && c.RunAsUser != nil && *c.RunAsUser == 0 {
		errs = append(errs, field.Forbidden(at.Child("podSecurityContext", "runAsUser"), "0 contradicts runAsNonRoot; remove one of the two"))
	}
	return errs
}
