package configured_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/apply"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/crashrig"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// secretAttempts returns the attempts for which an application has Secrets, in ascending order.
func secretAttempts(w *world.World, app *v1beta2.SparkApplication) (attempts []int32) {
	w.T.Helper()

	for _, secret := range w.SecretsOf(app) {
		attempts = append(attempts, identity.Attempt(&secret))
	}

	slices.Sort(attempts)
	return attempts
}

func TestSparkSubmitCompletes(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, world.BySparkSubmit)

	submitter := w.SubmitterOf(app, 1)
	if submitter.Spec.ServiceAccountName != "default" || submitter.Spec.Containers[0].Image != *app.Spec.Image {
		t.Errorf("it runs %s as %q", submitter.Spec.Containers[0].Image, submitter.Spec.ServiceAccountName)
	}

	got := w.WaitState("pi", v1beta2.ApplicationStateSubmitted)
	if c := world.Condition(got, "Ready"); c.Reason != "SparkSubmit" || got.Status.SparkApplicationID != "" {
		t.Errorf("Ready is %+v, the id %q", c, got.Status.SparkApplicationID)
	}

	w.WaitEvent(app, "SparkApplicationSubmitted", submitter.Name, "spec.submission.mode is SparkSubmit")
	w.Kubelet(submitter.Name, corev1.PodRunning, world.Running())
	driver := w.SparkSubmit(submitter, true)
	w.Kubelet(submitter.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	w.Kubelet(driver.Name, corev1.PodRunning, world.Running())

	got = w.WaitState("pi", v1beta2.ApplicationStateRunning)
	if id := got.Status.SparkApplicationID; id != driver.Labels["spark-app-selector"] ||
		got.Status.DriverInfo.PodName != "pi-driver" {
		t.Errorf("the id is %q, the driver %q", id, got.Status.DriverInfo.PodName)
	}

	w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))

	got = w.WaitState("pi", v1beta2.ApplicationStateCompleted)
	if got.Status.ExecutionAttempts != 1 || got.Status.SubmissionAttempts != 1 {
		t.Errorf("%d runs of %d submissions", got.Status.ExecutionAttempts, got.Status.SubmissionAttempts)
	}
}

// TestSparkSubmitIsChosenWhenNeeded checks an application that does not request spark-submit but has a property that
// only a JVM can process. The operator submits it with spark-submit, and an event gives the property as the reason.
func TestSparkSubmitIsChosenWhenNeeded(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, func(app *v1beta2.SparkApplication) {
		app.Spec.SparkConf = map[string]string{"spark.kubernetes.driver.pod.featureSteps": "org.example.Step"}
	})
	w.SubmitterOf(app, 1)
	w.WaitEvent(app, "SparkApplicationSubmitted", "spark.kubernetes.driver.pod.featureSteps", "org.example.Step")
}

// TestSparkSubmitSwitchedOff checks an operator whose configuration switches spark-submit off, for example because the
// operator lacks the rights for it. An application that requests spark-submit fails with a message that reports this
// setting. The operator does not try to run spark-submit.
func TestSparkSubmitSwitchedOff(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.Submission.Mode = config.SubmissionNative

	op, err := operator.NewOperator(t.Context(), cfg, w.Environment())
	if err != nil {
		t.Fatal(err)
	}

	w.Run(op)
	app := w.Application("pi", scene.WithDriver, world.BySparkSubmit)

	got := w.WaitState("pi", v1beta2.ApplicationStateFailed)
	if m := got.Status.AppState.ErrorMessage; !strings.Contains(m, "spec.submission.mode") ||
		!strings.Contains(m, "submission.mode: Native") {
		t.Errorf("the message is %q", m)
	}

	if secrets := secretAttempts(w, app); len(secrets) != 0 {
		t.Errorf("Secrets of attempts %v", secrets)
	}
}

