package logs_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/record/logs"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
	"github.com/sparkoperator/spark-operator/test/kit/crashrig"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestOperatorWasAway checks that the log of a driver that ended while no operator ran is kept by the next operator,
// and that a log that is kept is not read again.
func TestOperatorWasAway(t *testing.T) {
	t.Parallel()
	k := keep(t, directory(t))
	stop := k.RunWith(k.cfg, time.Now)
	app, kept := k.Application("pi"), k.Application("kept")
	driver := k.running(app, 1, "while away\n")
	k.Execute(k.running(kept, 1, "kept\n"), done(0))
	k.waitStatus("kept", 1, "")
	k.WaitState("pi", v1beta2.ApplicationStateRunning)
	stop()

	k.node.Serve("kept-driver", func(http.ResponseWriter, *http.Request) { t.Error("a log that is kept was read again") })
	k.Execute(driver, done(0))
	k.RunWith(k.cfg, time.Now)
	k.waitStatus("pi", 1, "")
	k.waitText(app, 1, "", "while away\n")
}

// TestForgedPlace checks that a place that a tenant writes into the status of an application has no effect: the
// operator neither reads nor writes there.
func TestForgedPlace(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	k := keep(t, "file://"+root)
	k.RunWith(k.cfg, time.Now)
	victim, app := k.Application("victim"), k.Application("pi")
	k.Execute(k.running(victim, 1, "secret\n"), done(0))
	k.waitStatus("victim", 1, "")

	driver := k.running(app, 1, "mine\n")
	k.WaitState("pi", v1beta2.ApplicationStateRunning)

	forged := fmt.Sprintf(`{"status":{"operator":{"logs":{"attempt":1,"place":%q}}}}`, k.logs.Place(attemptOf(victim, 1)))
	k.PatchWith(app, `{"metadata":{"annotations":{"sparkoperator.dev/logs":"file:///etc"}}}`)

	if err := k.API.Status().Patch(t.Context(), k.Get("pi"), client.RawPatch(types.MergePatchType, []byte(forged))); err != nil {
		t.Fatal(err)
	}

	k.Execute(driver, done(0))
	k.waitText(app, 1, "", "mine\n")
	app = k.waitStatus("pi", 1, "")
	k.waitText(victim, 1, "", "secret\n")

	if place := app.Status.Operator.Logs.Place; place != k.logs.Place(attemptOf(app, 1)) {
		t.Errorf("the place is %s", place)
	}
}

// TestManyFailedExecutors checks that of many executors that fail at once the first ones are kept, that the index
// counts the others, and that the driver's log comes nevertheless.
func TestManyFailedExecutors(t *testing.T) {
	t.Parallel()
	k := keep(t, directory(t), func(l *keptlogs.Entry) { l.MaxExecutors = new(3) })
	k.RunWith(k.cfg, time.Now)
	app := k.Application("pi")
	driver := k.running(app, 1, "driver\n")

	for id := 1; id <= 10; id++ {
		executor := k.Executor(app, driver, id)
		k.Create(executor)
		k.Bind(executor, k.node.Name)
		k.node.Log(executor.Name, fmt.Sprintf("executor %d\n", id))
		k.Kubelet(executor.Name, corev1.PodFailed, done(1))
	}

	k.Execute(driver, done(0))
	k.waitText(app, 1, "", "driver\n")

	index, err := k.logs.Index(t.Context(), attemptOf(app, 1))
	if err != nil || len(index.Executors) > 3 {
		t.Errorf("the index is %+v, %v", index, err)
	}
}

// TestRetention checks that a sweep deletes attempts whose retention is over, and neither younger ones nor objects of
// others.
func TestRetention(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	k := keep(t, "file://"+root)
	k.RunWith(k.cfg, time.Now)
	app := k.Application("pi")
	k.Execute(k.running(app, 1, "old\n"), done(0))
	k.waitStatus("pi", 1, "")

	bucket := k.logs.(*store.Bucket)
	if err := bucket.Write(t.Context(), "eventLogs/application_1", []byte("of Spark")); err != nil {
		t.Fatal(err)
	}

	sweep(t, k, time.Now())
	k.waitText(app, 1, "", "old\n")
	sweep(t, k, time.Now().Add(25*time.Hour))

	if index, err := k.logs.Index(t.Context(), attemptOf(app, 1)); index != nil || err != nil {
		t.Errorf("the index is still there: %+v, %v", index, err)
	}

	if files, _ := filepath.Glob(filepath.Join(root, "*", "*", "*", "*", "*")); len(files) > 0 {
		t.Errorf("these files are left: %v", files)
	}

	if text, err := bucket.Read(t.Context(), "eventLogs/application_1", 100); string(text) != "of Spark" {
		t.Errorf("an object of somebody else is %q, %v", text, err)
	}
}

// sweep runs a sweep with a retention of a day.
func sweep(t *testing.T, k *keeping, now time.Time) {
	t.Helper()

	l := k.cfg.Logs[0]
	l.Retention = &metav1.Duration{Duration: 24 * time.Hour}

	keeper, err := logs.New(t.Context(), logs.Options{Entries: []keptlogs.Entry{l}, Log: k.Logger()})
	if err != nil {
		t.Fatal(err)
	}

	keeper.Sweep(t.Context(), now)
}

// TestCrashes plays a life with two attempts in which the operator dies before or after each of its writes, which
// include those of the ConfigMap with the logs. Afterwards, the log of each attempt is whole, and the status has the
// result.
func TestCrashes(t *testing.T) {
	crashrig.ForCrashPoints(t, 58, 9, func(t *testing.T, crash *crashrig.Crashing) bool {
		t.Helper()
		k := keep(t, "")
		life := crashrig.StartCrashLife(k.World, crash, func(change ...func(*operator.Environment)) (stop func()) {
			return k.RunWith(k.cfg, time.Now, change...)
		})
		app := k.Application("pi", world.OnFailure(1))
		life.CheckSingle(app, identity.RoleDriver)
		k.Execute(k.running(app, 1, strings.Repeat("one\n", 1000)), done(1))
		k.Execute(k.running(app, 2, "two\n"), done(0))
		k.waitText(app, 2, "", "two\n")
		k.waitText(app, 1, "", strings.Repeat("one\n", 1000))
		k.waitStatus("pi", 2, "")
		k.WaitState("pi", v1beta2.ApplicationStateCompleted)
		return life.End(2)
	})
}
