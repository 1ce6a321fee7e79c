package launch

import (
	"cmp"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// Builder is the part of an Attempt that builds pods by package submit.
type Builder struct {
	Submit submit.Request
	// Name converts an error about the request into an error that names the field of the custom resource.
	Name func(*submit.Error) *dialect.FieldError
	// native is the submission of the request since Native: until then, the request may change.
	native *native.Submission
}

// NotNative is a fault for which the operator cannot build a driver pod itself, but spark-submit can.
type NotNative struct {
	*dialect.FieldError
	cause *submit.Error
}

// NewNotNative returns the error for a fault.
func NewNotNative(fault *dialect.FieldError) *NotNative { return &NotNative{FieldError: fault} }

// Unwrap returns the fault of the custom resource, and the error of package submit, if any.
func (e *NotNative) Unwrap() []error {
	if e.cause == nil {
		return []error{e.FieldError}
	}
	return []error{e.FieldError, e.cause}
}

// Named converts an error of package submit into an error that names the field of the custom resource: a
// *dialect.FieldError, or a *NotNative.
func (b *Builder) Named(err error) error {
	refused, ok := errors.AsType[*submit.Error](err)
	switch {
	case !ok:
		return err
	case refused.NotNative:
		return &NotNative{b.Name(refused), refused}
	}
	return b.Name(refused)
}

// Driver returns the driver pod of the request.
func (b *Builder) Driver() (*corev1.Pod, error) {
	if b.native != nil {
		pod, err := b.native.Driver()
		return pod, b.Named(err)
	}

	pod, err := native.Driver(b.Submit)
	return pod, b.Named(err)
}

// ExecutorOf returns an executor of the driver. The argument app is the id of the driver's application, if it is known:
// spark-submit chooses its own id.
func (b *Builder) ExecutorOf(app string, id int, driver types.UID) (*corev1.Pod, error) {
	r := b.Submit
	if b.native != nil && (app == "" || app == r.AppID) {
		pod, err := b.native.Executor(id, driver)
		return pod, b.Named(err)
	}

	r.AppID = cmp.Or(app, r.AppID)
	pod, err := native.Executor(r, id, driver)
	return pod, b.Named(err)
}

// Bound returns a pod as Attempt.Bound does.
func (b *Builder) Bound(role string) (pod *corev1.Pod, faults []*dialect.FieldError) {
	var err error
	switch r := b.Submit; {
	case role == RoleDriver:
		r.Bound = true
		pod, err = native.Driver(r)
	case b.native != nil:
		pod, err = b.native.Bound()
	default:
		pod, err = native.Bound(r)
	}
	return pod, dialect.AsFaults(b.Named(err))
}

// Native returns the objects of the request with a driver pod that the operator creates itself. The request must not
// change afterwards, because all further pods are built from the same submission.
func (b *Builder) Native() (submit.Objects, error) {
	b.native = native.New(b.Submit)
	objects, err := b.native.Build()
	return objects, b.Named(err)
}

// Runner returns the objects that run spark-submit for the request (dialect.Runner).
func (b *Builder) Runner() (submit.Objects, error) {
	objects, err := dialect.Runner(b.Submit)
	return objects, b.Named(err)
}

// Mode says who creates the driver pod.
type Mode struct {
	// Required is the reason why spark-submit must create the driver pod. If it is empty, spark-submit creates only the
	// driver pods that the operator cannot build.
	Required string
	// Off means that the operator's configuration switches spark-submit off.
	Off bool
	// Excluded is the advice if another setting excludes spark-submit.
	Excluded string
}

// Submitted returns the objects with which an attempt starts: those of the function native, or those of the function
// runner, which contain a pod that runs spark-submit. In the second case it also returns the reason.
func Submitted(m Mode, native, runner func() (submit.Objects, error)) (submit.Objects, *lifecycle.Cause, error) {
	why := m.Required
	if why == "" {
		objects, err := native()

		refused, ok := errors.AsType[*NotNative](err)
		switch {
		case !ok:
			return objects, nil, err
		case m.Off:
			refused.Incomplete = true
			refused.Message += "; spark-submit could do it, but that is switched off by the operator's configuration (" + dialect.RunnersOff + ")"
			return submit.Objects{}, nil, refused.FieldError
		case m.Excluded != "":
			refused.Message += m.Excluded
			return submit.Objects{}, nil, refused.FieldError
		}

		why = refused.Statement()
	}

	objects, err := runner()
	return objects, dialect.SparkSubmitCause(why), err
}
