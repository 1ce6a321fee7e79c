package platform

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Container names the Spark container in a pod template.
type Container struct {
	// Name is the container's name, and the name of a container that is added to a template without one.
	Name string
	// Alone means that only a container with this name, or without any name, is the Spark container. Otherwise the
	// first container is, if none has the name.
	Alone bool
	// Image is the default of the container's image, and ImageSetting the name of its setting. If Image is empty, the
	// template has no default of its image.
	Image, ImageSetting string
}

// Taken reports which default settings of a pod an application sets elsewhere than in the pod's template.
type Taken struct {
	// Env reports whether the application sets an environment variable. It may be nil.
	Env func(name string) bool
	// Key reports whether the application sets a key of one of the fields labels, annotations and nodeSelector. It may
	// be nil.
	Key func(field, key string) bool
	// PullSecrets, Priority and Security report whether the application sets the image pull secrets, the priority class
	// and the container's security context.
	PullSecrets, Priority, Security, PodSecurity bool
}

// Fill adds the defaults to a pod template, for everything that the template does not set. It returns the new template
// as JSON, and the names of the settings that it used; each name begins with the given role. If raw is not a JSON
// object, Fill returns it unchanged, because validation reports that fault.
func (s *Settings) Fill(raw []byte, role string, container Container, taken Taken) (filled []byte, used []string) {
	if s == nil {
		return raw, nil
	}
	tree := map[string]any{}
	if len(raw) > 0 && utiljson.Unmarshal(raw, &tree) != nil {
		return raw, nil
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

// FillTree changes a decoded pod template as Fill does, and returns the names of the settings that it used.
func (s *Settings) FillTree(tree map[string]any, role string, container Container, taken Taken) []string {
	if s == nil {
		return nil
	}
	pod := s.Pod(role)
	f := &filler{role: role, taken: taken}
	f.entries(tree, "metadata", "labels", pod.Labels)
	f.entries(tree, "metadata", "annotations", pod.Annotations)
	f.entries(tree, "spec", "nodeSelector", pod.NodeSelector)
	f.tolerations(tree, pod.Tolerations)
	if spec := peek(tree, "spec"); pod.PriorityClassName != "" && !taken.Priority && !has(spec, "priorityClassName") && !has(spec, "priority") {
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

// The roles of pods, which are the first parts of the names of their settings.
const (
	Driver   = "driver"
	Executor = "executor"
)

// Pod returns the settings of the pods of a role.
func (s *Settings) Pod(role string) *Pod {
	if role == Executor {
		return &s.Executor
	}
	return &s.Driver
}

// FillFields returns a copy of a struct of the Kubernetes API with the defaults for fields that it does not set, and
// the names of the settings that it used. If own or the defaults are nil, it returns own.
func FillFields[T any](setting string, own, defaults *T) (*T, []string) {
	if own == nil || defaults == nil {
		return own, nil
	}
	f := &filler{}
	tree := map[string]any{"own": asTree(own)}
	f.fields(map[string]any{"": tree}, "", "own", setting, asTree(defaults))
	filled := new(T)
	if len(f.used) == 0 || json.Unmarshal([]byte(jsonOf(tree["own"])), filled) != nil {
		return own, nil
	}
	return filled, f.used
}

// filler adds defaults to a decoded pod template.
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

// entries adds the entries of a map that the template does not have.
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

// fields adds the fields of a struct that the template does not set. It leaves out fields that contradict fields which
// the template sets.
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

// contradicts reports whether a default of a security context would make a pod invalid or keep it from starting because
// of what the application itself sets in that context.
func contradicts(own map[string]any, name string, value any) bool {
	switch name {
	case "runAsNonRoot":
		return value == true && own["runAsUser"] == int64(0)
	case "runAsUser":
		return value == int64(0) && own["runAsNonRoot"] == true
	case "allowPrivilegeEscalation":
		return value == false && own["privileged"] == true
	case "privileged":
		return value == true && own["allowPrivilegeEscalation"] == false
	}
	return false
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

// has reports whether an object has a field whose value is neither null nor empty.
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

// TakenByConf returns what an application sets for the pods of a role in its Spark configuration.
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
