package auxiliary_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/auxiliary"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// withUI returns testConfig with the given YAML as the value of ui.
func withUI(t testing.TB, namespace, ui string) config.Configuration {
	t.Helper()

	parsed, err := config.Parse([]byte("ui: " + ui))
	if err != nil {
		t.Fatal(err)
	}

	cfg := world.Config(namespace)
	cfg.UI = parsed.UI
	return cfg
}

const belowAPath = `{ingress: {urlFormat: "https://spark.example.com/{{$appNamespace}}/{{$appName}}", className: nginx, tls: [{hosts: [spark.example.com], secretName: cert}]}}`

func ingressOf(w *world.World, name string, holds ...func(*networkingv1.Ingress) error) *networkingv1.Ingress {
	w.T.Helper()

	ingress := &networkingv1.Ingress{}
	kit.Wait(w.T, "Ingress "+name, func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, ingress); err != nil {
			return err
		}

		for _, check := range holds {
			if err := check(ingress); err != nil {
				return err
			}
		}
		return nil
	})
	return ingress
}

// TestUIIngress checks that the UI's Ingress, like the UI's Service, is in the first status, and that the driver's
// configuration has the path of the Ingress. The launch costs one request for the Ingress. An edit updates the Ingress,
// and the end of the attempt deletes it.
func TestUIIngress(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	made := &world.Requests{}
	w.RunWith(withUI(t, w.Namespace, belowAPath), time.Now, func(env *operator.Environment) {
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper { made.Next = next; return made })
	})
	app := w.Application("pi", scene.WithDriver)
	got := w.WaitState("pi", v1beta2.ApplicationStateSubmitted)
	ingress := ingressOf(w, "pi-ui-ingress")

	address := "https://spark.example.com/" + w.Namespace + "/pi"
	if info := got.Status.DriverInfo; info.WebUIIngressName != "pi-ui-ingress" || info.WebUIIngressAddress != address ||
		info.WebUIServiceName != "pi-ui-svc" {
		t.Errorf("driverInfo is %+v", info)
	}

	if path := ingress.Spec.Rules[0].HTTP.Paths[0]; path.Path != "/"+w.Namespace+"/pi(/|$)(.*)" ||
		path.Backend.Service.Name != "pi-ui-svc" || *ingress.Spec.IngressClassName != "nginx" {
		t.Errorf("the Ingress is %+v", ingress.Spec)
	}

	driver := w.DriverOf(app, 1)
	if properties := properties(w, app); !strings.Contains(properties, "spark.ui.proxyBase=/"+w.Namespace+"/pi\n") ||
		!strings.Contains(properties, "spark.ui.proxyRedirectUri=/\n") {
		t.Errorf("the driver reads\n%s", properties)
	}

	w.Ready(driver.Name)
	w.WaitState("pi", v1beta2.ApplicationStateRunning)

	costs := made.Since(nil)
	if costs["POST ingresses"] != 1 || costs["POST services"] != 2 ||
		costs["PATCH ingresses"]+costs["DELETE ingresses"] > 0 || costs["PATCH sparkapplications/status"] > 2 {
		t.Errorf("the requests are %v", costs)
	}

	editOptions(w, "pi", func(spec *v1beta2.SparkApplicationSpec) {
		spec.SparkUIOptions = &v1beta2.SparkUIConfiguration{ServicePort: new(int32(80)),
			IngressAnnotations: map[string]string{"mine": "yes"}}
	})

	after := ingressOf(w, "pi-ui-ingress",
		func(i *networkingv1.Ingress) error { return world.Want(i.Annotations["mine"], "yes") })
	if after.UID != ingress.UID || after.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Port.Number != 80 {
		t.Errorf("the Ingress is now %+v", after.Spec)
	}

	w.Suspend("pi", true)
	w.WaitState("pi", v1beta2.ApplicationStateSuspended)
	w.WaitGone(ingress)
	kit.Wait(t, "a status without the UI", func(context.Context) error {
		return world.Want(w.Get("pi").Status.DriverInfo, v1beta2.DriverInfo{})
	})
}

