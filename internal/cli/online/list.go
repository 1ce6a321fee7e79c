package online

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/cluster"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// listOptions are the flags of the verb list.
type listOptions struct {
	all, watch       bool
	selector, output string
	kinds, states    []string
	sortBy           string
	newer, older     time.Duration
}

func (r *verbs) listCommand() *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls", "get"},
		Short:   "List applications, schedules, Connect servers and clusters",
		Long: "Lists the custom resources of all five kinds in one table. The column STATE has the state in the words of the kind's API,\n" +
			"RESULT what the states of all kinds have in common: pending, running, succeeded, failed or suspended.\n\n" +
			"Kinds that the cluster does not have are left out.",
		Example: "  sparkctl list -A\n" +
			"  sparkctl list --watch\n" +
			"  sparkctl list --state failed --newer 24h -l team=data\n" +
			"  sparkctl list --kind app,apache-app -o name",
		Args: cobra.NoArgs,
	}
	connect := connection(cmd.Flags(), r.Err)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := connect()
		if err != nil {
			return err
		}
		return r.list(cmd, c, &o)
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.all, "all-namespaces", "A", false, "list the objects of all namespaces")
	flags.StringVarP(&o.selector, "selector", "l", "", "`labels` that the objects must have, as kubectl takes them")
	flags.StringVarP(&o.output, "output", "o", "", "output `format`: wide, name, json, yaml, jsonpath=TEMPLATE")
	flags.StringSliceVar(&o.kinds, "kind", nil, "`kinds` to list: "+strings.Join(cluster.KindNames(), ", "))
	flags.StringSliceVar(&o.states, "state", nil, "`results` or states to list, such as failed or RUNNING")
	flags.BoolVarP(&o.watch, "watch", "w", false, "print each change after the list, until Ctrl-C")
	flags.StringVar(&o.sortBy, "sort", "name", "`order` of the rows: name, age or state")
	flags.DurationVar(&o.newer, "newer", 0, "list only objects that were created within this `duration`")
	flags.DurationVar(&o.older, "older", 0, "list only objects that were created before this `duration`")
	return cmd
}

func (r *verbs) list(cmd *cobra.Command, c *cluster.Client, o *listOptions) error {
	query, err := o.query(c.Namespace)
	if err != nil {
		return err
	}
	if o.watch && o.output != "" && o.output != "wide" && o.output != "name" {
		return exit.Usagef("--watch: the formats are: wide, name")
	}
	compare := orders[o.sortBy]
	if compare == nil {
		return invalidFlag("sort", o.sortBy, []string{"name", "age", "state"})
	}
	objects, notes, err := c.List(cmd.Context(), query)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintln(r.Err, terminal.Wrap("note: ", note, r.Width))
	}
	rows := make([]listed, 0, len(objects))
	for _, object := range objects {
		if row := (listed{object, cluster.Summarize(object)}); o.shows(&row.Summary) {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b listed) int { return compare(&a.Summary, &b.Summary) })
	if err := r.printList(rows, o); err != nil || !o.watch {
		return err
	}
	var layout *terminal.Layout
	if len(rows) > 0 {
		table := listTable(o)
		for i := range rows {
			table.Rows = append(table.Rows, cellsOf(&rows[i].Summary, o))
		}
		layout = table.Layout(r.Width)
	}
	return c.Changes(cmd.Context(), query, objects, func(change cluster.Change) { layout = r.printChange(change, o, layout) })
}

// query converts the flags for namespaces, kinds and labels into a query to the cluster.
func (o *listOptions) query(namespace string) (query cluster.Query, err error) {
	query.Namespace = namespace
	if o.all {
		query.Namespace = metav1.NamespaceAll
	}
	if query.Selector, err = labels.Parse(o.selector); err != nil {
		return query, exit.Usagef("-l: %v", err)
	}
	for _, name := range o.kinds {
		kind, err := cluster.KindNamed(name)
		if err != nil {
			return query, exit.Usagef("--kind: %v", err)
		}
		query.Kinds = append(query.Kinds, kind)
	}
	return query, nil
}

