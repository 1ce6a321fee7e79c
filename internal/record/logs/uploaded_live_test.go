package logs_test

import (
	"cmp"
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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/crashrig"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// streams sets an interval that is shorter than an operator accepts.
func streams(l *keptlogs.Entry) { l.StreamInterval.Duration = 20 * time.Millisecond }

// growing is the log of a driver that runs, as a kubelet serves it.
type growing struct {
	mu    sync.Mutex
	lines []string
	times []time.Time
}

func (g *growing) write(lines ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()

	for _, line := range lines {
		g.lines, g.times = append(g.lines, line), append(g.times, time.Now())
	}
}

// rotate removes the first lines, as the node does with a long log.
func (g *growing) rotate(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.lines, g.times = g.lines[n:], g.times[n:]
}

func (g *growing) serve(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()

	since, _ := time.Parse(time.RFC3339, r.URL.Query().Get("sinceTime"))
	for i, line := range g.lines {
		if g.times[i].Before(since) {
			continue
		}

		if r.URL.Query().Get("timestamps") == "true" {
			line = g.times[i].UTC().Format(time.RFC3339Nano) + " " + line
		}

		_, _ = io.WriteString(w, line)
	}
}

// streamed starts the driver of an application, whose log grows.
func (k *keeping) streamed(app *v1beta2.SparkApplication, number int) (*corev1.Pod, *growing) {
	k.T.Helper()

	g := &growing{}
	driver := k.running(app, number, "")
	k.node.Serve(driver.Name, g.serve)
	return driver, g
}

// waitUploaded waits until a part of the log was uploaded.
func (k *keeping) waitUploaded(app *v1beta2.SparkApplication, number, bytes int) {
	k.T.Helper()
	kit.Wait(k.T, fmt.Sprintf("the upload of %d bytes", bytes), func(ctx context.Context) error {
		bucket := k.logs.(*store.Bucket)

		offsets, err := bucket.Parts(ctx, attemptOf(app, number))
		if err != nil || len(offsets) == 0 {
			return cmp.Or(err, errors.New("there is no part"))
		}

		part, _, err := bucket.ReadPart(ctx, attemptOf(app, number), offsets[len(offsets)-1])
		if err != nil || part == nil {
			return cmp.Or(err, errors.New("the part is gone"))
		}

		if size := part.Offset + part.Bytes; size != int64(bytes) {
			return fmt.Errorf("%d bytes are uploaded", size)
		}
		return nil
	})
}

// TestLostNode checks that the log of a driver whose node is lost is kept up to the last upload, that the status names
// the place while the driver runs, and that the condition then says up to when the log is complete. The uploads cause
// no write of the status.
func TestLostNode(t *testing.T) {
	t.Parallel()
	k := keep(t, directory(t), streams)
	k.RunWith(k.cfg, time.Now)
	app := k.Application("pi")
	driver, log := k.streamed(app, 1)

	log.write("one\n")
	k.waitUploaded(app, 1, 4)
	app = k.WaitState("pi", v1beta2.ApplicationStateRunning)

	if l := app.Status.Operator.Logs; l == nil || l.Place != k.logs.Place(attemptOf(app, 1)) || l.KeptAt != nil {
		t.Errorf("while the driver runs, the status has %+v", l)
	}

	version := app.ResourceVersion

	log.write("two\n", "three\n")
	k.waitUploaded(app, 1, 14)

	if now := k.Get("pi"); now.ResourceVersion != version {
		t.Error("the uploads have changed the application")
	}

	k.node.Serve(driver.Name, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	k.Remove(driver)
	k.Stopped(driver)
	k.waitText(app, 1, "", "one\ntwo\nthree\n")

	// The reason depends on whether the pod was gone before the node had answered.
	kit.Wait(t, "the reason in the status", func(context.Context) error {
		l := k.Get("pi").Status.Operator.Logs
		if l == nil || l.KeptAt != nil || l.Reason != "LogUnreadable" && l.Reason != "PodGone" || !strings.Contains(l.Message, "the operator has uploaded it until ") {
			return fmt.Errorf("it has %+v", l)
		}
		return nil
	})

	_, file, err := k.text(app, 1, "")

	if err != nil || !strings.Contains(file.Partial, "the operator has uploaded it until ") {
		t.Errorf("the index has %+v, %v", file, err)
	}
}

// TestCrashesWhileStreaming plays a life in which the operator dies before or after each of its writes, while the log
// is uploaded and the node rotates it. The kept log has each line once.
func TestCrashesWhileStreaming(t *testing.T) {
	crashrig.ForCrashPoints(t, 20, 5, func(t *testing.T, crash *crashrig.Crashing) bool {
		t.Helper()
		k := keep(t, directory(t), streams)
		life := crashrig.StartCrashLife(k.World, crash, func(change ...func(*operator.Environment)) (stop func()) {
			return k.RunWith(k.cfg, time.Now, change...)
		})
		app := k.Application("pi")
		life.CheckSingle(app, identity.RoleDriver)

		driver, log := k.streamed(app, 1)
		log.write("one\n", "two\n")
		k.waitUploaded(app, 1, 8)
		log.rotate(1)
		log.write("three\n")
		k.Execute(driver, done(0))
		k.waitText(app, 1, "", "one\ntwo\nthree\n")
		k.waitStatus("pi", 1, "")
		k.WaitState("pi", v1beta2.ApplicationStateCompleted)
		return life.End(1)
	})
}

// TestScheduleHistoryWaitsForLog checks that the history limit of a schedule does not delete a run that ended while no
// operator was there before its log is kept.
func TestScheduleHistoryWaitsForLog(t *testing.T) {
	t.Parallel()
	k := keep(t, directory(t), func(l *keptlogs.Entry) { l.Wait.Duration = time.Minute })

	serve := func() (stop func()) {
		op, err := operator.NewEmpty(t.Context(), k.cfg, k.Environment())
		if err != nil {
			t.Fatal(err)
		}

		for _, kind := range []*kinds.Kind{kinds.SparkApplication, kinds.Schedule} {
			if err := operator.Add(t.Context(), op, configured.For(kind).Build(op.Settings, nil), time.Now); err != nil {
				t.Fatal(err)
			}
		}
		return k.Run(op)
	}
	stop := serve()

	k.Schedule("nightly", scene.Seldom, func(s *v1beta2.ScheduledSparkApplication) {
		s.Spec.SuccessfulRunHistoryLimit = new(int32(0))
		s.Annotations = map[string]string{v1beta2.RunNowAnnotation: "one"}
	})

	var run *v1beta2.SparkApplication
	kit.Wait(t, "the run", func(ctx context.Context) error {
		var list v1beta2.SparkApplicationList
		if err := k.API.List(ctx, &list, client.InNamespace(k.Namespace)); err != nil || len(list.Items) != 1 {
			return fmt.Errorf("%d runs, %w", len(list.Items), cmp.Or(err, errors.New("want one")))
		}

		run = &list.Items[0]
		return nil
	})

	driver := k.running(run, 1, "")
	k.WaitState(run.Name, v1beta2.ApplicationStateRunning)
	stop()

	asked, free := make(chan struct{}, 10), make(chan struct{})

	serveLog := sync.OnceFunc(func() { close(free) })
	defer serveLog() // also if the test fails, because the kubelet waits for its handlers

	k.node.Serve(driver.Name, func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}

		<-free

		_, _ = io.WriteString(w, "of the run\n")
	})
	k.Kubelet(driver.Name, corev1.PodSucceeded, done(0))
	serve()
	<-asked
	// The metric counts the end after the pass that would delete the run. It counts the start of the run under another
	// result. The test once waited for any result, and passed also if the run was deleted.
	kit.Wait(t, "the pass with the end of the run", func(context.Context) error {
		return world.Want(k.MetricOf("sparkoperator_runs_total", "result", "succeeded"), 1)
	})

	var left v1beta2.SparkApplication
	if err := k.API.Get(t.Context(), client.ObjectKeyFromObject(run), &left); err != nil || left.DeletionTimestamp != nil {
		t.Fatalf("the run was deleted before its log was kept: %v, %v", left.DeletionTimestamp, err)
	}

	serveLog()
	k.waitText(run, 1, "", "of the run\n")
}