// TestSparkSubmitFails checks that the last output of a failed spark-submit becomes the application's message. The
// restart policy decides whether the operator retries. The objects of the failed attempt are deleted.
func TestSparkSubmitFails(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, world.BySparkSubmit, world.OnFailure(1))

	const message = "26/01/01 INFO x\nException in thread \"main\" org.apache.spark.SparkException: no such jar\n\tat org.apache.spark.X"
	for attempt := 1; attempt <= 2; attempt++ {
		submitter := w.SubmitterOf(app, attempt)
		if diff := cmp.Diff([]int32{int32(attempt)}, secretAttempts(w, app)); diff != "" {
			t.Errorf("attempts with Secrets (-want +got):\n%s", diff)
		}

		w.Kubelet(submitter.Name, corev1.PodFailed, scene.Exited(1, message))
	}

	got := w.WaitState("pi", v1beta2.ApplicationStateFailed)
	if m := got.Status.AppState.ErrorMessage; !strings.Contains(m, "exit code 1") ||
		!strings.Contains(m, "SparkException: no such jar") {
		t.Errorf("the message is %q", m)
	}

	if got.Status.ExecutionAttempts != 0 || got.Status.SubmissionAttempts != 2 {
		t.Errorf("%d runs of %d submissions, want 0 of 2", got.Status.ExecutionAttempts, got.Status.SubmissionAttempts)
	}

	w.WaitEvent(app, "SparkApplicationSubmissionFailed", "no such jar")
	w.SubmitterOf(app, 2) // kept for its log
}

// TestSparkSubmitWaits checks that the operator reports the wait reason of the pod that runs spark-submit, in the same
// way as the wait reason of a driver.
func TestSparkSubmitWaits(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, world.BySparkSubmit)
	submitter := w.SubmitterOf(app, 1)
	w.Kubelet(submitter.Name, corev1.PodPending, world.Waiting("ImagePullBackOff", "no such image"))
	w.WaitEvent(app, "SparkSubmitterPending", submitter.Name, "no such image")

	if c := world.Condition(w.WaitState("pi", v1beta2.ApplicationStateSubmitted),
		"Ready"); c.Reason != "ImagePullBackOff" {
		t.Errorf("Ready is %+v", c)
	}
}

// TestSparkSubmitFindsItsDriver checks a spark-submit that fails because the driver already exists. The attempt
// continues with this driver if spark-submit created it in the same attempt.
func TestSparkSubmitFindsItsDriver(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, world.BySparkSubmit)
	submitter := w.SubmitterOf(app, 1)
	driver := w.SparkSubmit(submitter, true)
	w.Kubelet(submitter.Name, corev1.PodFailed, scene.Exited(1, `pods "pi-driver" already exists`))
	w.Execute(driver, scene.Exited(0, ""))

	got := w.WaitState("pi", v1beta2.ApplicationStateCompleted)
	if got.Status.ExecutionAttempts != 1 || w.DriverOf(app, 1).UID != driver.UID {
		t.Errorf("%d runs", got.Status.ExecutionAttempts)
	}
}

// TestSparkSubmitMeetsAForeignDriver checks that the operator never changes somebody else's pod that has the driver's
// name. The application fails and reports why.
func TestSparkSubmitMeetsAForeignDriver(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	foreign := scene.ForeignPod(w.Namespace, world.DriverName("pi"))
	w.Create(foreign)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, world.BySparkSubmit)
	w.Kubelet(w.SubmitterOf(app, 1).Name, corev1.PodFailed,
		scene.Exited(1, `Exception: pods "pi-driver" already exists`))

	got := w.WaitState("pi", v1beta2.ApplicationStateFailed)
	if !strings.Contains(got.Status.AppState.ErrorMessage, `"pi-driver" already exists`) {
		t.Errorf("the message is %q", got.Status.AppState.ErrorMessage)
	}

	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil ||
		foreign.DeletionTimestamp != nil {
		t.Errorf("somebody else's pod was changed: %v", err)
	}
}

