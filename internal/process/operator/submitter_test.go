package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// These tests play the kubelet and spark-submit for applications that spark-submit submits.

func bySparkSubmit(app *v1beta2.SparkApplication) {
	app.Spec.Submission = &v1beta2.SubmissionSpec{Mode: v1beta2.SubmissionModeSparkSubmit}
}

// submitterOf waits for the pod that runs spark-submit for the given attempt of an application, and returns this pod.
func (w *world) submitterOf(app *v1beta2.SparkApplication, attempt int) *corev1.Pod {
	w.T.Helper()
	var pods corev1.PodList
	kit.Wait(w.T, fmt.Sprintf("the pod that submits attempt %d of %s", attempt, app.Name), func(ctx context.Context) error {
		if err := w.API.List(ctx, &pods, client.InNamespace(w.Namespace), client.MatchingLabels{
			identity.AppUIDLabel: string(app.UID), identity.AttemptLabel: fmt.Sprint(attempt), identity.RoleLabel: identity.RoleSubmitter,
		}); err != nil {
			return err
		}
		return want(len(pods.Items), 1)
	})
	return &pods.Items[0]
}

// sparkSubmit plays spark-submit: it creates and returns the driver pod, with all fields that matter to the operator.
// If withConfigMap is true, it also creates the ConfigMap that the driver pod mounts.
func (w *world) sparkSubmit(submitter *corev1.Pod, withConfigMap bool) *corev1.Pod {
	w.T.Helper()

	var secret corev1.Secret
	if err := w.API.Get(w.T.Context(), client.ObjectKeyFromObject(submitter), &secret); err != nil {
		w.T.Fatal(err)
	}

	settings, err := conf.UnmarshalProperties(string(secret.Data["spark.properties"]))
	if err != nil {
		w.T.Fatal(err)
	}

	driver := &corev1.Pod{}
	if err := json.Unmarshal(secret.Data["driver.json"], driver); err != nil {
		w.T.Fatal(err)
	}

	driver.Namespace = w.Namespace
	driver.Name, _ = settings.Get("spark.kubernetes.driver.pod.name")
	driver.Labels = map[string]string{identity.RoleLabel: identity.RoleDriver, "spark-app-selector": "spark-of-" + submitter.Name}
	maps.Insert(driver.Labels, settings.WithPrefix("spark.kubernetes.driver.label."))
	driver.Spec.ServiceAccountName, _ = settings.Get("spark.kubernetes.authenticate.driver.serviceAccountName")
	driver.Spec.RestartPolicy = corev1.RestartPolicyNever
	driver.Spec.Containers[len(driver.Spec.Containers)-1].Image = submitter.Spec.Containers[0].Image
	driver.Spec.Volumes = append(driver.Spec.Volumes, corev1.Volume{Name: trim.ConfVolume, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: submitter.Name + "-conf"}},
	}})
	w.Create(driver)

	if withConfigMap {
		w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: submitter.Name + "-conf"}})
	}
	return driver
}

// secretsOf returns the Secrets that the operator created for a custom resource.
func (w *world) secretsOf(owner client.Object) []corev1.Secret {
	w.T.Helper()

	var list corev1.SecretList
	if err := w.API.List(w.T.Context(), &list, client.InNamespace(w.Namespace), client.MatchingLabels{identity.AppUIDLabel: string(owner.GetUID())}); err != nil {
		w.T.Fatal(err)
	}
	return list.Items
}

// secretAttempts returns the attempts for which an application has Secrets, in ascending order.
func (w *world) secretAttempts(app *v1beta2.SparkApplication) (attempts []int32) {
	w.T.Helper()

	for _, secret := range w.secretsOf(app) {
		attempts = append(attempts, identity.Attempt(&secret))
	}

	slices.Sort(attempts)
	return attempts
}

func (w *world) waitEvent(app client.Object, reason string, says ...string) {
	w.T.Helper()
	kit.Wait(w.T, "an event "+reason, func(context.Context) error {
		reported := w.EventsOf(app)[reason]
		for _, text := range says {
			if !strings.Contains(reported, text) {
				return fmt.Errorf("it says %q, not %q", reported, text)
			}
		}
		return want(reported != "", true)
	})
}

