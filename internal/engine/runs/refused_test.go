package runs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	machine "github.com/sparkoperator/spark-operator/internal/lifecycle/schedule"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// refusingDeletions returns a change of an environment: the API server refuses to delete runs, as an admission webhook
// makes it do. The number counts the refused requests.
func refusingDeletions(t *testing.T, answers *atomic.Int32) func(*operator.Environment) {
	t.Helper()

	status := apierrors.NewForbidden(schema.GroupResource{Group: v1beta2.GroupVersion.Group, Resource: "sparkapplications"}, "run",
		errors.New("admission webhook \"keep.example.com\" denied the request: runs are kept")).Status()

	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}

	body, err := json.Marshal(&status)
	if err != nil {
		t.Fatal(err)
	}

	return func(env *operator.Environment) {
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return world.RoundTrip(func(request *http.Request) (*http.Response, error) {
				if request.Method != http.MethodDelete || !strings.Contains(request.URL.Path, "/sparkapplications/") {
					return next.RoundTrip(request)
				}

				answers.Add(1)
				return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}},
					Body: io.NopCloser(bytes.NewReader(body)), Request: request}, nil
			})
		})
	}
}

// TestRefusedDeletionRefusesNoRun checks that the refused deletion of a run is reported and repeated, and that it does
// not count as the rejection of the run that is due. That run was reported as refused (RunRefused), and waited for its
// retry after the active run had ended.
func TestRefusedDeletionRefusesNoRun(t *testing.T) {
	t.Parallel()

	for name, change := range map[string]func(*schedule){
		"an active run that is replaced":  replacing,
		"an ended run beyond the history": forbid,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w, answers := world.New(t), &atomic.Int32{}
			runSchedules(w, time.Now, refusingDeletions(t, answers))
			s := w.Schedule("nightly", scene.Seldom, change, keeps(0, 0))

			active := startRequestedRun(w, s, "one")
			if s.Spec.ConcurrencyPolicy == v1beta2.ConcurrencyForbid {
				succeedRun(w, active)

				active = startRequestedRun(w, s, "two")
			}

			due := requestRun(w, s, "due")
			w.WaitSchedule("nightly", "the wait for the active run", func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
				return s.Operator != nil && s.Operator.Cause != nil && strings.Contains(s.Operator.Cause.Message, active)
			})

			seen := answers.Load()
			kit.Wait(t, "the deletion to be repeated and reported", func(context.Context) error {
				if events := fmt.Sprint(w.EventsOf(s)); answers.Load() < seen+2 || !strings.Contains(events, "runs are kept") {
					return fmt.Errorf("%d deletions, events %s", answers.Load()-seen, events)
				}
				return nil
			})

			if events := w.EventsOf(s); events[machine.ReasonRefused] != "" {
				t.Errorf("the run that is due was refused: %v", events)
			}

			succeedRun(w, active)

			status := w.WaitSchedule("nightly", "the run that is due", lastRun(due)).Status
			if status.Operator.WaitingRequest != nil || !slices.Contains(w.RunsOf(s), due) {
				t.Errorf("status %+v", status.Operator)
			}
		})
	}
}
