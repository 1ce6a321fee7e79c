package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/policy"
	"github.com/sparkoperator/spark-operator/internal/webhook"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/refusal"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// refusals are the files from which docs/validation.md lists the refused custom resources, one file for each kind.
var refusals = []string{
	applications,
	"../dialect/sparkoperator/schedule/testdata/refusals.yaml",
	"../dialect/sparkoperator/connect/testdata/refusals.yaml",
	"../dialect/apache/application/testdata/refusals.yaml",
	"../dialect/apache/cluster/testdata/refusals.yaml",
}

const applications = "../dialect/sparkoperator/application/testdata/refusals.yaml"

// unusable is a part of an application's spec that the CustomResourceDefinition accepts and the webhook refuses.
const unusable = `spec: {executor: {cores: 2, coreLimit: "1"}}`

// TestEachRowOfThePageIsRefused checks, for each row of docs/validation.md, that the API server refuses the custom
// resource. The row specifies whether the CustomResourceDefinition or the webhook refuses it. If the webhook refuses
// it, the message is the one that a pass reports.
func TestEachRowOfThePageIsRefused(t *testing.T) {
	t.Parallel()

	h := hook(t)
	for _, name := range refusals {
		file := refusal.Must(t, name)
		if err := h.dryRun(h.object(file.Whole)); err != nil || len(file.Refusals) < 10 {
			t.Errorf("%s: %d refusals, the valid object: %v", name, len(file.Refusals), err)
		}

		for _, r := range file.Refusals {
			h.refused(r, file.Whole, r.Piece)

			for _, piece := range r.Also {
				object := h.object(file.Whole, piece)
				h.sameByDefinition(piece, "", h.dryRun(object), h.pass(object))
			}
		}
	}

	h.change(func(h *hooked) { h.cfg.Submission.Mode = config.SubmissionNative })

	file := refusal.Must(t, applications)
	if len(file.Refusals) < 40 || len(file.OnlyBySparkSubmit) < 5 {
		t.Fatalf("%d and %d refusals", len(file.Refusals), len(file.OnlyBySparkSubmit))
	}

	for _, r := range append(file.OnlyBySparkSubmit,
		refusal.Row{Field: "spec.submission.mode", Piece: "spec: {submission: {mode: SparkSubmit}}"}) {
		r.By = refusal.ByWarning // the operator's configuration excludes it
		h.refused(r, file.Whole, r.Piece)
	}
}

// TestTemplateIsRefusedLikeItsRuns checks the template of a ScheduledSparkApplication. If docs/validation.md lists a
// spec of an application as refused, the same spec must be refused in a template, with the same message.
func TestTemplateIsRefusedLikeItsRuns(t *testing.T) {
	t.Parallel()
	h := hook(t)

	schedule := refusal.Must(t, refusals[1])
	for _, r := range refusal.Must(t, applications).Refusals {
		var piece struct {
			Spec any `json:"spec"`
		}
		if err := yaml.Unmarshal([]byte(r.Piece), &piece); err != nil {
			t.Fatal(err)
		}

		if piece.Spec == nil {
			continue // the row is about metadata, which a template does not have
		}

		nested, err := yaml.Marshal(map[string]any{"spec": map[string]any{"template": piece.Spec}})
		if err != nil {
			t.Fatal(err)
		}

		r.Field = strings.Replace(r.Field, "spec.", "spec.template.", 1)
		h.refused(r, schedule.Whole, string(nested))
	}
}

// refused checks the refusal of one custom resource: whether the CustomResourceDefinition or the webhook refuses it,
// the message, and the field.
func (h *hooked) refused(r refusal.Row, pieces ...string) {
	h.T.Helper()
	object := h.object(pieces...)
	name := object.GetKind() + ": " + r.Piece

	h.warnings.take()

	err := h.dryRun(object)
	if r.By == refusal.ByWarning {
		warned, pass := strings.Join(h.warnings.take(), "\n"), h.pass(object)
		if err != nil || pass == "" || !strings.Contains(warned, pass) ||
			!strings.HasPrefix(pass, r.FieldOfPiece()+": ") {
			h.T.Errorf("%s: %v\nwarned of %q,\na pass says %q,\nwant a warning with the words of the pass", name, err,
				warned, pass)
		}
		return
	}

	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) || status.ErrStatus.Details == nil ||
		len(status.ErrStatus.Details.Causes) == 0 {
		h.T.Errorf("%s: not refused as invalid: %v", name, err)
		return
	}

	pass, cause := h.pass(object), status.ErrStatus.Details.Causes[0]
	if r.By == refusal.ByDefinition {
		h.sameByDefinition(name, r.Says, err, pass)

		if !strings.HasPrefix(r.FieldOfPiece(), fieldOf(cause)) || cause.Field == "<nil>" {
			h.T.Errorf("%s: the cause is %q: %s, want %s", name, cause.Field, cause.Message, r.FieldOfPiece())
		}
		return
	}

	if !byWebhook(err) || refusalMessage(err) != pass {
		h.T.Errorf("%s:\nrefused with %q,\na pass says  %q", name, err, pass)
	}

	if cause.Field != r.FieldOfPiece() {
		h.T.Errorf("%s: the cause is %s, want %s", name, cause.Field, r.FieldOfPiece())
	}
}