// TestUIIngressGoesWithItsDriver checks that the Ingress is deleted when the driver ends, even if the driver pod is
// retained, because another run may need the same address. The UI Service exists for as long as the retained driver
// pod.
func TestUIIngressGoesWithItsDriver(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunWith(withUI(t, w.Namespace, belowAPath), time.Now)
	app := w.Application("pi", scene.WithDriver)
	driver := w.DriverOf(app, 1)
	w.Ready(driver.Name)
	ingress, service := ingressOf(w, "pi-ui-ingress"), w.UIService("pi")
	w.Execute(driver, scene.Exited(0, ""))
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)
	w.WaitGone(ingress)
	w.TriggerPass("pi")

	if now := w.UIService("pi"); now.UID != service.UID || now.DeletionTimestamp != nil {
		t.Errorf("the Service of the retained driver was replaced or is being deleted: %+v", now.ObjectMeta)
	}

	if err := w.API.Delete(t.Context(), w.WaitPod(driver.Name), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	w.WaitGone(service)
}

// properties returns the text of the properties that the driver's JVM reads.
func properties(w *world.World, app *v1beta2.SparkApplication) string {
	w.T.Helper()

	var list corev1.ConfigMapList
	if err := w.API.List(w.T.Context(), &list, client.InNamespace(w.Namespace),
		client.MatchingLabels{identity.AppUIDLabel: string(app.UID)}); err != nil {
		w.T.Fatal(err)
	}

	text := ""
	for _, item := range list.Items {
		text += item.Data["spark.properties"]
	}
	return text
}

// TestUIIngressIsForbidden checks an operator that has no right to create Ingresses. The applications report that and
// run. Once the operator has the right, it creates the Ingress. The operator starts although it may not list Ingresses.
func TestUIIngressIsForbidden(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	user := "system:serviceaccount:" + w.Namespace + ":operator"
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "operator"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"", "sparkoperator.k8s.io", "policy"}, Resources: []string{"*"}, Verbs: []string{"*"}},
			{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"networkpolicies"}, Verbs: []string{"*"}},
		}}
	w.Create(role)
	w.Create(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "operator"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "operator"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}})

	later := &atomic.Int64{}
	w.RunWith(withUI(t, w.Namespace, belowAPath),
		func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
		func(env *operator.Environment) { env.Rest.Impersonate.UserName = user })
	app := w.Application("pi", scene.WithDriver)
	driver := w.DriverOf(app, 1)
	w.Ready(driver.Name)
	w.WaitState("pi", v1beta2.ApplicationStateRunning)

	got := w.WaitExposed("pi", metav1.ConditionFalse, apianswer.ReasonOperatorForbidden, "Ingress pi-ui-ingress: ",
		"cannot create resource", "the application continues to run")
	if info := got.Status.DriverInfo; info.WebUIIngressName != "" || info.WebUIServiceName != "pi-ui-svc" {
		t.Errorf("driverInfo is %+v", info)
	}

	w.WaitEvent(app, apianswer.ReasonOperatorForbidden, "Ingress pi-ui-ingress")

	before := role.DeepCopy()

	role.Rules[1].Resources = append(role.Rules[1].Resources, "ingresses")
	if err := w.API.Patch(t.Context(), role, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the Ingress", func(context.Context) error {
		later.Add(int64(auxiliary.MaxInterval))
		w.TriggerPass("pi")
		return world.Want(world.Condition(w.Get("pi"), world.Exposed).Status, metav1.ConditionTrue)
	})
	ingressOf(w, "pi-ui-ingress")
	w.Execute(driver, scene.Exited(0, ""))
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)
}