func TestSparkSubmitCompletes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", scene.WithDriver, bySparkSubmit)

	submitter := w.submitterOf(app, 1)
	if submitter.Spec.ServiceAccountName != "default" || submitter.Spec.Containers[0].Image != *app.Spec.Image {
		t.Errorf("it runs %s as %q", submitter.Spec.Containers[0].Image, submitter.Spec.ServiceAccountName)
	}

	got := w.waitState("pi", v1beta2.ApplicationStateSubmitted)
	if c := condition(got, "Ready"); c.Reason != "SparkSubmit" || got.Status.SparkApplicationID != "" {
		t.Errorf("Ready is %+v, the id %q", c, got.Status.SparkApplicationID)
	}

	w.waitEvent(app, "SparkApplicationSubmitted", submitter.Name, "spec.submission.mode is SparkSubmit")
	w.kubelet(submitter.Name, corev1.PodRunning, running())
	driver := w.sparkSubmit(submitter, true)
	w.kubelet(submitter.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	w.kubelet(driver.Name, corev1.PodRunning, running())

	got = w.waitState("pi", v1beta2.ApplicationStateRunning)
	if id := got.Status.SparkApplicationID; id != driver.Labels["spark-app-selector"] || got.Status.DriverInfo.PodName != "pi-driver" {
		t.Errorf("the id is %q, the driver %q", id, got.Status.DriverInfo.PodName)
	}

	w.kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))

	got = w.waitState("pi", v1beta2.ApplicationStateCompleted)
	if got.Status.ExecutionAttempts != 1 || got.Status.SubmissionAttempts != 1 {
		t.Errorf("%d runs of %d submissions", got.Status.ExecutionAttempts, got.Status.SubmissionAttempts)
	}
}

// TestSparkSubmitIsChosenWhenNeeded checks an application that does not request spark-submit but has a property that
// only a JVM can process. The operator submits it with spark-submit, and an event gives the property as the reason.
func TestSparkSubmitIsChosenWhenNeeded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", scene.WithDriver, func(app *v1beta2.SparkApplication) {
		app.Spec.SparkConf = map[string]string{"spark.kubernetes.driver.pod.featureSteps": "org.example.Step"}
	})
	w.submitterOf(app, 1)
	w.waitEvent(app, "SparkApplicationSubmitted", "spark.kubernetes.driver.pod.featureSteps", "org.example.Step")
}

// TestSparkSubmitSwitchedOff checks an operator whose configuration switches spark-submit off, for example because the
// operator lacks the rights for it. An application that requests spark-submit fails with a message that reports this
// setting. The operator does not try to run spark-submit.
func TestSparkSubmitSwitchedOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := testConfig(w.Namespace)
	cfg.Submission.Mode = config.SubmissionNative

	op, err := NewOperator(t.Context(), cfg, w.environment())
	if err != nil {
		t.Fatal(err)
	}

	w.run(op)
	app := w.Application("pi", scene.WithDriver, bySparkSubmit)

	got := w.waitState("pi", v1beta2.ApplicationStateFailed)
	if m := got.Status.AppState.ErrorMessage; !strings.Contains(m, "spec.submission.mode") || !strings.Contains(m, "submission.mode: Native") {
		t.Errorf("the message is %q", m)
	}

	if secrets := w.secretAttempts(app); len(secrets) != 0 {
		t.Errorf("Secrets of attempts %v", secrets)
	}
}

// TestSparkSubmitFails checks that the last output of a failed spark-submit becomes the application's message. The
// restart policy decides whether the operator retries. The objects of the failed attempt are deleted.
func TestSparkSubmitFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", scene.WithDriver, bySparkSubmit, onFailure(1))

	const message = "26/01/01 INFO x\nException in thread \"main\" org.apache.spark.SparkException: no such jar\n\tat org.apache.spark.X"
	for attempt := 1; attempt <= 2; attempt++ {
		submitter := w.submitterOf(app, attempt)
		if diff := cmp.Diff([]int32{int32(attempt)}, w.secretAttempts(app)); diff != "" {
			t.Errorf("attempts with Secrets (-want +got):\n%s", diff)
		}

		w.kubelet(submitter.Name, corev1.PodFailed, scene.Exited(1, message))
	}

	got := w.waitState("pi", v1beta2.ApplicationStateFailed)
	if m := got.Status.AppState.ErrorMessage; !strings.Contains(m, "exit code 1") || !strings.Contains(m, "SparkException: no such jar") {
		t.Errorf("the message is %q", m)
	}

	if got.Status.ExecutionAttempts != 0 || got.Status.SubmissionAttempts != 2 {
		t.Errorf("%d runs of %d submissions, want 0 of 2", got.Status.ExecutionAttempts, got.Status.SubmissionAttempts)
	}

	w.waitEvent(app, "SparkApplicationSubmissionFailed", "no such jar")
	w.submitterOf(app, 2) // kept for its log
}

