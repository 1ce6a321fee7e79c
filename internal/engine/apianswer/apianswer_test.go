package apianswer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

var (
	pods    = schema.GroupResource{Resource: "pods"}
	podKind = schema.GroupKind{Kind: "Pod"}
	noKind  = &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "scheduling.volcano.sh", Kind: "PodGroup"}}
	// operatorLacks is the authorizer's answer if the operator lacks a right.
	operatorLacks = forbidden(`User "system:serviceaccount:o:o" cannot create resource "pods" in API group "" ` +
		`in the namespace "ns"`)
	webhookFailed = apierrors.NewInternalError(errors.New(`failed calling webhook "x": connection refused`))
)

func forbidden(why string) *apierrors.StatusError {
	return apierrors.NewForbidden(pods, "pi", errors.New(why))
}

func invalid(errs ...*field.Error) error { return apierrors.NewInvalid(podKind, "pi-driver", errs) }

// terminating returns the API server's answer to a creation in a namespace that is being deleted.
func terminating() error {
	err := forbidden("unable to create new content in namespace n because it is being terminated")
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}

func driverPod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pi-driver"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "spark"}}, Volumes: []corev1.Volume{{Name: "data"}},
	}}
}

func TestRejection(t *testing.T) {
	for _, test := range []struct {
		name      string
		err       error
		reason    string
		permanent bool
	}{
		{"no answer", errors.New("connection refused"), "", false},
		{"too many requests", apierrors.NewTooManyRequests("later", 1), "", false},
		{"a conflict", apierrors.NewConflict(pods, "pi", errors.New("quota")), "", false},
		{"an expired token", apierrors.NewUnauthorized("token"), "", false},
		{"a server that fails", apierrors.NewInternalError(errors.New("x")), "", false},
		{"a quota without figures", forbidden("status unknown for quota: q"), "", false},
		{"a quota", forbidden("exceeded quota: q"), ReasonQuota, true},
		{"a quota on what the pod does not name", forbidden("failed quota: q: must specify limits.cpu"),
			ReasonQuota, true},
		{"pod security", forbidden(`violates PodSecurity "restricted:latest"`), ReasonPodSecurity, true},
		{"a service account", forbidden(`error looking up service account ns/x`), ReasonServiceAccount, true},
		{"admission", forbidden("no such priority class"), ReasonForbidden, true},
		{"a webhook that quotes the authorizer", &apierrors.StatusError{ErrStatus: metav1.Status{
			Code: 403, Message: `admission webhook "w" denied the request: User "u" cannot create resource "pods"`,
		}}, ReasonForbidden, true},
		{"a right of the operator", operatorLacks, ReasonOperatorForbidden, false},
		{"a definition that was just installed", forbidden("cannot set blockOwnerDeletion in this case because " +
			"cannot find RESTMapping for APIVersion x Kind y: no matches"), "", false},
		{"the operator's right to be an owner",
			forbidden("cannot set blockOwnerDeletion if an ownerReference refers to " +
				"a resource you can't set finalizers on: x"), ReasonOperatorForbidden, false},
		{"no such kind", noKind, ReasonInvalid, true},
		{"an invalid object", invalid(), ReasonInvalid, true},
	} {
		cause, permanent := Rejection(fmt.Errorf("wrapped: %w", test.err))
		if cause.Reason != test.reason || permanent != test.permanent || (cause.Message == "") != (test.reason == "") {
			t.Errorf("%s: %+v, permanent %t; want %s, %t", test.name, cause, permanent, test.reason, test.permanent)
		}
	}

	if cause, permanent := Rejection(nil); cause != (lifecycle.Cause{}) || permanent {
		t.Errorf("no error: %+v, permanent %t", cause, permanent)
	}
}

func TestTransientReason(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{errors.New("connection refused"), ReasonNoAnswer},
		{fmt.Errorf("create: %w", lifecycle.Bugf("no owner")), ReasonOperatorBug},
		{context.DeadlineExceeded, ReasonTimeout},
		{apierrors.NewTimeoutError("slow", 1), ReasonTimeout},
		{apierrors.NewServerTimeout(pods, "create", 1), ReasonTimeout},
		{apierrors.NewUnauthorized("token"), ReasonUnauthorized},
		{apierrors.NewConflict(pods, "pi", errors.New("quota")), ReasonConflict},
		{apierrors.NewTooManyRequests("later", 1), ReasonTooManyRequests},
		{apierrors.NewInternalError(errors.New("etcd")), ReasonServerError},
		{apierrors.NewServiceUnavailable("etcd"), ReasonServerError},
	} {
		if got := TransientReason(fmt.Errorf("create pi: %w", test.err)); got != test.want {
			t.Errorf("%v: %s, want %s", test.err, got, test.want)
		}
	}
}

