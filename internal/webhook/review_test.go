package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/policy"
	"github.com/sparkoperator/spark-operator/internal/testkit"
	"github.com/sparkoperator/spark-operator/internal/testkit/scene"
	"github.com/sparkoperator/spark-operator/internal/webhook"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// refusals is the file of applications that are refused according to docs/validation.md.
const refusals = "../../dialect/sparkoperator/application/testdata/refusals.yaml"

type refusal struct{ Field, When, Piece, By, Why string }

// TestRefusals checks that every application of docs/validation.md is refused when it is created. If the page lists the
// application as refused by the definition, the definition refuses it. Otherwise the webhook refuses it, with the
// message that a pass would store.
func TestRefusals(t *testing.T) {
	t.Parallel()
	h := hook(t)
	var file struct{ Refusals, OnlyBySparkSubmit []refusal }
	if err := yaml.Unmarshal([]byte(readFile(t, refusals)), &file); err != nil || len(file.Refusals) < 40 || len(file.OnlyBySparkSubmit) < 5 {
		t.Fatalf("%d and %d refusals: %v", len(file.Refusals), len(file.OnlyBySparkSubmit), err)
	}
	for _, r := range file.Refusals {
		h.refused(r)
	}
	h.change(func(h *hooked) { h.cfg.Submission.Mode = config.SubmissionNative })
	for _, r := range append(file.OnlyBySparkSubmit, refusal{Field: "spec.submission.mode", Piece: "spec: {submission: {mode: SparkSubmit}}"}) {
		h.refused(r)
	}
}

// refused checks that one application is refused, by whom, and with which message and field.
func (h *hooked) refused(r refusal) {
	h.T.Helper()
	object := h.object(r.Piece)
	err := h.dryRun(object)
	switch {
	case err == nil:
		h.T.Errorf("%s is admitted", r.Piece)
		return
	case r.By == "definition":
		if !apierrors.IsInvalid(err) || byWebhook(err) {
			h.T.Errorf("%s: not refused by the definition: %v", r.Piece, err)
		}
		return
	case !byWebhook(err):
		h.T.Errorf("%s: not refused by the webhook: %v", r.Piece, err)
		return
	}
	app := h.typed(object, kinds.Admission()[0]).(*v1beta2.SparkApplication)
	kinds.SparkApplications(h.settings()).Decide(app, lifecycle.Observed{}, time.Now())
	if app.Status.AppState.State != v1beta2.ApplicationStateFailed || said(err) != app.Status.AppState.ErrorMessage {
		h.T.Errorf("%s:\nthe webhook says %q,\na pass %q (%s)", r.Piece, said(err), app.Status.AppState.ErrorMessage, app.Status.AppState.State)
	}
	field := strings.ReplaceAll(r.Field, "KEY", "spark.master")
	if status, ok := errors.AsType[*apierrors.StatusError](err); !ok || status.ErrStatus.Details == nil || status.ErrStatus.Details.Causes[0].Field != field {
		h.T.Errorf("%s: the causes are %v, want %s", r.Piece, status.ErrStatus.Details, field)
	}
}

// TestSeveralFaults checks that a single refusal lists every fault, with the field and what to do.
func TestSeveralFaults(t *testing.T) {
	t.Parallel()
	h := hook(t)
	err := h.dryRun(h.object(`{metadata: {name: 1pi}, spec: {sparkConf: {spark.master: local, spark.kubernetes.container.image: i}, executor: {coreRequest: few}}}`))
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !byWebhook(err) {
		t.Fatal(err)
	}
	var fields []string
	for _, cause := range status.ErrStatus.Details.Causes {
		fields = append(fields, cause.Field)
	}
	if got, want := fmt.Sprint(fields), "[metadata.name spec.sparkConf[spark.kubernetes.container.image] spec.sparkConf[spark.master] spec.executor.coreRequest]"; got != want {
		t.Errorf("the causes are %s, want %s", got, want)
	}
	if !strings.Contains(err.Error(), "use spec.image") {
		t.Errorf("%v does not say what to do", err)
	}
}

