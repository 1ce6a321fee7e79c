package exposure_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/status"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/validate"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// create returns the action that launches an attempt.
func create(attempt int32) lifecycle.Action {
	return lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: attempt}
}

// standingIn writes a status into the application, as if its first attempt were in the given phase. It returns the
// application.
func standingIn(app *v1beta2.SparkApplication, phase lifecycle.Phase) *v1beta2.SparkApplication {
	status.SetMemory(&app.Status,
		lifecycle.Memory{Phase: phase, Attempt: 1, AttemptID: lifecycle.AttemptID(string(app.UID), 1), Runs: 1,
			Submissions: 1, SubmittedAt: sparkapp.T0})
	return app
}

// fullUI returns a UI configuration that makes the operator create every auxiliary object: Service, Ingress and route.
func fullUI() sparkoperator.UI {
	return sparkoperator.UI{
		Service: true,
		Ingress: &sparkoperator.UIIngress{
			URLFormat: "https://spark.example.com/{{$appNamespace}}/{{$appName}}", ClassName: "nginx",
			Annotations: map[string]string{"from": "operator"},
			TLS:         []networkingv1.IngressTLS{{SecretName: "operators"}},
		},
		Route: &sparkoperator.UIRoute{Parents: []expose.Parent{{Name: "public", Namespace: "gateways"}}},
	}
}

// brief returns the parts of an object that these tests compare, as one line of text.
func brief(t *testing.T, object submit.Object) string {
	t.Helper()

	switch o := object.(type) {
	case *corev1.Service:
		p := o.Spec.Ports[0]
		return fmt.Sprintf("Service %s %s %s %d->%s", o.Name, o.Spec.Type, p.Name, p.Port, p.TargetPort.String())
	case *networkingv1.Ingress:
		rule := o.Spec.Rules[0]
		path := rule.HTTP.Paths[0]

		secret := ""
		for _, tls := range o.Spec.TLS {
			secret += " tls=" + tls.SecretName
		}
		return fmt.Sprintf("Ingress %s %s%s to %s:%d class=%s from=%s%s", o.Name, rule.Host, path.Path,
			path.Backend.Service.Name, path.Backend.Service.Port.Number,
			sparkoperator.StringValue(o.Spec.IngressClassName), o.Annotations["from"], secret)
	case *unstructured.Unstructured:
		hosts, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "hostnames")
		parents, _, _ := unstructured.NestedSlice(o.Object, "spec", "parentRefs")
		rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")

		var names []string
		for _, parent := range parents {
			names = append(names, parent.(map[string]any)["name"].(string))
		}

		path := rules[0].(map[string]any)["matches"].([]any)[0].(map[string]any)["path"].(map[string]any)["value"]
		return fmt.Sprintf("%s %s %v%s at %v", o.GetKind(), o.GetName(), hosts, path, names)
	}

	t.Fatalf("%T", object)
	return ""
}

