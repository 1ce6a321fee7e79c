package application

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// TestEntriesThatShareNames checks entries with equal names. The objects of the first entry with a name exist, whatever
// the later entries say, and several entries may lead to one Service.
func TestEntriesThatShareNames(t *testing.T) {
	const (
		first     = `{serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 80, targetPort: 4040}]}, ingressMetadata: {name: a}}`
		different = "InvalidSpec spec.driverServiceIngressList[1].serviceMetadata.name: \"ui\" is also the name of spec.driverServiceIngressList[0], but the two entries " +
			"describe the Service differently; choose another name, or use the same settings"
	)
	for name, c := range map[string]struct {
		spec     string
		objects  string
		problems []string
	}{
		"one Service": {`driverServiceIngressList: [` + first +
			`, {serviceMetadata: {name: ui}, serviceSpec: {ports: [{targetPort: 4040, port: 80}]}, ingressMetadata: {name: b}}]`,
			"Service ui, Ingress a, Ingress b", nil},
		"one Service, once with maps that are empty": {`driverServiceIngressList: [` + first + `,
			{serviceMetadata: {name: ui, labels: {}, annotations: {}}, serviceSpec: {ports: [{port: 80, targetPort: 4040}]}, ingressMetadata: {name: b}}]`,
			"Service ui, Ingress a, Ingress b", nil},
		"another port": {`driverServiceIngressList: [` + first +
			`, {serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 81, targetPort: 4040}]}, ingressMetadata: {name: b}}]`,
			"Service ui, Ingress a", []string{different}},
		"another label": {`driverServiceIngressList: [` + first + `,
			{serviceMetadata: {name: ui, labels: {a: b}}, serviceSpec: {ports: [{port: 80, targetPort: 4040}]}, ingressMetadata: {name: b}}]`, "Service ui, Ingress a", []string{different}},
		"another annotation": {`driverServiceIngressList: [` + first + `,
			{serviceMetadata: {name: ui, annotations: {a: b}}, serviceSpec: {ports: [{port: 80, targetPort: 4040}]}, ingressMetadata: {name: b}}]`, "Service ui, Ingress a", []string{different}},
		"one Ingress": {`driverServiceIngressList: [` + first +
			`, {serviceMetadata: {name: web}, serviceSpec: {ports: [{port: 80}]}, ingressMetadata: {name: a}}]`,
			"Service ui, Ingress a", []string{`InvalidSpec spec.driverServiceIngressList[1].ingressMetadata.name: "a" is also the name of spec.driverServiceIngressList[0]; choose another name`}},
		"an Ingress and routes of one name": {`driverServiceIngressList: [` + first + `],
			driverHttpRouteList: [{serviceMetadata: {name: web}, serviceSpec: {ports: [{port: 80}]}, httpRouteMetadata: {name: a}, httpRouteSpec: {parentRefs: [{name: g}]}}],
			driverGrpcRouteList: [{serviceMetadata: {name: rpc}, serviceSpec: {ports: [{port: 80}]}, grpcRouteMetadata: {name: a}, grpcRouteSpec: {parentRefs: [{name: g}]}}]`,
			"Service ui, Ingress a, Service web, HTTPRoute a, Service rpc, GRPCRoute a", nil},
		"the Service of the executors": {`driverServiceIngressList: [{serviceMetadata: {name: pi-0-driver-svc}, serviceSpec: {ports: [{port: 80}]}, ingressMetadata: {name: a}}, ` + first + `]`,
			"", []string{
				`InvalidSpec spec.driverServiceIngressList[0].serviceMetadata.name: "pi-0-driver-svc" is the Service by which executors find the driver; choose another name`,
				`InvalidSpec spec.driverServiceIngressList[1].ingressMetadata.name: "a" is also the name of spec.driverServiceIngressList[0]; choose another name`,
			}},
		"entries without names": {`driverServiceIngressList: [{serviceSpec: {ports: [{port: 80}]}}, {serviceSpec: {ports: [{port: 81}]}}, ` + first + `]`, "Service ui, Ingress a", []string{
			`InvalidSpec spec.driverServiceIngressList[0].serviceMetadata.name: "" is not`,
			`InvalidSpec spec.driverServiceIngressList[0].ingressMetadata.name: "" is not`,
			`InvalidSpec spec.driverServiceIngressList[1].serviceMetadata.name: "" is not`,
			`InvalidSpec spec.driverServiceIngressList[1].ingressMetadata.name: "" is not`,
		}},
	} {
		app := inPhase(lifecycle.Running, written(t, "spec: {"+c.spec+"}"))
		before := app.DeepCopy()

		objects, problems := withExposure.auxiliaryObjects(app, 1)
		if got := strings.Join(kindsOf(objects), ", "); got != c.objects {
			t.Errorf("%s: objects are %s, want %s", name, got, c.objects)
		}

		if len(problems) != len(c.problems) {
			t.Errorf("%s: problems are %v, want %q", name, problems, c.problems)
			continue
		}

		for i, want := range c.problems {
			if got := problems[i].Reason + " " + problems[i].Message; !strings.HasPrefix(got, want) {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}

		if diff := cmp.Diff(before, app); diff != "" {
			t.Errorf("%s: the application is changed:\n%s", name, diff)
		}
	}
}

// kindsOf returns the kinds and names of objects.
func kindsOf(objects []submit.Object) (out []string) {
	for _, object := range objects {
		out = append(out, object.GetObjectKind().GroupVersionKind().Kind+" "+object.GetName())
	}
	return out
}

// TestAuxiliaryObjectsOfASpecThatIsUnreadable checks that nothing is changed around a running driver whose spec could
// not be decoded, or whose status somebody edited, and that the condition is still removed after the end.
func TestAuxiliaryObjectsOfASpecThatIsUnreadable(t *testing.T) {
	for name, c := range map[string]struct {
		phase     lifecycle.Phase
		change    func(*sparkv1.SparkApplication)
		unsettled bool
	}{
		"readable": {lifecycle.Running, func(*sparkv1.SparkApplication) {}, false},
		"unreadable, while it runs": {lifecycle.Running,
			func(app *sparkv1.SparkApplication) { app.OutOfBounds = "spec.files: is too long" }, true},
		"unreadable, after its end": {lifecycle.Done,
			func(app *sparkv1.SparkApplication) { app.OutOfBounds = "spec.files: is too long" }, false},
		"running without an attempt": {lifecycle.Running,
			func(app *sparkv1.SparkApplication) { app.Status.Operator.Attempt = 0 }, true},
		"a phase of a newer version": {lifecycle.Phase("Elsewhere"), func(*sparkv1.SparkApplication) {}, false},
		"the status of another": {lifecycle.Running,
			func(app *sparkv1.SparkApplication) { app.Status.Operator = nil }, false},
		"ended and about to be deleted": {lifecycle.Done,
			func(app *sparkv1.SparkApplication) { app.DeletionTimestamp = &metav1.Time{Time: noon} }, true},
	} {
		app := inPhase(c.phase, written(t))
		c.change(app)

		if got := withExposure.AuxiliaryObjects(app); got.Unsettled != c.unsettled ||
			(got.Record == nil) != c.unsettled || len(got.Objects) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestUsersCannotTakeOurLabels checks that the labels and the selector by which the operator and the executors find
// objects are the operator's, whatever an entry says, and that they are not written into the user's maps.
func TestUsersCannotTakeOurLabels(t *testing.T) {
	app := inPhase(lifecycle.Running, written(t, `
spec: {driverServiceIngressList: [{serviceSpec: {selector: {app: database}, ports: [{port: 80}]}, ingressMetadata: {name: door},
  serviceMetadata: {name: ui, labels: {sparkoperator.dev/app-uid: x, sparkoperator.dev/attempt: "9", sparkoperator.dev/managed: "false", spark-app-selector: z, team: a}}}]}`))
	before := app.DeepCopy()
	objects, _ := withExposure.auxiliaryObjects(app, 2)

	want := map[string]string{
		"spark.operator/name": "spark-kubernetes-operator", "spark.operator/spark-app-name": "pi",
		"sparkoperator.dev/app-uid": noonUID, "sparkoperator.dev/attempt": "2",
		"sparkoperator.dev/managed": "true", "team": "a",
	}
	if diff := cmp.Diff(want, objects[0].GetLabels()); diff != "" {
		t.Errorf("labels of the Service (-want +got):\n%s", diff)
	}

	if _, ok := objects[1].GetLabels()["team"]; ok {
		t.Errorf("the Ingress has the Service's labels %v", objects[1].GetLabels())
	}

	selector := specsOf(t, objects)["Service ui"].(map[string]any)["selector"]
	if diff := cmp.Diff(map[string]any{"spark.operator/spark-app-name": "pi", "spark-app-selector": "pi-1",
		"spark-role": "driver"}, selector); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(before, app); diff != "" {
		t.Errorf("the application is changed:\n%s", diff)
	}
}
