package release

import (
	"context"
	"errors"
	"math/rand"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kyaml "sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/settings/policy"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// oneOf returns one of several values.
func oneOf[T any](r *rand.Rand, values ...T) T { return values[r.Intn(len(values))] }

// someOf returns some of several values.
func someOf[T any](r *rand.Rand, values ...T) (some []T) {
	for _, value := range values {
		if r.Intn(2) == 0 {
			some = append(some, value)
		}
	}
	return some
}

// judgedRules are the rules that a ValidatingAdmissionPolicy can judge.
var judgedRules = []string{"images", "serviceAccounts", "nodeSelectors", "tolerations", "schedulers", "priorityClasses",
	"podSecurity"}

// randomRules returns a set of rules for one namespace: the rule with the given name, and some others.
func randomRules(r *rand.Rand, namespace, always string) map[string]any {
	rules := map[string]any{"name": "of-" + namespace,
		"selector": "kubernetes.io/metadata.name in (" + namespace + ", other)"}
	allow := func(rule string, empty bool, patterns ...string) {
		some := someOf(r, patterns...)
		if len(some) == 0 && !empty {
			some = patterns[:1]
		}

		if rule == always || r.Intn(3) == 0 {
			rules[rule] = map[string]any{"allowed": append([]string{}, some...)}
		}
	}
	allow("images", false, "docker.io/library/spark:*", "spark", "registry.example.com/*",
		"registry.example.com/team/**", "regexp:[a-z.]+/spark(:4)?", "apache/spar?:4", "localhost/*", "docker.io/**")
	allow("serviceAccounts", false, "spark", "s*", "regexp:default|other")
	allow("nodeSelectors", true, "pool=spark-*", "gpu=*", "nodeName=node-?", "regexp:(pool|zone)=[a-z]+")
	allow("tolerations", true, "spark=*:NoSchedule", "*:NoExecute", "gpu*")
	allow("schedulers", true, "volc*", "kueue")
	allow("priorityClasses", true, "batch-*", "regexp:urgent")

	if always == "podSecurity" || r.Intn(3) == 0 {
		rules["podSecurity"] = "baseline"
	}
	return rules
}

// randomPod returns a pod with settings that some rules refuse.
func randomPod(r *rand.Rand, namespace string) *corev1.Pod {
	image := func() string {
		return oneOf(r, "spark", "spark:4", "apache/spark:4", "docker.io/library/spark:4",
			"index.docker.io/library/spark:4", "registry.example.com/spark",
			"registry.example.com/team/a/spark", "registry-example.com/spark", "localhost/spark", "evil/spark",
			"EVIL/spark", "registry.example.com:5000/spark")
	}
	container := func(name string) corev1.Container {
		c := corev1.Container{Name: name, Image: image()}
		switch r.Intn(12) {
		case 0:
			c.SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
		case 1:
			c.SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{oneOf[corev1.Capability](r, "CHOWN", "SYS_ADMIN", "NET_BIND_SERVICE")}}}
		case 2:
			c.Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: int32(r.Intn(2)) * 80}}
		}
		return c
	}

	spec := corev1.PodSpec{Containers: []corev1.Container{container("spark")},
		ServiceAccountName: oneOf(r, "", "spark", "admin", "default")}
	if r.Intn(3) == 0 {
		spec.InitContainers = []corev1.Container{container("init")}
	}

	spec.HostPID, spec.HostIPC = r.Intn(10) == 0, r.Intn(10) == 0
	switch r.Intn(8) {
	case 0:
		spec.Volumes = []corev1.Volume{{Name: "v",
			VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
	case 1:
		spec.Volumes = []corev1.Volume{{Name: "v",
			VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: image()}}}}
	}

	values := []string{"spark-a", "system", "a"}
	if r.Intn(4) == 0 {
		spec.NodeSelector = map[string]string{oneOf(r, "pool", "gpu", "zone"): oneOf(r, values...)}
	}

	if r.Intn(8) == 0 {
		spec.NodeName = oneOf(r, "node-1", "master")
	}

	requirement := func() corev1.NodeSelectorRequirement {
		if r.Intn(3) == 0 {
			return corev1.NodeSelectorRequirement{Key: oneOf(r, "pool", "gpu"), Operator: corev1.NodeSelectorOpExists}
		}
		return corev1.NodeSelectorRequirement{Key: oneOf(r, "pool", "gpu"), Operator: corev1.NodeSelectorOpIn,
			Values: []string{oneOf(r, values...), oneOf(r, values...)}}
	}
	if r.Intn(4) == 0 {
		term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{requirement(),
			requirement()}}

		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
		if r.Intn(2) == 0 {
			spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}
		} else {
			spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: term}}
		}
	}

	spec.SchedulerName = oneOf(r, "", "", "volcano", "mine")
	if r.Intn(2) == 0 {
		spec.Tolerations = someOf(r, corev1.Toleration{Operator: corev1.TolerationOpExists},
			corev1.Toleration{Key: "gpu", Value: "a"},
			corev1.Toleration{Key: "spark", Value: "yes", Effect: corev1.TaintEffectNoSchedule},
			corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})
	}

	spec.PriorityClassName = oneOf(r, "", "", "batch-"+namespace, "urgent-"+namespace)
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pod"}, Spec: spec}
}

