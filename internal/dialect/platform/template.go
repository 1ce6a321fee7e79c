package platform

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Container identifies the Spark container in a pod template.
type Container struct {
	// Name is the name of the Spark container. A Spark container that Fill adds to a template gets this name too.
	Name string
	// Alone decides which container is the Spark container if none has the name. If true, it is the container without a
	// name, if any. If false, it is the first container.
	Alone bool
	// Image is the default image of the container, and ImageSetting is the name of the setting that contains it. If
	// Image is empty, there is no default image.
	Image, ImageSetting string
}

// Taken reports which settings of a pod the application already sets outside the pod's template, so that Fill does not
// add their defaults.
type Taken struct {
	// Env reports whether the application sets an environment variable. It may be nil.
	Env func(name string) bool
	// Key reports whether the application sets a key of one of the fields labels, annotations and nodeSelector. It may
	// be nil.
	Key func(field, key string) bool
	// PullSecrets, Priority, Security and PodSecurity report whether the application sets the image pull secrets, the
	// priority class, the container's security context and the pod's security context.
	PullSecrets, Priority, Security, PodSecurity bool
}

// Fill adds the defaults to a pod template, except for fields that the template sets itself. It returns the new
// template as JSON, and the names of the settings that it used. Most of these names begin with the role, as in
// "driver.labels[team]". If the template is not a JSON object, or if a part of it has another type than in a pod, Fill
// returns it unchanged, because validation reports this fault.
func (s *Settings) Fill(raw []byte, role string, container Container, taken Taken) (filled []byte, used []string) {
	if s == nil {
		return raw, nil
	}

	tree := map[string]any{}
	if len(raw) > 0 && utiljson.Unmarshal(raw, &tree) != nil {
		return raw, nil
	}

	if tree == nil { // the JSON text is null, which is valid and means an empty template
		tree = map[string]any{}
	}

	used = s.FillTree(tree, role, container, taken)
	if len(used) == 0 {
		return raw, nil
	}

	text, err := json.Marshal(tree)
	if err != nil {
		return raw, nil // unreachable: the tree comes from JSON
	}
	return text, used
}

// FillTree adds the defaults to a decoded pod template in place, except for fields that the template sets itself. It
// returns the names of the settings that it used. If a part of the template has another type than in a pod, FillTree
// changes nothing.
func (s *Settings) FillTree(tree map[string]any, role string, container Container, taken Taken) []string {
	if s == nil || !fits(tree, container) {
		return nil
	}

	pod := s.podOf(role)
	f := &filler{role: role, taken: taken}
	f.entries(tree, "metadata", "labels", pod.Labels)
	f.entries(tree, "metadata", "annotations", pod.Annotations)
	f.entries(tree, "spec", "nodeSelector", pod.NodeSelector)
	f.tolerations(tree, pod.Tolerations)

	prioritized := has(peek(tree, "spec"), "priorityClassName") || has(peek(tree, "spec"), "priority")
	if pod.PriorityClassName != "" && !taken.Priority && !prioritized {
		below(tree, "spec")["priorityClassName"] = pod.PriorityClassName

		f.use("priorityClassName")
	}

	if !taken.PodSecurity {
		f.fields(tree, "spec", "securityContext", "podSecurityContext", asTree(pod.PodSecurityContext))
	}

	if !taken.PullSecrets && len(s.PullSecrets) > 0 && !has(peek(tree, "spec"), "imagePullSecrets") {
		secrets := []any{}
		for _, name := range s.PullSecrets {
			secrets = append(secrets, map[string]any{"name": name})
		}

		below(tree, "spec")["imagePullSecrets"] = secrets

		f.used = append(f.used, "imagePullSecrets")
	}

	f.container(tree, pod, container)
	return f.used
}

// fits reports whether the parts of a template to which defaults may be added have the same types as in a pod. Parts
// that are missing or null fit. Its lists of parts and the fields that filler changes must agree: filler replaces a
// part that has another type.
func fits(tree map[string]any, wanted Container) bool {
	metadata, spec := peek(tree, "metadata"), peek(tree, "spec")
	containers, _ := spec["containers"].([]any)

	var container any
	if at := wanted.index(containers); at >= 0 {
		container = containers[at]
	}

	spark, _ := container.(map[string]any)
	for _, part := range []any{
		tree["metadata"], metadata["labels"], metadata["annotations"],
		tree["spec"], spec["nodeSelector"], spec["securityContext"],
		container, spark["securityContext"],
	} {
		if _, isMap := part.(map[string]any); part != nil && !isMap {
			return false
		}
	}

	for _, part := range []any{spec["tolerations"], spec["containers"], spark["env"]} {
		if _, isList := part.([]any); part != nil && !isList {
			return false
		}
	}
	return true
}