// TestSparkSubmitIsInterrupted checks a spark-submit that dies after it has created the driver pod. If it had not yet
// created the ConfigMap that the driver pod mounts, the driver can never start. The operator then deletes the driver
// and submits again, although no policy allows a retry. If the ConfigMap exists, the attempt continues with this
// driver.
func TestSparkSubmitIsInterrupted(t *testing.T) {
	t.Parallel()

	for _, how := range []string{"killed", "gone", "killed after the ConfigMap"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			w.RunReal()
			app := w.Application("pi", scene.WithDriver, world.BySparkSubmit)
			submitter := w.SubmitterOf(app, 1)
			w.Kubelet(submitter.Name, corev1.PodRunning, world.Running())

			torn := how != "killed after the ConfigMap"

			driver := w.SparkSubmit(submitter, !torn)
			if how == "gone" {
				if err := w.API.Delete(t.Context(), submitter, client.GracePeriodSeconds(0)); err != nil {
					t.Fatal(err)
				}
			} else {
				w.Kubelet(submitter.Name, corev1.PodFailed, scene.Exited(137, ""))
			}

			if !torn {
				w.Execute(driver, scene.Exited(0, ""))
				w.WaitState("pi", v1beta2.ApplicationStateCompleted)
				return
			}

			w.WaitEvent(app, "SparkApplicationSubmissionFailed", "SubmissionInterrupted", driver.Name)
			second := w.SubmitterOf(app, 2)
			again := w.SparkSubmit(second, true)
			w.Kubelet(second.Name, corev1.PodSucceeded, scene.Exited(0, ""))
			w.Execute(again, scene.Exited(0, ""))

			got := w.WaitState("pi", v1beta2.ApplicationStateCompleted)
			if got.Status.ExecutionAttempts != 1 || got.Status.SubmissionAttempts != 2 {
				t.Errorf("%d runs of %d submissions, want 1 of 2", got.Status.ExecutionAttempts,
					got.Status.SubmissionAttempts)
			}
		})
	}
}

// TestSuspendedWhileItSubmits checks an application that is suspended while spark-submit runs. The pod that runs
// spark-submit could still create a driver, so the operator deletes this pod and its Secret. The state becomes
// SUSPENDED only after that.
func TestSuspendedWhileItSubmits(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, world.BySparkSubmit)
	submitter := w.SubmitterOf(app, 1)
	w.WaitState("pi", v1beta2.ApplicationStateSubmitted)
	w.Suspend("pi", true)
	w.WaitState("pi", v1beta2.ApplicationStateSuspended)
	w.WaitGone(submitter)

	if secrets := secretAttempts(w, app); len(secrets) != 0 {
		t.Errorf("Secrets of attempts %v are left", secrets)
	}

	w.Suspend("pi", false)
	w.SubmitterOf(app, 2)
}

// TestSecretsOfOthers checks that the operator does not change somebody else's Secret that has the name of a Secret of
// an application, and that a message names this Secret. A Secret from an earlier pass of the same attempt is replaced.
// The operator recognizes it by its labels, since it never reads the content of a Secret.
func TestSecretsOfOthers(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	app := w.Application("pi", scene.WithDriver, world.BySparkSubmit,
		func(app *v1beta2.SparkApplication) { app.Spec.Suspend = new(true) })
	stop := w.RunReal()
	w.WaitState("pi", v1beta2.ApplicationStateSuspended)
	stop()

	settings := func() config.Configuration { return world.Config() }

	objects, err := configured.For(kinds.SparkApplication).Build(settings, nil).(apply.Launcher).Render(w.Get("pi"),
		lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}, metav1.Now().Time)
	if err != nil {
		t.Fatal(err)
	}
	// Attempt 1 has a Secret of an older render, from a pass that ended early. The name that attempt 2 needs is
	// somebody else's.
	left := objects.Before[0].(*corev1.Secret).DeepCopy()
	left.Data = map[string][]byte{"spark.properties": []byte("spark.old=true")}
	w.Create(left)
	w.RunReal()
	w.Suspend("pi", false)
	submitter := w.SubmitterOf(app, 1)

	secret := &corev1.Secret{}
	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(submitter), secret); err != nil {
		t.Fatal(err)
	}

	if secret.UID == left.UID || secret.Data["driver.json"] == nil {
		t.Error("a pod reads a Secret with outdated content")
	}

	other := w.Application("other", scene.WithDriver, world.BySparkSubmit,
		func(app *v1beta2.SparkApplication) { app.Spec.Suspend = new(true) })
	w.WaitState("other", v1beta2.ApplicationStateSuspended)

	objects, err = configured.For(kinds.SparkApplication).Build(settings, nil).(apply.Launcher).Render(w.Get("other"),
		lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}, metav1.Now().Time)
	if err != nil {
		t.Fatal(err)
	}

	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: objects.Before[0].GetName()}}
	w.Create(foreign)
	w.Suspend("other", false)

	got := w.WaitState("other", v1beta2.ApplicationStateFailed)
	if c := world.Condition(got, "Failed"); c.Reason != dependents.ReasonNameTaken ||
		!strings.Contains(c.Message, foreign.Name) {
		t.Errorf("Failed is %+v", c)
	}

	uid := foreign.UID
	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil || foreign.UID != uid {
		t.Errorf("somebody else's Secret was changed: %v", err)
	}

	w.WaitNothingOf(other)
}

