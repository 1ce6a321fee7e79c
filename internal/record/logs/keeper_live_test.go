package logs_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/record/bucket"
	"github.com/sparkoperator/spark-operator/internal/record/logs"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/kubelet"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

func TestMain(m *testing.M) { kit.MainShared(m) }

// keeping is a world whose operator keeps logs.
type keeping struct {
	*world.World
	node *kubelet.Node
	logs store.Logs
	cfg  config.Configuration
}

// entry returns an entry of the list "logs" with the defaults.
func entry(url string) keptlogs.Entry {
	return keptlogs.Entry{
		Store: url, Executors: keptlogs.ExecutorsFailed, MaxBytes: "16Mi", ExecutorMaxBytes: "256Ki", MaxExecutors: new(20), Wait: &metav1.Duration{Duration: 10 * time.Second},
	}
}

// keep starts a world whose operator keeps logs in a directory, or, without a URL, in ConfigMaps.
func keep(t *testing.T, url string, change ...func(*keptlogs.Entry)) *keeping {
	t.Helper()
	k := &keeping{World: world.New(t)}
	k.node = kubelet.Start(t, "logs-"+k.Namespace)
	k.cfg = world.Config(k.Namespace)
	l := entry(url)

	for _, c := range change {
		c(&l)
	}

	k.cfg.Logs = []keptlogs.Entry{l}
	k.logs = store.ConfigMaps{Reader: k.API}

	if url != "" {
		opened, err := store.OpenBucket(t.Context(), url, bucket.Hints{})
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { _ = opened.Close() })

		k.logs = opened
	}
	return k
}

func directory(t *testing.T) string {
	t.Helper()
	return "file://" + t.TempDir()
}

func attemptOf(app *v1beta2.SparkApplication, number int) store.Attempt {
	return store.Attempt{APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkApplication", Namespace: app.Namespace, Name: app.Name, UID: app.UID, Number: int32(number)}
}

// text returns the text of a kept log; executor is empty for the driver's.
func (k *keeping) text(app *v1beta2.SparkApplication, number int, executor string) (string, *store.File, error) {
	index, err := k.logs.Index(k.T.Context(), attemptOf(app, number))
	if err != nil {
		return "", nil, err
	}

	if index == nil {
		return "", nil, errors.New("there is no index")
	}

	file := index.Find(executor)
	if file == nil {
		return "", nil, fmt.Errorf("the index does not list it: %+v", index)
	}

	if file.Missing != "" {
		return "", file, nil
	}

	in, err := k.logs.Open(k.T.Context(), attemptOf(app, number), file.Name)
	if err != nil {
		return "", file, err
	}
	defer func() { _ = in.Close() }()

	plain, err := gzip.NewReader(in)
	if err != nil {
		return "", file, err
	}

	text, err := io.ReadAll(plain)
	return string(text), file, err
}

// waitText waits until a kept log has a text.
func (k *keeping) waitText(app *v1beta2.SparkApplication, number int, executor, want string) {
	k.T.Helper()
	kit.Wait(k.T, fmt.Sprintf("the log of attempt %d", number), func(context.Context) error {
		text, file, err := k.text(app, number, executor)
		if err == nil && text != want {
			err = fmt.Errorf("the log is %.100q, %+v", text, file)
		}
		return err
	})
}

// waitStatus waits until the status has the result of an attempt's logs.
func (k *keeping) waitStatus(name string, number int32, reason string) *v1beta2.SparkApplication {
	k.T.Helper()
	var app *v1beta2.SparkApplication
	kit.Wait(k.T, "the status with the logs of "+name, func(context.Context) error {
		app = k.Get(name)
		if app.Status.Operator == nil || app.Status.Operator.Logs == nil {
			return errors.New("it has none")
		}

		l := app.Status.Operator.Logs
		if l.Attempt != number || l.Reason != reason || reason == "" && l.KeptAt == nil {
			return fmt.Errorf("it has %+v", *l)
		}
		return nil
	})
	return app
}

// node binds a driver to the node, where it runs with a log.
func (k *keeping) running(app *v1beta2.SparkApplication, number int, log string) *corev1.Pod {
	k.T.Helper()
	driver := k.DriverOf(app, number)
	k.Bind(driver, k.node.Name)
	k.node.Log(driver.Name, log)
	k.Kubelet(driver.Name, corev1.PodRunning, world.Running())
	return driver
}

func done(code int32) corev1.ContainerState { return scene.Exited(code, "") }

// TestEndedDriver checks the whole way of the log of a driver that ends: it is in the store, the status says where, and
// it is still there after the application is deleted.
func TestEndedDriver(t *testing.T) {
	t.Parallel()

	for name, url := range map[string]string{"store": directory(t), "configmap": ""} {
		t.Run(name, func(t *testing.T) {
			k := keep(t, url)
			k.RunWith(k.cfg, time.Now)

			app := k.Application("pi")
			driver := k.running(app, 1, "Pi is roughly 3.14\n")
			k.Execute(driver, done(0))

			k.waitText(app, 1, "", "Pi is roughly 3.14\n")
			app = k.waitStatus("pi", 1, "")

			if place := app.Status.Operator.Logs.Place; place != k.logs.Place(attemptOf(app, 1)) {
				t.Errorf("the place is %s", place)
			}

			if url == "" {
				return
			}

			k.Remove(app)
			k.WaitGone(app)
			k.waitText(app, 1, "", "Pi is roughly 3.14\n")
		})
	}
}

// stream is a log that ends when the test ends it.
type stream struct {
	opened, ended chan struct{}
	open          sync.Once
}

func newStream() *stream { return &stream{opened: make(chan struct{}), ended: make(chan struct{})} }

func (s *stream) serve(first, last string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, first)

		if r.URL.Query().Get("follow") != "true" {
			return
		}

		w.(http.Flusher).Flush()
		s.open.Do(func() { close(s.opened) })

		select {
		case <-s.ended:
			_, _ = io.WriteString(w, last)
		case <-r.Context().Done():
		}
	}
}

