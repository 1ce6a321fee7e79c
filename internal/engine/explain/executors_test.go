package explain

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// dryRunClient is a client whose API server answers every dry run of a creation with the same error.
type dryRunClient struct {
	client.Client
	err error
}

func (a dryRunClient) Create(_ context.Context, _ client.Object, options ...client.CreateOption) error {
	dry := &client.CreateOptions{}
	for _, option := range options {
		option.ApplyToCreate(dry)
	}

	if len(dry.DryRun) != 1 || dry.DryRun[0] != metav1.DryRunAll {
		return errors.New("it is to be created in earnest")
	}
	return a.err
}

// executorPod returns a rendered executor.
func executorPod() (*corev1.Pod, error) {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pi.Namespace}}, nil
}

// shortage returns the Shortage of a driver's first attempt.
func shortage(driver types.UID, executor func() (*corev1.Pod, error)) Shortage {
	return Shortage{Of: pi, UID: "u", Attempt: 1, Driver: driver, Account: "default", Since: noon, Executor: executor}
}

// TestExecutorsAnswerIsKept checks that Executors keeps the API server's answer for a while, and that it keeps the
// answer longer if a new query fails. As long as no query was answered, the answer is marked as skipped: otherwise a
// failed query would mean that the API server accepts the executor.
func TestExecutorsAnswerIsKept(t *testing.T) {
	message := errors.New("timeout")
	api := &dryRunClient{err: message}
	asked := 0
	executor := func() (*corev1.Pod, error) {
		asked++
		return executorPod()
	}
	e := New(api, api, nil)

	quota := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden, Message: "exceeded quota"}}
	for i, step := range []struct {
		after  time.Duration
		says   error
		reason string
		asked  int
	}{
		{0, message, "", 1}, {3 * time.Second, quota, "", 1}, {4 * time.Second, quota, apianswer.ReasonQuota, 2},
		{7 * time.Second, message, apianswer.ReasonQuota, 2},
		{8 * time.Second, message, apianswer.ReasonQuota, 3}, {5 * time.Minute, message, apianswer.ReasonQuota, 4},
		{5*time.Minute + 19*time.Second, message, apianswer.ReasonQuota, 4},
		{5*time.Minute + 20*time.Second, quota, apianswer.ReasonQuota, 5},
	} {
		api.err = step.says

		got := e.Executors(t.Context(), shortage("d", executor), noon.Add(step.after))
		if got.Cause.Reason != step.reason || got.Skipped != (step.reason == "") || asked != step.asked {
			t.Errorf("%d, after %s: %+v, asked %d times, want %q and %d", i, step.after, got, asked, step.reason,
				step.asked)
		}
	}

	if got := e.Executors(t.Context(), shortage("", executor),
		noon.Add(time.Hour)); got.Cause.Reason != apianswer.ReasonQuota || asked != 5 {
		t.Errorf("without a driver: %+v, asked %d times", got, asked)
	}
}

// TestExecutorOfAnotherNamespace checks that an executor that is rendered for another namespace is never sent to the
// API server.
func TestExecutorOfAnotherNamespace(t *testing.T) {
	elsewhere := func() (*corev1.Pod, error) {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "theirs"}}, nil
	}

	api := &rightsClient{}
	if got := New(api, api, nil).Executors(t.Context(), shortage("d", elsewhere), noon); got.Cause.Reason != "" ||
		api.executors+api.rightsSeen != 0 {
		t.Errorf("%+v; %d executors and %d rights were asked for", got, api.executors, api.rightsSeen)
	}
}

// rightsClient is a client for an API server that accepts every executor. In reviews of rights, the API server grants
// every right except those whose verb is in the field `lacks`.
type rightsClient struct {
	client.Client
	lacks                 string // the verb of the missing right
	executors, rightsSeen int
}

// Get answers that the account exists.
func (a *rightsClient) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

func (a *rightsClient) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	review, ok := object.(*authorizationv1.LocalSubjectAccessReview)
	if !ok {
		a.executors++
		return nil
	}
	a.rightsSeen++
	review.Status.Allowed = review.Spec.ResourceAttributes.Verb != a.lacks
	return nil
}

// TestExecutorThatCannotBeRendered checks that the cause names the faulty field if no executor can be built from a
// spec. If a right is missing too, the cause is the missing right, because Spark might still build an executor but
// certainly cannot create it without the right.
func TestExecutorThatCannotBeRendered(t *testing.T) {
	api := &rightsClient{}
	wrong := errors.New("spec.sparkConf[spark.executor.cores]: should be a whole number")

	e := New(api, api, nil)
	for i, step := range []struct {
		lacks, reason, says string
		refused             error
	}{
		{"watch", apianswer.ReasonForbidden, "watch", wrong},
		{"", lifecycle.ReasonInvalid, "spec.sparkConf[spark.executor.cores]: ", wrong},
		{"watch", lifecycle.ReasonInvalid, "spec.sparkConf", wrong},
		{"", "", "", &submit.Error{Key: "spark.jars", Message: "needs a JVM", NotNative: true}},
	} {
		api.lacks = step.lacks

		cause, err := e.executorCause(t.Context(),
			shortage("d", func() (*corev1.Pod, error) { return nil, step.refused }), noon)
		if err != nil || cause.Reason != step.reason || !strings.Contains(cause.Message, step.says) ||
			api.executors != 0 {
			t.Errorf("%d: %+v, %v, %d executors", i, cause, err, api.executors)
		}
	}
}

// TestRightsAreTrusted checks how often an account's rights are reviewed: once a minute for each driver if the account
// has all rights, and at each query if a right is missing.
func TestRightsAreTrusted(t *testing.T) {
	api := &rightsClient{lacks: "watch"}
	e := New(api, api, nil)

	all := len(DriverRights)
	for i, step := range []struct {
		after             time.Duration
		driver            types.UID
		lacks             string
		executors, rights int // the total number of requests so far
		reason            string
	}{
		{0, "d", "watch", 1, 3, apianswer.ReasonForbidden},
		{4 * time.Second, "d", "watch", 2, 6, apianswer.ReasonForbidden}, {8 * time.Second, "d", "", 3, 6 + all, ""},
		{12 * time.Second, "d", "watch", 4, 6 + all, ""}, {67 * time.Second, "d", "watch", 5, 6 + all, ""},
		{68 * time.Second, "d", "", 6, 6 + 2*all, ""},
		{72 * time.Second, "another", "watch", 7, 9 + 2*all, apianswer.ReasonForbidden},
	} {
		api.lacks = step.lacks

		cause, err := e.executorCause(t.Context(), shortage(step.driver, executorPod), noon.Add(step.after))
		if err != nil || cause.Reason != step.reason || api.executors != step.executors ||
			api.rightsSeen != step.rights {
			t.Errorf("%d: %+v, %v; asked for %d executors and %d rights, want %d and %d", i, cause, err, api.executors,
				api.rightsSeen, step.executors, step.rights)
		}
	}

	if e.Forget(pi); e.replies.Len() != 0 {
		t.Errorf("%d answers are remembered", e.replies.Len())
	}
}