// TestUIIngressIsEditedByHand checks that the operator reverses another party's edits of the Ingress at most once a
// minute, and sends no other writes. The operator keeps fields that others added.
func TestUIIngressIsEditedByHand(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	made := &world.Requests{}
	later := &atomic.Int64{}
	w.RunWith(withUI(t, w.Namespace, belowAPath),
		func() time.Time { return time.Now().Add(time.Duration(later.Load())) }, func(env *operator.Environment) {
			env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper { made.Next = next; return made })
		})
	app := w.Application("pi", scene.WithDriver)
	w.Ready(w.DriverOf(app, 1).Name)
	w.WaitExposed("pi", metav1.ConditionTrue, world.Exposed)

	host := func(expected string) func(*networkingv1.Ingress) error {
		return func(i *networkingv1.Ingress) error { return world.Want(i.Spec.Rules[0].Host, expected) }
	}
	edit := func() {
		ingress := ingressOf(w, "pi-ui-ingress")
		before := ingress.DeepCopy()
		ingress.Spec.Rules[0].Host = "evil.example.com"
		metav1.SetMetaDataAnnotation(&ingress.ObjectMeta, "added", "yes")

		if err := w.API.Patch(t.Context(), ingress, client.MergeFrom(before),
			client.FieldOwner("somebody")); err != nil {
			t.Fatal(err)
		}
	}
	edit()

	after := ingressOf(w, "pi-ui-ingress", host("spark.example.com"))
	if after.Annotations["added"] != "yes" {
		t.Error("fields that others added are gone")
	}
	// The reversal of another edit waits.
	edit()

	for range 3 {
		w.TriggerPass("pi")
	}

	ingressOf(w, "pi-ui-ingress", host("evil.example.com"))
	later.Store(int64(2 * auxiliary.EditInterval))
	w.TriggerPass("pi")
	ingressOf(w, "pi-ui-ingress", host("spark.example.com"))
	// The ownership of the created fields changes once; then each reversal is one request.
	editOptions(w, "pi", func(spec *v1beta2.SparkApplicationSpec) {
		spec.SparkUIOptions = &v1beta2.SparkUIConfiguration{ServicePort: new(int32(80))}
	})
	ingressOf(w, "pi-ui-ingress", func(i *networkingv1.Ingress) error {
		return world.Want(i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Port.Number, 80)
	})
	w.TriggerPass("pi")

	if got := made.Since(nil); got["PATCH ingresses"] != 4 || got["POST ingresses"] != 1 {
		t.Errorf("the requests are %v, want four patches", got)
	}
}

// TestUIIngressWithoutAHost checks an operator whose configuration gives no host for the Ingress. Every application
// runs, and reports this fault of the configuration.
func TestUIIngressWithoutAHost(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunWith(withUI(t, w.Namespace, `{ingress: {urlFormat: "/{{$appNamespace}}/{{$appName}}"}}`), time.Now)
	app := w.Application("pi", scene.WithDriver)
	driver := w.DriverOf(app, 1)
	w.Ready(driver.Name)
	w.WaitState("pi", v1beta2.ApplicationStateRunning)
	w.WaitExposed("pi", metav1.ConditionFalse, "InvalidAddress",
		"the application continues to run; ui.ingress.urlFormat of the operator's configuration: an Ingress needs a host", "such as spark.example.com/")
	waitAuxiliaryObjects(w, app, "Service/pi-ui-svc")
	w.Execute(driver, scene.Exited(0, ""))
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)
}

