package connect

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// TestServiceThatServes checks that the condition Ready and the Service's name in the status describe the Service in
// use, and that the condition ServiceReady describes the wanted Service.
func TestServiceThatServes(t *testing.T) {
	refused := lifecycle.Cause{Reason: "Invalid", Message: "no"}

	stands := lifecycle.AuxiliaryObject{Kind: "Service", Name: "sql", Current: true}
	for _, test := range []struct {
		name         string
		states       []lifecycle.AuxiliaryObject
		service      string // in the status
		wanted, done bool   // ServiceReady, Ready
		reported     int
	}{
		{"the Service is current", []lifecycle.AuxiliaryObject{stands}, "sql", true, true, 0},
		{"the Service does not exist yet", nil, "before", true, true, 0},
		{"the Service does not exist yet, the old one does",
			[]lifecycle.AuxiliaryObject{{Kind: "Service", Name: "before", Outdated: true}}, "before", true, true, 0},
		{"the Service is rejected", []lifecycle.AuxiliaryObject{{Kind: "Service", Name: "sql", Cause: refused}}, "",
			false, false, 1},
		{"the update of the Service is rejected",
			[]lifecycle.AuxiliaryObject{{Kind: "Service", Name: "sql", Cause: refused, Outdated: true}}, "sql", false,
			true, 1},
		{"the Service is rejected, the old one exists",
			[]lifecycle.AuxiliaryObject{{Kind: "Service", Name: "sql", Cause: refused},
				{Kind: "Service", Name: "before", Outdated: true}}, "before", false, true, 1},
		{"the Service is rejected, the web UI's exists",
			[]lifecycle.AuxiliaryObject{{Kind: "Service", Name: "sql", Cause: refused},
				{Kind: "Service", Name: "hub-server-ui-svc", Current: true}}, "", false, false, 1},
		{"the Service is rejected, an Ingress exists",
			[]lifecycle.AuxiliaryObject{{Kind: "Service", Name: "sql", Cause: refused},
				{Kind: "Ingress", Name: "ui", Current: true}}, "", false, false, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			sc := aConnect()
			rememberConnect(&sc.Status, lifecycle.Memory{Phase: lifecycle.Running, Attempt: 1})

			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			recordService(sc, "before", []lifecycle.AuxiliaryObject{{Kind: "Service", Name: "before",
				Current: true}}, now)

			if notices := recordService(sc, "sql", test.states, now); len(notices) != test.reported {
				t.Errorf("reported %+v", notices)
			}

			if notices := recordService(sc, "sql", test.states, now); len(notices) != 0 {
				t.Errorf("reported again: %+v", notices)
			}

			if sc.Status.Server.ServiceName != test.service {
				t.Errorf("the Service is %q, want %q", sc.Status.Server.ServiceName, test.service)
			}

			for kind, want := range map[string]bool{conditionServiceReady: test.wanted,
				dialect.ConditionReady: test.done} {
				if got := meta.IsStatusConditionTrue(sc.Status.Conditions, kind); got != want {
					t.Errorf("%s is %t, want %t", kind, got, want)
				}
			}
		})
	}
}

// TestAuxiliaryObjectsAreUnsettled checks when a pass changes no auxiliary object: before the first decision, during a
// deletion, and if the objects cannot be computed from the spec.
func TestAuxiliaryObjectsAreUnsettled(t *testing.T) {
	withPolicy := Connects{Options{Policy: ClientsAnywhere}}
	for name, test := range map[string]struct {
		c         Connects
		change    func(*v1alpha1.SparkConnect)
		unsettled bool
	}{
		"a server":               {Connects{}, func(*v1alpha1.SparkConnect) {}, false},
		"a server with a policy": {withPolicy, func(*v1alpha1.SparkConnect) {}, false},
		"no decision yet":        {Connects{}, func(sc *v1alpha1.SparkConnect) { sc.Status.Operator = nil }, true},
		"a deletion": {Connects{},
			func(sc *v1alpha1.SparkConnect) { sc.DeletionTimestamp = new(metav1.NewTime(connectBegan)) }, true},
		"a spec that is not read": {Connects{},
			func(sc *v1alpha1.SparkConnect) { sc.OutOfBounds = "spec: is too long" }, true},
		"an invalid name": {withPolicy,
			withService(corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "A B"}}), false},
		"an external IP": {withPolicy,
			withService(corev1.Service{Spec: corev1.ServiceSpec{ExternalIPs: []string{"192.0.2.1"}}}), false},
		"the type ExternalName": {withPolicy,
			withService(corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName}}), false},
		"an invalid port": {withPolicy,
			func(sc *v1alpha1.SparkConnect) { sc.Spec.SparkConf = map[string]string{"spark.driver.port": "0"} }, true},
		"an invalid size of a pod": {Connects{}, func(sc *v1alpha1.SparkConnect) { sc.Spec.Server.Memory = new("x") },
			false},
		"an invalid address of UIs": {Connects{},
			func(sc *v1alpha1.SparkConnect) { sc.Spec.UI = &v1alpha1.UIConfiguration{IngressURLFormat: "x y"} }, false},
	} {
		sc := aConnect()
		rememberConnect(&sc.Status, lifecycle.Memory{Phase: lifecycle.Running, Attempt: 1})
		test.change(sc)
		before := sc.DeepCopy()

		got := test.c.AuxiliaryObjects(sc)
		if got.Unsettled != test.unsettled || (len(got.Objects) == 0) != test.unsettled ||
			(got.Record == nil) != test.unsettled {
			t.Errorf("%s: unsettled %t with %d objects, want %t", name, got.Unsettled, len(got.Objects), test.unsettled)
		}

		if diff := cmp.Diff(before, sc); diff != "" {
			t.Errorf("%s: the SparkConnect was changed:\n%s", name, diff)
		}
	}
}

