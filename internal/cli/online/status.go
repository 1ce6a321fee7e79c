package online

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/cli/startup"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

func (r *verbs) statusCommand() *cobra.Command {
	var zone screen.Zone
	var output string
	var watch bool
	cmd := &cobra.Command{
		Use:   "status NAME|KIND/NAME",
		Short: "Show the state of one object on one screen",
		Long: "Shows the state of an object: why it is not ready and what to do, its phases with their durations, its pods with what they\n" +
			"request, its conditions and the last Events, on at most 40 lines. The formats JSON and YAML have everything; the page\n" +
			"docs/terminal.md describes their fields.\n\n" +
			"With --watch, the screen is shown again every two seconds, until the object has ended. Without a terminal, --watch prints\n" +
			"a line for each state.",
		Example: "  sparkctl status spark-pi\n" +
			"  sparkctl status spark-pi --watch\n" +
			"  sparkctl status apache-app/pi -n jobs -o json",
	}
	flags := cmd.Flags()
	flags.StringVarP(&output, "output", "o", "", outputUsage)
	flags.BoolVarP(&watch, "watch", "w", false, "show the screen again every two seconds, until the object has ended or Ctrl-C")
	zone.AddTo(flags)
	return selection.One(cmd, r.Err, func(cmd *cobra.Command, c *kube.Client, object client.Object) error {
		w := watcher{Client: c, object: object}
		switch {
		case output != "":
			report, err := w.report(cmd.Context())
			if err != nil {
				return err
			}
			return r.encode(report, output)
		case watch && r.Width == 0:
			return r.printStates(cmd.Context(), c, object)
		}
		return r.Live(cmd.Context(), watch, func(ctx context.Context) (string, bool, error) {
			report, err := w.report(ctx)
			if err != nil {
				return "", false, err
			}

			view := screen.View{Zone: zone, Width: r.Width, Lines: screen.MaxLines, Now: time.Now()}
			if watch {
				view.Lines = min(view.Lines, r.Height-1) // the last line has the cursor
			}
			return screen.Status(report, view), report.Over(), nil
		})
	})
}

// watcher reads an object again and again, with its pods and Events.
type watcher struct {
	*kube.Client
	object   client.Object
	events   []corev1.Event
	versions []string // of the object and of its pods
	logs     map[int32]string
	spark    *startup.Times // of the driver pod sparkPod
	sparkPod types.UID
}

// readCause searches the log for the cause as ReadCause of the client does, but reads the log of each attempt once.
// While the next attempt waits, the screen is shown again and again, and the log does not change.
func (w *watcher) readCause(ctx context.Context) {
	kube.FindCause(w.object, func() (string, error) {
		attempt := kube.OperatorStatus(w.object).Attempt
		if _, known := w.logs[attempt]; !known {
			log, _ := w.CauseLog(ctx, w.object) // without a log there is no cause
			if w.logs == nil {
				w.logs = map[int32]string{}
			}

			w.logs[attempt] = log
		}
		return w.logs[attempt], nil
	})
}

// report returns what the screen shows now. It reads the Events only if the object or its pods have changed, because a
// request for Events reads those of the whole namespace, which may have thousands.
func (w *watcher) report(ctx context.Context) (*screen.Report, error) {
	if w.versions != nil {
		live := kinds.Of(w.object).New()
		if err := w.Get(ctx, client.ObjectKeyFromObject(w.object), live); err != nil {
			return nil, w.Explain(err)
		}

		live.GetObjectKind().SetGroupVersionKind(kinds.Of(live).GroupVersionKind)
		w.object = live
	}

	pods, err := w.Pods(ctx, w.object)
	if err != nil {
		return nil, err
	}

	w.readCause(ctx)

	versions := []string{w.object.GetResourceVersion()}
	for i := range pods {
		versions = append(versions, pods[i].ResourceVersion)
	}

	if !slices.Equal(versions, w.versions) {
		if w.events, err = w.Events(ctx, w.object, pods); err != nil {
			return nil, err
		}
	}

	w.versions = versions
	report := screen.NewReport(time.Now(), w.object, pods, w.events)
	report.SparkStart = w.sparkStart(ctx, &report, pods)
	return &report, nil
}

// sparkPatience is how long Spark's REST API may take to answer.
const sparkPatience = 10 * time.Second

// sparkStart returns when Spark reached the steps of its start, or nil if that is unknown. It reads until the first
// task is known, and then once for each attempt.
func (w *watcher) sparkStart(ctx context.Context, r *screen.Report, pods []corev1.Pod) *startup.Times {
	driver := startup.Driver(&r.Summary, pods)
	if driver == nil {
		return nil
	}

	if w.spark == nil || w.spark.FirstTask.IsZero() || w.sparkPod != driver.UID {
		w.spark, _ = startup.Read(ctx, w.Client, driver, sparkPatience)
		w.sparkPod = driver.UID
	}
	return w.spark
}

// printStates prints a line for each state of an object until the object has ended.
func (r *verbs) printStates(ctx context.Context, c *kube.Client, object client.Object) error {
	err := c.Wait(ctx, object, kube.GoalEnded, func(s *kube.Summary) { selection.PrintState(r.Streams, s) })
	if exit.CodeOf(err) == exit.Failed { // the last line shows the failure
		return nil
	}
	return err
}

// outputUsage describes the flag -o of verbs that show one object.
const outputUsage = "output `format`: json or yaml"

// encode prints a value in the format json or yaml.
func (r *verbs) encode(value any, format string) error {
	text, err := screen.Encode(value, format)
	if err != nil {
		return err
	}

	_, err = r.Out.Write(text)
	return err
}
