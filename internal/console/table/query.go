package table

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// The bounds of a query. Longer texts are cut, and more values than maxValues are left out.
const (
	DefaultLimit = 50
	MaxLimit     = 500
	maxValues    = 100
	maxQueryText = 256
)

// Sorts are the columns by which a query sorts. Age has the newest first, and duration, cost, cpu, memory, attempts and
// executors the largest.
var Sorts = []string{"age", "name", "namespace", "kind", "state", "duration", "executors", "attempts", "cpu", "memory", "cost", "owner"}

// Query selects the rows that a page shows. Its zero value selects all rows, the newest first.
type Query struct {
	Namespaces []string      `json:"namespaces,omitempty"` // empty: all that the user may see
	Kinds      []string      `json:"kinds,omitempty"`      // by Row.Kind; empty: all
	Results    []kube.Result `json:"results,omitempty"`    // empty: all
	// Text is searched in the namespace, name, state, cause, owner and version. All of its words must occur. A word that
	// compares a column, such as duration>1h, memory>=64Gi or owner=data, must hold (see ComparedColumns).
	Text string `json:"text,omitempty"`
	// Label is a label selector as kubectl takes it.
	Label string `json:"label,omitempty"`
	// Sort is a value of Sorts; empty means age. Descending reverses the order.
	Sort       string `json:"sort,omitempty"`
	Descending bool   `json:"descending,omitempty"`
	Offset     int    `json:"offset,omitempty"`
	Limit      int    `json:"limit,omitempty"` // 0: DefaultLimit
}

// ParseQuery reads a query from the parameters of a URL. Unknown values are left out, so that each URL has a page. The
// second result names them.
func ParseQuery(values url.Values) (q Query, ignored []string) {
	q.Namespaces = some(values["namespace"])

	for _, name := range some(values["kind"]) {
		if kind, err := kinds.Named(name); err != nil {
			ignored = append(ignored, "the unknown kind "+strconv.Quote(name))
		} else if !slices.Contains(q.Kinds, kind.FullName()) {
			q.Kinds = append(q.Kinds, kind.FullName())
		}
	}

	for _, name := range some(values["result"]) {
		if slices.Contains(screen.Results(), name) {
			q.Results = append(q.Results, kube.Result(name))
		} else {
			ignored = append(ignored, "the unknown result "+strconv.Quote(name))
		}
	}

	words := strings.Fields(cut(strings.ToValidUTF8(strings.Join(strings.Fields(values.Get("q")), " "), ""), maxQueryText))
	q.Text = strings.Join(slices.DeleteFunc(words, func(word string) bool {
		_, compares, valid := readComparison(word)
		if compares && !valid {
			ignored = append(ignored, "the comparison "+strconv.Quote(word)+", which cannot be read")
		}
		return compares && !valid
	}), " ")

	if label := strings.TrimSpace(values.Get("label")); len(label) > 0 && len(label) <= maxQueryText {
		if _, err := labels.Parse(label); err != nil {
			ignored = append(ignored, "the unknown label "+strconv.Quote(label))
		} else {
			q.Label = label
		}
	}

	sort, descending := strings.CutPrefix(values.Get("sort"), "-")
	if slices.Contains(Sorts, sort) {
		q.Sort, q.Descending = sort, descending
	} else if sort != "" {
		ignored = append(ignored, "the unknown sort "+strconv.Quote(sort))
	}

	q.Offset, q.Limit = number(values.Get("offset"), 1<<30), number(values.Get("limit"), MaxLimit)
	return q, ignored
}

// some returns the distinct values that are not empty, at most maxValues. Each value may have several, with commas.
func some(values []string) (out []string) {
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			part = strings.TrimSpace(strings.ToValidUTF8(part, ""))
			if part != "" && len(part) <= maxQueryText && len(out) < maxValues && !slices.Contains(out, part) {
				out = append(out, part)
			}
		}
	}
	return out
}

func number(text string, most int) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return min(max(n, 0), most)
}

// Values returns the parameters of the query's URL. ParseQuery reads the same query from them.
func (q Query) Values() url.Values {
	values := url.Values{}
	for key, list := range map[string][]string{"namespace": q.Namespaces, "kind": q.Kinds} {
		if len(list) > 0 {
			values[key] = list
		}
	}

	for _, result := range q.Results {
		values.Add("result", string(result))
	}

	sort := q.Sort
	if q.Descending {
		sort = "-" + sort
	}

	for key, text := range map[string]string{"q": q.Text, "label": q.Label, "sort": sort} {
		if text != "" {
			values.Set(key, text)
		}
	}

	for key, n := range map[string]int{"offset": q.Offset, "limit": q.Limit} {
		if n > 0 {
			values.Set(key, strconv.Itoa(n))
		}
	}
	return values
}

// URL returns the path and the parameters of the page All for the query.
func (q Query) URL() string { return withValues("/", q.Values()) }

// Events returns the address of the server-sent events of the query.
func (q Query) Events() string { return withValues("/events", q.Values()) }

