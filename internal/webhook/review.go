// Package webhook serves the admission webhooks. The API server sends every new and every edited custom resource to the
// validating webhook. The validating webhook answers with the faults and warnings that a pass would report, and changes
// no object. The rest of the operator does not rely on it, because every pass checks the spec again. The mutating
// webhook (Executors) changes executor pods. The API server sends it only the pods that need a change.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/sentinel"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

const (
	// maxCauses and maxWarnings limit the answer. The API server cuts all warnings together to 4 KiB.
	maxCauses   = 50
	maxWarnings = 20
	// scopeTimeout limits the wait for the cache of namespaces. Usually there is no wait, because the cache is synced
	// before the replica is ready.
	scopeTimeout = 2 * time.Second
)

// Kind is a kind of custom resource as the admission webhook needs it.
type Kind interface {
	GVK() schema.GroupVersionKind
	// New returns an empty object.
	New() client.Object
	// Enabled reports whether the operator serves the kind. Selects reports whether the operator acts on an object.
	Enabled(cfg config.Configuration) bool
	Selects(cfg config.Configuration, object client.Object) bool
	// Review returns what a pass would report about an object in a namespace with the given labels. Restarts returns a
	// warning if an edit restarts something that runs, and "" otherwise.
	Review(cfg config.Configuration, labels map[string]string, object client.Object, now time.Time) dialect.Review
	Restarts(cfg config.Configuration, old, edited client.Object) string
}

// Reviewer answers the reviews of one kind.
type Reviewer struct {
	Kind Kind
	// Settings returns the current configuration.
	Settings func() config.Configuration
	// Serves reports whether the operator acts on a namespace's custom resources.
	Serves func(ctx context.Context, namespace string) (bool, error)
	// Quotas returns the ResourceQuotas of a namespace from a cache. If Quotas is nil, objects are not compared with
	// quotas.
	Quotas func(ctx context.Context, namespace string) ([]corev1.ResourceQuota, error)
	// Labels returns the labels of a namespace, or nil if no rule of the platform depends on the labels. Labels itself
	// is nil if that is certain for every namespace.
	Labels func(ctx context.Context, namespace string) (map[string]string, error)
	Clock  func() time.Time
	Log    logr.Logger
}

// Handle implements admission.Handler. If the operator itself fails, for example by a panic, Handle admits the object
// with a warning, because a pass checks the object again.
func (r *Reviewer) Handle(ctx context.Context, req admission.Request) (response admission.Response) {
	defer func() {
		if fault := recover(); fault != nil {
			r.Log.Error(fmt.Errorf("panic: %v", fault), "Review failed", "kind", r.Kind.GVK().Kind, "namespace", req.Namespace, "name", req.Name, "stack", string(debug.Stack()))

			response = unchecked("the operator failed with an internal error (see its log)")
		}
	}()

	cfg := r.Settings()
	if req.SubResource != "" || req.Operation != admissionv1.Create && req.Operation != admissionv1.Update || !r.Kind.Enabled(cfg) {
		return admission.Allowed("")
	}

	limited, cancel := context.WithTimeout(ctx, scopeTimeout)
	defer cancel()

	switch served, err := r.Serves(limited, req.Namespace); {
	case err != nil:
		r.Log.Error(err, "Could not look up the namespace of an object under review", "namespace", req.Namespace)
		return unchecked("the operator cannot look up the object's namespace")
	case !served:
		return admission.Allowed("")
	}

	var before, after *metav1.PartialObjectMetadata

	starts, relabels := true, false
	if req.Operation == admissionv1.Update {
		before, after = metadataOf(req.OldObject.Raw), metadataOf(req.Object.Raw)
		starts, relabels = r.effects(cfg, req, before, after)
	}

	if !starts && !relabels {
		return admission.Allowed("")
	}

	var labels map[string]string
	if r.Labels != nil {
		var err error
		if labels, err = r.Labels(limited, req.Namespace); err != nil {
			r.Log.Error(err, "Could not look up the namespace of an object under review", "namespace", req.Namespace)
			return unchecked("the operator cannot look up the object's namespace")
		}
	}

	if starts {
		return r.review(limited, cfg, labels, req)
	}

	if faults := cfg.Policy.LostLabels(labels, before.Labels, after.Labels); len(faults) > 0 {
		return refused(req, faults)
	}
	return admission.Allowed("")
}

