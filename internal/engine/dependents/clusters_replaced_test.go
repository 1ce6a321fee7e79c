package dependents_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/engine/auxiliary"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// obstaclesToSets contains obstacles to the creation of StatefulSets, by name. The field message is the text that the
// status shows, and the function create creates the obstacle.
var obstaclesToSets = map[string]struct {
	message string
	create  func(*world.World) client.Object
}{
	"an admission policy": {"no claims here", func(w *world.World) client.Object {
		policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace},
			Spec: admissionv1.ValidatingAdmissionPolicySpec{
				MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: madeSets}}},
				Validations: []admissionv1.Validation{{Expression: "false", Message: "no claims here",
					Reason: new(metav1.StatusReasonForbidden)}},
			}}
		w.Create(policy)
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace},
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: w.Namespace, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
				MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.Namespace}}},
			}}
		w.Create(binding)
		w.T.Cleanup(func() { _ = w.API.Delete(context.Background(), policy) })
		return binding
	}},
	"a webhook that is down": {"failed calling webhook", func(w *world.World) client.Object {
		hook := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace},
			Webhooks: []admissionv1.ValidatingWebhook{{
				Name: "sets.example.com", SideEffects: new(admissionv1.SideEffectClassNone),
				AdmissionReviewVersions: []string{"v1"},
				ClientConfig:            admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "default", Name: "nobody"}},
				NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.Namespace}},
				Rules:                   []admissionv1.RuleWithOperations{madeSets},
			}}}
		w.Create(hook)
		return hook
	}},
	"a quota that was lowered": {"exceeded quota", func(w *world.World) client.Object { return boundSets(w, "1") }},
}

var madeSets = admissionv1.RuleWithOperations{Operations: []admissionv1.OperationType{admissionv1.Create},
	Rule: admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"},
		Resources: []string{"statefulsets"}}}

// claims is a patch of a cluster's spec that changes an immutable field of a StatefulSet, so that the StatefulSet must
// be replaced.
const claims = `{"spec":{"workerSpec":{"statefulSetSpec":{"updateStrategy":{"type":"OnDelete"},` +
	`"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]}}}}`

// TestSetStaysIfTheNextIsRejected checks that the operator keeps a StatefulSet and its pods as long as the API server
// would reject the StatefulSet that replaces it. The status reports the reason. When the obstacle is gone, the
// StatefulSet is replaced.
func TestSetStaysIfTheNextIsRejected(t *testing.T) {
	t.Parallel()

	for name, test := range obstaclesToSets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, clock := world.New(t), &world.Later{}
			resources.Kubelets(w)
			resources.RunClusters(w, world.Config(w.Namespace), clock.Now)
			resources.CreateCluster(w, "c", resources.NotRolled)
			resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1))
			set, before := resources.Set(w, "c-worker"), resources.MemberUIDs(w, "c")
			obstacle := test.create(w)
			t.Cleanup(func() { _ = w.API.Delete(context.Background(), obstacle) })

			refused := func(ctx context.Context) error {
				err := w.API.Create(ctx, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace,
					Name: "probe"}, Spec: set.Spec}, client.DryRunAll)
				return resources.Says(fmt.Sprint(err), test.message)
			}
			kit.Wait(t, "the StatefulSet to be rejected", refused)
			resources.PatchCluster(w, "c", claims)
			resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1),
				resources.ClusterHolds("Degraded", metav1.ConditionTrue, test.message))

			replaced := &appsv1.StatefulSet{}
			if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(set), replaced); err != nil ||
				replaced.UID != set.UID || replaced.DeletionTimestamp != nil {
				t.Fatalf("the StatefulSet does not exist (%v) or is being deleted since %v", err,
					replaced.DeletionTimestamp)
			}

			if err := w.API.Delete(t.Context(), obstacle); err != nil {
				t.Fatal(err)
			}

			kit.Wait(t, "the StatefulSet to be admitted",
				func(ctx context.Context) error { return world.Want(refused(ctx) != nil, true) })
			clock.Advance(auxiliary.MaxInterval)
			resources.PatchCluster(w, "c", `{"metadata":{"annotations":{"poked":"yes"}}}`)
			waitReplaced(w, "c", set, before)
			resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1),
				resources.ClusterLacks("Degraded"))
		})
	}
}

// TestSetIsReplacedWhereTheQuotaIsFull checks that a full quota does not prevent the replacement of a StatefulSet,
// since the new StatefulSet uses the quota of the old one.
func TestSetIsReplacedWhereTheQuotaIsFull(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.Kubelets(w)
	resources.RunClusters(w, world.Config(w.Namespace), clock.Now)
	resources.CreateCluster(w, "c", resources.NotRolled)
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1))
	set, before := resources.Set(w, "c-worker"), resources.MemberUIDs(w, "c")
	boundSets(w, "2")
	resources.PatchCluster(w, "c", claims)
	waitReplaced(w, "c", set, before)
}

// waitReplaced waits until a new StatefulSet has replaced the given one and has adopted the existing worker pods of the
// cluster. It checks that the UIDs of the cluster's pods are still the given ones, and returns the new StatefulSet.
func waitReplaced(w *world.World, name string, set *appsv1.StatefulSet, uids map[string]types.UID) *appsv1.StatefulSet {
	w.T.Helper()
	next := resources.Set(w, set.Name, func(live *appsv1.StatefulSet) error {
		return world.Want(live.UID != set.UID && live.DeletionTimestamp == nil, true)
	})
	resources.WaitOwned(w, name, next)

	if diff := cmp.Diff(uids, resources.MemberUIDs(w, name)); diff != "" {
		w.T.Errorf("pods were replaced:\n%s", diff)
	}
	return next
}