// TestPortsOfTheDriver checks edits of driverIngressOptions while the driver runs. If an entry is added, its Service
// and Ingress are created. If an entry is removed, they are deleted. An invalid entry does not affect the others.
func TestPortsOfTheDriver(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunWith(withUI(t, w.Namespace, `{service: false, ingress: {enabled: true}}`), time.Now)

	entry := func(port int32, format string) v1beta2.DriverIngressConfiguration {
		return v1beta2.DriverIngressConfiguration{ServicePort: &port, ServicePortName: new(fmt.Sprintf("p%d", port)),
			IngressURLFormat: format}
	}
	app := w.Application("pi", scene.WithDriver, func(app *v1beta2.SparkApplication) {
		app.Spec.DriverIngressOptions = []v1beta2.DriverIngressConfiguration{
			entry(9001, "{{$appName}}.example.com"), entry(9002, "/no-host"), entry(9003, ""), entry(70000, ""),
		}
	})
	driver := w.DriverOf(app, 1)
	w.Ready(driver.Name)
	w.WaitExposed("pi", metav1.ConditionFalse, "InvalidAddress",
		"spec.driverIngressOptions[1].ingressURLFormat: an Ingress needs a host",
		"spec.driverIngressOptions[3].servicePort: 70000 is not a port")
	waitAuxiliaryObjects(w, app, "Ingress/pi-ing-9001", "Service/pi-driver-9001", "Service/pi-driver-9002",
		"Service/pi-driver-9003")
	editOptions(w, "pi", func(spec *v1beta2.SparkApplicationSpec) {
		spec.DriverIngressOptions = []v1beta2.DriverIngressConfiguration{entry(9002, "pi.example.com/two"),
			entry(9003, "")}
	})
	w.WaitExposed("pi", metav1.ConditionTrue, world.Exposed)
	waitAuxiliaryObjects(w, app, "Ingress/pi-ing-9002", "Service/pi-driver-9002", "Service/pi-driver-9003")
	editOptions(w, "pi", func(spec *v1beta2.SparkApplicationSpec) { spec.DriverIngressOptions = nil })
	waitAuxiliaryObjects(w, app)
	w.Execute(driver, scene.Exited(0, ""))

	if got := w.WaitState("pi", v1beta2.ApplicationStateCompleted); got.Status.ExecutionAttempts != 1 ||
		world.Condition(got, world.Exposed).Type != "" {
		t.Errorf("%d runs, Exposed is %+v", got.Status.ExecutionAttempts, world.Condition(got, world.Exposed))
	}
}