// TestSparkSubmitWaits checks that the operator reports the wait reason of the pod that runs spark-submit, in the same
// way as the wait reason of a driver.
func TestSparkSubmitWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", scene.WithDriver, bySparkSubmit)
	submitter := w.submitterOf(app, 1)
	w.kubelet(submitter.Name, corev1.PodPending, waiting("ImagePullBackOff", "no such image"))
	w.waitEvent(app, "SparkSubmitterPending", submitter.Name, "no such image")

	if c := condition(w.waitState("pi", v1beta2.ApplicationStateSubmitted), "Ready"); c.Reason != "ImagePullBackOff" {
		t.Errorf("Ready is %+v", c)
	}
}

// TestSparkSubmitFindsItsDriver checks a spark-submit that fails because the driver already exists. The attempt
// continues with this driver if spark-submit created it in the same attempt.
func TestSparkSubmitFindsItsDriver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", scene.WithDriver, bySparkSubmit)
	submitter := w.submitterOf(app, 1)
	driver := w.sparkSubmit(submitter, true)
	w.kubelet(submitter.Name, corev1.PodFailed, scene.Exited(1, `pods "pi-driver" already exists`))
	w.execute(driver, scene.Exited(0, ""))

	got := w.waitState("pi", v1beta2.ApplicationStateCompleted)
	if got.Status.ExecutionAttempts != 1 || w.driverOf(app, 1).UID != driver.UID {
		t.Errorf("%d runs", got.Status.ExecutionAttempts)
	}
}

// TestSparkSubmitMeetsAForeignDriver checks that the operator never changes somebody else's pod that has the driver's
// name. The application fails and reports why.
func TestSparkSubmitMeetsAForeignDriver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	foreign := scene.ForeignPod(w.Namespace, driverName("pi"))
	w.Create(foreign)
	w.runReal()
	app := w.Application("pi", scene.WithDriver, bySparkSubmit)
	w.kubelet(w.submitterOf(app, 1).Name, corev1.PodFailed, scene.Exited(1, `Exception: pods "pi-driver" already exists`))

	got := w.waitState("pi", v1beta2.ApplicationStateFailed)
	if !strings.Contains(got.Status.AppState.ErrorMessage, `"pi-driver" already exists`) {
		t.Errorf("the message is %q", got.Status.AppState.ErrorMessage)
	}

	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil || foreign.DeletionTimestamp != nil {
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
			w := newWorld(t)
			w.runReal()
			app := w.Application("pi", scene.WithDriver, bySparkSubmit)
			submitter := w.submitterOf(app, 1)
			w.kubelet(submitter.Name, corev1.PodRunning, running())

			torn := how != "killed after the ConfigMap"

			driver := w.sparkSubmit(submitter, !torn)
			if how == "gone" {
				if err := w.API.Delete(t.Context(), submitter, client.GracePeriodSeconds(0)); err != nil {
					t.Fatal(err)
				}
			} else {
				w.kubelet(submitter.Name, corev1.PodFailed, scene.Exited(137, ""))
			}

			if !torn {
				w.execute(driver, scene.Exited(0, ""))
				w.waitState("pi", v1beta2.ApplicationStateCompleted)
				return
			}

			w.waitEvent(app, "SparkApplicationSubmissionFailed", "SubmissionInterrupted", driver.Name)
			second := w.submitterOf(app, 2)
			again := w.sparkSubmit(second, true)
			w.kubelet(second.Name, corev1.PodSucceeded, scene.Exited(0, ""))
			w.execute(again, scene.Exited(0, ""))

			got := w.waitState("pi", v1beta2.ApplicationStateCompleted)
			if got.Status.ExecutionAttempts != 1 || got.Status.SubmissionAttempts != 2 {
				t.Errorf("%d runs of %d submissions, want 1 of 2", got.Status.ExecutionAttempts, got.Status.SubmissionAttempts)
			}
		})
	}
}

// TestSuspendedWhileItSubmits checks an application that is suspended while spark-submit runs. The pod that runs
// spark-submit could still create a driver, so the operator deletes this pod and its Secret. The state becomes
// SUSPENDED only after that.
func TestSuspendedWhileItSubmits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", scene.WithDriver, bySparkSubmit)
	submitter := w.submitterOf(app, 1)
	w.waitState("pi", v1beta2.ApplicationStateSubmitted)
	w.suspend("pi", true)
	w.waitState("pi", v1beta2.ApplicationStateSuspended)
	w.WaitGone(submitter)

	if secrets := w.secretAttempts(app); len(secrets) != 0 {
		t.Errorf("Secrets of attempts %v are left", secrets)
	}

	w.suspend("pi", false)
	w.submitterOf(app, 2)
}