func TestExposure(t *testing.T) {
	svc, ing, route := "Service pi-ui-svc ClusterIP spark-driver-ui-port 4040->4040",
		"Ingress pi-ui-ingress spark.example.com/jobs/pi(/|$)(.*) to pi-ui-svc:4040 class=nginx from=operator tls=operators",
		"HTTPRoute pi-ui-route [spark.example.com]/jobs/pi at [public]"
	only, outside := sparkoperator.UI{Service: true}, sparkoperator.UI{Service: true, Outside: true}

	inside := sparkoperator.UI{Service: true, Ingress: &sparkoperator.UIIngress{}, Route: &sparkoperator.UIRoute{}}
	for _, test := range []struct {
		name  string
		ui    sparkoperator.UI
		spec  string
		want  []string
		wrong []string // reason and words of each message
	}{
		{"nothing is switched on", sparkoperator.UI{}, ``, nil, nil},
		{"nothing is switched on, but the application requests a UI", sparkoperator.UI{},
			`sparkUIOptions: {servicePort: 80}`, nil,
			[]string{"SwitchedOff: spec.sparkUIOptions: ", "ui.service: true", "controller.uiService.enable=true"}},
		{"only the Service", only, ``, []string{svc}, nil},
		{"the Service, the Ingress and the route", fullUI(), ``, []string{svc, ing, route}, nil},
		{"no UI", fullUI(), `{sparkConf: {spark.ui.enabled: " False "}, sparkUIOptions: {servicePort: 80, route: {}}}`,
			nil, nil},
		{"another port of the UI", only, `sparkConf: {spark.ui.port: "4050"}`,
			[]string{"Service pi-ui-svc ClusterIP spark-driver-ui-port 4050->4050"}, nil},
		{"another port of the UI, and options", outside,
			`{sparkConf: {spark.ui.port: "4050"}, sparkUIOptions: {serviceType: NodePort}}`,
			[]string{"Service pi-ui-svc NodePort spark-driver-ui-port 4050->4050"}, nil},
		{"another port of the Service", only,
			`{sparkConf: {spark.ui.port: "4050"}, sparkUIOptions: {servicePort: 80, servicePortName: web}}`,
			[]string{"Service pi-ui-svc ClusterIP web 80->4050"}, nil},
		{"port 0, which means any free port", fullUI(), `sparkConf: {spark.ui.port: "0"}`, nil,
			[]string{"InvalidPort: spec.sparkConf[spark.ui.port]: ", "makes Spark choose a free port"}},
		{"an invalid port", only, `sparkConf: {spark.ui.port: http}`, nil,
			[]string{`InvalidPort: spec.sparkConf[spark.ui.port]: "http" is not a port`}},
		{"a port too large", only, `sparkConf: {spark.ui.port: "70000"}`, nil,
			[]string{`spec.sparkConf[spark.ui.port]: 70000 is not a port; write a number from 1 to 65535`}},
		{"a Service's port too large", only, `sparkUIOptions: {servicePort: 70000}`, nil,
			[]string{`InvalidPort: spec.sparkUIOptions.servicePort: 70000`}},
		{"a Service's port too small", only, `sparkUIOptions: {servicePort: -1}`, nil,
			[]string{`spec.sparkUIOptions.servicePort: -1`}},
		{"annotations and TLS of the application", fullUI(),
			`sparkUIOptions: {ingressAnnotations: {from: application}, ingressTLS: [{secretName: mine}]}`,
			[]string{svc, "Ingress pi-ui-ingress spark.example.com/jobs/pi(/|$)(.*) to pi-ui-svc:4040 class=nginx from=application tls=mine", route}, nil},
		{"Ingresses, but no address", inside, `sparkUIOptions: {ingressTLS: [{secretName: mine}]}`, []string{svc}, nil},
		{"an address that is invalid with this name",
			sparkoperator.UI{Service: true,
				Ingress: &sparkoperator.UIIngress{URLFormat: "{{$appName}}." + strings.Repeat("a", 64) + ".com"}}, ``,
			[]string{svc},
			[]string{"InvalidAddress: ui.ingress.urlFormat of the operator's configuration: ", "is not a host name"}},
		{"an address without a host",
			sparkoperator.UI{Service: true, Ingress: &sparkoperator.UIIngress{URLFormat: "/{{$appName}}"}}, ``,
			[]string{svc}, []string{"needs a host before the path"}},

		{"a route, but routes are switched off", only, `sparkUIOptions: {route: {}}`, []string{svc},
			[]string{"SwitchedOff: spec.sparkUIOptions.route: ", "ui.route.enabled: true",
				"controller.uiRoute.enable=true"}},
		{"a route without a Gateway", inside, `sparkUIOptions: {route: {hostnames: [a.b]}}`, []string{svc},
			[]string{"NoGateway: spec.sparkUIOptions.route.parentRefs: "}},
		{"a route without a host and a path", inside, `sparkUIOptions: {route: {parentRefs: [{name: g}]}}`,
			[]string{svc}, []string{"InvalidAddress: spec.sparkUIOptions.route.hostnames: "}},
		{"a route with the application's Gateways and hosts", inside,
			`sparkUIOptions: {route: {parentRefs: [{name: g}, {name: h}], hostnames: [a.b, c.d]}}`,
			[]string{svc, "HTTPRoute pi-ui-route [a.b c.d]/ at [g h]"}, nil},
		{"hosts of the application", fullUI(), `sparkUIOptions: {route: {hostnames: [a.b]}}`,
			[]string{svc, ing, "HTTPRoute pi-ui-route [a.b]/jobs/pi at [public]"}, nil},
		{"Gateways of the application", fullUI(), `sparkUIOptions: {route: {parentRefs: [{name: mine}]}}`,
			[]string{svc, ing, "HTTPRoute pi-ui-route [spark.example.com]/jobs/pi at [mine]"}, nil},
		{"a route for any host", sparkoperator.UI{Service: true,
			Route: &sparkoperator.UIRoute{URLFormat: "/{{$appName}}", Parents: []expose.Parent{{Name: "g"}}}}, ``,
			[]string{svc, "HTTPRoute pi-ui-route []/pi at [g]"}, nil},
		{"a route with another path than the Ingress",
			sparkoperator.UI{Service: true, Ingress: &sparkoperator.UIIngress{URLFormat: "a.b/{{$appName}}"},
				Route: &sparkoperator.UIRoute{URLFormat: "/x/{{$appName}}", Parents: []expose.Parent{{Name: "g"}}}}, ``,
			[]string{svc, "Ingress pi-ui-ingress a.b/pi(/|$)(.*) to pi-ui-svc:4040 class= from="},
			[]string{"InvalidAddress: ui.route.urlFormat of the operator's configuration: ",
				`"/x/pi" has another path`}},
		{"a route with an invalid address",
			sparkoperator.UI{Service: true,
				Route: &sparkoperator.UIRoute{URLFormat: "a b", Parents: []expose.Parent{{Name: "g"}}}}, ``,
			[]string{svc},
			[]string{"InvalidAddress: ui.route.urlFormat of the operator's configuration: ", "is not a URL"}},

		{"ports of the driver", sparkoperator.UI{Outside: true},
			`driverIngressOptions: [{servicePort: 9090, servicePortName: rpc}, {servicePort: 9091, servicePortName: web, serviceType: NodePort}]`,
			[]string{"Service pi-driver-9090 ClusterIP rpc 9090->9090",
				"Service pi-driver-9091 NodePort web 9091->9091"}, nil},
		{"types that expose a Service outside the cluster", only,
			`{sparkUIOptions: {serviceType: LoadBalancer}, driverIngressOptions: [{servicePort: 9091, servicePortName: web, serviceType: NodePort}]}`,
			[]string{svc, "Service pi-driver-9091 ClusterIP web 9091->9091"},
			[]string{"SwitchedOff: spec.sparkUIOptions.serviceType: ", "type LoadBalancer",
				"exposure.enabled: true", "controller.exposure.enable=true",
				"SwitchedOff: spec.driverIngressOptions[0].serviceType: ", "type NodePort"}},
		{"the type ExternalName", outside,
			`{sparkUIOptions: {serviceType: ExternalName}, driverIngressOptions: [{servicePort: 9091, servicePortName: web, serviceType: ExternalName}]}`,
			nil, []string{"InvalidSpec: spec.sparkUIOptions.serviceType: is refused",
				"InvalidSpec: spec.driverIngressOptions[0].serviceType: is refused"}},
		{"ports of a driver without a UI", sparkoperator.UI{},
			`{sparkConf: {spark.ui.enabled: "false"}, driverIngressOptions: [{servicePort: 9090, servicePortName: rpc}]}`,
			[]string{"Service pi-driver-9090 ClusterIP rpc 9090->9090"}, nil},
		{"Ingresses for ports", sparkoperator.UI{Ingress: fullUI().Ingress}, `driverIngressOptions: [
			{servicePort: 1, servicePortName: a, ingressURLFormat: "{{$appName}}.example.com"},
			{servicePort: 2, servicePortName: b, ingressURLFormat: "example.com/{{$appNamespace}}/b", ingressAnnotations: {from: entry}, ingressTLS: [{secretName: own}]}]`,
			[]string{
				"Service pi-driver-1 ClusterIP a 1->1",
				"Ingress pi-ing-1 pi.example.com/ to pi-driver-1:1 class=nginx from=operator tls=operators",
				"Service pi-driver-2 ClusterIP b 2->2",
				"Ingress pi-ing-2 example.com/jobs/b(/|$)(.*) to pi-driver-2:2 class=nginx from=entry tls=own",
			}, nil},
		{"Ingresses for ports, but Ingresses are switched off", sparkoperator.UI{},
			`driverIngressOptions: [{servicePort: 1, servicePortName: a, ingressURLFormat: a.b}]`,
			[]string{"Service pi-driver-1 ClusterIP a 1->1"},
			[]string{"SwitchedOff: spec.driverIngressOptions[0].ingressURLFormat: ", "ui.ingress.enabled: true",
				"controller.uiIngress.enable=true"}},
		{"invalid entries", inside, `driverIngressOptions: [{servicePort: 0, servicePortName: a}, {servicePort: 5, servicePortName: a}, {servicePort: 5, servicePortName: b},
			{servicePort: 6, servicePortName: c, ingressURLFormat: /x}, {servicePort: 7, servicePortName: c, ingressURLFormat: "{{$app}}.b"},
			{servicePort: 8, servicePortName: c, ingressURLFormat: a.b/x}, {servicePort: 9, servicePortName: c, ingressURLFormat: http://a.b/x/}]`,
			[]string{svc, "Service pi-driver-5 ClusterIP a 5->5", "Service pi-driver-6 ClusterIP c 6->6",
				"Service pi-driver-7 ClusterIP c 7->7",
				"Service pi-driver-8 ClusterIP c 8->8", "Ingress pi-ing-8 a.b/x(/|$)(.*) to pi-driver-8:8 class= from=",
				"Service pi-driver-9 ClusterIP c 9->9"},
			[]string{"InvalidPort: spec.driverIngressOptions[0].servicePort: 0 is not a port",
				"InvalidPort: spec.driverIngressOptions[2].servicePort: 5 is also the port of entry 1",
				"InvalidAddress: spec.driverIngressOptions[3].ingressURLFormat: an Ingress needs a host",
				"InvalidAddress: spec.driverIngressOptions[4].ingressURLFormat: ",
				"InvalidAddress: spec.driverIngressOptions[6].ingressURLFormat: a.b/x is also the address of port 8 in another entry"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			piece := test.spec
			if !strings.HasPrefix(piece, "{") {
				piece = "{" + piece + "}"
			}

			app := standingIn(sparkapp.Of(t, "spec: "+piece), lifecycle.Running)
			if wrong := validate.Spec(app); len(wrong) > 0 {
				t.Errorf("it is refused: %v", wrong)
			}

			d := application.Dialect{Options: application.Options{UI: test.ui}}

			var got []string
			for _, object := range d.AuxiliaryObjects(app, lifecycle.Observed{}).Objects {
				got = append(got, brief(t, object))
				checkIdentity(t, app, object)
			}

			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}

			d.AuxiliaryObjects(app, lifecycle.Observed{}).Record(nil, sparkapp.T0)

			reported := meta.FindStatusCondition(app.Status.Conditions, dialect.ConditionExposed)
			if len(test.wrong) == 0 {
				if reported != nil {
					t.Errorf("reported: %+v", reported)
				}
				return
			}

			if reported == nil || reported.Status != metav1.ConditionFalse {
				t.Fatalf("the condition is %+v", reported)
			}

			for i, says := range test.wrong {
				reason, rest, found := strings.Cut(says, ": ")
				if found && !strings.Contains(reason, ".") {
					says = rest

					if i == 0 && reported.Reason != reason {
						t.Errorf("the reason is %s, want %s", reported.Reason, reason)
					}
				}

				if !strings.Contains(reported.Message, says) {
					t.Errorf("it says %q, not %q", reported.Message, says)
				}
			}
		})
	}
}

