package ledger

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/dialect/usage"
	"github.com/sparkoperator/spark-operator/internal/record/run"
)

// Account is what the runs of a group have used. Programs read it as JSON; docs/usage.md describes its fields.
type Account struct {
	Group  string `json:"group"`
	Runs   int    `json:"runs"`
	Failed int    `json:"failed"`
	statusv1.UsageSums
	Pending statusv1.UsagePending `json:"pending,omitzero"`
}

// groupings are the values of --by without a label, with the group of a run.
var groupings = map[string]func(*run.Record) string{
	"namespace": func(r *run.Record) string { return r.Namespace },
	"schedule": func(r *run.Record) string {
		if r.Schedule == "" {
			return ""
		}
		return r.Namespace + "/" + r.Schedule
	},
	"name": func(r *run.Record) string { return r.Namespace + "/" + r.Name },
}

// grouping returns the function for a value of --by.
func grouping(by string) (func(*run.Record) string, error) {
	if label, found := strings.CutPrefix(by, "label="); found && label != "" {
		return func(r *run.Record) string { return r.Labels[label] }, nil
	}

	if group, known := groupings[by]; known {
		return group, nil
	}
	return nil, selection.InvalidFlag("by", by, []string{"namespace", "label=KEY", "schedule", "name"})
}

func usageCommand(streams terminal.Streams) *cobra.Command {
	src := source{Streams: streams}
	var (
		all                         bool
		selector, since, by, output string
	)
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Add up what runs have requested and cost",
		Long: "Adds up the requests of the pods of applications, Connect servers and SparkClusters, multiplied by time: of custom\n" +
			"resources that exist, and of finished runs whose records were kept. Runs count as a whole if they ended within --since, or have not ended.\n" +
			"The page docs/usage.md describes what is counted.",
		Example: "  sparkctl usage -A --since 7d\n" +
			"  sparkctl usage -A --since 30d --by label=team -o csv\n" +
			"  sparkctl usage --by schedule --store s3://logs/spark",
		Args: cobra.NoArgs,
	}
	connect := selection.Connection(cmd.Flags(), streams.Err)
	flags := cmd.Flags()
	flags.BoolVarP(&all, "all-namespaces", "A", false, "add up the runs of all namespaces")
	flags.StringVarP(&selector, "selector", "l", "", "`labels` that the applications must have, as kubectl takes them")
	flags.StringVar(&since, "since", "", "leave out runs that ended before this `duration`, such as 7d; without it, nothing is left out")
	flags.StringVar(&by, "by", "namespace", "`group` of the rows: namespace, label=KEY, schedule or name")
	flags.StringVarP(&output, "output", "o", "", "output `format`: csv or json")
	src.addTo(flags)

	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		src.now = time.Now()

		group, err := grouping(by)
		if err != nil {
			return err
		}

		if !slices.Contains([]string{"", "csv", "json"}, output) {
			return selection.InvalidFlag("output", output, []string{"csv", "json"})
		}

		w := wanted{clusters: true}
		if w.selector, err = labels.Parse(selector); err != nil {
			return exit.Usagef("-l: %v", err)
		}

		if since != "" {
			length, valid := screen.Span(since)
			if !valid || length == 0 {
				return exit.Usagef("--since %q is no duration; write 7d, 12h or 1d12h", since)
			}

			w.since = src.now.Add(-length)
		}

		c, err := connect()
		if err != nil {
			return err
		}

		if !all {
			w.namespace = c.Namespace
		}

		runs, err := src.runs(cmd.Context(), c, w)
		if err != nil {
			return err
		}
		return src.printAccounts(accountsOf(runs, group), by, output)
	}
	return cmd
}

// accountsOf adds up runs by group, the most expensive group first. Without prices, CPU counts.
func accountsOf(runs []*run.Record, group func(*run.Record) string) []Account {
	byGroup := map[string]*Account{}
	for _, r := range runs {
		name := group(r)
		if byGroup[name] == nil {
			byGroup[name] = &Account{Group: name}
		}

		a := byGroup[name]
		a.Runs++

		if !slices.Contains([]string{"", "Succeeded", run.Deleted}, r.Outcome) {
			a.Failed++
		}

		a.UsageSums = usage.Plus(a.UsageSums, r.Usage)
		a.Pending.UnschedulableSeconds += r.Pending.UnschedulableSeconds
		a.Pending.ImagePullSeconds += r.Pending.ImagePullSeconds
		a.Pending.QuotaSeconds += r.Pending.QuotaSeconds
		a.Pending.QueueSeconds += r.Pending.QueueSeconds
	}

	accounts := make([]Account, 0, len(byGroup))
	for _, a := range byGroup {
		accounts = append(accounts, *a)
	}

	slices.SortFunc(accounts, func(a, b Account) int {
		return cmp.Or(cmp.Compare(b.CostNanos, a.CostNanos), cmp.Compare(b.CPUMillicoreSeconds, a.CPUMillicoreSeconds), cmp.Compare(a.Group, b.Group))
	})
	return accounts
}

// header returns the header of the first column.
func header(by string) string { return strings.ToUpper(strings.TrimPrefix(by, "label=")) }

func (s *source) printAccounts(accounts []Account, by, output string) error {
	switch output {
	case "json":
		text, err := screen.Encode(accounts, output)
		if err != nil {
			return err
		}
		return write(s.Out, string(text))
	case "csv":
		return s.printCSV(accounts, by)
	}

	if len(accounts) == 0 {
		fmt.Fprintln(s.Err, "nothing found")
		return nil
	}

	table := terminal.Table{Columns: []terminal.Column{
		{Header: header(by)}, {Header: "RUNS", Drop: 3}, {Header: "FAILED", Drop: 4}, {Header: "CORE-HOURS"}, {Header: "GIB-HOURS", Drop: 1}, {Header: "GPU-HOURS", Drop: 2},
		{Header: "COST"}, {Header: "WAITED", Drop: 5},
	}}
	for i := range accounts {
		a := &accounts[i]
		waited := a.Pending.UnschedulableSeconds + a.Pending.ImagePullSeconds + a.Pending.QuotaSeconds + a.Pending.QueueSeconds
		row := append([]string{cmp.Or(a.Group, "-"), strconv.Itoa(a.Runs), strconv.Itoa(a.Failed)}, amounts(a.UsageSums)...)
		table.Rows = append(table.Rows, append(row, screen.Short(time.Duration(waited)*time.Second)))
	}
	return write(s.Out, table.String(s.Width))
}

// printCSV prints numbers with full precision, for spreadsheets.
func (s *source) printCSV(accounts []Account, by string) error {
	out := csv.NewWriter(s.Out)
	number := func(n int64, unit float64) string { return strconv.FormatFloat(float64(n)/unit, 'f', -1, 64) }

	rows := [][]string{{
		strings.TrimPrefix(by, "label="), "runs", "failed", "core_seconds", "gib_seconds", "gpu_seconds", "cost",
		"unschedulable_seconds", "image_pull_seconds", "quota_seconds", "queue_seconds",
	}}
	for i := range accounts {
		a := &accounts[i]
		rows = append(rows, []string{
			a.Group, strconv.Itoa(a.Runs), strconv.Itoa(a.Failed), number(a.CPUMillicoreSeconds, 1000), number(a.MemoryMiBSeconds, 1024), number(a.GPUSeconds, 1), number(a.CostNanos, 1e9),
			number(a.Pending.UnschedulableSeconds, 1), number(a.Pending.ImagePullSeconds, 1), number(a.Pending.QuotaSeconds, 1), number(a.Pending.QueueSeconds, 1),
		})
	}
	return out.WriteAll(rows)
}