// quotedValue matches the value at the beginning of a fault's message.
var quotedValue = regexp.MustCompile(`^(?:"(?:[^"\\]|\\.)*"|-?\d+) `)

// ofOthers removes the beginning of other fields' paths, which the messages of a definition do not have.
var ofOthers = strings.NewReplacer("spec.template.", "", "spec.", "")

// fieldOf returns the field that a cause names. The message of a rule about all keys of a map begins with the key, in
// brackets. The API server writes a dot before the key of a map.
func fieldOf(cause metav1.StatusCause) string {
	at := strings.Replace(cause.Field, ".[", "[", 1)

	_, rest, _ := strings.Cut(cause.Message, ": [")
	if key, _, found := strings.Cut(rest, "] "); found {
		at += "[" + key + "]"
	}
	return at
}

// sameByDefinition checks that a definition refuses a custom resource, and that its message names the same field as
// the message of a pass, with the key of a map, and continues with the same words.
func (h *hooked) sameByDefinition(name, says string, err error, pass string) {
	h.T.Helper()

	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) || byWebhook(err) || !strings.Contains(err.Error(), says) {
		h.T.Errorf("%s: the definition says %v, want %q", name, err, says)
		return
	}

	for _, cause := range status.ErrStatus.Details.Causes {
		if cause.Type != metav1.CauseTypeFieldValueInvalid || strings.Contains(cause.Message, " in body should ") ||
			strings.Contains(cause.Message, "rules were not checked") {
			continue // Kubernetes' own message about an enumeration or a range
		}

		field, message, _ := strings.Cut(pass, ": ")

		message = ofOthers.Replace(quotedValue.ReplaceAllString(message, ""))
		if !strings.HasPrefix(field, fieldOf(cause)) || !strings.HasSuffix(ofOthers.Replace(cause.Message), message) {
			h.T.Errorf("%s:\nthe definition says %q: %s,\na pass %q", name, cause.Field, cause.Message, pass)
		}
	}
}

// pass returns the message with which a pass reports that the spec of a stored object is invalid. The message is either
// in the condition Stalled or in the error of a launch. The function simulates a pass in an empty cluster.
func (h *hooked) pass(object *unstructured.Unstructured) string {
	h.T.Helper()
	operator := preview.Operator{Config: h.settings(), Now: time.Now()}
	stored := operator.Fresh(h.typed(object, kindOf(h.T, object.GroupVersionKind())))

	kind, err := operator.Kind(stored)
	if err != nil {
		h.T.Fatal(err)
	}

	kind.Decide(stored, lifecycle.Observed{}, operator.Now)

	if stalled := meta.FindStatusCondition(preview.Conditions(stored), dialect.ConditionStalled); stalled != nil {
		return stalled.Message
	}

	if _, err = operator.Launch(stored); err != nil {
		return err.Error()
	}
	return ""
}

// TestRefusalListsEveryFault checks that one refusal lists every fault of an object, each with the field and what to
// do.
func TestRefusalListsEveryFault(t *testing.T) {
	t.Parallel()
	h := hook(t)
	err := h.dryRun(h.object(`{metadata: {labels: {spark-role: x}}, spec: {sparkConf: {Spark.Master: local, spark.Kubernetes.Container.Image: i}, executor: {cores: 2, coreLimit: "1"}}}`))

	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !byWebhook(err) {
		t.Fatal(err)
	}

	var fields []string
	for _, cause := range status.ErrStatus.Details.Causes {
		fields = append(fields, cause.Field)
	}

	if got, want := fmt.Sprint(fields),
		"[spec.sparkConf[Spark.Master] spec.sparkConf[spark.Kubernetes.Container.Image] spec.executor.coreLimit]"; got != want {
		t.Errorf("the causes are %s, want %s", got, want)
	}

	if !strings.Contains(err.Error(), "use spec.image") {
		t.Errorf("%v does not say what to do", err)
	}
}