// waitAuxiliaryObjects waits until an application has exactly the named auxiliary objects.
func waitAuxiliaryObjects(w *world.World, app *v1beta2.SparkApplication, names ...string) {
	w.T.Helper()
	kit.Wait(w.T, fmt.Sprintf("the auxiliary objects %v", names), func(ctx context.Context) error {
		var services corev1.ServiceList
		var ingresses networkingv1.IngressList

		options := []client.ListOption{client.InNamespace(w.Namespace),
			client.MatchingLabels{identity.AppUIDLabel: string(app.UID)}}
		if err := errors.Join(w.API.List(ctx, &ingresses, options...),
			w.API.List(ctx, &services, options...)); err != nil {
			return err
		}

		var got []string
		for i := range ingresses.Items {
			got = append(got, "Ingress/"+ingresses.Items[i].Name)
		}

		for i := range services.Items {
			if identity.IsAuxiliary(&services.Items[i]) {
				got = append(got, "Service/"+services.Items[i].Name)
			}
		}

		if diff := cmp.Diff(names, got); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
}

// httpRoutes returns the definition of HTTPRoutes from the module of the Gateway API.
func httpRoutes(t testing.TB) *unstructured.Unstructured { return gatewayDefinition(t, "httproutes") }

// gatewayDefinition returns the definition of a kind of the Gateway API. The argument plural is the plural name of the
// kind.
func gatewayDefinition(t testing.TB, plural string) *unstructured.Unstructured {
	t.Helper()

	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatal(err)
	}

	text, err := os.ReadFile(filepath.Join(string(bytes.TrimSpace(out)), "config", "crd", "standard",
		"gateway.networking.k8s.io_"+plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}

	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &crd.Object); err != nil {
		t.Fatal(err)
	}
	return crd
}

// TestUIRoute checks that an application runs, and reports what is missing, if the definition of the Gateway API is not
// installed. Once the definition is installed, the operator creates the route, and the API server accepts it. Edits of
// the options update the route.
func TestUIRoute(t *testing.T) {
	t.Parallel()

	w := world.New(t)
	if err := gatewayv1.Install(w.API.Scheme()); err != nil {
		t.Fatal(err)
	}

	later := &atomic.Int64{}
	w.RunWith(withUI(t, w.Namespace,
		`{route: {urlFormat: "/{{$appNamespace}}/{{$appName}}", parentRefs: [{name: public, namespace: gateways, sectionName: https}]}}`),
		func() time.Time { return time.Now().Add(time.Duration(later.Load())) })
	app := w.Application("pi", scene.WithDriver)
	driver := w.DriverOf(app, 1)
	w.Ready(driver.Name)
	w.WaitState("pi", v1beta2.ApplicationStateRunning)
	w.WaitExposed("pi", metav1.ConditionFalse, apianswer.ReasonNotServed, "HTTPRoute pi-ui-route: ",
		"httproutes.gateway.networking.k8s.io", "the application continues to run")

	crd := httpRoutes(t)
	w.Create(crd)
	t.Cleanup(func() { _ = w.API.Delete(context.Background(), crd) })

	route := &gatewayv1.HTTPRoute{}
	key := client.ObjectKey{Namespace: w.Namespace, Name: "pi-ui-route"}
	kit.Wait(t, "the route", func(ctx context.Context) error {
		later.Add(int64(auxiliary.MaxInterval))
		w.TriggerPass("pi")
		return w.API.Get(ctx, key, route)
	})

	got := w.WaitExposed("pi", metav1.ConditionTrue, world.Exposed)

	path := "/" + w.Namespace + "/pi"
	if info := got.Status.DriverInfo; info.WebUIIngressName != "pi-ui-route" || info.WebUIIngressAddress != path {
		t.Errorf("driverInfo is %+v", info)
	}

	rule := route.Spec.Rules[0]
	if *rule.Matches[0].Path.Value != path || *rule.Filters[0].URLRewrite.Path.ReplacePrefixMatch != "/" ||
		rule.BackendRefs[0].Name != "pi-ui-svc" || *rule.BackendRefs[0].Port != 4040 {
		t.Errorf("the rule is %+v", rule)
	}

	if parent := route.Spec.ParentRefs[0]; parent.Name != "public" || *parent.Namespace != "gateways" ||
		*parent.SectionName != "https" {
		t.Errorf("the parent is %+v", parent)
	}

	editOptions(w, "pi", func(spec *v1beta2.SparkApplicationSpec) {
		spec.SparkUIOptions = &v1beta2.SparkUIConfiguration{Route: &v1beta2.RouteConfiguration{Hostnames: []string{"pi.example.com"}}}
	})
	kit.Wait(t, "the host of the route", func(ctx context.Context) error {
		now := &gatewayv1.HTTPRoute{}
		if err := w.API.Get(ctx, key, now); err != nil {
			return err
		}
		return errors.Join(world.Want(len(now.Spec.Hostnames), 1), world.Want(now.UID, route.UID))
	})
	kit.Wait(t, "the address", func(context.Context) error {
		return world.Want(w.Get("pi").Status.DriverInfo.WebUIIngressAddress, "http://pi.example.com"+path)
	})
	// Somebody deletes it: the operator notices that and creates it again.
	if err := w.API.Delete(t.Context(), route); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "another route", func(ctx context.Context) error {
		now := &gatewayv1.HTTPRoute{}
		if err := w.API.Get(ctx, key, now); err != nil {
			return err
		}
		return world.Want(now.UID != route.UID, true)
	})
	w.Suspend("pi", true)
	w.WaitState("pi", v1beta2.ApplicationStateSuspended)
	kit.Wait(t, "the deletion of the route", func(ctx context.Context) error {
		if err := w.API.Get(ctx, key, &gatewayv1.HTTPRoute{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the route still exists"), err)
		}
		return nil
	})
}
