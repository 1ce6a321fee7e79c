package application

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// inPhase puts an application into the given phase of its first attempt, and returns the application.
func inPhase(phase lifecycle.Phase, app *sparkv1.SparkApplication) *sparkv1.SparkApplication {
	app.Generation = 7
	app.Status.Operator = &sparkv1.OperatorStatus{OperatorStatus: v1beta2.OperatorStatus{Phase: string(phase),
		Attempt: 1}, AttemptID: "pi-0"}
	return app
}

// specsOf returns the specs of objects, keyed by kind and name.
func specsOf(t *testing.T, objects []submit.Object) map[string]any {
	t.Helper()

	specs := map[string]any{}
	for _, object := range objects {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}

		var tree map[string]any
		if err := json.Unmarshal(text, &tree); err != nil {
			t.Fatal(err)
		}

		specs[object.GetObjectKind().GroupVersionKind().Kind+" "+object.GetName()] = tree["spec"]
	}
	return specs
}

// withExposure is an Applications value whose configuration allows objects that are reachable from outside the cluster.
var withExposure = Applications{Options{Outside: true}}

// TestExposedEntries checks the Services, Ingresses and routes that are created for the entries of the spec's lists.
// Unknown fields of a user's spec are kept. An Ingress or route whose spec names no backend leads to the first port of
// the entry's Service.
func TestExposedEntries(t *testing.T) {
	const driver = "{spark.operator/spark-app-name: pi, spark-app-selector: pi-0, spark-role: driver}"
	for name, c := range map[string]struct{ spec, want string }{
		"nothing": {"{}", "{}"},
		"an Ingress without a spec": {`
driverServiceIngressList: [{serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 80, targetPort: 4040}, {port: 81}]}, ingressMetadata: {name: door}}]`, `
Service ui: {ports: [{port: 80, targetPort: 4040}, {port: 81}], selector: ` + driver + `}
Ingress door: {rules: [{http: {paths: [{path: /, pathType: ImplementationSpecific, backend: {service: {name: ui, port: {number: 80}}}}]}}]}`},
		"an Ingress without rules keeps its class and its TLS (W19)": {`
driverServiceIngressList: [{serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 80}]}, ingressMetadata: {name: door},
  ingressSpec: {ingressClassName: nginx, tls: [{hosts: [a.example.org], secretName: s}], rules: []}}]`, `
Service ui: {ports: [{port: 80}], selector: ` + driver + `}
Ingress door: {ingressClassName: nginx, tls: [{hosts: [a.example.org], secretName: s}],
  rules: [{http: {paths: [{path: /, pathType: ImplementationSpecific, backend: {service: {name: ui, port: {number: 80}}}}]}}]}`},
		"an Ingress with a backend or rules of its own": {`
driverServiceIngressList: [
  {serviceMetadata: {name: a}, serviceSpec: {type: NodePort, selector: {x: z}, future: 1}, ingressMetadata: {name: a}, ingressSpec: {defaultBackend: {service: {name: b, port: {number: 1}}}}},
  {serviceMetadata: {name: b}, serviceSpec: {selector: {}, ports: [{port: 1}]}, ingressMetadata: {name: b}, ingressSpec: {future: {deep: true}, rules: [{host: h}]}}]`, `
Service a: {type: NodePort, selector: ` + driver + `, future: 1}
Ingress a: {defaultBackend: {service: {name: b, port: {number: 1}}}}
Service b: {selector: ` + driver + `, ports: [{port: 1}]}
Ingress b: {future: {deep: true}, rules: [{host: h}]}`},
		"routes": {`
driverHttpRouteList: [{serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 80}]}, httpRouteMetadata: {name: web}, httpRouteSpec: {parentRefs: [{name: g, sectionName: s}], hostnames: [h]}}]
driverGrpcRouteList: [{serviceMetadata: {name: connect}, serviceSpec: {ports: [{port: 15002}]}, grpcRouteMetadata: {name: grpc}, grpcRouteSpec: {parentRefs: [{name: g}]}}]`, `
Service ui: {ports: [{port: 80}], selector: ` + driver + `}
HTTPRoute web: {parentRefs: [{name: g, sectionName: s}], hostnames: [h], rules: [{matches: [{path: {type: PathPrefix, value: /}}], backendRefs: [{name: ui, port: 80}]}]}
Service connect: {ports: [{port: 15002}], selector: ` + driver + `}
GRPCRoute grpc: {parentRefs: [{name: g}], rules: [{backendRefs: [{name: connect, port: 15002}]}]}`},
		"an Ingress and a route to one Service": {`
driverServiceIngressList: [{serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 80}]}, ingressMetadata: {name: a}, ingressSpec: {rules: [{host: h}]}}]
driverHttpRouteList: [{serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 80}]}, httpRouteMetadata: {name: a}, httpRouteSpec: {parentRefs: [{name: g}], rules: [{}]}}]`, `
Service ui: {ports: [{port: 80}], selector: ` + driver + `}
Ingress a: {rules: [{host: h}]}
HTTPRoute a: {parentRefs: [{name: g}], rules: [{}]}`},
	} {
		app := written(t)
		if err := yaml.UnmarshalStrict([]byte(c.spec), &app.Spec); err != nil {
			t.Fatal(err)
		}

		var want map[string]any
		if err := yaml.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}

		got := withExposure.AuxiliaryObjects(inPhase(lifecycle.Running, app))
		if diff := cmp.Diff(want, specsOf(t, got.Objects)); diff != "" || got.Unsettled {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

const oneEntry = `
spec: {driverServiceIngressList: [{
  serviceMetadata: {name: ui, namespace: elsewhere, labels: {team: a, spark.operator/name: x, spark-app-selector: pi-0}, annotations: {note: b}},
  serviceSpec: {ports: [{port: 80}]}, ingressMetadata: {name: door, labels: {team: b}}}]}`

// TestExposedEntriesAreOurs checks that auxiliary objects have our labels and the application's namespace, and lack the
// label by which a driver deletes objects when it stops.
func TestExposedEntriesAreOurs(t *testing.T) {
	app := inPhase(lifecycle.Launched, written(t, oneEntry))

	objects := Applications{Options{OperatorName: "ours", Outside: true}}.AuxiliaryObjects(app).Objects
	if len(objects) != 2 {
		t.Fatalf("%d objects", len(objects))
	}

	for i, object := range objects {
		labels := object.GetLabels()
		for label, want := range map[string]string{
			apache.LabelOperatorName: "ours", apache.LabelAppName: "pi", apache.LabelAppUID: noonUID,
			apache.LabelAttempt: "1", apache.LabelManaged: "true", submit.SelectorLabel: "",
			"team": []string{"a", "b"}[i],
		} {
			if labels[label] != want {
				t.Errorf("%s: %s is %q, want %q", object.GetName(), label, labels[label], want)
			}
		}

		if refs := object.GetOwnerReferences(); object.GetNamespace() != "jobs" || len(refs) != 1 ||
			refs[0].UID != noonUID || labels[lifecycle.ContentLabel] == "" {
			t.Errorf("%s: in %s, owned by %v, content %q", object.GetName(), object.GetNamespace(), refs,
				labels[lifecycle.ContentLabel])
		}
	}

	if objects[0].GetAnnotations()["note"] != "b" {
		t.Errorf("%v", objects[0].GetAnnotations())
	}

	first := objects[0].GetLabels()[lifecycle.ContentLabel]

	again := Applications{Options{OperatorName: "ours", Outside: true}}.AuxiliaryObjects(app).Objects
	if again[0].GetLabels()[lifecycle.ContentLabel] != first {
		t.Error("the same Service has another digest")
	}

	app.Spec.DriverServiceIngressList[0].ServiceSpec.Raw = []byte(`{"ports":[{"port":81}]}`)
	if (Applications{Options{OperatorName: "ours",
		Outside: true}}).AuxiliaryObjects(app).Objects[0].GetLabels()[lifecycle.ContentLabel] == first {
		t.Error("another Service has the same digest")
	}
}

// TestExposedEntriesOfASubmittedDriver checks that a Service selects the driver by our labels if spark-submit chooses
// the driver's id.
func TestExposedEntriesOfASubmittedDriver(t *testing.T) {
	submitting := Applications{Options{Submission: dialect.SubmissionSparkSubmit, Outside: true}}
	app := inPhase(lifecycle.Running, written(t, oneEntry))

	spec := specsOf(t, submitting.AuxiliaryObjects(app).Objects)["Service ui"].(map[string]any)
	if diff := cmp.Diff(map[string]any{apache.LabelAppUID: noonUID, apache.LabelAttempt: "1", "spark-role": "driver"},
		spec["selector"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	native := rendered(t, Applications{}, app, 1).Driver

	selector := specsOf(t, Applications{}.AuxiliaryObjects(app).Objects)["Service ui"].(map[string]any)["selector"].(map[string]any)
	for label, value := range selector {
		if native.Labels[label] != value {
			t.Errorf("the Service selects %s=%v, which the driver does not have", label, value)
		}
	}
}

// TestExposedEntriesFollowTheAttempt checks that the auxiliary objects exist until the attempt's other objects are
// released. If the other objects are retained after the attempt's end, the auxiliary objects are retained too.
func TestExposedEntriesFollowTheAttempt(t *testing.T) {
	for phase, want := range map[lifecycle.Phase]string{
		lifecycle.New: "none", lifecycle.Waiting: "none", lifecycle.Launched: "stand", lifecycle.Started: "stand",
		lifecycle.Ready:   "stand",
		lifecycle.Scaling: "stand", lifecycle.Running: "stand", lifecycle.Partial: "stand", lifecycle.Below: "stand",
		lifecycle.Unknown: "stand",
		lifecycle.Ended:   "as they are", lifecycle.Retained: "as they are", lifecycle.Done: "none",
	} {
		app := inPhase(phase, written(t, oneEntry))
		s := withExposure.AuxiliaryObjects(app)

		got := "none"
		switch {
		case s.Unsettled:
			got = "as they are"
		case len(s.Objects) > 0:
			got = "stand"
		}

		if got != want || (s.Record == nil) != s.Unsettled {
			t.Errorf("%s: %s, want %s", phase, got, want)
		}

		app.DeletionTimestamp = &metav1.Time{Time: noon}
		if s := withExposure.AuxiliaryObjects(app); !s.Unsettled {
			t.Errorf("%s, being deleted: %v", phase, s.Objects)
		}
	}
}

// TestExposed checks that the condition Exposed reports the state of the auxiliary objects, and that an event reports a
// failure once.
func TestExposed(t *testing.T) {
	app := inPhase(lifecycle.Running, written(t, oneEntry))

	tell := func(states ...lifecycle.AuxiliaryObject) []dialect.Event {
		return withExposure.AuxiliaryObjects(app).Record(states, noon)
	}
	if notices := tell(); len(notices) > 0 ||
		meta.FindStatusCondition(app.Status.Conditions, dialect.ConditionExposed) != nil {
		t.Errorf("before an object exists: events %v, conditions %v", notices, app.Status.Conditions)
	}

	service, door := lifecycle.AuxiliaryObject{Kind: "Service", Name: "ui", Current: true},
		lifecycle.AuxiliaryObject{Kind: "Ingress", Name: "door", Current: true}
	if notices := tell(service, door); len(notices) > 0 ||
		!meta.IsStatusConditionTrue(app.Status.Conditions, dialect.ConditionExposed) {
		t.Errorf("all objects exist: events %v, conditions %v", notices, app.Status.Conditions)
	}

	door.Current, door.Cause = false, lifecycle.Cause{Reason: "NameTaken", Message: "it is somebody else's"}
	for i, want := range []int{1, 0} {
		notices := tell(service, door)

		c := meta.FindStatusCondition(app.Status.Conditions, dialect.ConditionExposed)
		if len(notices) != want || c.Status != metav1.ConditionFalse || c.Reason != "NameTaken" ||
			!strings.Contains(c.Message, "Ingress door: it is somebody else's") || c.ObservedGeneration != 7 {
			t.Errorf("pass %d after the rejection: events %v, condition %+v", i+1, notices, c)
		}
	}
	// After an edit with an invalid entry, the objects of the valid entries still exist.
	app.Spec.DriverServiceIngressList = append(app.Spec.DriverServiceIngressList,
		sparkv1.DriverServiceIngress{ServiceMetadata: sparkv1.ObjectMetadata{Name: "ui"}})
	s := withExposure.AuxiliaryObjects(app)

	notices := s.Record([]lifecycle.AuxiliaryObject{service, {Kind: "Ingress", Name: "door", Current: true}}, noon)
	if len(s.Objects) != 2 || len(notices) != 1 ||
		!strings.Contains(notices[0].Message, "spec.driverServiceIngressList[1].serviceSpec") {
		t.Errorf("%d objects, %v", len(s.Objects), notices)
	}

	app.Status.Operator.Phase = string(lifecycle.Done)
	if notices := withExposure.AuxiliaryObjects(app).Record(nil, noon); len(notices) > 0 ||
		len(app.Status.Conditions) > 0 {
		t.Errorf("after the end: events %v, conditions %v", notices, app.Status.Conditions)
	}
}

// TestNothingOutside checks an application with exposure switched off: its Services have the type ClusterIP and select
// its driver, and the condition reports what is missing, why, and what to do.
func TestNothingOutside(t *testing.T) {
	app := inPhase(lifecycle.Running, written(t, `
spec:
  driverServiceIngressList: [{serviceMetadata: {name: ui}, ingressMetadata: {name: door}, serviceSpec: {
    type: LoadBalancer, loadBalancerSourceRanges: [0.0.0.0/0], selector: {app: database}, ports: [{port: 80, nodePort: 30000}]}}]
  driverHttpRouteList: [{serviceMetadata: {name: web}, serviceSpec: {ports: [{port: 80}]}, httpRouteMetadata: {name: web}, httpRouteSpec: {parentRefs: [{name: g}]}}]
  driverGrpcRouteList: [{serviceMetadata: {name: grpc}, serviceSpec: {ports: [{port: 81}]}, grpcRouteMetadata: {name: grpc}, grpcRouteSpec: {parentRefs: [{name: g}]}}]`))
	driver := map[string]any{"spark.operator/spark-app-name": "pi", "spark-app-selector": "pi-0",
		"spark-role": "driver"}
	s := Applications{}.AuxiliaryObjects(app)

	want := map[string]any{
		"Service ui": map[string]any{"type": "ClusterIP", "selector": driver,
			"ports": []any{map[string]any{"port": 80.0}}},
		"Service web":  map[string]any{"selector": driver, "ports": []any{map[string]any{"port": 80.0}}},
		"Service grpc": map[string]any{"selector": driver, "ports": []any{map[string]any{"port": 81.0}}},
	}
	if diff := cmp.Diff(want, specsOf(t, s.Objects)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	notices := s.Record([]lifecycle.AuxiliaryObject{
		{Kind: "Service", Name: "ui", Current: true}, {Kind: "Service", Name: "web", Current: true},
		{Kind: "Service", Name: "grpc", Current: true},
	}, noon)

	c := meta.FindStatusCondition(app.Status.Conditions, dialect.ConditionExposed)
	if len(notices) != 1 || notices[0].Type != "Warning" || c == nil || c.Status != metav1.ConditionFalse ||
		c.Reason != "SwitchedOff" {
		t.Fatalf("events %v, condition %+v", notices, c)
	}

	for _, want := range []string{
		"spec.driverServiceIngressList[0]: ", "no Ingress door", "spec.driverServiceIngressList[0].serviceSpec.type: ",
		"spec.driverHttpRouteList[0]: ",
		"spec.driverGrpcRouteList[0]: ", "exposure.enabled: true", "controller.exposure.enable=true",
		"leads to Service ui",
	} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("%q does not say %q", c.Message, want)
		}
	}
}

// TestRefusedServices checks that a Service that redirects traffic is rejected even if exposure is switched on.
func TestRefusedServices(t *testing.T) {
	for spec, field := range map[string]string{
		"{externalIPs: [10.0.0.1], ports: [{port: 80}]}":                              "externalIPs",
		"{type: ExternalName, externalName: example.com, ports: [{port: 80}]}":        "type",
		"{type: ClusterIP, externalName: metadata.internal, ports: [{port: 80}]}":     "externalName",
		"{type: LoadBalancer, externalIPs: [169.254.169.254], ports: [{port: 7078}]}": "externalIPs",
	} {
		app := inPhase(lifecycle.Running,
			written(t, `{spec: {driverServiceIngressList: [{serviceMetadata: {name: ui}, ingressMetadata: {name: door}, serviceSpec: `+spec+`}]}}`))
		_, err := withExposure.Render(app, launchOf(1), noon)

		want := "spec.driverServiceIngressList[0].serviceSpec." + field
		if err == nil || !strings.HasPrefix(err.Error(), want+": is refused") {
			t.Errorf("%s: %v, want %s refused", spec, err, want)
		}

		if objects := withExposure.AuxiliaryObjects(app).Objects; len(objects) > 0 {
			t.Errorf("%s: %v are made", spec, objects)
		}
	}
}

// FuzzExposedEntries renders an application with one entry, whose Service spec and Ingress or route spec are arbitrary.
// Either Render must reject the attempt, or AuxiliaryObjects must return both objects.
func FuzzExposedEntries(f *testing.F) {
	f.Add("ui", `{"ports":[{"port":80}]}`, "door", `{"parentRefs":[{"name":"g"}]}`, uint8(0))
	f.Add("ui", `{"ports":3}`, "door", `{"rules":[{}],"parentRefs":[{"name":"g"}]}`, uint8(1))
	f.Add("Ui", `null`, "", `[]`, uint8(2))
	f.Fuzz(func(t *testing.T, service, serviceSpec, name, spec string, kind uint8) {
		app := inPhase(lifecycle.Running, written(t))

		m, n := sparkv1.ObjectMetadata{Name: service}, sparkv1.ObjectMetadata{Name: name}
		switch kind % 3 {
		case 0:
			app.Spec.DriverServiceIngressList = []sparkv1.DriverServiceIngress{{ServiceMetadata: m,
				ServiceSpec: rawOf(serviceSpec), IngressMetadata: n, IngressSpec: rawOf(spec)}}
		case 1:
			app.Spec.DriverHTTPRouteList = []sparkv1.DriverHTTPRoute{{ServiceMetadata: m,
				ServiceSpec: rawOf(serviceSpec), HTTPRouteMetadata: n, HTTPRouteSpec: rawOf(spec)}}
		case 2:
			app.Spec.DriverGRPCRouteList = []sparkv1.DriverGRPCRoute{{ServiceMetadata: m,
				ServiceSpec: rawOf(serviceSpec), GRPCRouteMetadata: n, GRPCRouteSpec: rawOf(spec)}}
		}

		_, err := Applications{}.Render(app, launchOf(1), noon)

		objects := withExposure.AuxiliaryObjects(app).Objects
		if made := len(objects) == 2; made != (err == nil) {
			t.Errorf("%d objects beside the driver, and the attempt is refused for %v", len(objects), err)
		}

		if slices.ContainsFunc(objects,
			func(o submit.Object) bool { return o.GetLabels()[lifecycle.ContentLabel] == "" }) {
			t.Error("an object has no digest")
		}
	})
}
