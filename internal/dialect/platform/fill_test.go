package platform

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// treeOf returns a decoded JSON object, or nil.
func treeOf(text []byte) map[string]any {
	var decoded map[string]any
	if utiljson.Unmarshal(text, &decoded) != nil {
		return nil
	}
	return decoded
}

// lost returns the path of a value of a template that a filled template does not have, or "". Null, an empty list and
// an empty text are no values. Lists may get more items at one of their ends.
func lost(before, after any, path string) string {
	switch before := before.(type) {
	case nil:
		return ""
	case map[string]any:
		after, isMap := after.(map[string]any)
		if !isMap {
			return path
		}

		for key, value := range before {
			if found := lost(value, after[key], path+"."+key); found != "" {
				return found
			}
		}
		return ""
	case []any:
		after, isList := after.([]any)

		if len(before) == 0 {
			return ""
		}

		if !isList || len(after) < len(before) {
			return path
		}

		if firstLost(before, after[len(after)-len(before):], path) == "" {
			return ""
		}
		return firstLost(before, after, path)
	case string:
		if before == "" {
			return ""
		}
	}

	if !reflect.DeepEqual(before, after) {
		return path
	}
	return ""
}

func firstLost(before, after []any, path string) string {
	for i := range before {
		if found := lost(before[i], after[i], fmt.Sprintf("%s[%d]", path, i)); found != "" {
			return found
		}
	}
	return ""
}

// filledPart returns the part of a decoded template that a setting of the role fills, as JSON. It returns "" for a
// setting of another role.
func filledPart(tree map[string]any, setting, role string, container Container) string {
	containers, _ := peek(tree, "spec")["containers"].([]any)

	var spark map[string]any
	if at := container.index(containers); at >= 0 {
		spark, _ = containers[at].(map[string]any)
	}

	if setting == container.ImageSetting {
		return jsonOf(spark["image"])
	}

	if setting != "imagePullSecrets" {
		var isRole bool
		if setting, isRole = strings.CutPrefix(setting, role+"."); !isRole {
			return ""
		}
	}

	field, name, _ := strings.Cut(strings.NewReplacer("[", " ", "]", "", ".", " ").Replace(setting), " ")
	switch field {
	case "labels", "annotations":
		return jsonOf(peek(tree, "metadata", field)[name])
	case "nodeSelector":
		return jsonOf(peek(tree, "spec", field)[name])
	case "securityContext":
		return jsonOf(peek(spark, field)[name])
	case "podSecurityContext":
		return jsonOf(peek(tree, "spec", "securityContext")[name])
	case "env":
		variables, _ := spark["env"].([]any)
		return jsonOf(slices.DeleteFunc(slices.Clone(variables), func(item any) bool {
			variable, _ := item.(map[string]any)
			return variable["name"] != name
		}))
	}
	return jsonOf(peek(tree, "spec")[field])
}

// checkFill checks the properties of Fill for one template, and reports whether Fill changed it. No value of the
// template is lost. The settings that are reported as used are those that changed something. A second call changes
// nothing.
func checkFill(t *testing.T, s *Settings, raw []byte, role string, container Container) bool {
	t.Helper()

	before := slices.Clone(raw)

	filled, used := s.Fill(raw, role, container, Taken{})
	if !slices.Equal(before, raw) {
		t.Fatalf("the template %s was changed to %s", before, raw)
	}

	if len(used) == 0 {
		if string(filled) != string(raw) {
			t.Fatalf("%s becomes %s without a setting", raw, filled)
		}
		return false
	}

	after := treeOf(filled)
	if found := lost(treeOf(raw), after, ""); after == nil || found != "" {
		t.Fatalf("%s\nbecomes %s\nwhich lacks %s", raw, filled, found)
	}

	if unique := slices.Compact(slices.Sorted(slices.Values(used))); len(unique) != len(used) {
		t.Fatalf("%s: a setting is named twice: %v", raw, used)
	}

	for _, setting := range append(slices.Sorted(maps.Keys(s.Values())), container.ImageSetting) {
		old, now := filledPart(treeOf(raw), setting, role, container), filledPart(after, setting, role, container)
		if (old != now) != slices.Contains(used, setting) {
			t.Fatalf("%s\nbecomes %s\nwith %v, but %s changes %s to %s", raw, filled, used, setting, old, now)
		}
	}

	if again, more := s.Fill(filled, role, container, Taken{}); len(more) > 0 || string(again) != string(filled) {
		t.Fatalf("%s\nbecomes %s\nand then with %v %s", raw, filled, more, again)
	}
	return true
}