// TestKubeflowCases checks applications that the webhook of kubeflow's operator admits or refuses. With this project's
// CustomResourceDefinition and webhook, the API server must decide in the same way, both in a dry run and in a real
// creation.
func TestKubeflowCases(t *testing.T) {
	t.Parallel()
	h := hook(t)

	decides := func(what string, object *unstructured.Unstructured, admitted bool, says string) {
		t.Helper()

		dry, err := h.dryRun(object), h.user.Create(t.Context(), object)
		if (err == nil) != admitted || (dry == nil) != admitted || !admitted && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: created %v, in a dry run %v", what, err, dry)
		}

		if !admitted && dry != nil && err != nil && dry.Error() != err.Error() {
			t.Errorf("%s: a dry run says %q, a creation %q", what, dry, err)
		}

		if err == nil {
			h.Remove(object)
		}
	}
	for name, admitted := range map[string]bool{
		"pi": true, "spark-pi-1": true, strings.Repeat("a", 63): true,
		"1pi": false, "pi.v1": false, strings.Repeat("a", 64): false,
	} {
		decides("name "+name, h.object(`metadata: {name: "`+name+`"}`), admitted, "metadata.name")
	}

	for memory, admitted := range map[string]bool{"512m": true, "1g": true, "1024k": true, "1.5g": false, "1Gi": false,
		"much": false} {
		for _, role := range []string{"driver", "executor"} {
			decides(role+" memory "+memory, h.object(fmt.Sprintf("spec: {%s: {memory: %q}}", role, memory)), admitted,
				"spec."+role+".memory")
		}
	}

	for _, key := range []string{
		"spark.kubernetes.authenticate.driver.serviceAccountName",
		"spark.kubernetes.authenticate.executor.serviceAccountName",
		"spark.kubernetes.authenticate.oauthTokenFile", "spark.kubernetes.authenticate.oauthToken",
		"spark.kubernetes.authenticate.driver.oauthTokenFile", "spark.kubernetes.authenticate.driver.oauthToken",
		"spark.kubernetes.authenticate.executor.oauthTokenFile", "spark.kubernetes.authenticate.executor.oauthToken",
		"spark.master", "spark.kubernetes.driver.master", "spark.kubernetes.container.image",
		"spark.kubernetes.driver.container.image", "spark.kubernetes.executor.container.image",
		"spark.kubernetes.namespace",
	} {
		decides(key, h.object(fmt.Sprintf("spec: {sparkConf: {%s: x}}", key)), false, "is not allowed")
	}

	decides("the application's own namespace",
		h.object("spec: {sparkConf: {spark.kubernetes.namespace: "+h.Namespace+"}}"), true, "")

	for _, role := range []string{"driver", "executor"} {
		decides("two node selectors", h.object("spec: {nodeSelector: {a: b}, "+role+": {nodeSelector: {a: b}}}"), false,
			"spec.nodeSelector")
	}

	decides("a node selector", h.object("spec: {nodeSelector: {a: b}, driver: {nodeSelector: {}}}"), true, "")

	for key, servers := range map[string]*unstructured.Unstructured{
		"56": h.object(refusal.Must(t, refusals[2]).Whole, "metadata: {name: "+strings.Repeat("a", 56)+"}"),
		"57": h.object(refusal.Must(t, refusals[2]).Whole, "metadata: {name: "+strings.Repeat("a", 57)+"}"),
	} {
		decides("a SparkConnect whose name has characters: "+key, servers, key == "56", "metadata.name")
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

	if err := h.dryRun(h.object(unusable)); !byWebhook(err) {
		t.Error(err)
	}

	var list v1beta2.SparkApplicationList
	if err := h.API.List(t.Context(), &list, client.InNamespace(h.Namespace)); err != nil || len(list.Items) > 0 {
		t.Errorf("%d applications are stored: %v", len(list.Items), err)
	}
}