// TestSecretsOfOthers checks that the operator does not change somebody else's Secret that has the name of a Secret of
// an application, and that a message names this Secret. A Secret from an earlier pass of the same attempt is replaced.
// The operator recognizes it by its labels, since it never reads the content of a Secret.
func TestSecretsOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.Application("pi", scene.WithDriver, bySparkSubmit, func(app *v1beta2.SparkApplication) { app.Spec.Suspend = new(true) })
	stop := w.runReal()
	w.waitState("pi", v1beta2.ApplicationStateSuspended)
	stop()

	settings := func() config.Configuration { return testConfig() }

	objects, err := kinds.SparkApplications(settings, nil).Render(w.Get("pi"), lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}, metav1.Now().Time)
	if err != nil {
		t.Fatal(err)
	}
	// Attempt 1 has a Secret of an older render, from a pass that ended early. The name that attempt 2 needs is
	// somebody else's.
	left := objects.Before[0].(*corev1.Secret).DeepCopy()
	left.Data = map[string][]byte{"spark.properties": []byte("spark.old=true")}
	w.Create(left)
	w.runReal()
	w.suspend("pi", false)
	submitter := w.submitterOf(app, 1)

	secret := &corev1.Secret{}
	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(submitter), secret); err != nil {
		t.Fatal(err)
	}

	if secret.UID == left.UID || secret.Data["driver.json"] == nil {
		t.Error("a pod reads a Secret with outdated content")
	}

	other := w.Application("other", scene.WithDriver, bySparkSubmit, func(app *v1beta2.SparkApplication) { app.Spec.Suspend = new(true) })
	w.waitState("other", v1beta2.ApplicationStateSuspended)

	objects, err = kinds.SparkApplications(settings, nil).Render(w.Get("other"), lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}, metav1.Now().Time)
	if err != nil {
		t.Fatal(err)
	}

	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: objects.Before[0].GetName()}}
	w.Create(foreign)
	w.suspend("other", false)

	got := w.waitState("other", v1beta2.ApplicationStateFailed)
	if c := condition(got, "Failed"); c.Reason != dependents.ReasonNameTaken || !strings.Contains(c.Message, foreign.Name) {
		t.Errorf("Failed is %+v", c)
	}

	uid := foreign.UID
	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil || foreign.UID != uid {
		t.Errorf("somebody else's Secret was changed: %v", err)
	}

	w.waitNothingOf(other)
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
	for point := 0; point < 2*writes; point += crashStride(3) {
		crash := &crashing{at: point/2 + 1, after: point%2 == 1, killed: make(chan struct{})}
		name := fmt.Sprintf("at-%d-%t", crash.at, crash.after)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			stop := w.runReal(func(env *Environment) {
				env.wrap = func(c client.Client) client.Client { crash.Client = c; return crash }
			})
			app := w.Application(name, scene.WithDriver, bySparkSubmit, func(app *v1beta2.SparkApplication) {
				app.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyNever, OnSubmissionFailureRetryInterval: new(int64(1))}
			})
			played := &submissionPlayer{world: w, app: app, seen: map[string]int{}}
			played.until(name, func() bool {
				select {
				case <-crash.killed:
					return true
				default:
					return false
				}
			})
			stop()
			w.runReal()
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
	*world
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
		if err := p.API.List(ctx, &pods, client.InNamespace(p.Namespace), client.MatchingLabels{identity.AppUIDLabel: string(p.app.UID)}); err != nil {
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
	case pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
	case pod.Labels[identity.RoleLabel] == identity.RoleSubmitter && p.seen[string(pod.UID)] == 0:
		p.seen[string(pod.UID)] = attempt
		p.drivers++
		p.sparkSubmit(pod, attempt > 1)

		if attempt == 1 {
			p.kubelet(pod.Name, corev1.PodFailed, scene.Exited(137, ""))
		} else {
			p.kubelet(pod.Name, corev1.PodSucceeded, scene.Exited(0, ""))
		}
	case pod.Labels[identity.RoleLabel] == identity.RoleDriver && attempt > 1:
		p.kubelet(pod.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	}
}

// TestUnknownFieldsOfATemplate checks a template that has fields that the operator's types lack. The operator creates
// the driver pod as for any other template.
func TestUnknownFieldsOfATemplate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", scene.WithDriver, func(app *v1beta2.SparkApplication) {
		app.Spec.Driver.Template = &runtime.RawExtension{Raw: []byte(`{"spec":{"fieldToCome":true,"containers":[{"name":"spark-kubernetes-driver"}]}}`)}
	})
	w.execute(w.driverOf(app, 1), scene.Exited(0, ""))
	w.waitState("pi", v1beta2.ApplicationStateCompleted)
}