// effects reports whether the operator may start anything because of an update, and whether the update changes labels
// that the rules of the platform may require. Required labels count for as long as the object exists, for example for
// the costs of a team. If new labels make the operator act on an object, they start it as a creation does.
func (r *Reviewer) effects(cfg config.Configuration, req admission.Request, before, after *metav1.PartialObjectMetadata) (starts, relabels bool) {
	acted, acts := r.applies(cfg, before), r.applies(cfg, after)
	starts = !startsNothing(req.OldObject.Raw, req.Object.Raw) || acts && !acted
	return starts, acted && after.DeletionTimestamp == nil && !maps.Equal(before.Labels, after.Labels)
}

// applies reports whether the operator acts on an object, so that reviews and the rules of the platform apply to it.
func (r *Reviewer) applies(cfg config.Configuration, object client.Object) bool {
	probes := sentinel.Settings{Enabled: cfg.Apache.Sentinels.Enabled, Namespaces: cfg.SentinelNamespaces()}
	return r.Kind.Selects(cfg, object) && !sentinel.Exempt(probes, r.Kind.GVK().Group, object)
}

// metadataOf decodes the metadata of an object. It returns an empty object if it cannot.
func metadataOf(raw []byte) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	if len(raw) == 0 || utiljson.Unmarshal(raw, object) != nil {
		return &metav1.PartialObjectMetadata{}
	}
	return object
}

// review returns the answer for an object with a new or edited spec, in a namespace with the given labels.
func (r *Reviewer) review(ctx context.Context, cfg config.Configuration, labels map[string]string, req admission.Request) admission.Response {
	object := r.Kind.New()
	if err := decode(req.Object.Raw, object); err != nil {
		return refused(req, []*dialect.FieldError{{Field: "metadata", Message: "cannot be read: " + bounds.Shorten(err.Error())}})
	}

	if object.GetDeletionTimestamp() != nil || !r.applies(cfg, object) {
		return admission.Allowed("")
	}

	review, old := r.Kind.Review(cfg, labels, object, r.Clock()), r.before(req)
	if dialect.Incomplete(review.Faults) && (old == nil || r.Kind.Restarts(cfg, old, object) == "") {
		return incomplete(review.Faults)
	}

	if len(review.Faults) > 0 {
		return refused(req, review.Faults)
	}

	faults, uncompared := r.exceeded(ctx, req.Namespace, cfg, labels, old, review)
	if len(faults) > 0 {
		return refused(req, faults)
	}

	warnings := append(uncompared, review.Warnings...)
	if old != nil {
		// An edit may restart a running application, server or cluster.
		if restart := r.Kind.Restarts(cfg, old, object); restart != "" {
			warnings = append([]string{restart}, warnings...)
		}
	}
	return admission.Allowed("").WithWarnings(readable(warnings)...)
}

// incomplete admits an object whose spec lacks something. Steps of a pipeline write such objects: bases, templates, dry
// runs. An edit of an object that runs is not admitted, because it would end the run.
func incomplete(faults []*dialect.FieldError) admission.Response {
	warnings := make([]string, len(faults))
	for i, fault := range faults {
		warnings[i] = fault.Error() + " (nothing starts until then)"
	}
	return admission.Allowed("").WithWarnings(readable(warnings)...)
}