// withService returns a change that sets the Service of a SparkConnect.
func withService(service corev1.Service) func(*v1alpha1.SparkConnect) {
	return func(sc *v1alpha1.SparkConnect) { sc.Spec.Server.Service = &service }
}

// TestNetworkPolicyOfServers checks that servers have a NetworkPolicy if the configuration asks for one, and which of
// the two settings restricts the clients.
func TestNetworkPolicyOfServers(t *testing.T) {
	for policy, want := range map[Policy]string{"": "Service", ClientsAnywhere: "Service NetworkPolicy",
		ClientsNamespace: "Service NetworkPolicy"} {
		sc := aConnect()
		rememberConnect(&sc.Status, lifecycle.Memory{Phase: lifecycle.Waiting, Attempt: 1})

		var kinds []string
		for _, object := range (Connects{Options{Policy: policy}}).AuxiliaryObjects(sc).Objects {
			kinds = append(kinds, object.GetObjectKind().GroupVersionKind().Kind)
			if len(object.GetLabels()[lifecycle.ContentLabel]) != 24 || !metav1.IsControlledBy(object, sc) ||
				object.GetNamespace() != "team" {
				t.Errorf("%q: %s has the labels %v", policy, object.GetName(), object.GetLabels())
			}

			made, ok := object.(*networkingv1.NetworkPolicy)
			if !ok {
				continue
			}

			open := slices.ContainsFunc(made.Spec.Ingress, func(rule networkingv1.NetworkPolicyIngressRule) bool {
				return len(rule.From) == 0 &&
					slices.ContainsFunc(rule.Ports,
						func(p networkingv1.NetworkPolicyPort) bool {
							return p.Port != nil &&
								p.Port.IntValue() == 15002
						})
			})
			if open != (policy == ClientsAnywhere) {
				t.Errorf("%q: the port for clients is open to all: %t", policy, open)
			}
		}

		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("%q: objects %s, want %s", policy, got, want)
		}
	}
}

// TestServerWithAnInvalidServiceHasItsPolicy checks that a server whose Service is refused has its NetworkPolicy and
// its web UI, that its existing Services stay, and that a review warns in the words of the pass. Such a server used to
// run with an open RPC port, and lint reported nothing.
func TestServerWithAnInvalidServiceHasItsPolicy(t *testing.T) {
	for name, service := range map[string]corev1.Service{
		"a name":             {ObjectMeta: metav1.ObjectMeta{Name: "A B"}},
		"an external IP":     {Spec: corev1.ServiceSpec{ExternalIPs: []string{"192.0.2.1"}}},
		"an external name":   {Spec: corev1.ServiceSpec{ExternalName: "example.com"}},
		"the type":           {Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName}},
		"an operator's mark": {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"sparkoperator.dev/attempt": "1"}}},
		"a label of Spark":   {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"spark-role": "driver"}}},
	} {
		c, sc := Connects{Options{Policy: ClientsAnywhere, UI: sparkoperator.UI{Service: true}}},
			aConnect(withService(service))
		warnings := c.Review(sc).Warnings
		c.Decide(sc, lifecycle.Observed{Confirmed: true}, connectBegan)

		wanted, got := c.AuxiliaryObjects(sc), ""
		for _, object := range wanted.Objects {
			got += object.GetObjectKind().GroupVersionKind().Kind + "/" + object.GetName() + " "
		}

		if got != "Service/hub-server-ui-svc NetworkPolicy/hub-server " || !wanted.KeepServices {
			t.Errorf("%s: the objects are %s, Services stay: %t", name, got, wanted.KeepServices)
		}

		wanted.Record(nil, connectBegan)

		reported := meta.FindStatusCondition(sc.Status.Conditions, conditionServiceReady)
		if reported == nil || reported.Reason != reasonInvalidService || !slices.Contains(warnings, reported.Message) {
			t.Errorf("%s: the condition is %+v, the warnings are %q", name, reported, warnings)
		}
	}
}