// others contains refusals of the kinds other than SparkApplication: a valid object, a piece of YAML that makes it
// invalid, and the field that the refusal names.
var others = map[string]struct{ whole, piece, field string }{
	"ScheduledSparkApplication": {`
apiVersion: sparkoperator.k8s.io/v1beta2
kind: ScheduledSparkApplication
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  template: {type: Java, mode: cluster, sparkVersion: 4.1.4, image: i, mainClass: a.B, mainApplicationFile: local:///a.jar, driver: {}, executor: {}}
`, `spec: {schedule: often, template: {driver: {coreRequest: few}}}`, "spec.schedule"},
	"SparkConnect": {`
apiVersion: sparkoperator.k8s.io/v1alpha1
kind: SparkConnect
metadata: {name: notebooks}
spec: {sparkVersion: 4.1.4, image: i, server: {}, executor: {instances: 1}}
`, `spec: {server: {memory: much}}`, "spec.server.memory"},
	"SparkApplication": {`
apiVersion: spark.apache.org/v1
kind: SparkApplication
metadata: {name: pi}
spec: {mainClass: a.B, jars: "local:///a.jar", sparkConf: {spark.kubernetes.container.image: i}, runtimeVersions: {sparkVersion: 4.1.4}}
`, `spec: {deploymentMode: ClientMode}`, "spec.deploymentMode"},
	"SparkCluster": {`
apiVersion: spark.apache.org/v1
kind: SparkCluster
metadata: {name: prod}
spec:
  runtimeVersions: {sparkVersion: 4.1.4}
  clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 1}}
  sparkConf: {spark.kubernetes.container.image: i}
`, `spec: {masterSpec: {statefulSetSpec: {template: {spec: {containers: none}}}}}`, "spec.masterSpec.statefulSetSpec"},
}