// before returns the object as it was before an update. That object may be invalid. The result is nil for a creation,
// and if the object cannot be decoded.
func (r *Reviewer) before(req admission.Request) client.Object {
	if req.Operation != admissionv1.Update {
		return nil
	}

	old := r.Kind.New()
	if decode(req.OldObject.Raw, old) != nil {
		return nil
	}
	return old
}

// decode decodes an object. An object with a method for that calls the decoder itself, after its own checks. The text
// is valid JSON as a part of the review, so the decoder need not look for its end before.
func decode(raw []byte, into client.Object) error {
	if own, ok := into.(json.Unmarshaler); ok && len(raw) > 0 {
		return own.UnmarshalJSON(raw)
	}
	return utiljson.Unmarshal(raw, into)
}

// startsNothing reports whether an update changes nothing in the spec, or nothing except that it suspends the object.
//
// Such an update must be admitted for every stored object, even if the spec is invalid or breaks a rule that is newer
// than the object. Otherwise nobody could remove a finalizer, or stop a running application. An update that resumes the
// object is reviewed.
func startsNothing(before, after []byte) bool {
	old, edited, err := specs(before, after)
	if err != nil {
		return false
	}

	if bytes.Equal(old, edited) {
		return true
	}

	was, oldFields, oldErr := cutSuspend(old)
	now, fields, err := cutSuspend(edited)
	resumes := was && !now
	return oldErr == nil && err == nil && !resumes && maps.EqualFunc(oldFields, fields, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// specs returns the specs of an object before and after an update. Equal specs are equal as bytes, because the API
// server encodes both objects in the same way, with sorted keys.
func specs(before, after []byte) (old, edited json.RawMessage, err error) {
	var was, is struct {
		Spec json.RawMessage `json:"spec"`
	}
	err = cmp.Or(utiljson.Unmarshal(before, &was), utiljson.Unmarshal(after, &is))
	return was.Spec, is.Spec, err
}

// cutSuspend returns the value of the field suspend of a spec, and all other fields. Some kinds do not have the field;
// they count as not suspended.
func cutSuspend(spec json.RawMessage) (suspended bool, others map[string]json.RawMessage, err error) {
	if err := utiljson.Unmarshal(spec, &others); err != nil {
		return false, nil, err
	}

	if field, found := others["suspend"]; found {
		err = utiljson.Unmarshal(field, &suspended)

		delete(others, "suspend")
	}
	return suspended, others, err
}

// refused returns an answer that refuses the object. Its message is the one that a pass would write into the status.
// Its causes are the faults, and kubectl prints one cause per line.
func refused(req admission.Request, faults []*dialect.FieldError) admission.Response {
	message := conf.HideAddresses(dialect.Invalid(faults).Bounded().Message)

	status := metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: message,
		Details: &metav1.StatusDetails{Group: req.Kind.Group, Kind: req.Kind.Kind, Name: req.Name},
	}
	for _, fault := range faults[:min(len(faults), maxCauses)] {
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{
			Type: metav1.CauseTypeFieldValueInvalid, Field: bounds.Line(fault.Field), Message: bounds.Line(conf.HideAddresses(fault.Message)),
		})
	}
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &status}}
}

// unchecked admits an object that could not be reviewed. The answer contains a warning with the given reason, which
// follows the word "because".
func unchecked(reason string) admission.Response {
	return admission.Allowed("").WithWarnings("the object was not checked, because " + reason + "; the operator checks it before it launches anything")
}

// readable returns the warnings in a form that the API server accepts. It keeps at most maxWarnings, and adds a line
// with the number of the others. It replaces characters that cannot be printed by escapes.
func readable(warnings []string) []string {
	if more := len(warnings) - maxWarnings; more > 0 {
		warnings = append(warnings[:maxWarnings:maxWarnings], fmt.Sprintf("and %d more", more))
	}

	var out []string
	for _, warning := range warnings {
		out = append(out, bounds.Line(conf.HideAddresses(warning)))
	}
	return out
}