// checkIdentity checks that an auxiliary object has the labels and the owner reference by which the operator and other
// tools find it. It also checks that the object has the digest by which the operator detects changes of the content.
func checkIdentity(t *testing.T, app *v1beta2.SparkApplication, object submit.Object) {
	t.Helper()

	for key, want := range map[string]string{
		sparkoperator.LabelAppName: app.Name, sparkoperator.LabelCreatedBy: "true",
		sparkoperator.LabelAppUID: string(app.UID), sparkoperator.LabelAttempt: "1",
		sparkoperator.LabelSubmissionID: app.Status.SubmissionID,
	} {
		if got := object.GetLabels()[key]; got != want {
			t.Errorf("%s has the label %s=%s, want %s", object.GetName(), key, got, want)
		}
	}

	if content := object.GetLabels()[lifecycle.ContentLabel]; len(content) != 24 {
		t.Errorf("%s has the digest %q", object.GetName(), content)
	}

	if ref := metav1.GetControllerOf(object); ref == nil || ref.UID != app.UID ||
		object.GetNamespace() != app.Namespace || len(object.GetName()) > 63 {
		t.Errorf("%s/%s is owned by %+v", object.GetNamespace(), object.GetName(), ref)
	}

	if object.GetObjectKind().GroupVersionKind().Kind == "" {
		t.Errorf("%s has no kind", object.GetName())
	}

	if _, found := object.GetLabels()[submit.SelectorLabel]; found {
		t.Errorf("Spark would delete %s when it stops", object.GetName())
	}
}

