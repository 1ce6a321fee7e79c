package configured

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	machine "github.com/sparkoperator/spark-operator/internal/lifecycle/schedule"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/standalone"
)

// TestResultOf checks that notices of ended runs and of runs that never started have a result for the metrics. It also
// checks that all other notices have no result; the start of a run is counted elsewhere.
func TestResultOf(t *testing.T) {
	for reason, want := range map[string]string{
		machine.ReasonCompleted: machine.ResultSucceeded,
		machine.ReasonFailed:    machine.ResultFailed,
		machine.ReasonReplaced:  machine.ResultReplaced,
		machine.ReasonRefused:   machine.ResultRefused,
		machine.ReasonMissed:    machine.ResultSkipped,
		machine.ReasonSkipped:   machine.ResultSkipped,
		machine.ReasonStarted:   "", machine.ReasonWaiting: "", machine.ReasonReplacing: "", machine.ReasonEdited: "",
		machine.ReasonValid:     "",
		machine.ReasonSuspended: "", machine.ReasonResumed: "", machine.ReasonClock: "", machine.ReasonTakenOver: "",
		lifecycle.ReasonInvalid: "",
	} {
		if got := (*schedules)(nil).RunResult(lifecycle.Notice{Part: lifecycle.ScheduledRun,
			Cause: lifecycle.Cause{Reason: reason}}); got != want {
			t.Errorf("%s counts as %q, want %q", reason, got, want)
		}
	}
}

// TestDueOf checks that dueOf includes the jitter that delays a run, so that the run does not count as late because of
// the jitter.
func TestDueOf(t *testing.T) {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		annotation string
		jitter     *int64
		next       time.Time
		want       time.Time
	}{
		"on time": {at.Format(time.RFC3339), nil, at, at},
		"with its jitter": {at.Format(time.RFC3339), new(int64(60)), at.Add(40 * time.Second),
			at.Add(40 * time.Second)},
		"next run is earlier":          {at.Format(time.RFC3339), new(int64(60)), at.Add(-time.Hour), at},
		"next run is later":            {at.Format(time.RFC3339), new(int64(60)), at.Add(time.Hour), at},
		"jitter removed from the spec": {at.Format(time.RFC3339), nil, at.Add(40 * time.Second), at},
		"no next run":                  {at.Format(time.RFC3339), new(int64(60)), time.Time{}, at},
		"requested run":                {"", new(int64(60)), at, time.Time{}},
		"invalid annotation":           {"noon", nil, at, time.Time{}},
	} {
		s := &v1beta2.ScheduledSparkApplication{}
		s.Spec.JitterSeconds, s.Status.NextRun = test.jitter, metav1.NewTime(test.next)

		run := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1beta2.ScheduledAtAnnotation: test.annotation}}}
		if got := (*schedules)(nil).RunDue(s, run); !got.Equal(test.want) {
			t.Errorf("%s: due at %s, want %s", name, got, test.want)
		}
	}
}

// TestKindsOutside checks that the operator watches a kind, and so needs rights for it, only if the configuration
// switches the kind on.
func TestKindsOutside(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*config.Configuration)
		want   int
	}{
		"by default": {func(*config.Configuration) {}, 0},
		"exposure":   {func(c *config.Configuration) { c.Exposure.Enabled = true }, 3},
		"exposure without spark.apache.org": {func(c *config.Configuration) {
			c.Exposure.Enabled,
				c.Apache.Enabled = true, new(false)
		}, 0},
		"Ingresses of web UIs": {func(c *config.Configuration) { c.UI.Ingress.Enabled = new(true) }, 1},
	} {
		cfg := config.Default()
		test.change(&cfg)

		if kinds := uiKinds(cfg); len(kinds) != test.want {
			t.Errorf("%s: %v", name, kinds)
		}
	}
}

// TestMasterClients checks that each value of the setting masterClients selects the clients that it names.
func TestMasterClients(t *testing.T) {
	for value, want := range map[string]string{
		"Drivers": standalone.SubmitterDrivers, "Namespace": standalone.SubmitterNamespace,
		"Anyone": standalone.SubmitterAnyone,
	} {
		cfg, err := config.Parse([]byte("apache: {clusters: {masterClients: " + value + "}}"))
		if err != nil {
			t.Fatal(err)
		}

		if got := clusterOptions(cfg).Submitters; got != want {
			t.Errorf("%s selects %q, want %q", value, got, want)
		}
	}
}

func TestDialectOptionsFollowTheConfiguration(t *testing.T) {
	cfg, err := config.Parse([]byte(`
application:
  maxTrackedExecutorPerApp: 5
  defaultTimeToLiveSeconds: 60
  driverPodCreationGracePeriod: 3s
  timeouts: {driverStartSeconds: 1, driverReadySeconds: 2, executorsStartSeconds: 3, runSeconds: 4}
  kubernetesMaster: k8s://https://10.0.0.1
`))
	if err != nil {
		t.Fatal(err)
	}

	got := dialectOptions(cfg)

	wantLimits := lifecycle.Deadlines{DriverStart: time.Second, DriverReady: 2 * time.Second,
		ExecutorsStart: 3 * time.Second, Run: 4 * time.Second}
	if got.MaxTrackedExecutors != 5 || got.DefaultTTL != time.Minute || got.MissingGrace != 3*time.Second ||
		got.Master != "k8s://https://10.0.0.1" || got.Limits != wantLimits {
		t.Errorf("%+v", got)
	}
}

// TestEveryKindIsServed checks that each kind of the list can be served.
func TestEveryKindIsServed(t *testing.T) {
	if len(All) != len(kinds.All) {
		t.Errorf("%d kinds can be served, but there are %d", len(All), len(kinds.All))
	}

	for i, served := range All {
		if served.Kind != kinds.All[i] {
			t.Errorf("the %d. kind is %s, want %s", i, served.Name, kinds.All[i].Name)
		}
	}
}
