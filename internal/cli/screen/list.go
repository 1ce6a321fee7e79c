package screen

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// listVerb holds the flags of the verb list.
type listVerb struct {
	terminal.Streams
	all, watch       bool
	selector, output string
	kinds, states    []string
	sortBy           string
	newer, older     time.Duration
	zone             Zone
}

// ListCommand returns the verb list.
func ListCommand(streams terminal.Streams) *cobra.Command {
	r := &listVerb{Streams: streams}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls", "get"},
		Short:   "List applications, schedules, Connect servers and clusters",
		Long: "Lists the custom resources of all five kinds in one table. The column STATE has the state in the words of the kind's API,\n" +
			"RESULT what the states of all kinds have in common: pending, running, succeeded, failed or suspended. START, END and\n" +
			"DURATION are those of the current or last attempt.\n\n" +
			"Kinds that the cluster does not have are left out.",
		Example: "  sparkctl list -A\n" +
			"  sparkctl list --watch\n" +
			"  sparkctl list --state failed --newer 24h -l team=data\n" +
			"  sparkctl list --sort-by duration\n" +
			"  sparkctl list -A --sort-by cost\n" +
			"  sparkctl list --kind app,apache-app -o name\n" +
			"  sparkctl list -o custom-columns=NAME:.metadata.name,CORES:.spec.driver.cores",
		Args: cobra.NoArgs,
	}
	connect := selection.Connection(cmd.Flags(), r.Err)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		query, err := r.check()
		if err != nil {
			return err
		}

		c, err := connect()
		if err != nil {
			return err
		}

		if !r.all {
			query.Namespace = c.Namespace
		}
		return r.list(cmd, c, query)
	}
	flags := cmd.Flags()
	flags.BoolVarP(&r.all, "all-namespaces", "A", false, "list the objects of all namespaces")
	flags.StringVarP(&r.selector, "selector", "l", "", "`labels` that the objects must have, as kubectl takes them")
	flags.StringVarP(&r.output, "output", "o", "", "output `format`: "+formats)
	flags.StringSliceVar(&r.kinds, "kind", nil, "`kinds` to list: "+strings.Join(kinds.Names(), ", "))
	flags.StringSliceVar(&r.states, "state", nil, "`results` or states to list, such as failed or RUNNING")
	flags.BoolVarP(&r.watch, "watch", "w", false, "print each change after the list, until Ctrl-C")
	flags.StringVar(&r.sortBy, "sort-by", "name", "`order` of the rows: "+strings.Join(orderNames, ", "))
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "sort" { // its name in earlier versions
			name = "sort-by"
		}
		return pflag.NormalizedName(name)
	})
	r.zone.AddTo(flags)
	flags.DurationVar(&r.newer, "newer", 0, "list only objects that were created within this `duration`")
	flags.DurationVar(&r.older, "older", 0, "list only objects that were created before this `duration`")
	return cmd
}

func (r *listVerb) list(cmd *cobra.Command, c *kube.Client, query kube.Query) error {
	objects, notes, err := c.List(cmd.Context(), query)
	if err != nil {
		return err
	}

	for _, note := range notes {
		fmt.Fprintln(r.Err, terminal.Wrap("note: ", note, r.Width))
	}

	rows := make([]listed, 0, len(objects))
	for _, object := range objects {
		if row := (listed{object, kube.Summarize(object)}); r.shows(&row.Summary) {
			rows = append(rows, row)
		}
	}

	now, order := time.Now(), orders[slices.Index(orderNames, r.sortBy)]
	slices.SortStableFunc(rows, func(a, b listed) int { return order(&a.Summary, &b.Summary, now) })

	if err := r.printList(rows); err != nil || !r.watch {
		return err
	}

	var layout *terminal.Layout
	if len(rows) > 0 {
		table := r.table()
		for i := range rows {
			table.Rows = append(table.Rows, r.cells(&rows[i].Summary))
		}

		layout = table.Layout(r.Width)
	}
	return c.Changes(cmd.Context(), query, objects, func(change kube.Change) { layout = r.printChange(change, layout) })
}