func TestWaitOf(t *testing.T) {
	wait := &Wait{After: time.Minute, Message: "the pod still exists"}
	for name, test := range map[string]struct {
		err  error
		want *Wait
	}{
		"a wait":       {fmt.Errorf("wrapped: %w", wait), wait},
		"among others": {errors.Join(errors.New("connection refused"), wait), wait},
		"a right of the operator": {
			operatorLacks, &Wait{Reason: ReasonOperatorForbidden, Message: operatorLacks.ErrStatus.Message},
		},
		"a rejection":       {invalid(), nil},
		"a transient error": {errors.New("connection refused"), nil},
		"nothing":           {nil, nil},
	} {
		if diff := cmp.Diff(test.want, WaitOf(test.err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestNotServed checks that NotServed recognizes a missing CustomResourceDefinition. The client reports it in two
// different ways. NotServed must recognize no other error.
func TestNotServed(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "scheduling.example.com", Version: "v1", Kind: "PodGroup"}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	resource := schema.GroupResource{Group: kind.Group, Resource: "podgroups"}

	noPath := apierrors.NewGenericServerResponse(404, "post", resource, "", "404 page not found", 0, true)
	for name, err := range map[string]error{
		"the path": noPath, "wrapped": fmt.Errorf("create: %w", noPath),
		"the kind": &meta.NoKindMatchError{GroupKind: kind.GroupKind()},
	} {
		cause, missing := NotServed(object, err)
		if !missing || !strings.Contains(cause.Message, "CustomResourceDefinition podgroups.scheduling.example.com") {
			t.Errorf("%s: %v %t", name, cause, missing)
		}
	}

	for name, err := range map[string]error{
		"a namespace":       apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "n"),
		"a transient error": errors.New("connection refused"),
		"forbidden":         forbidden("no"),
		"nothing":           nil,
	} {
		if cause, missing := NotServed(object, err); missing {
			t.Errorf("%s: %v", name, cause)
		}
	}
}

// TestOfCreation checks how OfCreation classifies each error of a creation: as a permanent rejection, as a Wait, or as
// a transient error.
func TestOfCreation(t *testing.T) {
	refused := errors.New("connection refused")
	for name, test := range map[string]struct {
		err       error
		rejection string // reason
		wait      *Wait  // without its message
	}{
		"a rejection":             {invalid(), ReasonInvalid, nil},
		"the namespace is going":  {terminating(), "", &Wait{After: 10 * time.Second}},
		"a missing definition":    {noKind, "", &Wait{Reason: ReasonNotServed}},
		"a webhook":               {webhookFailed, "", &Wait{Reason: ReasonWebhookFailed}},
		"a right of the operator": {operatorLacks, "", &Wait{Reason: ReasonOperatorForbidden}},
		"a transient error":       {refused, "", nil},
	} {
		cause, err := OfCreation(driverPod(), test.err)
		if (cause != nil) != (test.rejection != "") || cause != nil && cause.Reason != test.rejection ||
			(err == nil) != (cause != nil) {
			t.Errorf("%s: rejection %+v, error %v", name, cause, err)
		}

		wait := WaitOf(err)
		if wait != nil {
			if wait.Message == "" {
				t.Errorf("%s: the wait has no message", name)
			}

			wait = &Wait{After: wait.After, Reason: wait.Reason}
		}

		if diff := cmp.Diff(test.wait, wait); diff != "" {
			t.Errorf("%s: wait (-want +got):\n%s", name, diff)
		}

		if errors.Is(test.err, refused) &&
			(!errors.Is(err, refused) || !strings.Contains(err.Error(), "create *v1.Pod pi-driver")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOfDryRun checks that OfDryRun returns a cause only if the API server would reject the pod itself. If the dry run
// is not supported, or the operator lacks a right, there is no cause.
func TestOfDryRun(t *testing.T) {
	for _, test := range []struct {
		name      string
		err       error
		reason    string
		transient bool
	}{
		{"it would be created", nil, "", false},
		{"it exists", apierrors.NewAlreadyExists(pods, "e"), "", false},
		{"a quota", forbidden("exceeded quota: q"), ReasonQuota, false},
		{"a right of the operator", operatorLacks, "", true},
		{"the namespace is going", terminating(), "", false},
		{"a webhook with side effects", apierrors.NewBadRequest(`webhook "w" does not support dry run`), "", false},
		{"a webhook that does not answer", webhookFailed, ReasonWebhookFailed, false},
		{"a server that fails", apierrors.NewInternalError(errors.New("etcd")), "", true},
		{"no answer", errors.New("connection refused"), "", true},
	} {
		cause, err := OfDryRun(&corev1.Pod{}, test.err)
		if cause.Reason != test.reason || (err != nil) != test.transient {
			t.Errorf("%s: %+v, %v", test.name, cause, err)
		}
	}
}

func TestOfWebhook(t *testing.T) {
	pod, twice := driverPod(), driverPod()
	twice.Spec.Volumes = append(twice.Spec.Volumes, corev1.Volume{Name: "data"})
	tree := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "pi-driver"},
		"spec": map[string]any{"volumes": []any{map[string]any{"name": "data"}}, "unknown": "field"},
	}}
	second := field.NewPath("spec", "volumes").Index(1).Child("name")

	doubled := fmt.Errorf("create: %w", invalid(field.Duplicate(second, "data")))
	for _, test := range []struct {
		name   string
		object client.Object
		err    error
		reason string
	}{
		{"a volume that the request has once", pod, doubled, ReasonPodMutated},
		{"in a pod with unknown fields", tree, doubled, ReasonPodMutated},
		{"a volume that the template has twice", twice, doubled, ""},
		{"another fault", pod, invalid(field.Required(field.NewPath("spec", "containers"), "")), ""},
		{"another object", &corev1.ConfigMap{}, doubled, ""},
		{"a webhook that does not answer", pod, webhookFailed, ReasonWebhookFailed},
		{"the same for another object", &corev1.ConfigMap{}, webhookFailed, ReasonWebhookFailed},
		{"a server that fails", pod, apierrors.NewInternalError(errors.New("etcd")), ""},
		{"a time-out", pod, context.DeadlineExceeded, ""},
	} {
		wait := ofWebhook(test.object, test.err)
		if (wait == nil) != (test.reason == "") ||
			wait != nil && (wait.Reason != test.reason || !strings.Contains(wait.Message, identity.ManagedLabel)) {
			t.Errorf("%s: %+v, want reason %q", test.name, wait, test.reason)
		}
	}
}

func TestHasDuplicates(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.PodSpec)
		want   bool
	}{
		"no duplicates": {func(*corev1.PodSpec) {}, false},
		"volumes":       {func(s *corev1.PodSpec) { s.Volumes = append(s.Volumes, s.Volumes[0]) }, true},
		"containers": {func(s *corev1.PodSpec) {
			s.Containers = append(s.Containers, s.Containers[0])
		}, true},
		"a container and an init container": {func(s *corev1.PodSpec) { s.InitContainers = s.Containers }, true},
		"ports": {func(s *corev1.PodSpec) {
			s.Containers[0].Ports = []corev1.ContainerPort{{Name: "a"}, {Name: "a"}}
		}, true},
		"ports without a name": {func(s *corev1.PodSpec) {
			s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 1}, {ContainerPort: 2}}
		}, false},
	} {
		pod := driverPod()
		test.change(&pod.Spec)

		if got := hasDuplicates(&pod.Spec); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestImmutableSpec checks that ImmutableSpec returns true only if the API server rejects a change because the spec is
// immutable. It must return false if only one field of the spec is invalid or must not change.
func TestImmutableSpec(t *testing.T) {
	spec := field.NewPath("spec")

	immutable := invalid(field.Forbidden(spec, "updates to statefulset spec for fields other than"))
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"a change of the selector":        {immutable, true},
		"wrapped":                         {errors.Join(immutable), true},
		"a bad image":                     {invalid(field.Required(spec.Child("template"), "x")), false},
		"a forbidden change of one field": {invalid(field.Forbidden(spec.Child("template", "spec"), "x")), false},
		"no right":                        {forbidden("x"), false},
		"a transient error":               {errors.New("no route to host"), false},
	} {
		if got := ImmutableSpec(test.err); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestUndeclaredField(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"an unknown field": {errors.New(`create typed patch object: .spec.future: field not declared in schema`), true},
		"another error":    {errors.New("no"), false},
		"nothing":          {nil, false},
	} {
		if got := UndeclaredField(test.err); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestQuotaCountsPredecessor checks that QuotaCountsPredecessor returns true only if the quota will have room for the
// new StatefulSet as soon as the old StatefulSet is deleted.
func TestQuotaCountsPredecessor(t *testing.T) {
	sets := func(text string) error {
		return fmt.Errorf("create: %w", apierrors.NewForbidden(appsv1.Resource("statefulsets"), "c", errors.New(text)))
	}
	quota := func(kind, used, limit string) error {
		const text = "exceeded quota: q, requested: count/%s=1, used: count/%s=%s, limited: count/%s=%s"
		return sets(fmt.Sprintf(text, kind, kind, used, kind, limit))
	}

	const full = "used: count/statefulsets.apps=2, limited: count/statefulsets.apps=2"
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"no room":                             {quota("statefulsets.apps", "2", "2"), true},
		"no room, large numbers":              {quota("statefulsets.apps", "1k", "1k"), true},
		"a lowered limit":                     {quota("statefulsets.apps", "2", "1"), false},
		"a limit lowered from a large number": {quota("statefulsets.apps", "1k", "999"), false},
		"a quota of another kind":             {quota("pods", "2", "2"), false},
		"an unknown message":                  {sets("exceeded quota: q"), false},
		"nothing":                             {nil, false},
		"a policy that quotes a quota":        {sets("no: " + full), false},
		"no right":                            {sets(`User "o" cannot create resource "statefulsets"`), false},
		"a server that fails": {apierrors.NewInternalError(errors.New("exceeded quota: q, " + full)),
			false},
	} {
		if got := QuotaCountsPredecessor(test.err); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