// The roles of pods. The names of most settings of a pod begin with its role.
const (
	Driver   = "driver"
	Executor = "executor"
)

// Pod returns the default settings of the pods with the given role.
func (s *Settings) Pod(role string) *Pod {
	if role == Executor {
		return &s.Executor
	}
	return &s.Driver
}

// FillFields adds defaults to a struct of the Kubernetes API, such as a security context. It returns a copy of the
// argument own in which unset fields have the values of the argument defaults, and the names of the settings that it
// used. If one of the two arguments is nil, it returns own.
func FillFields[T any](setting string, own, defaults *T) (*T, []string) {
	if own == nil || defaults == nil {
		return own, nil
	}

	f := &filler{}
	tree := map[string]any{"own": asTree(own)}
	f.fields(map[string]any{"": tree}, "", "own", setting, asTree(defaults))

	filled := new(T)
	if len(f.used) == 0 || utiljson.Unmarshal([]byte(jsonOf(tree["own"])), filled) != nil {
		return own, nil
	}
	return filled, f.used
}

// filler adds defaults to a decoded pod template, whose parts have the right types (fits).
type filler struct {
	role  string
	taken Taken
	used  []string // names of settings
}

func (f *filler) use(setting string) {
	if f.role != "" {
		setting = f.role + "." + setting
	}

	f.used = append(f.used, setting)
}

// entries adds default entries to a map of the template, such as labels. It skips keys that the map already has.
func (f *filler) entries(tree map[string]any, section, field string, defaults map[string]string) {
	for _, key := range sortedKeys(defaults) {
		if has(peek(tree, section, field), key) || f.taken.Key != nil && f.taken.Key(field, key) {
			continue
		}

		below(tree, section, field)[key] = defaults[key]
		f.use(field + "[" + key + "]")
	}
}

func (f *filler) tolerations(tree map[string]any, defaults []corev1.Toleration) {
	existing, _ := peek(tree, "spec")["tolerations"].([]any)

	known := map[string]bool{}
	for _, toleration := range existing {
		known[jsonOf(toleration)] = true
	}

	added := false
	for i := range defaults {
		toleration := asTree(&defaults[i])
		if key := jsonOf(toleration); !known[key] {
			known[key], added = true, true

			existing = append(existing, toleration)
		}
	}

	if added {
		below(tree, "spec")["tolerations"] = existing

		f.use("tolerations")
	}
}

// fields adds default fields to a struct of the template, such as a security context. It skips fields that the template
// sets, and defaults that contradict them.
func (f *filler) fields(tree map[string]any, section, field, setting string, defaults map[string]any) {
	own := peek(tree, section, field)
	for _, name := range sortedKeys(defaults) {
		if has(own, name) || contradicts(own, name, defaults[name]) {
			continue
		}

		below(tree, section, field)[name] = defaults[name]
		f.use(setting + "." + name)
	}
}

// contradicts reports whether a default of a security context contradicts a field that the application sets in it. The
// pod would then be invalid, or its containers would not start.
func contradicts(own map[string]any, name string, value any) bool {
	switch name {
	case "runAsNonRoot":
		return value == true && own["runAsUser"] == int64(0)
	case "runAsUser":
		return value == int64(0) && own["runAsNonRoot"] == true
	case "allowPrivilegeEscalation":
		return value == false && (own["privileged"] == true || addsSysAdmin(own["capabilities"]))
	case "privileged":
		return value == true && own["allowPrivilegeEscalation"] == false
	case "capabilities":
		return addsSysAdmin(value) && own["allowPrivilegeEscalation"] == false
	}
	return false
}

// addsSysAdmin reports whether the capabilities of a container include CAP_SYS_ADMIN, which implies privilege
// escalation.
func addsSysAdmin(capabilities any) bool {
	tree, _ := capabilities.(map[string]any)
	added, _ := tree["add"].([]any)
	return slices.Contains(added, any("CAP_SYS_ADMIN"))
}

