package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/record/run"
)

// maxRuns is the number of runs that the verbs runs and advise compare.
const maxRuns = 30

// ofGroup adds the flags of a verb about the runs of a schedule or an application, and reads these runs.
func ofGroup(cmd *cobra.Command, src *source, show func(ctx context.Context, c *kube.Client, argument string, runs []*run.Record) error) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	connect := selection.Connection(cmd.Flags(), src.Err)
	cmd.ValidArgsFunction = selection.CompleteNames(connect)
	src.addTo(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		src.now = time.Now()

		c, err := connect()
		if err != nil {
			return err
		}

		runs, err := src.lastRuns(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		return show(cmd.Context(), c, args[0], runs)
	}
	return cmd
}

// LastRuns returns the last runs of a schedule, or of the applications with the name of an application, the last one
// first: those that exist, of which the caller gives the custom resources, and those whose records were kept in
// ConfigMaps or, if its URL is given, in an object store. The notes say what could not be read.
func LastRuns(ctx context.Context, c *kube.Client, object client.Object, existing []client.Object, store string, now time.Time) (runs []*run.Record, notes []string, err error) {
	src := source{store: store, now: now}
	runs, notes, err = src.with(ctx, c, wanted{namespace: object.GetNamespace(), group: object.GetName(), last: maxRuns}, existing, nil)
	return runs[:min(len(runs), maxRuns)], notes, err
}

// lastRuns returns the last runs of a schedule or of a name, the last one first.
func (s *source) lastRuns(ctx context.Context, c *kube.Client, argument string) ([]*run.Record, error) {
	name := argument[strings.LastIndexByte(argument, '/')+1:]

	runs, err := s.runs(ctx, c, wanted{namespace: c.Namespace, group: name, last: maxRuns})
	if err != nil {
		return nil, err
	}

	if len(runs) == 0 {
		return nil, exit.Errorf(exit.Cluster, "no run of %q in namespace %s is known; name a schedule or an application, and set --store if the operator keeps records in an object store", name, c.Namespace)
	}
	return runs[:min(len(runs), maxRuns)], nil
}

func runsCommand(streams terminal.Streams) *cobra.Command {
	src := &source{Streams: streams}
	var zone screen.Zone
	var output string
	cmd := &cobra.Command{
		Use:   "runs NAME",
		Short: "Compare the last runs of a schedule or of an application",
		Long: "Compares the last 30 runs of a schedule or of all applications with a name: those that exist, and those whose records were\n" +
			"kept. The page docs/usage.md says how to keep records.",
		Example: "  sparkctl runs nightly\n" +
			"  sparkctl runs nightly --store s3://logs/spark -o json",
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output `format`: json")
	zone.AddTo(cmd.Flags())
	return ofGroup(cmd, src, func(_ context.Context, _ *kube.Client, _ string, runs []*run.Record) error {
		switch output {
		case "":
			return write(src.Out, src.compare(runs, zone))
		case "json":
			text, err := screen.Encode(runs, output)
			if err != nil {
				return err
			}
			return write(src.Out, string(text))
		}
		return selection.InvalidFlag("output", output, []string{"json"})
	})
}

// compare returns a table of runs, and a line that shows how their durations have changed.
func (s *source) compare(runs []*run.Record, zone screen.Zone) string {
	table := terminal.Table{Columns: []terminal.Column{
		{Header: "NAME", Drop: 6}, {Header: "START"}, {Header: "OUTCOME"}, {Header: "REASON", Drop: 4}, {Header: "ATTEMPTS", Drop: 3}, {Header: "DURATION"}, {Header: "EXECUTORS", Drop: 7},
		{Header: "CORE-HOURS", Drop: 1}, {Header: "GIB-HOURS", Drop: 2}, {Header: "GPU-HOURS", Drop: 8}, {Header: "COST", Drop: 5},
	}}

	durations := make([]float64, 0, len(runs))
	for _, r := range runs {
		duration := r.Duration(s.now)
		row := []string{
			r.Name, zone.Time(r.Started), cmp.Or(r.Outcome, "running"), cmp.Or(r.Reason, "-"), strconv.Itoa(int(r.Attempts)), screen.Short(duration), strconv.Itoa(int(r.PeakExecutors)),
		}
		table.Rows = append(table.Rows, append(row, amounts(r.Usage)...))
		durations = append(durations, duration.Seconds())
	}

	slices.Reverse(durations)
	return table.String(s.Width) + fmt.Sprintf("durations, oldest first: %s\n", sparkline(durations))
}

// bars are the heights of a sparkline.
const bars = "▁▂▃▄▅▆▇█"

// sparkline returns a bar for each value; the highest one is the largest value.
func sparkline(values []float64) string {
	most, heights := max(slices.Max(values), 1e-9), []rune(bars)

	var b strings.Builder
	for _, value := range values {
		b.WriteRune(heights[min(max(int(value/most*float64(len(heights))), 0), len(heights)-1)])
	}
	return b.String()
}