// check checks the flags, and converts those for kinds and labels into a query to the cluster. It sends no request.
func (r *listVerb) check() (query kube.Query, err error) {
	switch {
	case r.watch && r.output != "" && r.output != "wide" && r.output != "name":
		return query, exit.Usagef("--watch: the formats are: wide, name")
	case !slices.Contains(orderNames, r.sortBy):
		return query, selection.InvalidFlag("sort-by", r.sortBy, orderNames)
	}

	if r.output != "" && r.output != "wide" && r.output != "name" {
		if err := (&listVerb{Streams: terminal.Streams{Out: io.Discard}}).printObjects(nil, r.output); err != nil {
			return query, err // of the format, because there is no object
		}
	}

	if query.Selector, err = labels.Parse(r.selector); err != nil {
		return query, exit.Usagef("-l: %v", err)
	}

	for _, name := range r.kinds {
		kind, err := kinds.Named(name)
		if err != nil {
			return query, exit.Usagef("--kind: %v", err)
		}

		query.Kinds = append(query.Kinds, kind)
	}

	for _, state := range r.states {
		if !slices.ContainsFunc(states(), func(known string) bool { return strings.EqualFold(known, state) }) {
			return query, selection.InvalidFlag("state", state, states())
		}
	}
	return query, nil
}

// Results returns what the states of all kinds have in common (kube.Result).
func Results() []string {
	return []string{string(kube.Pending), string(kube.Running), string(kube.Succeeded), string(kube.Failed), string(kube.Suspended)}
}

// states returns the results and the states of all kinds, which the flag --state of the verb list takes.
func states() []string {
	return append(Results(), strings.Fields(`New
		SUBMITTED RUNNING COMPLETED FAILED SUBMISSION_FAILED PENDING_RERUN INVALIDATING SUCCEEDING FAILING SUSPENDING SUSPENDED RESUMING UNKNOWN
		Validating Scheduled FailedValidation Provisioning Ready NotReady Failed Submitted ScheduledToRestart DriverRequested DriverStarted
		DriverReady InitializedBelowThresholdExecutors RunningHealthy RunningWithPartialCapacity RunningWithBelowThresholdExecutors
		DriverStartTimedOut ExecutorsStartTimedOut DriverReadyTimedOut Succeeded SchedulingFailure DriverEvicted Suspended ResourceReleased
		TerminatedWithoutReleaseResources`)...)
}

// listed is one row of the table that the verb list prints.
type listed struct {
	object client.Object
	kube.Summary
}

// orderNames are the values of --sort-by, and orders the functions that compare two objects. By time, the latest is
// first, by duration, the longest, and by cost, the most expensive.
// Without prices, CPU counts as the cost.
var (
	orderNames = []string{"name", "age", "state", "duration", "start", "end", "cost"}
	orders     = []func(a, b *kube.Summary, now time.Time) int{
		func(a, b *kube.Summary, _ time.Time) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		},
		func(a, b *kube.Summary, _ time.Time) int { return b.Created.Compare(a.Created) },
		func(a, b *kube.Summary, _ time.Time) int {
			return cmp.Or(cmp.Compare(a.Result, b.Result), cmp.Compare(a.Name, b.Name))
		},
		func(a, b *kube.Summary, now time.Time) int { return cmp.Compare(b.Duration(now), a.Duration(now)) },
		func(a, b *kube.Summary, _ time.Time) int { return b.Started.Compare(a.Started) },
		func(a, b *kube.Summary, _ time.Time) int { return b.Ended.Compare(a.Ended) },
		func(a, b *kube.Summary, now time.Time) int {
			x, y := a.Used(now), b.Used(now)
			return cmp.Or(cmp.Compare(y.CostNanos, x.CostNanos), cmp.Compare(y.CPUMillicoreSeconds, x.CPUMillicoreSeconds))
		},
	}
)

// shows reports whether an object passes the filters for state and age.
func (r *listVerb) shows(s *kube.Summary) bool {
	age := time.Since(s.Created)
	switch {
	case r.newer > 0 && age > r.newer, r.older > 0 && age < r.older:
		return false
	case len(r.states) == 0:
		return true
	}
	return slices.ContainsFunc(r.states, func(state string) bool {
		return strings.EqualFold(state, string(s.Result)) || strings.EqualFold(state, s.State)
	})
}