// TestSparkSubmitCrash submits the same application many times: the first spark-submit is interrupted, and the second
// succeeds. Each time the operator crashes before or after a different write. A new operator must then finish the
// application with the existing pods, and must not run spark-submit once more. With CRASH_POINTS=all the operator
// crashes at every write, otherwise at some of them.
func TestSparkSubmitCrash(t *testing.T) {
	t.Parallel()
	// The writes are: the Secret, the pod and the status of the first attempt, its end, the deletions, the status of
	// the wait, and the Secret and other objects of the second attempt.
	const writes = 9
	for point := 0; point < 2*writes; point += crashrig.CrashStride(3) {
		crash := &crashrig.Crashing{At: point/2 + 1, After: point%2 == 1, Killed: make(chan struct{})}
		name := fmt.Sprintf("at-%d-%t", crash.At, crash.After)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			stop := w.RunReal(func(env *operator.Environment) {
				env.Wrap = func(c client.Client) client.Client { crash.Client = c; return crash }
			})
			app := w.Application(name, scene.WithDriver, world.BySparkSubmit, func(app *v1beta2.SparkApplication) {
				app.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyNever,
					OnSubmissionFailureRetryInterval: new(int64(1))}
			})
			played := &submissionPlayer{World: w, app: app, seen: map[string]int{}}
			played.until(name, func() bool {
				select {
				case <-crash.Killed:
					return true
				default:
					return false
				}
			})
			stop()
			w.RunReal()
			played.until(name, func() bool { return w.Get(name).Status.AppState.State == v1beta2.ApplicationStateCompleted })

			got := w.Get(name).Status
			if got.ExecutionAttempts != 1 || played.drivers != 2 || len(played.seen) != 2 {
				t.Errorf("%d runs, %d drivers of %d submitters; want 1 run, 2 drivers (the first one incomplete) and 2 submitters", got.ExecutionAttempts, played.drivers, len(played.seen))
			}
		})
	}
}

// submissionPlayer plays spark-submit and the kubelet for every new pod. It interrupts the first submission, and lets
// the second succeed.
type submissionPlayer struct {
	*world.World
	app     *v1beta2.SparkApplication
	seen    map[string]int // attempts by the UID of their submitter
	drivers int
}

func (p *submissionPlayer) until(name string, done func() bool) {
	p.T.Helper()
	kit.Wait(p.T, name, func(ctx context.Context) error {
		if done() {
			return nil
		}

		var pods corev1.PodList
		if err := p.API.List(ctx, &pods, client.InNamespace(p.Namespace),
			client.MatchingLabels{identity.AppUIDLabel: string(p.app.UID)}); err != nil {
			return err
		}

		for i := range pods.Items {
			p.play(&pods.Items[i])
		}
		return fmt.Errorf("%d pods, state %s", len(pods.Items), p.Get(name).Status.AppState.State)
	})
}

func (p *submissionPlayer) play(pod *corev1.Pod) {
	p.T.Helper()

	attempt := int(identity.Attempt(pod))
	switch {
	case pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded ||
		pod.Status.Phase == corev1.PodFailed:
	case pod.Labels[identity.RoleLabel] == identity.RoleSubmitter && p.seen[string(pod.UID)] == 0:
		p.seen[string(pod.UID)] = attempt
		p.drivers++
		p.SparkSubmit(pod, attempt > 1)

		if attempt == 1 {
			p.Kubelet(pod.Name, corev1.PodFailed, scene.Exited(137, ""))
		} else {
			p.Kubelet(pod.Name, corev1.PodSucceeded, scene.Exited(0, ""))
		}
	case pod.Labels[identity.RoleLabel] == identity.RoleDriver && attempt > 1:
		p.Kubelet(pod.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	}
}

// TestUnknownFieldsOfATemplate checks a template that has fields that the operator's types lack. The operator creates
// the driver pod as for any other template.
func TestUnknownFieldsOfATemplate(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, func(app *v1beta2.SparkApplication) {
		app.Spec.Driver.Template = &runtime.RawExtension{Raw: []byte(`{"spec":{"fieldToCome":true,"containers":[{"name":"spark-kubernetes-driver"}]}}`)}
	})
	w.Execute(w.DriverOf(app, 1), scene.Exited(0, ""))
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)
}
