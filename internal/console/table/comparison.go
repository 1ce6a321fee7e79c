package table

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
)

// comparison is a word of a query's text that compares a column, such as duration>1h or owner=data.
type comparison struct {
	column, operator string
	text             string  // the value of a column of texts, in small letters
	number           float64 // the value of a column of numbers
}

// operators are what a comparison may have between column and value. Longer ones come first, because > begins >=.
var operators = []string{">=", "<=", ">", "<", "="}

// texts are the columns that are compared as texts, without regard to case.
var texts = map[string]func(*Row) string{
	"name":      func(r *Row) string { return r.Name },
	"namespace": func(r *Row) string { return r.Namespace },
	"state":     func(r *Row) string { return r.State },
	"reason":    func(r *Row) string { return r.Reason },
	"owner":     func(r *Row) string { return r.Owner },
	"version":   func(r *Row) string { return r.SparkVersion },
	"schedule":  func(r *Row) string { return r.ScheduledBy },
}

// numbers are the columns that are compared as numbers, with the function that reads a value.
var numbers = map[string]struct {
	value func(*Row, time.Time) float64
	read  func(string) (float64, bool)
}{
	"age":       {func(r *Row, now time.Time) float64 { return now.Sub(r.Created).Seconds() }, seconds},
	"duration":  {func(r *Row, now time.Time) float64 { return r.Duration(now).Seconds() }, seconds},
	"executors": {func(r *Row, _ time.Time) float64 { return float64(r.ExecutorsRunning) }, plain},
	"failed":    {func(r *Row, _ time.Time) float64 { return float64(r.ExecutorsFailed) }, plain},
	"attempts":  {func(r *Row, _ time.Time) float64 { return float64(r.Attempts) }, plain},
	"cpu":       {func(r *Row, _ time.Time) float64 { return float64(r.CPUMillis) }, millis},
	"memory":    {func(r *Row, _ time.Time) float64 { return float64(r.MemoryBytes) }, quantity},
	"gpus":      {func(r *Row, _ time.Time) float64 { return float64(r.GPUs) }, plain},
	"cost":      {func(r *Row, now time.Time) float64 { return float64(r.Cost(now)) / 1e9 }, plain},
}

// ComparedColumns returns the columns that a word of a query's text can compare.
func ComparedColumns() []string {
	return append(slices.Sorted(maps.Keys(numbers)), slices.Sorted(maps.Keys(texts))...)
}

// readComparison reads a comparison from a word of a query's text. The second result is false if the word compares
// nothing. The third result is false if it has a wrong column, operator or value.
func readComparison(word string) (c comparison, compares, valid bool) {
	at := strings.IndexAny(word, "<>=")
	if at < 0 {
		return c, false, false
	}

	c.column = strings.ToLower(word[:at])
	number, numeric := numbers[c.column]

	if texts[c.column] == nil && !numeric { // a text with = may be part of a cause
		return c, word[at] != '=', false
	}

	i := slices.IndexFunc(operators, func(o string) bool { return strings.HasPrefix(word[at:], o) })
	c.operator = operators[i]

	value := word[at+len(c.operator):]
	if !numeric {
		c.text = strings.ToLower(value)
		return c, true, c.operator == "="
	}

	c.number, valid = number.read(value)
	return c, true, valid
}

// selects reports whether a row satisfies the comparison.
func (c *comparison) selects(r *Row, now time.Time) bool {
	if text := texts[c.column]; text != nil {
		return strings.ToLower(text(r)) == c.text
	}

	order := cmp.Compare(numbers[c.column].value(r, now), c.number)
	switch c.operator {
	case ">":
		return order > 0
	case "<":
		return order < 0
	case ">=":
		return order >= 0
	case "<=":
		return order <= 0
	}
	return order == 0
}

// seconds reads a duration, which may have days.
func seconds(text string) (float64, bool) {
	d, valid := screen.Span(text)
	return d.Seconds(), valid
}

// quantity reads a quantity as Kubernetes writes it, such as 500m or 64Gi.
func quantity(text string) (float64, bool) {
	q, err := bounds.Quantity(text)
	return q.AsApproximateFloat64(), err == nil
}

// millis reads a quantity in thousandths, to which CPUs are exact.
func millis(text string) (float64, bool) {
	q, valid := quantity(text)
	return math.Round(q * 1000), valid
}

func plain(text string) (float64, bool) {
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsNaN(n)
}
