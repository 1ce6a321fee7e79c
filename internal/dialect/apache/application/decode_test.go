package application

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestDefaults checks that an application without settings gets the defaults of the Apache Spark project's operator.
func TestDefaults(t *testing.T) {
	want := lifecycle.App{
		UID: "11111111-2222-4333-8444-555555555555",
		Restart: lifecycle.Restart{Policy: lifecycle.Never,
			Limits: &lifecycle.RestartLimits{MaxRestarts: 3, Backoff: 30 * time.Second}},
		Deadlines: lifecycle.Deadlines{DriverStart: 5 * time.Minute, DriverReady: 5 * time.Minute,
			ExecutorsStart: 5 * time.Minute, RestartAtScaling: true},
		InitialExecutors: 2, MinExecutors: 2, MissingGrace: 10 * time.Second, Thresholds: &lifecycle.Thresholds{},
		EnterMissedPhases: true,
		Retain:            lifecycle.Retention{Policy: lifecycle.RetainNever}, ForceAfter: 5 * time.Minute,
		CleanupInterval: 2 * time.Second,
	}
	for name, change := range map[string]func(*sparkv1.SparkApplication){
		"none":  func(*sparkv1.SparkApplication) {},
		"empty": tolerating(sparkv1.ApplicationTolerations{}),
		"the defaults of the definition": tolerating(sparkv1.ApplicationTolerations{RestartConfig: &sparkv1.RestartConfig{RestartCounterResetMillis: new(int64(-1))},
			ResourceRetainDurationMillis: new(int64(-1)), TTLAfterStopMillis: new(int64(-1))}),
	} {
		if diff := cmp.Diff(want, trimmed.app(pi(change))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestTolerations checks that applicationTolerations are converted to the state machine's input.
func TestTolerations(t *testing.T) {
	millis := func(n int64) *int64 { return &n }
	seconds := func(n int) *time.Duration { return new(time.Duration(n) * time.Second) }

	const ever = time.Duration(math.MaxInt64/int64(time.Millisecond)) * time.Millisecond
	for _, c := range []struct {
		name string
		t    sparkv1.ApplicationTolerations
		want func(*lifecycle.App)
	}{
		{"a server that is restarted for ever",
			sparkv1.ApplicationTolerations{RestartConfig: &sparkv1.RestartConfig{RestartPolicy: sparkv1.RestartAlways,
				MaxRestartAttempts: millis(math.MaxInt64)}},
			func(a *lifecycle.App) {
				a.Restart.Policy, a.Restart.Limits.MaxRestarts = lifecycle.Always, math.MaxInt64
			}},
		{"on failure",
			sparkv1.ApplicationTolerations{RestartConfig: &sparkv1.RestartConfig{RestartPolicy: sparkv1.RestartOnFailure, MaxRestartOnFailure: millis(2),
				MaxRestartOnSchedulingFailure: millis(0), RestartCounterResetMillis: millis(60_000),
				RestartBackoffMillis:           millis(1),
				RestartBackoffMillisForFailure: millis(2000), RestartBackoffMillisForSchedulingFailure: millis(-5)}},
			func(a *lifecycle.App) {
				a.Restart = lifecycle.Restart{Policy: lifecycle.OnFailure,
					Limits: &lifecycle.RestartLimits{MaxRestarts: 3, MaxFailures: millis(2), MaxRejections: millis(0),
						Backoff: time.Millisecond, FailureBackoff: seconds(2), RejectionBackoff: seconds(0),
						ResetAfter: seconds(60)}}
			}},
		{"on infrastructure failure",
			sparkv1.ApplicationTolerations{RestartConfig: &sparkv1.RestartConfig{RestartPolicy: sparkv1.RestartOnInfrastructureFailure}},
			func(a *lifecycle.App) { a.Restart.Policy = lifecycle.OnInfrastructureFailure }},
		{"timeouts that are off",
			sparkv1.ApplicationTolerations{ApplicationTimeoutConfig: &sparkv1.ApplicationTimeoutConfig{DriverStartTimeoutMillis: millis(0), DriverReadyTimeoutMillis: millis(-1),
				ExecutorStartTimeoutMillis: millis(math.MinInt64), ForceTerminationGracePeriodMillis: millis(0),
				TerminationRequeuePeriodMillis: millis(1)}},
			func(a *lifecycle.App) {
				a.Deadlines, a.ForceAfter, a.CleanupInterval = lifecycle.Deadlines{RestartAtScaling: true}, 0,
					time.Second
			}},
		{"timeouts beyond what a duration can hold",
			sparkv1.ApplicationTolerations{ApplicationTimeoutConfig: &sparkv1.ApplicationTimeoutConfig{DriverStartTimeoutMillis: millis(math.MaxInt64),
				ForceTerminationGracePeriodMillis: millis(500), TerminationRequeuePeriodMillis: millis(30_000)}},
			func(a *lifecycle.App) {
				a.Deadlines.DriverStart, a.ForceAfter, a.CleanupInterval = ever, 500*time.Millisecond, 30*time.Second
			}},
		{"thresholds",
			sparkv1.ApplicationTolerations{InstanceConfig: &sparkv1.InstanceConfig{InitExecutors: millis(3),
				MinExecutors: millis(-1), MaxExecutors: millis(math.MaxInt64)}},
			func(a *lifecycle.App) { a.Thresholds = &lifecycle.Thresholds{Init: 3, Max: math.MaxInt32} }},
		{"retained for ever", sparkv1.ApplicationTolerations{ResourceRetainPolicy: sparkv1.RetainAlways},
			func(a *lifecycle.App) { a.Retain = lifecycle.Retention{Policy: lifecycle.RetainAlways} }},
		{"retained for a while", sparkv1.ApplicationTolerations{ResourceRetainPolicy: sparkv1.RetainOnFailure,
			ResourceRetainDurationMillis: millis(9000)},
			func(a *lifecycle.App) {
				a.Retain = lifecycle.Retention{Policy: lifecycle.RetainOnFailure, For: seconds(9)}
			}},
		{"retained no longer than the application",
			sparkv1.ApplicationTolerations{ResourceRetainPolicy: sparkv1.RetainAlways,
				ResourceRetainDurationMillis: millis(9000), TTLAfterStopMillis: millis(5000)},
			func(a *lifecycle.App) {
				a.Retain, a.TTL = lifecycle.Retention{Policy: lifecycle.RetainAlways, For: seconds(5)}, seconds(5)
			}},
		{"retained for a shorter time than the application",
			sparkv1.ApplicationTolerations{ResourceRetainPolicy: sparkv1.RetainAlways,
				ResourceRetainDurationMillis: millis(4000), TTLAfterStopMillis: millis(5000)},
			func(a *lifecycle.App) {
				a.Retain, a.TTL = lifecycle.Retention{Policy: lifecycle.RetainAlways, For: seconds(4)}, seconds(5)
			}},
		{"deleted at once", sparkv1.ApplicationTolerations{TTLAfterStopMillis: millis(0)},
			func(a *lifecycle.App) { a.Retain.For, a.TTL = seconds(0), seconds(0) }},
	} {
		want := trimmed.app(pi())
		c.want(&want)

		if diff := cmp.Diff(want, trimmed.app(pi(tolerating(c.t)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestExecutorsWanted checks that the operator derives the number of requested executors from spec.sparkConf alone, and
// that it interprets the values as Spark does. A value that is not an int32 counts as not set. Such a driver fails, and
// until then the operator must not wait for two billion executors.
func TestExecutorsWanted(t *testing.T) {
	type conf = map[string]string

	const instances, enabled, first, atLeast, master = "spark.executor.instances", "spark.dynamicAllocation.enabled",
		"spark.dynamicAllocation.initialExecutors",
		"spark.dynamicAllocation.minExecutors", "spark.kubernetes.driver.master"
	for _, c := range []struct {
		conf           conf
		initial, least int32
		dynamic        bool
	}{
		{conf{}, 2, 2, false},
		{conf{instances: " 5 "}, 5, 5, false},
		{conf{instances: "many"}, 2, 2, false},
		{conf{instances: "-1"}, 0, 0, false},
		{conf{instances: "0"}, 0, 0, false},
		{conf{instances: ""}, 2, 2, false},
		{conf{instances: "2.5"}, 2, 2, false},
		{conf{instances: "2147483647"}, math.MaxInt32, math.MaxInt32, false},
		{conf{instances: "2147483648"}, 2, 2, false},
		{conf{instances: "-9999999999"}, 2, 2, false},
		{conf{enabled: "TRUE", atLeast: "1"}, 1, 1, true},
		{conf{enabled: "true", first: "4", instances: "3"}, 4, 0, true},
		{conf{enabled: "true", first: "4", atLeast: "3", instances: "5"}, 5, 3, true},
		{conf{enabled: "true", first: "99999999999", atLeast: "3"}, 3, 3, true},
		{conf{enabled: "true", atLeast: "99999999999"}, 0, 0, true},
		{conf{enabled: "true", first: "-4", atLeast: "-3"}, 0, 0, true},
		{conf{enabled: "false", first: "9", instances: "5"}, 5, 5, false},
		{conf{enabled: "yes"}, 2, 2, false},
		{conf{master: "local[1]"}, 0, 0, false},
		{conf{master: "https://localhost:6443", instances: "5"}, 5, 5, false},
		{conf{"spark.master": "local", enabled: "true", atLeast: "3"}, 0, 0, true},
		{conf{"spark.master": "spark://cluster-master-svc:7077", instances: "3"}, 0, 0, false},
		{conf{"spark.master": "k8s://https://kubernetes.default"}, 2, 2, false},
	} {
		app := trimmed.app(pi(func(a *sparkv1.SparkApplication) { a.Spec.SparkConf = c.conf }))
		if app.InitialExecutors != c.initial || app.MinExecutors != c.least || app.Thresholds.Dynamic != c.dynamic {
			t.Errorf("%v: %d, %d, dynamic %v; want %d, %d, %v", c.conf, app.InitialExecutors, app.MinExecutors,
				app.Thresholds.Dynamic, c.initial, c.least, c.dynamic)
		}
	}
}

// TestOptionsAndDeletion checks that the operator's configuration and the application's deletion timestamp are part of
// the state machine's input.
func TestOptionsAndDeletion(t *testing.T) {
	a := Applications{Options{Run: time.Hour, MissingGrace: time.Second}}
	for generation, want := range map[int64]bool{1: false, 2: true} {
		if got := a.app(pi(func(app *sparkv1.SparkApplication) { app.Generation = generation })).Edited; got != want {
			t.Errorf("generation %d is read as edited: %t", generation, got)
		}
	}

	got := a.app(pi(func(app *sparkv1.SparkApplication) {
		app.DeletionTimestamp, app.Finalizers = new(metav1.NewTime(t0)), []string{metav1.FinalizerOrphanDependents}
	}))
	if !got.Deleting || !got.Orphan || !got.DeletedAt.Equal(t0) || got.Deadlines.Run != time.Hour ||
		got.MissingGrace != time.Second || got.SpecHash != "" {
		t.Errorf("read %+v", got)
	}
}

// TestUnknownPoliciesDoNothing checks that a policy that this version does not know neither restarts an application nor
// keeps its objects. The definition rejects such a value, but an older definition may be in the cluster.
func TestUnknownPoliciesDoNothing(t *testing.T) {
	for _, text := range []string{"", "never", "always", "Sometimes"} {
		if got := restart(&sparkv1.RestartConfig{RestartPolicy: sparkv1.RestartPolicy(text)}).Policy; got != lifecycle.Never {
			t.Errorf("the restart policy %q is read as %s", text, got)
		}

		if got := retention(sparkv1.ApplicationTolerations{ResourceRetainPolicy: sparkv1.ResourceRetainPolicy(text)}, false).Policy; got != lifecycle.RetainNever {
			t.Errorf("the retain policy %q is read as %s", text, got)
		}
	}
}

// TestReadingTolerationsDoesNotChangeThem checks that the parts of tolerations that are nil stay nil in the spec.
func TestReadingTolerationsDoesNotChangeThem(t *testing.T) {
	for _, app := range []*sparkv1.SparkApplication{pi(), pi(tolerating(sparkv1.ApplicationTolerations{})),
		pi(tolerating(sparkv1.ApplicationTolerations{RestartConfig: &sparkv1.RestartConfig{MaxRestartAttempts: new(int64(1))}}))} {
		before := app.DeepCopy()
		decoded := trimmed.app(app)
		*decoded.Thresholds, decoded.Restart.Limits.MaxRestarts = lifecycle.Thresholds{Init: 9}, 9

		if diff := cmp.Diff(before, app); diff != "" {
			t.Errorf("the application is changed:\n%s", diff)
		}
	}
}

// FuzzDurations checks the durations that a number of milliseconds stands for. They must be neither negative nor too
// large for the type.
func FuzzDurations(f *testing.F) {
	for _, n := range []int64{0, 1, -1, 999, math.MaxInt64, math.MinInt64, math.MaxInt64 / 1_000_000,
		math.MaxInt64/1_000_000 + 1} {
		f.Add(n)
	}

	f.Fuzz(func(t *testing.T, n int64) {
		stage, pause, kept, again := stageTimeout(&n, time.Hour), *interval(&n), duration(&n), cleanAgain(&n)
		if n < 0 {
			if stage != 0 || pause != 0 || kept != nil || again != time.Second {
				t.Errorf("%d ms: %s, %s, %v, %s", n, stage, pause, kept, again)
			}
			return
		}

		want := time.Duration(math.MaxInt64) - 775807 // 292 years in whole milliseconds
		if n <= 9_223_372_036_854 {
			want = time.Duration(n) * time.Millisecond
		}

		if kept == nil {
			t.Fatalf("%d ms: kept forever", n)
		}

		if stage != want || pause != want || *kept != want || again != max(want, time.Second) {
			t.Errorf("%d ms: %s, %s, %s, %s; want %s", n, stage, pause, *kept, again, want)
		}
	})
}