// TestStoppedDriver checks drivers that still run when they are deleted: by the operator, because the application is
// suspended or edited, by a user, and with the application. The last lines, which the driver writes while it stops, are
// kept.
func TestStoppedDriver(t *testing.T) {
	t.Parallel()

	for name, stop := range map[string]func(*keeping, *v1beta2.SparkApplication, *corev1.Pod){
		"suspended": func(k *keeping, app *v1beta2.SparkApplication, _ *corev1.Pod) { k.Suspend(app.Name, true) },
		"edited": func(k *keeping, app *v1beta2.SparkApplication, _ *corev1.Pod) {
			k.Patch(app.Name, `{"spec":{"arguments":["other"]}}`)
		},
		"pod deleted": func(k *keeping, _ *v1beta2.SparkApplication, driver *corev1.Pod) { k.Remove(driver) },
		"app deleted": func(k *keeping, app *v1beta2.SparkApplication, _ *corev1.Pod) { k.Remove(app) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := keep(t, directory(t))
			k.RunWith(k.cfg, time.Now)
			app := k.Application("pi")
			driver := k.running(app, 1, "")
			s := newStream()
			k.node.Serve(driver.Name, s.serve("first\n", "last\n"))
			k.WaitState(app.Name, v1beta2.ApplicationStateRunning)

			stop(k, app, driver)
			k.WaitDeleting(driver)

			select {
			case <-s.opened:
			case <-time.After(time.Minute):
				t.Fatal("nobody follows the log")
			}

			close(s.ended)
			k.Stopped(driver)
			k.waitText(app, 1, "", "first\nlast\n")
		})
	}
}

// TestDeletionWaitsForLog checks that the operator deletes a running driver only after its log is followed, and in any
// case after the time to wait, with the reason in the status.
func TestDeletionWaitsForLog(t *testing.T) {
	t.Parallel()
	k := keep(t, directory(t), func(l *keptlogs.Entry) { l.Wait.Duration = 2 * time.Second })
	k.RunWith(k.cfg, time.Now)
	app := k.Application("pi")
	driver := k.running(app, 1, "")

	asked := make(chan struct{}, 100)
	k.node.Serve(driver.Name, func(w http.ResponseWriter, r *http.Request) { // the kubelet does not answer
		asked <- struct{}{}

		<-r.Context().Done()
	})
	k.WaitState(app.Name, v1beta2.ApplicationStateRunning)
	k.Suspend(app.Name, true)
	<-asked

	if err := k.API.Get(t.Context(), client.ObjectKeyFromObject(driver), driver); err != nil || driver.DeletionTimestamp != nil {
		t.Errorf("the driver was deleted before its log was read: %v", err)
	}

	k.WaitDeleting(driver)
	k.WaitEvent(app, "LogsNotKept", "could not be read and stored within 2s; raise wait in logs")
	k.Stopped(driver)
	k.WaitState(app.Name, v1beta2.ApplicationStateSuspended)
}

