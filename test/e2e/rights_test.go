package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

// right is one verb on one resource in one namespace, as in RBAC. If an RBAC rule limits the right to one object
// (resourceNames), the field name contains the object's name. Otherwise the field is empty.
type right struct{ namespace, group, resource, verb, name string }

func (r right) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s in namespace %s, name %s", r.verb,
		strings.TrimSuffix(r.resource+"."+r.group, "."), r.namespace, r.name), ", name ")
}

// onAll returns the same right for all objects instead of one named object.
func (r right) onAll() right {
	r.name = ""
	return r
}

func sorted(rights map[right]bool) []right {
	return slices.SortedFunc(maps.Keys(rights), func(a, b right) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.group, b.group),
			cmp.Compare(a.resource, b.resource), cmp.Compare(a.verb, b.verb), cmp.Compare(a.name, b.name))
	})
}

// These are the user names that the API server gives to the chart's service accounts.
const (
	operatorAccount = "system:serviceaccount:" + cluster.Namespace + ":spark-operator-controller"
	driverAccount   = "system:serviceaccount:default:" + cluster.ServiceAccount
	submitAccount   = "system:serviceaccount:default:" + cluster.SubmitAccount
)

// rarelyUsed lists rights that the end-to-end tests do not use in every run. Each entry gives the situation in which
// the right is needed, and names a test that covers this situation.
var rarelyUsed = []struct {
	account         string
	resource, verbs string
	reason          string
	file, test      string
}{
	{operatorAccount, "pods", "get", "a pod of that name already exists, and a live read finds its owner",
		"internal/engine/apply/apply_live_test.go", "TestNameIsTaken"},
	{operatorAccount, "configmaps", "get", "the same for an attempt's ConfigMap",
		"internal/engine/apply/apply_live_test.go", "TestNameIsTaken"},
	{operatorAccount, "services", "get", "the same for the driver's Service",
		"internal/process/operator/crash_test.go", "TestCrashInALongLife"},
	{operatorAccount, "services", "patch", "the options of an existing web UI Service change",
		"internal/engine/auxiliary/auxiliary_test.go", "TestUIServiceIsUpdatedInPlace"},
	{operatorAccount, "networkpolicies", "get create delete", "the driver's NetworkPolicy, from Spark 4.2 on",
		"internal/process/operator/life_test.go", "TestNetworkPoliciesGoWithTheirAttempt"},
	{operatorAccount, "poddisruptionbudgets", "get", "a budget of that name already exists",
		"internal/engine/auxiliary/budget_test.go", "TestBudgetOfSomebodyElse"},
	{operatorAccount, "sparkapplications/finalizers", "update",
		"an admission plugin requires it, without a request of its own",
		"test/e2e/rights_test.go", "blockingOwnersNeedARight"},
	{operatorAccount, "sparkapplications", "get",
		"an application with a run's name already exists, and a live read finds its owner",
		"internal/engine/runs/schedule_test.go", "TestScheduleNameIsTaken"},
	{operatorAccount, "scheduledsparkapplications", "get",
		"the API server's store was restored, and the cache will never contain the last write",
		"internal/engine/controller/record_test.go", "TestWriteMissingAfterARestore"},
	{operatorAccount, "scheduledsparkapplications/finalizers", "update", "the same for a schedule's runs",
		"test/e2e/rights_test.go", "blockingOwnersNeedARight"},
	{operatorAccount, "sparkconnects", "get",
		"the API server's store was restored, and the cache will never contain the last write",
		"internal/engine/controller/record_test.go", "TestWriteMissingAfterARestore"},
	{operatorAccount, "sparkconnects/finalizers", "update", "the same for a Spark Connect server's objects",
		"test/e2e/rights_test.go", "blockingOwnersNeedARight"},
	{operatorAccount, "sparkclusters", "get",
		"the API server's store was restored, and the cache will never contain the last write",
		"internal/engine/controller/record_test.go", "TestWriteMissingAfterARestore"},
	{operatorAccount, "sparkclusters", "patch", "another operator's finalizer is removed",
		"internal/kinds/configured/clusters_takeover_test.go", "TestClusterIsTakenOver"},
	{operatorAccount, "sparkclusters/finalizers", "update", "the same for a cluster's objects",
		"test/e2e/rights_test.go", "blockingOwnersNeedARight"},
	{operatorAccount, "statefulsets", "get patch delete", "a template or an immutable field of a StatefulSet is edited",
		"internal/kinds/configured/clusters_test.go", "TestReplacedSetKeepsItsPods"},
	{operatorAccount, "horizontalpodautoscalers", "get create patch delete", "a cluster whose workers are scaled",
		"internal/kinds/configured/clusters_test.go", "TestAutoscalerHasTheWorkers"},
	{operatorAccount, "configmaps", "patch", "a cluster's configuration is edited",
		"internal/kinds/configured/clusters_test.go", "TestClusterIsEdited"},
	{operatorAccount, "networkpolicies", "patch", "somebody edits the NetworkPolicy of a driver",
		"internal/engine/explain/disappears_kinds_test.go", "TestEachDependentIsRestoredOrNamed"},
	{operatorAccount, "poddisruptionbudgets", "patch", "somebody edits the budget of a driver",
		"internal/engine/explain/disappears_kinds_test.go", "TestEachDependentIsRestoredOrNamed"},
	{operatorAccount, "priorityclasses", "get", "the pods of a queued resource name a PriorityClass",
		"internal/engine/kueue/queue_test.go", "TestPriorities"},
	{submitAccount, "networkpolicies", "create patch", "spark-submit of Spark 4.2 and newer",
		"test/e2e/lines_submit_test.go", "runSubmitted"},
	{submitAccount, "secrets", "create patch",
		"spark-submit with Hadoop's delegation tokens, or with steps of the user's",
		"spark/submit/native/compare_test.go", "TestAgainstSparkSubmit"},
	{submitAccount, "persistentvolumeclaims", "create patch",
		"spark-submit of an application whose driver has claims of its own",
		"spark/submit/native/compare_test.go", "TestAgainstSparkSubmit"},
	{submitAccount, "pods", "delete",
		"spark-submit deletes the driver pod if it cannot create the objects that the pod mounts",
		"test/e2e/chart/objects_test.go", "TestDriverRightsFollowTheValues"},
}