func withValues(path string, values url.Values) string {
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// Size returns the number of rows in the query's window.
func (q Query) Size() int { return cmp.Or(min(q.Limit, MaxLimit), DefaultLimit) }

// SortedBy returns the query in the order of a column, from the first row. If the query already has this order, the
// result has the reverse one.
func (q Query) SortedBy(column string) Query {
	q.Descending = column == cmp.Or(q.Sort, Sorts[0]) && !q.Descending
	q.Sort, q.Offset = column, 0
	return q
}

// Toggled returns the query with a result added or, if it has it, removed.
func (q Query) Toggled(result kube.Result) Query {
	q.Offset = 0
	if slices.Contains(q.Results, result) {
		q.Results = slices.DeleteFunc(slices.Clone(q.Results), func(r kube.Result) bool { return r == result })
	} else {
		q.Results = append(slices.Clone(q.Results), result)
	}
	return q
}

// At returns the query from another row.
func (q Query) At(offset int) Query {
	q.Offset = max(offset, 0)
	return q
}

// Filtered reports whether the query leaves out rows.
func (q Query) Filtered() bool {
	return len(q.Namespaces)+len(q.Kinds)+len(q.Results) > 0 || q.Text != "" || q.Label != ""
}

// Filter returns a function that reports whether the query selects a row at the given time.
func (q Query) Filter(now time.Time) func(*Row) bool {
	var (
		words       []string
		comparisons []comparison
	)
	for word := range strings.FieldsSeq(q.Text) {
		if c, compares, _ := readComparison(word); compares {
			comparisons = append(comparisons, c)
		} else {
			words = append(words, strings.ToLower(word))
		}
	}

	selector, err := labels.Parse(q.Label)
	if err != nil {
		selector = labels.Everything()
	}
	return func(r *Row) bool {
		switch {
		case len(q.Namespaces) > 0 && !slices.Contains(q.Namespaces, r.Namespace), len(q.Kinds) > 0 && !slices.Contains(q.Kinds, r.Kind),
			len(q.Results) > 0 && !slices.Contains(q.Results, r.Result), q.Label != "" && !selector.Matches(labels.Set(r.Labels)),
			slices.ContainsFunc(comparisons, func(c comparison) bool { return !c.selects(r, now) }):
			return false
		case len(words) == 0:
			return true
		}

		text := strings.ToLower(strings.Join([]string{r.Namespace, r.Name, r.Short(), r.State, r.Reason, r.Cause, r.Owner, r.SparkVersion, r.ScheduledBy}, "\n"))
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
	}
}

// Order returns a function that compares two rows in the order of the query. Rows that are equal in the column are in
// the order of their namespaces, names and kinds, so that a window does not change without a reason.
func (q Query) Order(now time.Time) func(a, b *Row) int {
	column := orders[cmp.Or(q.Sort, Sorts[0])]
	if column == nil {
		column = orders[Sorts[0]]
	}
	return func(a, b *Row) int {
		by := column(a, b, now)
		if q.Descending {
			by = -by
		}
		return cmp.Or(by, cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	}
}

// urgency is the order of results by state: what needs attention is first.
var urgency = []kube.Result{kube.Failed, kube.Pending, kube.Running, kube.Suspended, kube.Succeeded}

var orders = map[string]func(a, b *Row, now time.Time) int{
	"age":       func(a, b *Row, _ time.Time) int { return b.Created.Compare(a.Created) },
	"name":      func(a, b *Row, _ time.Time) int { return cmp.Compare(a.Name, b.Name) },
	"namespace": func(a, b *Row, _ time.Time) int { return cmp.Compare(a.Namespace, b.Namespace) },
	"kind":      func(a, b *Row, _ time.Time) int { return cmp.Compare(a.Kind, b.Kind) },
	"owner":     func(a, b *Row, _ time.Time) int { return cmp.Compare(a.Owner, b.Owner) },
	"state": func(a, b *Row, _ time.Time) int {
		return cmp.Or(cmp.Compare(slices.Index(urgency, a.Result), slices.Index(urgency, b.Result)), cmp.Compare(a.State, b.State))
	},
	"duration":  func(a, b *Row, now time.Time) int { return cmp.Compare(b.Duration(now), a.Duration(now)) },
	"executors": func(a, b *Row, _ time.Time) int { return cmp.Compare(b.ExecutorsRunning, a.ExecutorsRunning) },
	"attempts":  func(a, b *Row, _ time.Time) int { return cmp.Compare(b.Attempts, a.Attempts) },
	"cpu":       func(a, b *Row, _ time.Time) int { return cmp.Compare(b.CPUMillis, a.CPUMillis) },
	"memory":    func(a, b *Row, _ time.Time) int { return cmp.Compare(b.MemoryBytes, a.MemoryBytes) },
	"cost":      func(a, b *Row, now time.Time) int { return cmp.Compare(b.Cost(now), a.Cost(now)) },
}