// container adds the defaults of the Spark container. If the template has no such container, it adds one.
func (f *filler) container(tree map[string]any, pod *Pod, wanted Container) {
	containers, _ := peek(tree, "spec")["containers"].([]any)
	at := wanted.index(containers)

	spark := map[string]any{}
	if at >= 0 {
		existing, isMap := containers[at].(map[string]any)
		if !isMap {
			return
		}

		spark = existing
	}

	before := len(f.used)
	if !f.taken.Security {
		holder := map[string]any{"container": spark}
		f.fields(holder, "container", "securityContext", "securityContext", asTree(pod.SecurityContext))
	}

	f.env(spark, pod.Env)

	if wanted.Image != "" && (spark["image"] == nil || spark["image"] == "") {
		spark["image"] = wanted.Image
		f.used = append(f.used, wanted.ImageSetting)
	}

	if len(f.used) == before || at >= 0 {
		return
	}

	spark["name"] = wanted.Name
	below(tree, "spec")["containers"] = slices.Insert(containers, 0, any(spark))
}

// index returns the index of the Spark container, or -1.
func (c Container) index(containers []any) int {
	unnamed := -1
	for i := range containers {
		container, _ := containers[i].(map[string]any)

		name, _ := container["name"].(string)
		if name == c.Name {
			return i
		}

		if name == "" && unnamed < 0 {
			unnamed = i
		}
	}

	if c.Alone {
		return unnamed
	}
	return min(len(containers), 1) - 1
}

func (f *filler) env(spark map[string]any, defaults []corev1.EnvVar) {
	existing, _ := spark["env"].([]any)
	for i := range defaults {
		name := defaults[i].Name

		own := slices.ContainsFunc(existing, func(item any) bool {
			variable, _ := item.(map[string]any)
			return variable["name"] == name
		})
		if own || f.taken.Env != nil && f.taken.Env(name) {
			continue
		}

		existing = append(existing, asTree(&defaults[i]))
		spark["env"] = existing

		f.use("env[" + name + "]")
	}
}

// peek returns the object at a path of a tree, or nil if there is none.
func peek(tree map[string]any, path ...string) map[string]any {
	for _, field := range path {
		tree, _ = tree[field].(map[string]any)
	}
	return tree
}

// below returns the object at a path of a tree, and creates it if there is none.
func below(tree map[string]any, path ...string) map[string]any {
	for _, field := range path {
		next, isMap := tree[field].(map[string]any)
		if !isMap {
			next = map[string]any{}
			tree[field] = next
		}

		tree = next
	}
	return tree
}

// has reports whether an object has the field, and its value is neither null nor an empty list.
func has(tree map[string]any, field string) bool {
	switch value := tree[field].(type) {
	case nil:
		return false
	case []any:
		return len(value) > 0
	}
	return true
}

// asTree returns the JSON object of a Kubernetes value. For a nil pointer it returns nil.
func asTree(value any) map[string]any {
	text, err := json.Marshal(value)
	if err != nil {
		return nil // unreachable: Kubernetes' types can be written as JSON
	}
	var tree map[string]any
	_ = utiljson.Unmarshal(text, &tree)
	return tree
}

// jsonOf returns the JSON of a value from a decoded tree, in which keys are sorted.
func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// AndLabels returns t for an application whose own labels its pods get too.
func (t Taken) AndLabels(labels map[string]string) Taken {
	key := t.Key
	t.Key = func(field, name string) bool {
		_, isLabel := labels[name]
		return key(field, name) || field == "labels" && isLabel
	}
	return t
}

// TakenByConf returns the settings of a role's pods that an application sets in its Spark configuration.
func TakenByConf(own map[string]string, role string) Taken {
	set := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { _, set := own[key]; return set })
	}

	kube, env := "spark.kubernetes."+role+".", "spark.kubernetes.driverEnv."
	if role == Executor {
		env = "spark.executorEnv."
	}
	return Taken{
		Env: func(name string) bool { return set(env+name, kube+"secretKeyRef."+name) },
		Key: func(field, key string) bool {
			switch field {
			case "labels":
				return set(kube + "label." + key)
			case "annotations":
				return set(kube + "annotation." + key)
			}
			return set(kube+"node.selector."+key, "spark.kubernetes.node.selector."+key)
		},
		PullSecrets: strings.TrimSpace(own["spark.kubernetes.container.image.pullSecrets"]) != "",
	}
}