// listed is one row of the table that the verb list prints.
type listed struct {
	object client.Object
	cluster.Summary
}

var orders = map[string]func(a, b *cluster.Summary) int{
	"name": func(a, b *cluster.Summary) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	},
	"age": func(a, b *cluster.Summary) int { return b.Created.Compare(a.Created) },
	"state": func(a, b *cluster.Summary) int {
		return cmp.Or(cmp.Compare(a.Result, b.Result), cmp.Compare(a.Name, b.Name))
	},
}

// shows reports whether an object passes the filters for state and age.
func (o *listOptions) shows(s *cluster.Summary) bool {
	age := time.Since(s.Created)
	switch {
	case o.newer > 0 && age > o.newer, o.older > 0 && age < o.older:
		return false
	case len(o.states) == 0:
		return true
	}
	return slices.ContainsFunc(o.states, func(state string) bool {
		return strings.EqualFold(state, string(s.Result)) || strings.EqualFold(state, s.State)
	})
}

func (r *verbs) printList(rows []listed, o *listOptions) error {
	switch o.output {
	case "", "wide":
	case "name":
		for _, row := range rows {
			fmt.Fprintf(r.Out, "%s/%s\n", strings.ToLower(row.Kind.Kind)+"."+row.Kind.Group, bounds.Line(row.Name))
		}
		return nil
	default:
		return printObjects(r.Out, rows, o.output)
	}
	if len(rows) == 0 {
		fmt.Fprintln(r.Err, "nothing found")
		return nil
	}
	table := listTable(o)
	for _, row := range rows {
		table.Rows = append(table.Rows, cellsOf(&row.Summary, o))
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

// listTable returns a table with the columns that the verb list prints, and without rows.
func listTable(o *listOptions) terminal.Table {
	table := terminal.Table{Columns: []terminal.Column{
		{Header: "NAMESPACE", Drop: 2}, {Header: "KIND", Drop: 3}, {Header: "NAME"}, {Header: "STATE"}, {Header: "RESULT", Drop: 5}, {Header: "ATTEMPT", Drop: 6},
		{Header: "EXECUTORS", Drop: 4}, {Header: "AGE", Drop: 1},
	}}
	if o.output == "wide" {
		table.Columns = append(table.Columns, terminal.Column{Header: "POD", Drop: 7}, terminal.Column{Header: "MESSAGE", Drop: 8})
	}
	return table
}

// cellsOf returns the cells of one row.
func cellsOf(s *cluster.Summary, o *listOptions) []string {
	cells := []string{s.Namespace, s.Kind.Name, s.Name, s.State, string(s.Result), attemptOf(s), executorsOf(s), screen.Age(s.Created)}
	if o.output == "wide" {
		cells = append(cells, s.Pod, cmp.Or(s.Message, s.Detail))
	}
	return cells
}

// printChange prints the row of a changed object if the object passes the filters. A deleted object has the state
// DELETED. The caller passes the layout of the previous row, or nil for the first row. The result is the layout for the
// next row.
func (r *verbs) printChange(change cluster.Change, o *listOptions, layout *terminal.Layout) *terminal.Layout {
	s := cluster.Summarize(change.Object)
	if !o.shows(&s) {
		return layout
	}
	if change.Deleted {
		s.State = "DELETED"
	}
	row := []listed{{change.Object, s}}
	if o.output == "name" || layout == nil {
		_ = r.printList(row, o) // prints to a writer whose errors have no effect
		table := listTable(o)
		table.Rows = [][]string{cellsOf(&s, o)}
		return table.Layout(r.Width)
	}
	r.Paint(layout.Line(cellsOf(&s, o)), s.State, string(s.Result))
	return layout
}

func attemptOf(s *cluster.Summary) string {
	if s.Attempt == 0 {
		return "-"
	}
	return fmt.Sprint(s.Attempt)
}

func executorsOf(s *cluster.Summary) string {
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