// TestDefaultsNeverReplaceAValue fills random templates, in which any part may have a wrong type. Many of them must be
// filled, because the test would otherwise pass with a Fill that changes nothing.
func TestDefaultsNeverReplaceAValue(t *testing.T) {
	keys := []string{
		"metadata", "labels", "annotations", "team", "note", "spec", "nodeSelector", "pool", "tolerations",
		"priorityClassName", "priority", "securityContext", "fsGroup",
		"imagePullSecrets", "containers", "name", "image", "env", "runAsNonRoot", "runAsUser",
		"allowPrivilegeEscalation", "privileged", "capabilities",
	}

	filled := 0
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var value func(depth int) string
		value = func(depth int) string {
			kind := r.IntN(10)
			switch {
			case kind < 5 && depth < 5:
				var parts []string
				for _, i := range r.Perm(len(keys))[:r.IntN(6)] {
					parts = append(parts, fmt.Sprintf("%q:%s", keys[i], value(depth+1)))
				}
				return "{" + strings.Join(parts, ",") + "}"
			case kind < 7 && depth < 5:
				parts := make([]string, r.IntN(3))
				for i := range parts {
					parts[i] = value(depth + 1)
				}
				return "[" + strings.Join(parts, ",") + "]"
			}
			return []string{`null`, `true`, `false`, `0`, `185`, `""`, `"spark"`, `"HTTP_PROXY"`, `1.5`}[r.IntN(9)]
		}
		raw := fmt.Sprintf(`{"metadata":%s,"spec":%s}`, value(1), value(1))

		container := Container{Name: "spark", Alone: seed%2 == 0, Image: "default", ImageSetting: "images[4.1]"}
		if checkFill(t, full(), []byte(raw), []string{Driver, Executor}[seed%3%2], container) {
			filled++
		}
	}

	if filled < 500 {
		t.Errorf("only %d templates were filled", filled)
	}
}

func FuzzFill(f *testing.F) {
	for _, text := range []string{
		``, `null`, `{}`, `[]`, `5`, `{"spec":null}`, `{"spec":5}`, `{"metadata":{"labels":[]}}`,
		`{"spec":{"containers":[null,{}]}}`, `{"spec":{"containers":[{"name":"spark","env":{}}]}}`,
		`{"spec":{"tolerations":{}}}`,
		`{"spec":{"containers":[{"name":"spark","securityContext":{"capabilities":{"add":["CAP_SYS_ADMIN"]}}}]}}`,
		`{"Spec":{}}`,
	} {
		f.Add([]byte(text), true)
	}

	f.Fuzz(func(t *testing.T, raw []byte, alone bool) {
		checkFill(t, full(), raw, Executor,
			Container{Name: "spark", Alone: alone, Image: "default", ImageSetting: "images[4.1]"})
	})
}

// TestTemplatesOfWrongTypesStayAsTheyAre checks templates that are no pod templates. If a default replaced the part
// with the wrong type, validation could not report it, and the setting of the user would be lost in silence.
func TestTemplatesOfWrongTypesStayAsTheyAre(t *testing.T) {
	for _, text := range []string{
		`5`, `"x"`, `[]`, `[{}]`, `{"spec":5}`, `{"spec":[]}`, `{"spec":""}`, `{"metadata":"x"}`,
		`{"metadata":{"labels":"x"}}`, `{"metadata":{"annotations":[]}}`,
		`{"spec":{"nodeSelector":"x"}}`, `{"spec":{"tolerations":{"key":"gpu"}}}`, `{"spec":{"securityContext":true}}`,
		`{"spec":{"containers":{"name":"spark"}}}`,
		`{"spec":{"containers":["spark"]}}`, `{"spec":{"containers":[{"name":"spark","env":{"A":"b"}}]}}`,
		`{"spec":{"containers":[{"name":"spark","securityContext":[]}]}}`,
	} {
		got, used := full().Fill([]byte(text), Driver,
			Container{Name: "spark", Image: "i", ImageSetting: "images[4.1]"}, Taken{})
		if string(got) != text || len(used) > 0 {
			t.Errorf("%s becomes %s with %v", text, got, used)
		}
	}
}