// TestStoredInvalidObjectCanBeUpdatedOutsideItsSpec checks an invalid object that is already stored. Updates outside of
// its spec and its deletion are admitted. An edit that leaves the spec invalid is refused, unless the object is being
// deleted.
func TestStoredInvalidObjectCanBeUpdatedOutsideItsSpec(t *testing.T) {
	t.Parallel()
	h := hook(t)
	h.change(func(h *hooked) { h.served = false })

	object := h.object(`metadata: {finalizers: [example.com/mine]}`, unusable)
	if err := h.user.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}

	h.change(func(h *hooked) { h.served = true })

	for what, text := range map[string]string{
		"a label":       `{"metadata":{"labels":{"spark-role":"x"}}}`,
		"an annotation": `{"metadata":{"annotations":{"a":"b"}}}`,
		"a finalizer":   `{"metadata":{"finalizers":["example.com/mine","example.com/other"]}}`, "nothing": `{}`,
	} {
		if err := h.patch(object, text); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}

	status := client.RawPatch(types.MergePatchType,
		[]byte(`{"status":{"driverInfo":{},"applicationState":{"state":"FAILED"}}}`))
	if err := h.user.Status().Patch(t.Context(), object.DeepCopy(), status); err != nil {
		t.Errorf("the status: %v", err)
	}

	if err := h.patch(object, `{"spec":{"executor":{"cores":3}}}`); !byWebhook(err) {
		t.Errorf("another invalid spec: %v", err)
	}

	if err := h.user.Delete(t.Context(), object.DeepCopy()); err != nil {
		t.Errorf("the deletion: %v", err)
	}

	if err := h.patch(object, `{"spec":{"executor":{"cores":3}}}`); err != nil {
		t.Errorf("an edit while it is deleted: %v", err)
	}

	if err := h.patch(object, `{"metadata":{"finalizers":null}}`); err != nil {
		t.Errorf("the removal of finalizers: %v", err)
	}

	h.WaitGone(object)
}

// TestOnlySpecsAndLabelsReachTheWebhook checks which updates the API server sends to the webhook under the chart's
// condition.
func TestOnlySpecsAndLabelsReachTheWebhook(t *testing.T) {
	t.Parallel()
	h := hook(t)
	object := h.object()
	h.reviews.take()

	if err := h.user.Create(t.Context(), object); err != nil || len(h.reviews.take().all) != 1 {
		t.Fatalf("the creation is not reviewed once: %v", err)
	}

	for _, c := range []struct {
		patch string
		want  int
	}{
		{`{}`, 0},
		{`{"metadata":{"annotations":{"a":"b"}}}`, 0},
		{`{"metadata":{"finalizers":["example.com/mine"]}}`, 0},
		{`{"metadata":{"labels":{"a":"b"}}}`, 1},
		{`{"metadata":{"labels":{"a":"b"},"annotations":{"a":"c"}}}`, 0},
		{`{"metadata":{"labels":{"a":"c"}}}`, 1},
		{`{"metadata":{"labels":{"a":"c"},"finalizers":null}}`, 0},
		{`{"metadata":{"labels":null,"annotations":null}}`, 1},
		{`{"spec":{"suspend":true}}`, 1},
		{`{"spec":{"suspend":true}}`, 0},
		{`{"spec":{"suspend":false}}`, 1},
		{`{"spec":{"arguments":["1"]}}`, 1},
		{`{"spec":{"arguments":["1","2"]}}`, 1},
		{`{"spec":{"driver":{"env":[{"name":"A","value":"1"}]}},"metadata":{"annotations":{"a":"d"}}}`, 1},
		{`{"spec":{"driver":{"env":[{"name":"A","value":"2"}]}}}`, 1},
		{`{"spec":{"driver":{"env":null}}}`, 1},
	} {
		if err := h.patch(object, c.patch); err != nil {
			t.Errorf("%s: %v", c.patch, err)
		}

		if got := len(h.reviews.take().all); got != c.want {
			t.Errorf("%s: %d reviews, want %d", c.patch, got, c.want)
		}
	}

	status := client.RawPatch(types.MergePatchType, []byte(`{"status":{"driverInfo":{},"applicationState":{"state":"FAILED"}}}`))
	if err := h.user.Status().Patch(t.Context(), object.DeepCopy(), status); err != nil || len(h.reviews.take().all) != 0 {
		t.Errorf("the status is reviewed, or not written: %v", err)
	}
}

// TestInvalidSpecCanBeCorrected checks that an edit that corrects a stored invalid spec is admitted.
func TestInvalidSpecCanBeCorrected(t *testing.T) {
	t.Parallel()
	h := hook(t)
	h.change(func(h *hooked) { h.served = false })

	object := h.object(unusable)
	if err := h.user.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}

	h.change(func(h *hooked) { h.served = true })

	if err := h.user.Patch(t.Context(), object,
		client.RawPatch(types.MergePatchType, []byte(`{"spec":{"executor":{"cores":1}}}`))); err != nil {
		t.Error(err)
	}
}

