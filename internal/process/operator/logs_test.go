package operator_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/kubelet"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestLeaderChangesWhileLogIsKept changes the leader while it reads the log of a driver that has ended. The next leader
// keeps the whole log, once. Nothing that the first leader does afterwards changes it, also if it was suspended and
// reads the rest of its stream before it observes that its term is over.
func TestLeaderChangesWhileLogIsKept(t *testing.T) {
	t.Parallel()

	for name, change := range map[string]func(leader *replica) (resume func()){
		"killed":    func(leader *replica) func() { leader.kill(); return func() {} },
		"stopped":   func(leader *replica) func() { leader.stop(); return func() {} },
		"suspended": (*replica).suspend,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			root := t.TempDir()
			f.cfg.Logs = []keptlogs.Entry{{Store: "file://" + root, Wait: &metav1.Duration{Duration: time.Second}}}
			keptlogs.ApplyDefaults(f.cfg.Logs)
			node := kubelet.Start(t, "leaders-"+f.Namespace)
			leader := f.start()
			counted := world.World{World: f.World.World, Registry: f.Registry} // the metrics of the first leader

			<-leader.op.Elected()

			next := f.start()
			app := f.Application("pi", scene.WithDriver)
			driver := f.DriverOf(app, 1)
			f.Bind(driver, node.Name)

			reading, rest := make(chan struct{}), make(chan struct{})

			var requests atomic.Int32
			node.Serve(driver.Name, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, "first\n")

				if requests.Add(1) > 1 {
					_, _ = io.WriteString(w, "last\n")
					return
				}

				w.(http.Flusher).Flush()
				close(reading)

				select {
				case <-rest:
					_, _ = io.WriteString(w, "stale\n")
				case <-r.Context().Done():
				}
			})
			f.Kubelet(driver.Name, corev1.PodRunning, world.Running())
			f.Execute(driver, scene.Exited(0, ""))
			<-reading

			resume := change(leader)

			<-next.op.Elected()
			waitKept(t, f, root, "first\nlast\n")

			close(rest)

			if name == "suspended" {
				kit.Wait(t, "the first leader to read the rest", func(context.Context) error {
					if counted.Metric("sparkoperator_logs_kept_bytes_total")+counted.Metric("sparkoperator_logs_not_kept_total") == 0 {
						return fmt.Errorf("it has not")
					}
					return nil
				})
			}

			resume()
			<-leader.over
			leader.dead.Store(true) // if it was suspended, it has lost its lease
			waitKept(t, f, root, "first\nlast\n")

			if got := requests.Load(); got != 2 {
				t.Errorf("the log was read %d times", got)
			}

			if files, _ := filepath.Glob(filepath.Join(root, "*", "*", "*", "*", "*")); len(files) != 2 {
				t.Errorf("the store has %v, want the log and the index", files)
			}

			if c := world.Condition(f.Get("pi"), "LogsNotKept"); c.Status != "" {
				t.Errorf("the condition is %+v", c)
			}
		})
	}
}

// waitKept waits until the status says that the log of the application pi is kept, and until the store has its text.
func waitKept(t *testing.T, f *fleet, root, want string) {
	t.Helper()
	kit.Wait(t, "the kept log", func(context.Context) error {
		app := f.Get("pi")
		if o := app.Status.Operator; o == nil || o.Logs == nil || o.Logs.KeptAt == nil {
			return fmt.Errorf("the status has %+v", app.Status.Operator)
		}

		file, err := os.Open(filepath.Join(root, f.Namespace, app.Name, string(app.UID), "1", "driver.log.gz"))
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()

		plain, err := gzip.NewReader(file)
		if err != nil {
			return err
		}

		text, err := io.ReadAll(plain)
		if err == nil && string(text) != want {
			err = fmt.Errorf("the log is %q", text)
		}
		return err
	})
}