// brokenRule matches the name of a rule in a refusal.
var brokenRule = regexp.MustCompile(`is not allowed by the rule (\w+)`)

// TestPoliciesAgreeWithTheRules compares the ValidatingAdmissionPolicies, which the chart generates from random rules,
// with internal/settings/policy: the API server admits a pod exactly if the rules do. No operator runs and no webhook
// answers.
func TestPoliciesAgreeWithTheRules(t *testing.T) {
	r := newRelease(t)
	random := rand.New(rand.NewSource(36))
	class := func(name string, standard bool) {
		object := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: 0,
			GlobalDefault: standard}
		if err := r.api.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { _ = r.api.Delete(context.Background(), object) })
	}
	class("default-"+r.namespace, true)
	var namespaces []string

	var sets []any
	for i := range 2 * len(judgedRules) {
		namespace := kit.Namespace(t)

		namespaces, sets = append(namespaces, namespace),
			append(sets, randomRules(random, namespace, judgedRules[i%len(judgedRules)]))
		for _, account := range []string{"spark", "admin"} {
			if err := r.api.Create(t.Context(),
				&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
					Name: account}}); err != nil {
				t.Fatal(err)
			}
		}

		class("batch-"+namespace, false)
		class("urgent-"+namespace, false)

		if err := r.api.Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "admin"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "spark"}},
		}); err != nil {
			t.Fatal(err)
		}
	}

	text, err := kyaml.Marshal(map[string]any{"rules": sets, "owner": "the platform"})
	if err != nil {
		t.Fatal(err)
	}

	rules, err := policy.Parse(string(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}

	values, err := kyaml.Marshal(map[string]any{"config": map[string]any{"policy": map[string]any{"rules": sets,
		"owner": "the platform"}}, "webhook": map[string]any{"enable": false},
		"spark": map[string]any{"jobNamespaces": namespaces}})
	if err != nil {
		t.Fatal(err)
	}

	r.install(currentChart, string(values))

	refused, broken := 0, map[string]bool{}
	for i, namespace := range namespaces {
		for n := range 30 {
			pod := randomPod(random, namespace)
			// An administrator's pod without a role is not judged, and shows what the API server makes of the pod.
			stored := pod.DeepCopy()
			if err := r.api.Create(t.Context(), stored, client.DryRunAll); err != nil {
				t.Fatalf("%v: %+v", err, pod.Spec)
			}

			judged, by := pod.DeepCopy(), r.api
			if n%2 == 0 {
				by = r.as("system:serviceaccount:" + namespace + ":spark")
			} else {
				judged.Labels = map[string]string{"spark-role": "executor"}
			}

			if stored.Spec.PriorityClassName == "default-"+r.namespace {
				stored.Spec.PriorityClassName = ""
			}

			faults := rules.PodFaults(map[string]string{corev1.LabelMetadataName: namespace}, stored)
			var err error

			_ = wait.PollUntilContextTimeout(t.Context(), time.Second, 20*time.Second, true,
				func(ctx context.Context) (bool, error) {
					err = by.Create(ctx, judged.DeepCopy(), client.DryRunAll)
					// The API server needs some time to know a new policy.
					return err != nil || len(faults) == 0, nil //nolint:nilerr // the error is the answer
				})
			if (err != nil) != (len(faults) > 0) || err != nil && !sameRule(err, faults) {
				spec, _ := kyaml.Marshal(pod.Spec)
				t.Errorf("with %v the API server answers %v, the rules %v, to\n%s", sets[i], err, faults, spec)
			}

			if err != nil {
				refused++
				broken[brokenRule.FindString(err.Error())] = true
			}
		}
	}

	t.Logf("%d of %d pods are refused", refused, 30*len(namespaces))

	if all := 30 * len(namespaces); refused < all/4 || refused > all*9/10 || len(broken) < len(judgedRules) {
		t.Errorf("%d pods are refused by %v, so that pods or rules vary too little", refused, broken)
	}
}