func (r *listVerb) printList(rows []listed) error {
	switch r.output {
	case "", "wide":
	case "name":
		for _, row := range rows {
			fmt.Fprintf(r.Out, "%s/%s\n", strings.ToLower(row.Kind.Kind)+"."+row.Kind.Group, bounds.Line(row.Name))
		}
		return nil
	default:
		return r.printObjects(rows, r.output)
	}

	if len(rows) == 0 {
		fmt.Fprintln(r.Err, "nothing found")
		return nil
	}

	table := r.table()
	for _, row := range rows {
		table.Rows = append(table.Rows, r.cells(&row.Summary))
	}

	i := -1
	for line := range strings.Lines(table.String(r.Width)) {
		if i < 0 {
			fmt.Fprint(r.Out, line)
		} else {
			r.Paint(line, rows[i].State, string(rows[i].Result))
		}
		i++
	}
	return nil
}

// table returns a table with the columns that the verb list prints, and without rows.
func (r *listVerb) table() terminal.Table {
	table := terminal.Table{Columns: []terminal.Column{
		{Header: "NAMESPACE", Drop: 3}, {Header: "KIND", Drop: 5}, {Header: "NAME"}, {Header: "STATE"}, {Header: "RESULT", Drop: 7}, {Header: "ATTEMPT", Drop: 8},
		{Header: "EXECUTORS", Drop: 6}, {Header: "AGE", Drop: 2}, {Header: "DURATION", Drop: 4}, {Header: "START", Drop: 10}, {Header: "END", Drop: 9},
	}}
	if r.usage() {
		table.Columns = append(table.Columns, terminal.Column{Header: "CORE-HOURS", Drop: 7}, terminal.Column{Header: "GIB-HOURS", Drop: 8}, terminal.Column{Header: "COST", Drop: 6})
	}

	if r.output == "wide" {
		table.Columns = append(table.Columns, terminal.Column{Header: "POD", Drop: 11}, terminal.Column{Header: "MESSAGE", Drop: 1, Max: maxMessage})
	}
	return table
}

// usage reports whether the table shows usage and cost.
func (r *listVerb) usage() bool { return r.output == "wide" || r.sortBy == "cost" }

// maxMessage is the largest number of characters of a message in the table.
const maxMessage = 80

// cells returns the cells of one row.
func (r *listVerb) cells(s *kube.Summary) []string {
	duration := "-"
	if !s.Started.IsZero() {
		duration = Short(s.Duration(time.Now()))
	}

	cells := []string{
		s.Namespace, s.Kind.Name, s.Name, s.State, string(s.Result), attemptOf(s), executorsOf(s), age(s.Created),
		duration, r.zone.Time(s.Started), r.zone.Time(s.Ended),
	}
	if r.usage() {
		used := s.Used(time.Now())
		cells = append(cells, Hours(used.CPUMillicoreSeconds, 1000), Hours(used.MemoryMiBSeconds, 1024), Cost(used.CostNanos))
	}

	if r.output == "wide" {
		cells = append(cells, s.Pod, cmp.Or(s.Message, s.Detail))
	}
	return cells
}

// printChange prints the row of a changed object if the object passes the filters. A deleted object has the state
// DELETED. The caller passes the layout of the previous row, or nil for the first row. The result is the layout for the
// next row.
func (r *listVerb) printChange(change kube.Change, layout *terminal.Layout) *terminal.Layout {
	s := kube.Summarize(change.Object)
	if !r.shows(&s) {
		return layout
	}

	if change.Deleted {
		s.State = "DELETED"
	}

	row := []listed{{change.Object, s}}
	if r.output == "name" || layout == nil {
		_ = r.printList(row) // prints to a writer whose errors have no effect
		table := r.table()
		table.Rows = [][]string{r.cells(&s)}
		return table.Layout(r.Width)
	}

	r.Paint(layout.Line(r.cells(&s)), s.State, string(s.Result))
	return layout
}

func attemptOf(s *kube.Summary) string {
	if s.Attempt == 0 {
		return "-"
	}
	return fmt.Sprint(s.Attempt)
}

func executorsOf(s *kube.Summary) string {
	e := s.Executors
	if e == nil {
		return "-"
	}

	text := fmt.Sprintf("%d", e.Running)
	if e.Pending > 0 {
		text += fmt.Sprintf(" (+%d)", e.Pending)
	}
	return text
}