// TestFailedExecutor checks that the log of a failed executor is kept at once, also if the driver deletes the executor
// a moment later, and that an executor that was gone before is listed with the reason.
func TestFailedExecutor(t *testing.T) {
	t.Parallel()
	k := keep(t, directory(t))
	k.RunWith(k.cfg, time.Now)
	app := k.Application("pi")
	driver := k.running(app, 1, "driver\n")

	for id := 1; id <= 2; id++ {
		executor := k.Executor(app, driver, id)
		k.Create(executor)
		k.Bind(executor, k.node.Name)
		k.node.Log(executor.Name, fmt.Sprintf("executor %d\n", id))
		k.Kubelet(executor.Name, corev1.PodRunning, world.Running())
	}

	k.Kubelet(app.Name+"-exec-1", corev1.PodFailed, done(1))
	k.waitText(app, 1, "1", "executor 1\n")
	k.Execute(driver, done(0))
	k.waitText(app, 1, "", "driver\n")

	if _, file, err := k.text(app, 1, "2"); err == nil {
		t.Errorf("the log of an executor that did not fail was kept: %+v", file)
	}
}

// TestTwoAttempts checks that the log of each attempt is its own, although both drivers have the same name.
func TestTwoAttempts(t *testing.T) {
	t.Parallel()
	k := keep(t, directory(t))
	k.RunWith(k.cfg, time.Now)
	app := k.Application("pi", world.OnFailure(1))
	first := k.running(app, 1, "one\n")
	k.Execute(first, done(1))
	k.waitText(app, 1, "", "one\n")

	k.Execute(k.running(app, 2, "two\n"), done(0))
	k.waitText(app, 2, "", "two\n")
	k.waitStatus("pi", 2, "")
	k.waitText(app, 1, "", "one\n")
}

// TestNodeThatIsSilent checks drivers whose node does not answer, and whose pods Kubernetes removes after some time.
// The status has the reason, and what the node sent before is kept.
func TestNodeThatIsSilent(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ sent, reason, missing, partial string }{
		"nothing was read": {"", logs.ReasonGone, "the pod was deleted before its log could be read", ""},
		"a part was read":  {"first\n", logs.ReasonUnreadable, "", "only the first 6 bytes could be read: the pod is gone, and its node did not send the rest"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := keep(t, directory(t), func(l *keptlogs.Entry) { l.Wait.Duration = time.Second })
			k.RunWith(k.cfg, time.Now)
			app := k.Application("pi")
			driver := k.running(app, 1, "")
			k.WaitState(app.Name, v1beta2.ApplicationStateRunning)

			asked := make(chan struct{}, 100)
			k.node.Serve(driver.Name, func(w http.ResponseWriter, r *http.Request) {
				if test.sent != "" {
					_, _ = io.WriteString(w, test.sent)
					w.(http.Flusher).Flush()
				}
				asked <- struct{}{}

				<-r.Context().Done()
			})
			k.Remove(driver) // by the control plane, because the node does not answer
			<-asked
			k.Stopped(driver)
			k.waitStatus("pi", 1, test.reason)

			text, file, err := k.text(app, 1, "")
			if err != nil || text != test.sent || file.Missing != test.missing || file.Partial != test.partial {
				t.Errorf("the log is %q, %+v, %v", text, file, err)
			}
		})
	}
}

// TestForcedDeletion checks that a driver that vanishes with its log is a condition, an event, and an entry of the
// index.
func TestForcedDeletion(t *testing.T) {
	t.Parallel()
	k := keep(t, directory(t))
	k.RunWith(k.cfg, time.Now)
	app := k.Application("pi")
	driver := k.running(app, 1, "lost\n")
	k.WaitState(app.Name, v1beta2.ApplicationStateRunning)

	// The operator may ask for the log before the deletion. The node answers afterwards.
	gone := make(chan struct{})
	k.node.Serve(driver.Name, func(w http.ResponseWriter, r *http.Request) {
		<-gone
		http.NotFound(w, r)
	})
	k.Stopped(driver)
	close(gone)

	app = k.waitStatus("pi", 1, "PodGone")
	k.WaitEvent(app, "LogsNotKept", "the log of the driver of attempt 1 (pod pi-driver) was not kept: the pod was deleted")

	if c := world.Condition(app, "LogsNotKept"); c.Status != metav1.ConditionTrue || c.Reason != "PodGone" {
		t.Errorf("the condition is %+v", c)
	}

	if _, file, err := k.text(app, 1, ""); err != nil || !strings.Contains(file.Missing, "the pod was deleted") {
		t.Errorf("the index has %+v, %v", file, err)
	}
}