// TestOtherKinds checks, for each kind in others, that the webhook admits a valid object and refuses an invalid one
// with the message of a pass.
func TestOtherKinds(t *testing.T) {
	t.Parallel()
	h := hook(t)
	for name, c := range others {
		if err := h.dryRun(h.object(c.whole)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		object := h.object(c.whole, c.piece)
		err := h.dryRun(object)
		if !byWebhook(err) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		kind := kindOf(t, object.GroupVersionKind())
		faults := kind.Review(h.settings(), nil, h.typed(object, kind), time.Now()).Faults
		if len(faults) == 0 || faults[0].Field != c.field || said(err) != dialect.Invalid(faults).Message {
			t.Errorf("%s: refused with %q, want a fault of %s", name, said(err), c.field)
		}
	}
}

// TestKubeflowCases checks names and memory sizes that the webhook of kubeflow's operator admits or refuses. Our
// webhook must decide in the same way.
func TestKubeflowCases(t *testing.T) {
	t.Parallel()
	h := hook(t)
	for name, admitted := range map[string]bool{
		"pi": true, "spark-pi-1": true, strings.Repeat("a", 63): true,
		"1pi": false, "pi.v1": false, strings.Repeat("a", 64): false,
	} {
		if err := h.dryRun(h.object(`metadata: {name: "` + name + `"}`)); (err == nil) != admitted {
			t.Errorf("name %s: %v", name, err)
		}
	}
	for memory, admitted := range map[string]bool{"512m": true, "1g": true, "1024k": true, "1.5g": false, "1Gi": false, "much": false} {
		for _, role := range []string{"driver", "executor"} {
			if err := h.dryRun(h.object(fmt.Sprintf("spec: {%s: {memory: %q}}", role, memory))); (err == nil) != admitted {
				t.Errorf("%s memory %s: %v", role, memory, err)
			}
		}
	}
}

// TestDryRunStoresNothing checks that the webhook answers a dry run like any other request, and that no object is
// stored.
func TestDryRunStoresNothing(t *testing.T) {
	t.Parallel()
	h := hook(t)
	if err := h.dryRun(h.object()); err != nil {
		t.Error(err)
	}
	if err := h.dryRun(h.object(`metadata: {name: 1pi}`)); !byWebhook(err) {
		t.Error(err)
	}
	var list v1beta2.SparkApplicationList
	if err := h.API.List(t.Context(), &list, client.InNamespace(h.Namespace)); err != nil || len(list.Items) > 0 {
		t.Errorf("%d applications are stored: %v", len(list.Items), err)
	}
}

// TestUpdatesOfAnInvalidObject checks an invalid object that is already stored. Updates outside of its spec and its
// deletion are admitted. An edit that leaves the spec invalid is refused, unless the object is being deleted.
func TestUpdatesOfAnInvalidObject(t *testing.T) {
	t.Parallel()
	h := hook(t)
	h.change(func(h *hooked) { h.served = false })
	object := h.object(`{metadata: {name: 1pi, finalizers: [example.com/mine]}, spec: {executor: {coreRequest: few}}}`)
	if err := h.user.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	h.change(func(h *hooked) { h.served = true })
	patch := func(what, text string) error {
		t.Helper()
		return h.user.Patch(t.Context(), object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text)))
	}
	for what, text := range map[string]string{
		"a label": `{"metadata":{"labels":{"spark-role":"x"}}}`, "an annotation": `{"metadata":{"annotations":{"a":"b"}}}`,
		"a finalizer": `{"metadata":{"finalizers":["example.com/mine","example.com/other"]}}`, "nothing": `{}`,
	} {
		if err := patch(what, text); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	status := client.RawPatch(types.MergePatchType, []byte(`{"status":{"driverInfo":{},"applicationState":{"state":"FAILED"}}}`))
	if err := h.user.Status().Patch(t.Context(), object.DeepCopy(), status); err != nil {
		t.Errorf("the status: %v", err)
	}
	if err := patch("an invalid spec", `{"spec":{"executor":{"coreRequest":"many"}}}`); !byWebhook(err) {
		t.Errorf("another invalid spec: %v", err)
	}
	if err := h.user.Delete(t.Context(), object.DeepCopy()); err != nil {
		t.Errorf("the deletion: %v", err)
	}
	if err := patch("an edit while it is deleted", `{"spec":{"executor":{"coreRequest":"many"}}}`); err != nil {
		t.Errorf("an edit while it is deleted: %v", err)
	}
	if err := patch("the finalizers", `{"metadata":{"finalizers":null}}`); err != nil {
		t.Errorf("the removal of finalizers: %v", err)
	}
	h.WaitGone(object)
}

// TestCorrection checks that an edit that corrects a stored invalid spec is admitted.
func TestCorrection(t *testing.T) {
	t.Parallel()
	h := hook(t)
	h.change(func(h *hooked) { h.served = false })
	object := h.object(`spec: {executor: {coreRequest: few}}`)
	if err := h.user.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	h.change(func(h *hooked) { h.served = true })
	if err := h.user.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"executor":{"coreRequest":"1"}}}`))); err != nil {
		t.Error(err)
	}
}

// TestWarnings checks that a client gets warnings about settings without effect and about an edit that restarts a
// running application.
func TestWarnings(t *testing.T) {
	t.Parallel()
	h := hook(t)
	h.warnings.take()
	object := h.object(`spec: {executor: {memoryLimit: 2g}, driver: {template: {spec: {containers: [{name: a}], capabilities: {add: [NET_ADMIN]}}}}}`)
	if err := h.user.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(h.warnings.take(), "\n")
	for _, want := range []string{"spec.executor.memoryLimit has no effect: ", "spec.driver.template.spec.capabilities: has no effect at this place; a pod has this field at spec.containers[].securityContext.capabilities"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("the warnings do not have %q once:\n%s", want, got)
		}
	}
	edit := func(image string) {
		t.Helper()
		if err := h.user.Patch(t.Context(), object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"image":"`+image+`"}}`))); err != nil {
			t.Fatal(err)
		}
	}
	const restarts = "this edit of its spec stops its driver"
	edit("spark:a")
	if got := strings.Join(h.warnings.take(), "\n"); strings.Contains(got, restarts) {
		t.Errorf("an application that does not run is restarted:\n%s", got)
	}
	status := client.RawPatch(types.MergePatchType, []byte(`{"status":{"driverInfo":{},"applicationState":{"state":"RUNNING"},"operator":{"phase":"Running","attempt":1}}}`))
	if err := h.user.Status().Patch(t.Context(), object.DeepCopy(), status); err != nil {
		t.Fatal(err)
	}
	h.warnings.take()
	edit("spark:b")
	if got := strings.Join(h.warnings.take(), "\n"); strings.Count(got, restarts) != 1 {
		t.Errorf("the restart is not announced once:\n%s", got)
	}
	edit("spark:b")
	if got := h.warnings.take(); len(got) > 0 {
		t.Errorf("an update without a change: %q", got)
	}
}

