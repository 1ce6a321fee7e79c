package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sparkoperator/spark-operator/bench/report"
)

// Size is the amount of work of each scenario in a plan.
type Size struct {
	// Scenarios lists the scenarios of the plan. An empty list means all.
	Scenarios []string
	// AtOnce is the number of scenarios that run at the same time. Above 1, the scenarios disturb each other, and the
	// measurements are meaningless.
	AtOnce int
	// Quiet is how long a program must be idle after a load. It is longer than the operator's debounce, so that all
	// writes count.
	Quiet time.Duration
	// CalmLimit is the longest wait for a calm control plane before a load. If it is 0, the bench does not wait. Ease
	// is the pause between a forced garbage collection and the reading of a program's memory.
	CalmLimit, Ease time.Duration

	// Burst and Lives are the numbers of applications in the scenarios with these names.
	Burst, Lives int
	// Apache is the number of applications of spark.apache.org in the scenario apache.
	Apache int
	// Order is the sequence of programs in the scenario lives: o is the operator, and p is the plain program. With the
	// order "oppo", a machine that steadily becomes slower or faster affects both programs alike.
	Order string
	// Half is the duration of the measurement at half of the operator's rate. If it is 0, this measurement is omitted.
	Half   time.Duration
	Levels [3]int // live applications at each level of the scenario standing
	// Probe and Pressing are the numbers of applications that measureBeside creates: of short applications, and of
	// applications at full rate.
	Probe, Pressing int
	Finished        int // applications in the scenario finished
	Failovers       int // kills of the leader
	Deleted         int // applications in the scenario deletion
	// HostilePods and HostileMaps are the numbers of unrelated pods and large ConfigMaps in the scenario hostile.
	// HostileStarts is the number of operators that it starts one after the other, and HostileProbe is the number of
	// applications that each of them manages.
	HostilePods, HostileMaps    int
	HostileStarts, HostileProbe int
	Crowd                       int // applications that wait in the scenario fairness
	Schedules                   int
	// ScheduleRoom is the minimum time for creating the schedules before they are due.
	ScheduleRoom time.Duration
	// Logs is the number of applications of each load in the scenario logs. LogOrder is the sequence of operators: w
	// keeps no logs, s keeps them in S3, and c in ConfigMaps.
	Logs     int
	LogOrder string
	// Creations is the number of applications that 16 clients create in the scenario creations. CreationOrder is the
	// sequence of its cases: w is with the webhook, and n is without it.
	Creations     int
	CreationOrder string
	BenchTime     string // the option -benchtime of go test
	// Sparks lists the versions whose spark-submit is measured, and Submits is the number of submissions of each.
	Sparks  []string
	Submits int
}

// Plans holds the sizes by the name of the plan. The bounds apply to the full plan. The quick plan is small enough to
// run for each change. The tiny plan only shows that every scenario can be measured.
var Plans = map[string]Size{
	"full": {
		AtOnce: 1, Quiet: 11 * time.Second, CalmLimit: 3 * time.Minute, Ease: 5 * time.Second,
		Burst: 200, Lives: 400, Apache: 20, Order: "oppo", Half: time.Minute, Levels: [3]int{100, 1000, 10000}, Probe: 100, Pressing: 200,
		Finished: 10000, Failovers: 3, Deleted: 1000, HostilePods: 50000, HostileMaps: 1000, HostileStarts: 3, HostileProbe: 20, Crowd: 5000,
		Schedules: 1000, ScheduleRoom: 30 * time.Second, Logs: 100, LogOrder: "wscscw", Creations: 1000, CreationOrder: "nwwnnwwn", BenchTime: "1s", Submits: 3,
		Sparks: []string{"3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0"},
	},
	"quick": {
		Scenarios: []string{"lives"},
		AtOnce:    1, Quiet: 5 * time.Second, CalmLimit: 10 * time.Second, Lives: 60, Order: "op",
	},
	"tiny": {
		AtOnce: 4, Quiet: time.Second, Ease: time.Second,
		Burst: 5, Lives: 6, Apache: 4, Order: "op", Half: 3 * time.Second, Levels: [3]int{3, 6, 9}, Probe: 4, Pressing: 5,
		Finished: 10, Failovers: 1, Deleted: 10, HostilePods: 50, HostileMaps: 5, HostileStarts: 1, HostileProbe: 3, Crowd: 100,
		Schedules: 5, ScheduleRoom: 5 * time.Second, Logs: 3, LogOrder: "wsc", Creations: 8, CreationOrder: "nw", BenchTime: "1x", Submits: 1,
	},
}

// scenarios lists all scenarios in order. A scenario that is marked bare gets no control plane, because it needs none
// and a running control plane would disturb its measurements.
var scenarios = []struct {
	name  string
	bare  bool
	limit time.Duration
	do    func(*rig)
}{
	{"micro", true, 15 * time.Minute, (*rig).micro},
	{"burst", false, 15 * time.Minute, (*rig).burst},
	{"lives", false, 25 * time.Minute, (*rig).lives},
	{"apache", false, 10 * time.Minute, (*rig).apache},
	{"standing", false, 45 * time.Minute, (*rig).standing},
	{"finished", false, 45 * time.Minute, (*rig).finished},
	{"failover", false, 10 * time.Minute, (*rig).failover},
	{"deletion", false, 15 * time.Minute, (*rig).deletion},
	{"fairness", false, 15 * time.Minute, (*rig).fairness},
	{"hostile", false, 20 * time.Minute, (*rig).hostile},
	{"schedules", false, 10 * time.Minute, (*rig).schedules},
	{"logs", false, 45 * time.Minute, (*rig).logs},
	{"creations", false, 20 * time.Minute, (*rig).creations},
}

// Run runs the named scenarios of a plan, or all. If a scenario fails, the others still run. All errors are returned.
func Run(ctx context.Context, size Size, only []string, b Binaries, run *report.Run, commit string, out io.Writer) error {
	var group errgroup.Group
	group.SetLimit(size.AtOnce)

	errs := make([]error, len(scenarios))
	for i, s := range scenarios {
		if len(size.Scenarios) > 0 && !slices.Contains(size.Scenarios, s.name) || len(only) > 0 && !slices.Contains(only, s.name) {
			continue
		}

		group.Go(func() error {
			step := report.Step{Name: s.name, Began: time.Now().UTC().Round(time.Second), Commit: commit}

			r := &rig{Size: size, run: run, name: s.name}
			if err := r.play(ctx, s.limit, s.bare, b, s.do, out); err != nil {
				step.Error, errs[i] = err.Error(), fmt.Errorf("scenario %s: %w", s.name, err)
			}

			step.Took = time.Since(step.Began).Round(time.Second).String()
			fmt.Fprintf(out, "--- %s took %s\n", s.name, step.Took)
			run.AddStep(step)
			return nil
		})
	}
	return errors.Join(group.Wait(), errors.Join(errs...))
}