// TestRarelyUsedRightsAreTested checks that every test that is named in rarelyUsed exists.
func TestRarelyUsedRightsAreTested(t *testing.T) {
	for _, s := range rarelyUsed {
		text, err := os.ReadFile(filepath.Join(root, s.file))
		if err != nil || !regexp.MustCompile(`(?m)^func (\(.*\) )?`+s.test+`\(`).Match(text) {
			t.Errorf("%s %s is listed as used by %s in %s, but that test does not exist: %v", s.verbs, s.resource,
				s.test, s.file, err)
		}
	}
}

// rights compares the rights that the chart grants by default with the rights that the suite used according to the
// audit log. It checks that the suite used every right that is not in rarelyUsed, that no right is wider than
// necessary, and that no needed right is missing. This test runs last.
func (w *suite) rights(t *testing.T) {
	w.needsEmbedded(t, "the API server's audit log")
	given := w.rightsGiven(t)

	used, refused := w.rightsUsed(t)
	if len(given) != 3 {
		t.Errorf("rights are given to %v, want the operator, its drivers and its pods of spark-submit",
			slices.Sorted(maps.Keys(given)))
	}

	w.blockingOwnersNeedARight(t)

	for account, rights := range given {
		n := 0
		for _, r := range sorted(rights) {
			switch {
			case used[account][r]:
				n++
			case !isSeldom(account, r):
				t.Errorf("%s is given and never used: %s", account, r)
			}
		}

		for _, r := range sorted(refused[account]) {
			served := r.namespace != logNamespaces[inStore] && r.namespace != logNamespaces[streamed] // by this release
			// A granted right is denied only before its Role exists or after its deletion.
			if served && !rights[r] && !rights[r.onAll()] {
				t.Errorf("%s requested this right and was denied: %s", account, r)
			}
		}

		t.Logf("%s: %d rights, of which %d are used", account, len(rights), n)
	}
}

func isSeldom(account string, r right) bool {
	for _, s := range rarelyUsed {
		if s.account == account && s.resource == r.resource && slices.Contains(strings.Fields(s.verbs), r.verb) {
			return true
		}
	}
	return false
}

// blockingOwnersNeedARight checks which accounts may set an owner reference that blocks the deletion of the owner. The
// admission plugin OwnerReferencesPermissionEnforcement is enabled in this cluster, and requires the right to update
// the owner's finalizers. The operator has this right. The API server must reject such requests of other accounts.
func (w *suite) blockingOwnersNeedARight(t *testing.T) {
	t.Helper()

	clients := map[bool]client.Client{}
	for may, account := range map[bool]string{true: operatorAccount, false: driverAccount} {
		config := rest.CopyConfig(w.Config)
		config.Impersonate.UserName = account

		c, err := client.New(config, client.Options{Scheme: w.Client.Scheme()})
		if err != nil {
			t.Fatal(err)
		}

		clients[may] = c
	}

	for _, kind := range []schema.GroupVersionKind{
		v1beta2.GroupVersion.WithKind("SparkApplication"), v1beta2.GroupVersion.WithKind("ScheduledSparkApplication"),
		v1alpha1.GroupVersion.WithKind("SparkConnect"), sparkv1.GroupVersion.WithKind("SparkApplication"),
		sparkv1.GroupVersion.WithKind("SparkCluster"),
	} {
		object := configMap("owned", "key", "value")
		owner := &metav1.ObjectMeta{Name: "owner", UID: "nobody-asks-whether-it-is-there"}

		object.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)}
		for may, c := range clients {
			err := c.Create(t.Context(), object.DeepCopy(), client.DryRunAll)
			if may != (err == nil) || !may && !apierrors.IsForbidden(err) {
				t.Errorf("something with a %s as its controller is made: %v, want it to be allowed: %v", kind, err, may)
			}
		}
	}
}