// TestNotServed checks that objects that the operator does not serve are admitted without a review. An object whose
// namespace cannot be looked up is admitted with a warning.
func TestNotServed(t *testing.T) {
	t.Parallel()
	h := hook(t)
	invalid, cluster := h.object(`metadata: {name: 1pi}`), h.object(others["SparkCluster"].whole, others["SparkCluster"].piece)
	labelled := cluster.DeepCopy()
	labelled.SetLabels(map[string]string{"spark.operator/sentinel": "true", "team": "a"})
	for name, c := range map[string]struct {
		change func(*hooked)
		object *unstructured.Unstructured
	}{
		"another namespace":    {func(h *hooked) { h.served = false }, invalid},
		"a kind that is off":   {func(h *hooked) { h.cfg.SparkOperator.Enabled = new(false) }, invalid},
		"another selector":     {func(h *hooked) { h.cfg.Apache.LabelSelector = "team=a" }, cluster},
		"a sentinel":           {func(*hooked) {}, labelled},
		"an unknown namespace": {func(h *hooked) { h.broken = errors.New("no cache") }, invalid},
	} {
		h.change(func(h *hooked) { h.cfg, h.served, h.broken = settled(), true, nil; c.change(h) })
		h.warnings.take()
		if err := h.dryRun(c.object); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := strings.Join(h.warnings.take(), "\n")
		if (name == "an unknown namespace") != strings.Contains(got, "the object was not checked") {
			t.Errorf("%s: warnings %q", name, got)
		}
	}
}

// TestLargeObject checks that an object of nearly 3 MiB, the largest size that the API server accepts, is refused with
// a message that contains the operator's limit.
func TestLargeObject(t *testing.T) {
	t.Parallel()
	h := hook(t)
	object := h.object()
	confs := map[string]any{}
	for i := range 1500 {
		confs[fmt.Sprintf("spark.key%d", i)] = strings.Repeat("x", 1950)
	}
	if err := unstructured.SetNestedMap(object.Object, confs, "spec", "sparkConf"); err != nil {
		t.Fatal(err)
	}
	if err := h.dryRun(object); !byWebhook(err) || !strings.Contains(err.Error(), "524288") && !strings.Contains(err.Error(), "524,288") {
		t.Errorf("%.300v", err)
	}
}