// TestRefusedAnnotationsOfTheService checks that a Service with annotations that a rule does not allow is not written,
// and that a running server keeps its policy and its existing Service.
func TestRefusedAnnotationsOfTheService(t *testing.T) {
	rules := ruleSet{
		faults: func(*dialect.Subject) []*dialect.FieldError { return nil },
		exposures: func(asked *dialect.Exposing) []*dialect.FieldError {
			return []*dialect.FieldError{{Field: asked.AnnotationsField + "[a]", Message: "is not allowed"}}
		},
	}
	c, sc := Connects{Options{Policy: ClientsAnywhere, Rules: rules}}, aConnect()
	rememberConnect(&sc.Status, lifecycle.Memory{Phase: lifecycle.Running, Attempt: 1})

	for _, refused := range []bool{false, true} {
		if refused {
			withService(corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "b"}}})(sc)
		}

		c.encodeService(sc, connectBegan)

		reported := meta.FindStatusCondition(sc.Status.Conditions, conditionServiceReady)
		if got := reported != nil &&
			reported.Message == "spec.server.service.metadata.annotations[a]: is not allowed"; got != refused {
			t.Errorf("refused: %t: the condition is %+v", refused, reported)
		}

		wanted := c.AuxiliaryObjects(sc)
		services := slices.ContainsFunc(wanted.Objects,
			func(o submit.Object) bool { _, is := o.(*corev1.Service); return is })

		policies := slices.ContainsFunc(wanted.Objects,
			func(o submit.Object) bool { _, is := o.(*networkingv1.NetworkPolicy); return is })
		if services == refused || !policies || wanted.KeepServices != refused {
			t.Errorf("refused: %t: Services %t, policies %t, Services stay: %t", refused, services, policies,
				wanted.KeepServices)
		}
	}
}

// TestInvalidServiceIsReportedOnce checks that an invalid Service is reported when it appears and when its fault
// changes, and that a spec that is not read leaves the condition as it is.
func TestInvalidServiceIsReportedOnce(t *testing.T) {
	sc := aConnect()

	external, ip := corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName}},
		corev1.Service{Spec: corev1.ServiceSpec{ExternalIPs: []string{"192.0.2.1"}}}
	for i, step := range []struct {
		change  func(*v1alpha1.SparkConnect)
		notices int
		message string // of the condition; empty: no condition
	}{
		{func(*v1alpha1.SparkConnect) {}, 0, ""},
		{withService(ip), 1, "spec.server.service.spec.externalIPs: is refused: "},
		{withService(ip), 0, "spec.server.service.spec.externalIPs: is refused: "},
		{withService(external), 1, "spec.server.service: spec.type: ExternalName leads elsewhere"},
		{func(sc *v1alpha1.SparkConnect) {
			sc.OutOfBounds, sc.Spec = "spec: is too long", v1alpha1.SparkConnectSpec{}
		}, 0, "spec.server.service: spec.type: ExternalName leads elsewhere"},
	} {
		step.change(sc)

		notices := Connects{}.encodeService(sc, connectBegan)
		if len(notices) != step.notices {
			t.Errorf("step %d: notices %+v, want %d", i, notices, step.notices)
		}

		got := meta.FindStatusCondition(sc.Status.Conditions, conditionServiceReady)
		if (got != nil) != (step.message != "") || got != nil &&
			(got.Reason != "InvalidService" || got.Status != metav1.ConditionFalse ||
				!strings.HasPrefix(got.Message, step.message)) {
			t.Errorf("step %d: the condition is %+v, want %q", i, got, step.message)
		}

		for _, n := range notices {
			if n.Cause.Message != got.Message || n.Cause.Reason != got.Reason {
				t.Errorf("step %d: the notice is %+v", i, n)
			}
		}
	}
}