// sameRule reports whether the API server refuses a pod because of a rule that one of the faults names.
func sameRule(err error, faults []*dialect.FieldError) bool {
	for _, fault := range faults {
		if rule := brokenRule.FindStringSubmatch(fault.Message); rule != nil && strings.Contains(err.Error(), rule[0]) {
			return true
		}
	}
	return false
}

// as returns a client with the identity of a user.
func (r *release) as(user string) client.Client {
	r.t.Helper()
	rc := rest.CopyConfig(kit.Rest(r.t))
	rc.Impersonate = rest.ImpersonationConfig{UserName: user}

	c, err := client.New(rc, client.Options{Scheme: r.api.Scheme()})
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// TestPoliciesJudgeWhatChanges checks updates of pods that are older than the rules: only a change that adds something
// forbidden is refused.
func TestPoliciesJudgeWhatChanges(t *testing.T) {
	r := newRelease(t)
	namespace := kit.Namespace(t)

	old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "old",
		Labels: map[string]string{"spark-role": "driver"}},
		Spec: corev1.PodSpec{HostPID: true, NodeName: "a",
			Containers: []corev1.Container{{Name: "spark", Image: "evil"}, {Name: "other", Image: "worse"}}}}
	if err := r.api.Create(t.Context(), old); err != nil {
		t.Fatal(err)
	}

	rules := map[string]any{"name": "all", "podSecurity": "baseline",
		"images": map[string]any{"allowed": []string{"spark"}}, "nodeSelectors": map[string]any{"allowed": []string{}}}

	values, err := kyaml.Marshal(map[string]any{"config": map[string]any{"policy": map[string]any{"rules": []any{rules}}}, "webhook": map[string]any{"enable": false}, "spark": map[string]any{"jobNamespaces": []string{namespace}}})
	if err != nil {
		t.Fatal(err)
	}

	r.install(currentChart, string(values))

	evil := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "evil", Labels: old.Labels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "evil"}}}}
	kit.Wait(t, "the policies", func(ctx context.Context) error {
		if err := r.api.Create(ctx, evil.DeepCopy(), client.DryRunAll); err == nil ||
			!strings.Contains(err.Error(), `the image "evil"`) {
			return errors.Join(errors.New("the pod is not judged"), err)
		}
		return nil
	})

	debugger := func(image string, privileged bool) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers,
				corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
					Name: "debugger", Image: image, SecurityContext: &corev1.SecurityContext{Privileged: &privileged},
				}})
		}
	}
	for _, c := range []struct {
		what    string
		change  func(*corev1.Pod)
		debugs  bool
		refused string
	}{
		{what: "a label", change: func(pod *corev1.Pod) { pod.Labels["a"] = "b" }},
		{what: "a finalizer", change: func(pod *corev1.Pod) { pod.Finalizers = []string{"example.com/a"} }},
		{what: "a deadline", change: func(pod *corev1.Pod) { pod.Spec.ActiveDeadlineSeconds = new(int64(1000)) }},
		{what: "an allowed image", change: func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "spark" }},
		{what: "the role taken off",
			change:  func(pod *corev1.Pod) { pod.Labels, pod.Spec.Containers[0].Image = nil, "other" },
			refused: `the image "other"`},
		{what: "a forbidden image", change: func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "other" },
			refused: `the image "other"`},
		{what: "a forbidden image that another container has",
			change: func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "worse" }},
		{what: "an allowed debugger", change: debugger("spark", false), debugs: true},
		{what: "a debugger with a forbidden image", change: debugger("busybox", false), debugs: true,
			refused: `the image "busybox"`},
		{what: "a privileged debugger", change: debugger("spark", true), debugs: true,
			refused: `container debugger with privileged`},
	} {
		pod := old.DeepCopy()
		c.change(pod)

		var err error
		if c.debugs {
			err = r.api.SubResource("ephemeralcontainers").Update(t.Context(), pod, client.DryRunAll)
		} else {
			err = r.api.Update(t.Context(), pod, client.DryRunAll)
		}

		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, want a refusal with %q", c.what, err, c.refused)
		}
	}
	// Others' pods are not judged: those of people, and those of controllers, without a role.
	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "other"},
		Spec: corev1.PodSpec{HostPID: true, Containers: []corev1.Container{
			{Name: "a", Image: "evil", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}},
		}}}
	if err := r.api.Create(t.Context(), other, client.DryRunAll); err != nil {
		t.Error(err)
	}
}