// TestDefaultsDoNotContradictTheApplication checks pairs of fields of a security context that Kubernetes rejects, or
// with which no container starts (ValidateSecurityContext, and the kubelet's check of runAsNonRoot).
func TestDefaultsDoNotContradictTheApplication(t *testing.T) {
	capability := func(name string) *corev1.Capabilities {
		return &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN", corev1.Capability(name)}}
	}
	for name, c := range map[string]struct {
		own, defaults *corev1.SecurityContext
		used          bool
	}{
		"root, and non-root by default": {&corev1.SecurityContext{RunAsUser: new(int64(0))},
			&corev1.SecurityContext{RunAsNonRoot: new(true)}, false},
		"a user, and non-root by default": {&corev1.SecurityContext{RunAsUser: new(int64(1))},
			&corev1.SecurityContext{RunAsNonRoot: new(true)}, true},
		"root, and root allowed by default": {&corev1.SecurityContext{RunAsUser: new(int64(0))},
			&corev1.SecurityContext{RunAsNonRoot: new(false)}, true},
		"non-root, and root by default": {&corev1.SecurityContext{RunAsNonRoot: new(true)},
			&corev1.SecurityContext{RunAsUser: new(int64(0))}, false},
		"non-root, and a user by default": {&corev1.SecurityContext{RunAsNonRoot: new(true)},
			&corev1.SecurityContext{RunAsUser: new(int64(1))}, true},
		"privileged, and no escalation": {&corev1.SecurityContext{Privileged: new(true)},
			&corev1.SecurityContext{AllowPrivilegeEscalation: new(false)}, false},
		"not privileged, and no escalation": {&corev1.SecurityContext{Privileged: new(false)},
			&corev1.SecurityContext{AllowPrivilegeEscalation: new(false)}, true},
		"privileged, and escalation": {&corev1.SecurityContext{Privileged: new(true)},
			&corev1.SecurityContext{AllowPrivilegeEscalation: new(true)}, true},
		"no escalation, and privileged": {&corev1.SecurityContext{AllowPrivilegeEscalation: new(false)},
			&corev1.SecurityContext{Privileged: new(true)}, false},
		"escalation, and privileged": {&corev1.SecurityContext{AllowPrivilegeEscalation: new(true)},
			&corev1.SecurityContext{Privileged: new(true)}, true},
		"CAP_SYS_ADMIN, and no escalation": {&corev1.SecurityContext{Capabilities: capability("CAP_SYS_ADMIN")},
			&corev1.SecurityContext{AllowPrivilegeEscalation: new(false)}, false},
		"CAP_SYS_ADMIN, and escalation": {&corev1.SecurityContext{Capabilities: capability("CAP_SYS_ADMIN")},
			&corev1.SecurityContext{AllowPrivilegeEscalation: new(true)}, true},
		"another capability, and no escalation": {&corev1.SecurityContext{Capabilities: capability("SYS_TIME")},
			&corev1.SecurityContext{AllowPrivilegeEscalation: new(false)}, true},
		"no escalation, and CAP_SYS_ADMIN": {&corev1.SecurityContext{AllowPrivilegeEscalation: new(false)},
			&corev1.SecurityContext{Capabilities: capability("CAP_SYS_ADMIN")}, false},
		"no escalation, and another capability": {&corev1.SecurityContext{AllowPrivilegeEscalation: new(false)},
			&corev1.SecurityContext{Capabilities: capability("SYS_TIME")}, true},
		"dropped CAP_SYS_ADMIN and no escalation": {&corev1.SecurityContext{Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"CAP_SYS_ADMIN"}}}, &corev1.SecurityContext{AllowPrivilegeEscalation: new(false)}, true},
	} {
		own := c.own.DeepCopy()

		got, used := FillFields("driver.securityContext", c.own, c.defaults)
		if len(used) > 0 != c.used || !c.used && got != c.own {
			t.Errorf("%s: used are %v", name, used)
		}

		if diff := cmp.Diff(own, c.own); diff != "" {
			t.Errorf("%s: the application's context was changed (-want +got):\n%s", name, diff)
		}

		template := []byte(`{"spec":{"containers":[{"name":"spark","securityContext":` + jsonOf(c.own) + `}]}}`)
		if _, used := (&Settings{Executor: Pod{SecurityContext: c.defaults}}).Fill(template, Executor,
			Container{Name: "spark"}, Taken{}); len(used) > 0 != c.used {
			t.Errorf("%s: used in a template are %v", name, used)
		}
	}
}