// rightsGiven returns, for each service account, the rights that the release's roles grant. It fails the test if a
// right contains "*". It also fails the test if a right applies to all namespaces, because this release serves only the
// namespaces that its Helm values name. Only rights on objects that belong to no namespace are exempt.
func (w *suite) rightsGiven(t *testing.T) map[string]map[right]bool {
	t.Helper()

	ours := client.MatchingLabels{"app.kubernetes.io/instance": cluster.Release}
	var wide rbacv1.ClusterRoleBindingList

	var bindings rbacv1.RoleBindingList
	for _, list := range []client.ObjectList{&wide, &bindings} {
		if err := w.Client.List(t.Context(), list, ours); err != nil {
			t.Fatal(err)
		}
	}

	given := map[string]map[right]bool{}
	for _, binding := range wide.Items {
		var role rbacv1.ClusterRole
		if err := w.Client.Get(t.Context(), client.ObjectKey{Name: binding.RoleRef.Name}, &role); err != nil {
			t.Fatal(err)
		}

		for _, rule := range role.Rules {
			if !withoutNamespace(rule) {
				t.Errorf("%s gives rights in all namespaces: %v", binding.Name, rule)
			}

			for _, r := range expand("", rule) {
				given[operatorAccount] = union(given[operatorAccount], r)
			}
		}
	}

	for _, binding := range bindings.Items {
		var role rbacv1.Role
		if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: binding.Namespace, Name: binding.RoleRef.Name},
			&role); err != nil {
			t.Fatal(err)
		}

		for _, subject := range binding.Subjects {
			account := "system:serviceaccount:" + subject.Namespace + ":" + subject.Name
			if given[account] == nil {
				given[account] = map[right]bool{}
			}

			for _, rule := range role.Rules {
				for _, r := range expand(binding.Namespace, rule) {
					given[account][r] = true
				}
			}
		}
	}

	for account, rights := range given {
		for r := range rights {
			if slices.Contains([]string{r.group, r.resource, r.verb}, "*") {
				t.Errorf("%s may do anything: %s", account, r)
			}
		}
	}
	return given
}

// withoutNamespace reports whether a rule is about objects that belong to no namespace: the operator's own webhook
// configurations, by name, and what Workloads of Kueue refer to, which is only read.
func withoutNamespace(rule rbacv1.PolicyRule) bool {
	if slices.Equal(rule.Resources, []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"}) {
		return len(rule.ResourceNames) > 0
	}

	referred := []string{"resourceflavors", "workloadpriorityclasses", "priorityclasses"}
	return !slices.ContainsFunc(rule.Resources, func(r string) bool { return !slices.Contains(referred, r) }) &&
		!slices.ContainsFunc(rule.Verbs, func(verb string) bool { return verb != "get" && verb != "list" })
}

// union adds a right to a set and returns the set. If the set is nil, union creates it.
func union(rights map[right]bool, r right) map[right]bool {
	if rights == nil {
		rights = map[right]bool{}
	}

	rights[r] = true
	return rights
}

func expand(namespace string, rule rbacv1.PolicyRule) (rights []right) {
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				all := right{namespace: namespace, group: group, resource: resource, verb: verb}
				if len(rule.ResourceNames) == 0 {
					rights = append(rights, all)
				}

				for _, all.name = range rule.ResourceNames {
					rights = append(rights, all)
				}
			}
		}
	}
	return rights
}

// rightsUsed reads the audit log. For each account it returns the rights with which requests were allowed, and the
// rights that were missing when requests were forbidden.
func (w *suite) rightsUsed(t *testing.T) (used, refused map[string]map[right]bool) {
	t.Helper()

	used, refused = map[string]map[right]bool{}, map[string]map[right]bool{}
	w.readAudit(t, func(request cluster.Request) {
		ref := request.ObjectRef

		into := map[string]map[string]map[right]bool{"allow": used, "forbid": refused}[request.Decision()]
		if into == nil || ref.Resource == "" {
			return
		}

		if into[request.User.Username] == nil {
			into[request.User.Username] = map[right]bool{}
		}

		resource := strings.TrimSuffix(ref.Resource+"/"+ref.Subresource, "/")
		r := right{ref.Namespace, ref.APIGroup, resource, request.Verb, ref.Name}

		into[request.User.Username][r] = true
		if request.Decision() == "allow" {
			into[request.User.Username][r.onAll()] = true
		}
		// Server-side apply needs both rights.
		if request.Verb == "patch" && request.ResponseStatus.Code == http.StatusCreated {
			r.verb = "create"
			into[request.User.Username][r.onAll()] = true
		}
	})
	return used, refused
}

// readAudit calls the given function with every request of the audit log, in the order of the responses.
func (w *suite) readAudit(t *testing.T, each func(cluster.Request)) {
	t.Helper()

	log, err := os.Open(w.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()

	if err := cluster.ReadAudit(log, each); err != nil {
		t.Fatal(err)
	}
}