// TestRequests checks that requests that no API server would send get an answer with the reason and are not reviewed.
func TestRequests(t *testing.T) {
	t.Parallel()
	h := hook(t)
	path := webhook.Path(kinds.Admission()[0].Kind)
	for name, c := range map[string]struct{ method, path, contentType, body, want string }{
		"an unknown version": {http.MethodPost, path, "application/json", `{"apiVersion":"admission.k8s.io/v9","kind":"AdmissionReview","request":{"uid":"u"}}`, "admission.k8s.io/v9"},
		"no review":          {http.MethodPost, path, "application/json", `[]`, "not an AdmissionReview"},
		"nothing":            {http.MethodPost, path, "application/json", ``, "not an AdmissionReview"},
		"another type":       {http.MethodPost, path, "application/yaml", `{"apiVersion":"admission.k8s.io/v1"}`, "expected application/json"},
		"too much":           {http.MethodPost, path, "application/json", strings.Repeat(" ", 8<<20), "request body too large"},
		"another path":       {http.MethodPost, "/", "application/json", `{}`, "404"},
		"another method":     {http.MethodGet, path, "", ``, "Method Not Allowed"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, h.server.URL+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", c.contentType)
		answer, err := h.server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if _ = answer.Body.Close(); err != nil || !strings.Contains(string(text), c.want) || strings.Contains(string(text), `"allowed":true`) {
			t.Errorf("%s: %v %.300s", name, err, text)
		}
	}
}

// TestFaultOfTheOperator checks that an object is admitted with a warning if the review panics, and that the panic is
// logged.
func TestFaultOfTheOperator(t *testing.T) {
	t.Parallel()
	lines := &scene.Lines{}
	log := (&scene.World{T: t, Log: lines}).Logger()
	kind := kinds.Admission()[0]
	kind.Review = func(config.Configuration, map[string]string, client.Object, time.Time) dialect.Review {
		panic("at the disco")
	}
	r := &webhook.Reviewer{Kind: kind, Settings: settled, Clock: time.Now, Log: log, Serves: func(context.Context, string) (bool, error) { return true, nil }}
	answer := r.Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: []byte(`{"metadata":{"name":"pi"}}`)},
	}})
	if !answer.Allowed || len(answer.Warnings) != 1 || !strings.Contains(answer.Warnings[0], "a fault of the operator") || !strings.Contains(lines.String(), "at the disco") {
		t.Errorf("%+v, logged %s", answer, lines)
	}
}

// TestUnreachableWebhook checks that the API server admits objects if the webhook does not answer and the failure
// policy is Ignore.
func TestUnreachableWebhook(t *testing.T) {
	t.Parallel()
	h := hook(t)
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := h.API.Get(t.Context(), client.ObjectKey{Name: h.Namespace}, configuration); err != nil {
		t.Fatal(err)
	}
	for i := range configuration.Webhooks {
		configuration.Webhooks[i].FailurePolicy = new(admissionregistrationv1.Ignore)
	}
	h.server.Close()
	if err := h.API.Update(t.Context(), configuration); err != nil {
		t.Fatal(err)
	}
	testkit.Wait(t, "the API server to admit an object without the webhook", func(context.Context) error {
		return h.dryRun(h.object(`metadata: {name: 1pi}`))
	})
}

// TestRulesOfThePlatform checks, for each of the five kinds, that the webhook refuses what a rule refuses, with the
// message of a pass, and that rules for other namespaces have no effect.
func TestRulesOfThePlatform(t *testing.T) {
	t.Parallel()
	h := hook(t)
	rules, err := policy.Parse(`{owner: data team, rules: [{name: tenants, selector: tier=tenant, images: {allowed: ["registry.example.com/*"]}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	h.change(func(h *hooked) { h.cfg.Policy = rules })
	all := map[string]string{"plain": plain}
	for name, c := range others {
		all[name] = c.whole
	}
	for _, labels := range []map[string]string{{"tier": "tenant"}, {"tier": "platform"}} {
		h.change(func(h *hooked) { h.labels = labels })
		for name, whole := range all {
			object := h.object(whole)
			err := h.dryRun(object)
			if labels["tier"] != "tenant" {
				if err != nil {
					t.Errorf("%s in another namespace: %v", name, err)
				}
				continue
			}
			if !byWebhook(err) || !strings.Contains(err.Error(), "is not allowed by the rule images of the policy tenants (owner: data team); allowed are: registry.example.com/*") {
				t.Errorf("%s: %v", name, err)
				continue
			}
			kind := kindOf(t, object.GroupVersionKind())
			if faults := kind.Review(h.settings(), labels, h.typed(object, kind), time.Now()).Faults; said(err) != dialect.Invalid(faults).Message {
				t.Errorf("%s: refused with %q, want %v", name, said(err), faults)
			}
		}
	}
	h.change(func(h *hooked) { h.unknown = errors.New("the cache is empty") })
	h.warnings.take()
	if err := h.dryRun(h.object()); err != nil || len(h.warnings.take()) != 1 {
		t.Errorf("a namespace with unknown labels: %v", err)
	}
}