// TestUIExample checks that the example in docs/ui.md is accepted and leads to the Services that the page describes.
func TestUIExample(t *testing.T) {
	text, err := os.ReadFile("../../../../../examples/spark-pi-ui.yaml")
	if err != nil {
		t.Fatal(err)
	}

	app := &v1beta2.SparkApplication{}
	if err := yaml.UnmarshalStrict(text, app); err != nil {
		t.Fatal(err)
	}

	app.UID = "u"
	if wrong := validate.Spec(app); len(wrong) > 0 {
		t.Errorf("it is refused: %v", wrong)
	}

	var got []string
	for _, object := range (application.Dialect{Options: application.Options{UI: sparkoperator.UI{Service: true}}}).AuxiliaryObjects(standingIn(app, lifecycle.Launched), lifecycle.Observed{}).Objects {
		got = append(got, brief(t, object))
	}

	want := []string{"Service spark-pi-ui-ui-svc ClusterIP spark-driver-ui-port 80->4040",
		"Service spark-pi-ui-driver-9999 ClusterIP events 9999->9999"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUsersLabelsNeverReplaceOurs checks that a user's labels do not override our own, by which the operator and other
// tools find every object.
func TestUsersLabelsNeverReplaceOurs(t *testing.T) {
	app := standingIn(sparkapp.Sample(func(a *v1beta2.SparkApplication) {
		theirs := map[string]string{sparkoperator.LabelAppName: "x", sparkoperator.LabelAppUID: "x",
			sparkoperator.LabelAttempt: "9", sparkoperator.LabelSubmissionID: "x", sparkoperator.LabelCreatedBy: "x",
			lifecycle.ContentLabel: "x", "team": "a"}
		a.Spec.SparkUIOptions = &v1beta2.SparkUIConfiguration{ServiceLabels: theirs,
			ServiceAnnotations: map[string]string{"a": "b"}}
		a.Spec.DriverIngressOptions = []v1beta2.DriverIngressConfiguration{{ServicePort: new(int32(1)),
			ServicePortName: new("p"), ServiceLabels: theirs}}
	}), lifecycle.Running)

	objects := application.Dialect{Options: application.Options{UI: fullUI()}}.AuxiliaryObjects(app,
		lifecycle.Observed{}).Objects
	for _, object := range objects {
		checkIdentity(t, app, object)
	}

	if objects[0].GetLabels()["team"] != "a" || objects[0].GetAnnotations()["a"] != "b" ||
		objects[3].GetLabels()["team"] != "a" {
		t.Error("the user's own labels and annotations are lost")
	}
}

// TestAuxiliaryObjectsByPhase checks that auxiliary objects exist from the launch to the end of an attempt, and that
// Services are kept after the end until the attempt's driver pod is deleted.
func TestAuxiliaryObjectsByPhase(t *testing.T) {
	d := application.Dialect{Options: application.Options{UI: sparkoperator.UI{Service: true}}}

	beside := func(attempt int32) lifecycle.Observed {
		return lifecycle.Observed{Drivers: []lifecycle.Driver{{Name: "pi-driver", Attempt: attempt,
			Phase: lifecycle.DriverSucceeded}}}
	}
	for _, phase := range []lifecycle.Phase{
		lifecycle.New, lifecycle.Waiting, lifecycle.Launched, lifecycle.Started, lifecycle.Ready, lifecycle.Scaling,
		lifecycle.Running, lifecycle.Unknown,
		lifecycle.Ended, lifecycle.Retained, lifecycle.Done, lifecycle.Suspending, lifecycle.Suspended,
		lifecycle.Resuming, lifecycle.Editing,
	} {
		for name, test := range map[string]struct {
			seen    lifecycle.Observed
			objects int
			stays   bool
		}{
			"no pod":                  {lifecycle.Observed{}, 0, false},
			"its pod":                 {beside(1), 0, true},
			"a pod of another number": {beside(2), 0, false},
		} {
			if phase.Live() {
				test.objects, test.stays = 1, false
			}

			got := d.AuxiliaryObjects(standingIn(sparkapp.Sample(), phase), test.seen)
			if got.Unsettled || len(got.Objects) != test.objects || got.KeepServices != test.stays {
				t.Errorf("%q, %s: %+v, want %d, which stays: %v", phase, name, got, test.objects, test.stays)
			}
		}
	}

	deleted := standingIn(sparkapp.Sample(), lifecycle.Running)
	deleted.DeletionTimestamp = new(metav1.NewTime(sparkapp.T0))
	foreign := sparkapp.Sample()

	foreign.Status.AppState.State = v1beta2.ApplicationStateRunning // and no operator has decided about it yet
	for name, app := range map[string]*v1beta2.SparkApplication{"deleted": deleted, "another operator's": foreign} {
		if got := d.AuxiliaryObjects(app, lifecycle.Observed{}); !got.Unsettled {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestContentTellsDifferences checks the digest of an object's content: equal objects must have the same digest, and
// different objects must have different digests.
func TestContentTellsDifferences(t *testing.T) {
	d := application.Dialect{Options: application.Options{UI: fullUI()}}
	digests := func(change ...func(*v1beta2.SparkApplication)) (all []string) {
		for _, object := range d.AuxiliaryObjects(standingIn(sparkapp.Sample(change...), lifecycle.Running),
			lifecycle.Observed{}).Objects {
			all = append(all, object.GetLabels()[lifecycle.ContentLabel])
		}
		return all
	}

	base := digests()
	if !slices.Equal(base, digests()) {
		t.Error("the same objects have other digests")
	}

	options := func(o v1beta2.SparkUIConfiguration) func(*v1beta2.SparkApplication) {
		return func(a *v1beta2.SparkApplication) { a.Spec.SparkUIOptions = &o }
	}
	for name, test := range map[string]struct {
		change func(*v1beta2.SparkApplication)
		differ []bool // Service, Ingress, route
	}{
		"port": {options(v1beta2.SparkUIConfiguration{ServicePort: new(int32(1))}),
			[]bool{true, true, true}},
		"label": {options(v1beta2.SparkUIConfiguration{ServiceLabels: map[string]string{"a": "b"}}),
			[]bool{true, false, false}},
		"annotation": {options(v1beta2.SparkUIConfiguration{ServiceAnnotations: map[string]string{"a": "b"}}),
			[]bool{true, false, false}},
		"Ingress annotation": {options(v1beta2.SparkUIConfiguration{IngressAnnotations: map[string]string{"a": "b"}}),
			[]bool{false, true, false}},
		"hosts": {options(v1beta2.SparkUIConfiguration{Route: &v1beta2.RouteConfiguration{Hostnames: []string{"a.b"}}}),
			[]bool{false, false, true}},
		"something else": {func(a *v1beta2.SparkApplication) { a.Spec.Arguments = []string{"1"} },
			[]bool{false, false, false}},
	} {
		for i, digest := range digests(test.change) {
			if differs := digest != base[i]; differs != test.differ[i] {
				t.Errorf("%s: object %d differs: %v, want %v", name, i, differs, test.differ[i])
			}
		}
	}
}

// TestUIConf checks that the driver's configuration contains the path under which its UI is published, unless the user
// sets a different path.
func TestUIConf(t *testing.T) {
	reported := "spark.ui.proxyBase=/jobs/pi spark.ui.proxyRedirectUri=/"
	for _, test := range []struct {
		name, spec, want string
		ui               sparkoperator.UI
	}{
		{"no Ingress and no route", ``, "", sparkoperator.UI{Service: true}},
		{"a path", ``, reported, fullUI()},
		{"an address without a path", ``, "",
			sparkoperator.UI{Service: true, Ingress: &sparkoperator.UIIngress{URLFormat: "{{$appName}}.example.com"}}},
		{"no Service", ``, "", sparkoperator.UI{Ingress: fullUI().Ingress}},
		{"no UI", `sparkConf: {spark.ui.enabled: "false"}`, "", fullUI()},
		{"only a route", ``, reported,
			sparkoperator.UI{Service: true,
				Route: &sparkoperator.UIRoute{URLFormat: "/{{$appNamespace}}/{{$appName}}",
					Parents: []expose.Parent{{Name: "g"}}}}},
		{"a route that the application requests", `sparkUIOptions: {route: {parentRefs: [{name: g}]}}`, reported,
			sparkoperator.UI{Service: true,
				Route: &sparkoperator.UIRoute{URLFormat: "/{{$appNamespace}}/{{$appName}}"}}},
		{"a path of the user", `sparkConf: {spark.ui.proxyBase: /mine}`,
			"spark.ui.proxyBase=/mine spark.ui.proxyRedirectUri=/", fullUI()},
		{"a redirect URI of the user", `sparkConf: {spark.ui.proxyRedirectUri: https://x}`,
			"spark.ui.proxyBase=/jobs/pi spark.ui.proxyRedirectUri=https://x", fullUI()},
		{"an Ingress of another port of the driver",
			`driverIngressOptions: [{servicePort: 1, servicePortName: a, ingressURLFormat: a.b/c}]`, "",
			sparkoperator.UI{Service: true, Ingress: &sparkoperator.UIIngress{}}},
		{"an address with the application id", ``,
			"spark.ui.proxyBase=/" + naming.AppID(lifecycle.AttemptID("11111111-2222-4333-8444-555555555555", 1)) +
				" spark.ui.proxyRedirectUri=/",
			sparkoperator.UI{Service: true, Ingress: &sparkoperator.UIIngress{URLFormat: "a.b/{{$appId}}"}}},
	} {
		app := sparkapp.Of(t, "spec: {"+test.spec+"}")
		for _, mode := range []dialect.SubmissionMode{dialect.SubmissionNative, dialect.SubmissionSparkSubmit} {
			objects, err := application.Dialect{Options: application.Options{UI: test.ui, Submission: mode}}.Render(app,
				create(1), sparkapp.T0)
			if err != nil {
				t.Fatal(err)
			}

			got := uiKeys(objects)
			if got != test.want {
				t.Errorf("%s, %s: %s; want %s", test.name, mode, got, test.want)
			}
		}
	}
}

// uiKeys returns the configuration keys with the path of a driver's UI, from spark.properties or from the arguments of
// spark-submit.
func uiKeys(objects submit.Objects) string {
	text := ""
	for _, object := range objects.Before {
		switch o := object.(type) {
		case *corev1.ConfigMap:
			text += o.Data["spark.properties"] + "\n"
		case *corev1.Secret:
			for _, data := range o.Data {
				text += string(data) + "\n"
			}

			for _, data := range o.StringData {
				text += data + "\n"
			}
		}
	}

	var found []string
	for _, line := range strings.FieldsFunc(text,
		func(r rune) bool { return r == '\n' || r == ' ' || r == '"' || r == ',' }) {
		if key, _, ok := strings.Cut(strings.TrimSpace(line), "="); ok && strings.HasPrefix(key, "spark.ui.proxy") {
			found = append(found, strings.TrimSpace(strings.ReplaceAll(line, `\`, "")))
		}
	}

	slices.Sort(found)
	return strings.Join(slices.Compact(found), " ")
}

// TestSurrounded checks that the status reports the auxiliary objects that exist, with their current names and
// addresses, and that one event reports a rejected object.
func TestSurrounded(t *testing.T) {
	stands := func(kind, name string) lifecycle.AuxiliaryObject {
		return lifecycle.AuxiliaryObject{Kind: kind, Name: name, Current: true}
	}
	service := lifecycle.AuxiliaryObject{Kind: "Service", Name: "pi-ui-svc", Current: true, Address: "10.0.0.7"}
	ingress, route := stands("Ingress", "pi-ui-ingress"), stands("HTTPRoute", "pi-ui-route")
	const address = "https://spark.example.com/jobs/pi"
	d := application.Dialect{Options: application.Options{UI: fullUI()}}
	app := standingIn(sparkapp.Sample(), lifecycle.Launched)

	now := sparkapp.T0
	for i, step := range []struct {
		name                    string
		states                  []lifecycle.AuxiliaryObject
		service, address        string
		ingress, ingressAddress string
		status                  metav1.ConditionStatus // of Exposed
		reason                  string
		events                  int
		says                    string
	}{
		{"not created yet", []lifecycle.AuxiliaryObject{{Kind: "Service", Name: "pi-ui-svc"},
			{Kind: "Ingress", Name: "pi-ui-ingress"}}, "", "", "", "", "", "", 0, ""},
		{"created", []lifecycle.AuxiliaryObject{service, ingress, route}, "pi-ui-svc", "10.0.0.7:4040", "pi-ui-ingress",
			address, metav1.ConditionTrue, "Exposed", 0, ""},
		{"existing", []lifecycle.AuxiliaryObject{stands("Service", "pi-ui-svc"), ingress, route}, "pi-ui-svc",
			"10.0.0.7:4040", "pi-ui-ingress", address, metav1.ConditionTrue, "Exposed", 0, ""},
		{"the Ingress is rejected", []lifecycle.AuxiliaryObject{stands("Service", "pi-ui-svc"),
			{Kind: "Ingress", Name: "pi-ui-ingress", Cause: lifecycle.Cause{Reason: "Forbidden", Message: "no"}},
			route},
			"pi-ui-svc", "10.0.0.7:4040", "pi-ui-route", address, metav1.ConditionFalse, "Forbidden", 1,
			"Ingress pi-ui-ingress: no"},
		{"the Ingress is still rejected",
			[]lifecycle.AuxiliaryObject{stands("Service", "pi-ui-svc"),
				{Kind: "Ingress", Name: "pi-ui-ingress", Cause: lifecycle.Cause{Reason: "Forbidden", Message: "no"}},
				route},
			"pi-ui-svc", "10.0.0.7:4040", "pi-ui-route", address, metav1.ConditionFalse, "Forbidden", 0,
			"the application continues to run; "},
		{"rejected for another reason",
			[]lifecycle.AuxiliaryObject{stands("Service", "pi-ui-svc"),
				{Kind: "Ingress", Name: "pi-ui-ingress",
					Cause: lifecycle.Cause{Reason: "NameTaken", Message: "theirs"}}, route},
			"pi-ui-svc", "10.0.0.7:4040", "pi-ui-route", address, metav1.ConditionFalse, "NameTaken", 1, "theirs"},
		{"creation is retried", []lifecycle.AuxiliaryObject{stands("Service", "pi-ui-svc"),
			{Kind: "Ingress", Name: "pi-ui-ingress"}, route},
			"pi-ui-svc", "10.0.0.7:4040", "pi-ui-route", address, metav1.ConditionFalse, "NameTaken", 0, "theirs"},
		{"the Ingress is created", []lifecycle.AuxiliaryObject{stands("Service", "pi-ui-svc"), ingress, route},
			"pi-ui-svc", "10.0.0.7:4040", "pi-ui-ingress", address, metav1.ConditionTrue, "Exposed", 0, ""},
		{"another address of the Service",
			[]lifecycle.AuxiliaryObject{{Kind: "Service", Name: "pi-ui-svc", Current: true, Address: "fd00::7"},
				ingress, route},
			"pi-ui-svc", "[fd00::7]:4040", "pi-ui-ingress", address, metav1.ConditionTrue, "Exposed", 0, ""},
		{"an unwanted object cannot be deleted",
			[]lifecycle.AuxiliaryObject{stands("Service", "pi-ui-svc"), ingress, route,
				{Kind: "Ingress", Name: "pi-ing-1",
					Cause: lifecycle.Cause{Reason: "OperatorForbidden", Message: "may not delete"}}},
			"pi-ui-svc", "[fd00::7]:4040", "pi-ui-ingress", address, metav1.ConditionFalse, "OperatorForbidden", 1,
			"Ingress pi-ing-1: may not delete"},
		{"over", nil, "pi-ui-svc", "[fd00::7]:4040", "pi-ui-ingress", address, "", "", 0, ""},
		{"over, and an object cannot be deleted",
			[]lifecycle.AuxiliaryObject{{Kind: "Ingress", Name: "pi-ui-ingress",
				Cause: lifecycle.Cause{Reason: "OperatorForbidden", Message: "may not delete"}}},
			"pi-ui-svc", "[fd00::7]:4040", "pi-ui-ingress", address, metav1.ConditionFalse, "OperatorForbidden", 1,
			"Ingress pi-ui-ingress: may not delete"},
		{"suspended", nil, "", "", "", "", "", "", 0, ""},
	} {
		switch {
		case strings.HasPrefix(step.name, "over"):
			standingIn(app, lifecycle.Retained)
		case step.name == "suspended":
			standingIn(app, lifecycle.Suspended)
		}

		now = now.Add(time.Minute)
		reported := d.AuxiliaryObjects(app, lifecycle.Observed{}).Record(step.states, now)
		info := app.Status.DriverInfo

		got := [4]string{info.WebUIServiceName, info.WebUIAddress, info.WebUIIngressName, info.WebUIIngressAddress}
		if want := [4]string{step.service, step.address, step.ingress, step.ingressAddress}; got != want {
			t.Errorf("%d, %s: driverInfo %q, want %q", i, step.name, got, want)
		}

		c := meta.FindStatusCondition(app.Status.Conditions, dialect.ConditionExposed)
		if c == nil {
			c = &metav1.Condition{}
		}

		if c.Status != step.status || c.Reason != step.reason || len(reported) != step.events ||
			!strings.Contains(c.Message, step.says) {
			t.Errorf("%d, %s: Exposed is %+v, events %v", i, step.name, c, reported)
		}

		for _, event := range reported {
			if event.Type != corev1.EventTypeWarning || event.Reason != c.Reason || event.Message != c.Message {
				t.Errorf("%d, %s: reported %+v", i, step.name, event)
			}
		}
		// Recording the same states again changes nothing, so no status is written.
		settled := app.Status.DeepCopy()
		if again := d.AuxiliaryObjects(app, lifecycle.Observed{}).Record(step.states,
			now.Add(time.Hour)); len(again) > 0 {
			t.Errorf("%d, %s: reported again: %v", i, step.name, again)
		}

		if diff := cmp.Diff(settled, &app.Status); diff != "" {
			t.Errorf("%d, %s: recording the same states again changes the status:\n%s", i, step.name, diff)
		}
	}
}

// TestDecideKeepsWhatIsExposed checks that Decide does not change the address of the UI or the condition Exposed.
func TestDecideKeepsWhatIsExposed(t *testing.T) {
	d := application.Dialect{Options: application.Options{UI: sparkoperator.UI{Service: true}}}
	app := sparkapp.Sample()
	d.Decide(app, lifecycle.Observed{}, sparkapp.T0)

	states := []lifecycle.AuxiliaryObject{{Kind: "Service", Name: "pi-ui-svc", Current: true, Address: "10.0.0.7"}}
	d.AuxiliaryObjects(app, lifecycle.Observed{}).Record(states, sparkapp.T0)

	want := app.Status.DriverInfo
	if want.WebUIAddress != "10.0.0.7:4040" ||
		!meta.IsStatusConditionTrue(app.Status.Conditions, dialect.ConditionExposed) {
		t.Fatalf("%+v, %+v", want, app.Status.Conditions)
	}

	driver := lifecycle.Driver{Name: "pi-driver", Attempt: 1, Phase: lifecycle.DriverRunning, StartedAt: sparkapp.T0,
		AppID: app.Status.SparkApplicationID, UID: "u"}
	d.Decide(app, lifecycle.Observed{Drivers: []lifecycle.Driver{driver}}, sparkapp.T0.Add(time.Minute))

	c := meta.FindStatusCondition(app.Status.Conditions, dialect.ConditionExposed)
	if app.Status.DriverInfo != want || c == nil || !c.LastTransitionTime.Time.Equal(sparkapp.T0) {
		t.Errorf("%+v, %+v", app.Status.DriverInfo, c)
	}

	if wanted := d.AuxiliaryObjects(app, lifecycle.Observed{}); len(wanted.ReadAddresses) > 0 {
		t.Errorf("%v is read again", wanted.ReadAddresses)
	}

	app.Status.DriverInfo.WebUIAddress = ""
	if wanted := d.AuxiliaryObjects(app, lifecycle.Observed{}); !slices.Equal(wanted.ReadAddresses,
		[]string{"pi-ui-svc"}) {
		t.Errorf("what the status lacks is not read: %v", wanted.ReadAddresses)
	}
}