// TestFillReadsTheRole checks that an executor gets the settings of executors, and everything else those of drivers.
func TestFillReadsTheRole(t *testing.T) {
	s := &Settings{Driver: Pod{PriorityClassName: "high"}, Executor: Pod{PriorityClassName: "low"}}
	for role, want := range map[string][2]string{
		Driver:   {`{"spec":{"priorityClassName":"high"}}`, "driver.priorityClassName"},
		Executor: {`{"spec":{"priorityClassName":"low"}}`, "executor.priorityClassName"},
	} {
		got, used := s.Fill(nil, role, Container{Name: "spark"}, Taken{})
		if string(got) != want[0] || !slices.Equal(used, []string{want[1]}) {
			t.Errorf("%s: %s with %v, want %s with %s", role, got, used, want[0], want[1])
		}
	}

	var none *Settings
	if got, used := none.Fill([]byte(`{ }`), Driver, Container{}, Taken{}); string(got) != `{ }` || used != nil {
		t.Errorf("without settings: %s with %v", got, used)
	}

	if used := none.FillTree(map[string]any{}, Driver, Container{}, Taken{}); used != nil {
		t.Errorf("without settings a tree gets %v", used)
	}
}

// TestFillKeepsWhatIsSetElsewhere checks each field of Taken alone: it must hold back its own settings and no others.
func TestFillKeepsWhatIsSetElsewhere(t *testing.T) {
	all := []string{
		"driver.annotations[note]", "driver.env[HTTP_PROXY]", "driver.env[REGION]", "driver.labels[team]",
		"driver.nodeSelector[pool]", "driver.podSecurityContext.fsGroup",
		"driver.priorityClassName", "driver.securityContext.allowPrivilegeEscalation",
		"driver.securityContext.runAsNonRoot", "driver.tolerations", "imagePullSecrets",
	}
	for name, c := range map[string]struct {
		taken   Taken
		without string
	}{
		"nothing":    {Taken{}, "-"},
		"a variable": {Taken{Env: func(name string) bool { return name == "REGION" }}, "env[REGION]"},
		"a label": {Taken{Key: func(field, key string) bool {
			return field == "labels" &&
				key == "team"
		}}, "labels["},
		"an annotation": {Taken{Key: func(field, key string) bool {
			return field == "annotations" &&
				key == "note"
		}}, "annotations["},
		"a node selector": {Taken{Key: func(field, key string) bool {
			return field == "nodeSelector" &&
				key == "pool"
		}}, "nodeSelector["},
		"pull secrets":          {Taken{PullSecrets: true}, "imagePullSecrets"},
		"a priority class":      {Taken{Priority: true}, "priorityClassName"},
		"a security context":    {Taken{Security: true}, ".securityContext."},
		"a pod's context":       {Taken{PodSecurity: true}, ".podSecurityContext."},
		"a variable of another": {Taken{Env: func(name string) bool { return name == "OTHER" }}, "-"},
	} {
		_, used := full().Fill(nil, Driver, Container{Name: "spark"}, c.taken)
		slices.Sort(used)

		want := slices.DeleteFunc(slices.Clone(all),
			func(setting string) bool { return strings.Contains(setting, c.without) })
		if diff := cmp.Diff(want, used); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestEachFieldOfATemplateHoldsBackItsDefault checks how an application can set a value so that its default is not
// used: an empty text is a value, and null and an empty list are none. A numeric priority rules out a priority class,
// because Kubernetes rejects a pod in which the two differ.
func TestEachFieldOfATemplateHoldsBackItsDefault(t *testing.T) {
	for text, want := range map[string]bool{
		`{"spec":{"priorityClassName":"own"}}`: false, `{"spec":{"priorityClassName":""}}`: false,
		`{"spec":{"priorityClassName":null}}`: true, `{"spec":{"priority":0}}`: false,
		`{"spec":{"priority":null}}`: true, `{"priority":0}`: true,
	} {
		_, used := (&Settings{Driver: Pod{PriorityClassName: "batch"}}).Fill([]byte(text), Driver,
			Container{Name: "spark"}, Taken{})
		if got := slices.Contains(used, "driver.priorityClassName"); got != want {
			t.Errorf("%s: the default priority class is used: %v", text, got)
		}
	}

	for text, want := range map[string]bool{
		`{"spec":{"imagePullSecrets":[{"name":"own"}]}}`: false, `{"spec":{"imagePullSecrets":[]}}`: true,
		`{"spec":{"imagePullSecrets":null}}`: true, `{}`: true,
	} {
		_, used := (&Settings{PullSecrets: []string{"registry"}}).Fill([]byte(text), Driver, Container{Name: "spark"},
			Taken{})
		if got := slices.Contains(used, "imagePullSecrets"); got != want {
			t.Errorf("%s: the default pull secrets are used: %v", text, got)
		}
	}
}

// TestSparkContainer checks which container gets the settings of the Spark container.
func TestSparkContainer(t *testing.T) {
	for name, c := range map[string]struct {
		containers string
		alone      bool
		want       string
	}{
		"no containers":        {`[]`, false, `[{"image":"i","name":"spark"}]`},
		"no containers, alone": {`[]`, true, `[{"image":"i","name":"spark"}]`},
		"the first one": {`[{"name":"a"},{"name":"b"}]`, false,
			`[{"name":"a","image":"i"},{"name":"b"}]`},
		"none of them, alone": {`[{"name":"a"},{"name":"b"}]`, true,
			`[{"image":"i","name":"spark"},{"name":"a"},{"name":"b"}]`},
		"the one with the name": {`[{"name":"a"},{},{"name":"spark"}]`, false,
			`[{"name":"a"},{},{"name":"spark","image":"i"}]`},
		"the one with the name, alone": {`[{},{"name":"spark"}]`, true,
			`[{},{"name":"spark","image":"i"}]`},
		"the first without a name, alone": {`[{"name":"a"},{},{"args":[]}]`, true,
			`[{"name":"a"},{"image":"i"},{"args":[]}]`},
		"the first one, although another is unnamed": {`[{"name":"a"},{}]`, false, `[{"name":"a","image":"i"},{}]`},
		"one with an image":                          {`[{"name":"spark","image":"own"}]`, false, ``},
		"one with an empty image": {`[{"name":"spark","image":""}]`, false,
			`[{"name":"spark","image":"i"}]`},
	} {
		text := `{"spec":{"containers":` + c.containers + `}}`
		got, used := (&Settings{}).Fill([]byte(text), Driver,
			Container{Name: "spark", Alone: c.alone, Image: "i", ImageSetting: "images[4.1]"}, Taken{})

		want, uses := text, 0
		if c.want != "" {
			want, uses = `{"spec":{"containers":`+c.want+`}}`, 1
		}

		if diff := cmp.Diff(treeOf([]byte(want)), treeOf(got)); diff != "" || len(used) != uses {
			t.Errorf("%s: used are %v (-want +got):\n%s", name, used, diff)
		}
	}
}

// TestTakenByConf checks every key by which Spark sets what a default could set.
func TestTakenByConf(t *testing.T) {
	const kube, env, label, annotation, node, secrets = "spark.kubernetes.", "env REGION", "labels team",
		"annotations note", "nodeSelector pool", "pull secrets"
	for key, want := range map[string]map[string]string{
		kube + "driverEnv.REGION": {Driver: env}, "spark.executorEnv.REGION": {Executor: env},
		kube + "driver.secretKeyRef.REGION": {Driver: env}, kube + "executor.secretKeyRef.REGION": {Executor: env},
		kube + "driver.label.team": {Driver: label}, kube + "executor.label.team": {Executor: label},
		kube + "driver.annotation.note":    {Driver: annotation},
		kube + "executor.annotation.note":  {Executor: annotation},
		kube + "driver.node.selector.pool": {Driver: node}, kube + "executor.node.selector.pool": {Executor: node},
		kube + "node.selector.pool":             {Driver: node, Executor: node},
		kube + "container.image.pullSecrets":    {Driver: secrets, Executor: secrets},
		kube + "driver.label.pool":              {},
		kube + "driver.service.annotation.note": {},
		"spark.driverEnv.REGION":                {},
	} {
		for _, role := range []string{Driver, Executor} {
			taken := TakenByConf(map[string]string{key: "x"}, role)

			var got []string
			if taken.Env("REGION") {
				got = append(got, env)
			}

			for _, entry := range []string{label, annotation, node} {
				field, name, _ := strings.Cut(entry, " ")
				if taken.Key(field, name) {
					got = append(got, entry)
				}
			}

			if taken.PullSecrets {
				got = append(got, secrets)
			}

			if text := strings.Join(got, ", "); text != want[role] {
				t.Errorf("%s takes %q of the %s, want %q", key, text, role, want[role])
			}

			if taken.Priority || taken.Security || taken.PodSecurity {
				t.Errorf("%s takes what no key sets", key)
			}
		}
	}

	if TakenByConf(map[string]string{kube + "container.image.pullSecrets": " "}, Driver).PullSecrets {
		t.Error("a blank counts as a pull secret")
	}
}