// TestWarningsReachTheClient checks that a client receives warnings about settings that have no effect, and about an
// edit that restarts a running application.
func TestWarningsReachTheClient(t *testing.T) {
	t.Parallel()
	h := hook(t)
	h.warnings.take()

	object := h.object(`spec: {executor: {memoryLimit: 2g}, driver: {template: {spec: {containers: [{name: a}], capabilities: {add: [NET_ADMIN]}}}}}`)
	if err := h.user.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}

	got := strings.Join(h.warnings.take(), "\n")
	for _, want := range []string{"spec.executor.memoryLimit has no effect: ",
		"spec.driver.template.spec.capabilities: has no effect at this place; a pod has this field at spec.containers[].securityContext.capabilities"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("the warnings do not have %q once:\n%s", want, got)
		}
	}

	edit := func(image string) {
		t.Helper()

		if err := h.user.Patch(t.Context(), object.DeepCopy(),
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"image":"`+image+`"}}`))); err != nil {
			t.Fatal(err)
		}
	}
	const restarts = "this edit of its spec stops its driver"

	edit("spark:a")

	if got := strings.Join(h.warnings.take(), "\n"); strings.Contains(got, restarts) {
		t.Errorf("an application that does not run is restarted:\n%s", got)
	}

	status := client.RawPatch(types.MergePatchType,
		[]byte(`{"status":{"driverInfo":{},"applicationState":{"state":"RUNNING"},"operator":{"phase":"Running","attempt":1}}}`))
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

// TestObjectsThatAreNotServedAreAdmitted checks that the webhook admits objects in namespaces that the operator does
// not serve, without a review. If it cannot look up the namespace, it admits the object with a warning.
func TestObjectsThatAreNotServedAreAdmitted(t *testing.T) {
	t.Parallel()
	h := hook(t)
	invalid, cluster := h.object(unusable),
		h.object(refusal.Must(t, refusals[4]).Whole,
			`spec: {masterSpec: {statefulSetSpec: {template: {spec: {containers: none}}}}}`)
	labelled := cluster.DeepCopy()
	labelled.SetLabels(map[string]string{"spark.operator/sentinel": "true", "team": "a"})

	for name, c := range map[string]struct {
		change func(*hooked)
		object *unstructured.Unstructured
	}{
		"another namespace":  {func(h *hooked) { h.served = false }, invalid},
		"a kind that is off": {func(h *hooked) { h.cfg.SparkOperator.Enabled = new(false) }, invalid},
		"another selector":   {func(h *hooked) { h.cfg.Apache.LabelSelector = "team=a" }, cluster},
		"a sentinel": {func(h *hooked) {
			h.cfg.Apache.Sentinels.Enabled, h.cfg.Apache.Sentinels.Namespace = true, h.Namespace
		}, labelled},
		"an unknown namespace": {func(h *hooked) { h.broken = errors.New("no cache") }, invalid},
	} {
		h.change(func(h *hooked) { h.cfg, h.served, h.broken = schedulersEnabled(), true, nil; c.change(h) })
		h.warnings.take()

		if err := h.dryRun(c.object); err != nil {
			t.Errorf("%s: %v", name, err)
		}

		got := strings.Join(h.warnings.take(), "\n")
		if (name == "an unknown namespace") != strings.Contains(got, "the object was not checked") {
			t.Errorf("%s: warnings %q", name, got)
		}
	}

	h.change(func(h *hooked) { h.cfg, h.served, h.broken = schedulersEnabled(), true, nil })

	if err := h.dryRun(labelled); !byWebhook(err) {
		t.Errorf("an object with the label of sentinels, while probes are off: %v", err)
	}
}

// TestObjectBeyondTheLimitIsRefused checks that an object of nearly 3 MiB, the largest size that the API server
// accepts, is refused with a message that contains the operator's limit.
func TestObjectBeyondTheLimitIsRefused(t *testing.T) {
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

	if err := h.dryRun(object); !byWebhook(err) || !strings.Contains(err.Error(), "524288") &&
		!strings.Contains(err.Error(), "524,288") {
		t.Errorf("%.300v", err)
	}
}

// TestMalformedRequestsAreNotReviewed checks requests that no API server sends. The webhook answers them with an error
// that contains the reason.
func TestMalformedRequestsAreNotReviewed(t *testing.T) {
	t.Parallel()
	h := hook(t)

	path := webhook.Path(configured.Admission(nil)[0].GVK())
	for name, c := range map[string]struct{ method, path, contentType, body, want string }{
		"an unknown version": {http.MethodPost, path, "application/json",
			`{"apiVersion":"admission.k8s.io/v9","kind":"AdmissionReview","request":{"uid":"u"}}`,
			"admission.k8s.io/v9"},
		"no review": {http.MethodPost, path, "application/json", `[]`, "not an AdmissionReview"},
		"nothing":   {http.MethodPost, path, "application/json", ``, "not an AdmissionReview"},
		"another type": {http.MethodPost, path, "application/yaml", `{"apiVersion":"admission.k8s.io/v1"}`,
			"expected application/json"},
		"too much": {http.MethodPost, path, "application/json", strings.Repeat(" ", 8<<20),
			"request body too large"},
		"another path":   {http.MethodPost, "/", "application/json", `{}`, "404"},
		"another method": {http.MethodGet, path, "", ``, "Method Not Allowed"},
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
		if _ = answer.Body.Close(); err != nil || !strings.Contains(string(text), c.want) ||
			strings.Contains(string(text), `"allowed":true`) {
			t.Errorf("%s: %v %.300s", name, err, text)
		}
	}
}

// panics is a kind whose review panics.
type panics struct{ webhook.Kind }

func (panics) Review(config.Configuration, map[string]string, client.Object, time.Time) dialect.Review {
	panic("at the disco")
}

// TestPanicAdmitsTheObjectWithAWarning checks that an object is admitted with a warning if the review panics, and that
// the panic is logged.
func TestPanicAdmitsTheObjectWithAWarning(t *testing.T) {
	t.Parallel()

	lines := &scene.Lines{}
	log := (&scene.World{T: t, Log: lines}).Logger()
	r := &webhook.Reviewer{Kind: panics{configured.Admission(nil)[0]}, Settings: schedulersEnabled, Clock: time.Now,
		Log: log, Serves: func(context.Context, string) (bool, error) { return true, nil }}

	answer := r.Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: []byte(`{"metadata":{"name":"pi"}}`)},
	}})
	if !answer.Allowed || len(answer.Warnings) != 1 || !strings.Contains(answer.Warnings[0], "an internal error") ||
		!strings.Contains(lines.String(), "at the disco") {
		t.Errorf("%+v, logged %s", answer, lines)
	}
}

// TestUnreachableWebhookAdmitsObjects checks that the API server admits objects if the webhook does not answer and the
// failure policy is Ignore.
func TestUnreachableWebhookAdmitsObjects(t *testing.T) {
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

	kit.Wait(t, "the API server to admit an object without the webhook", func(context.Context) error {
		return h.dryRun(h.object(unusable))
	})
}

// TestRulesOfThePlatform checks the platform's rules for each of the five kinds. The webhook refuses an object that
// breaks a rule, with the message of a pass. Rules for other namespaces have no effect.
func TestRulesOfThePlatform(t *testing.T) {
	t.Parallel()
	h := hook(t)

	rules, err := policy.Parse(`{owner: data team, rules: [{name: tenants, selector: tier=tenant, images: {allowed: ["registry.example.com/*"]}}]}`)
	if err != nil {
		t.Fatal(err)
	}

	h.change(func(h *hooked) { h.cfg.Policy = rules })

	all := map[string]string{}
	for _, name := range refusals {
		all[name] = refusal.Must(t, name).Whole
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

			if !byWebhook(err) || !strings.Contains(err.Error(),
				"is not allowed by the rule images of the policy tenants (owner: data team); allowed are: registry.example.com/*") {
				t.Errorf("%s: %v", name, err)
				continue
			}

			kind := kindOf(t, object.GroupVersionKind())
			if faults := kind.Review(h.settings(), labels, h.typed(object, kind),
				time.Now()).Faults; refusalMessage(err) != dialect.Invalid(faults).Message {
				t.Errorf("%s: refused with %q, want %v", name, refusalMessage(err), faults)
			}
		}
	}

	h.change(func(h *hooked) { h.unknown = errors.New("the cache is empty") })
	h.warnings.take()

	if err := h.dryRun(h.object()); err != nil || len(h.warnings.take()) != 1 {
		t.Errorf("a namespace with unknown labels: %v", err)
	}
}
