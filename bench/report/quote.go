package report

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// quoting are the pages that are written by hand and quote figures, below docs/.
var quoting = []string{"tuning.md"}

// quotation is a place where a figure stands: its identity, a factor and a unit, and between these comments what was last written there. "1000/" as a factor divides
// 1,000 by the figure.
//
//	<!--figure lives/operator/operator CPU an application|0.00116|cores-->0.0132 cores<!--/figure-->
var quotation = regexp.MustCompile(`(<!--figure ([^|>]+)(?:\|([0-9.]+/?)\|([^|>]*))?-->)([^<]*)(<!--/figure-->)`)

// notThere stands where a run has no such figure.
const notThere = "(not measured in the run that is kept)"

// quote writes the figures of a run where a page quotes them. A place that is not as it should be is an error.
func quote(page string, run *figure.Run) (string, error) {
	if found, begun := len(quotation.FindAllString(page, -1)), strings.Count(page, "<!--figure"); found != begun {
		return "", fmt.Errorf("%d of %d quotations of figures cannot be read: want <!--figure SCENARIO/CASE/NAME|FACTOR|UNIT-->TEXT<!--/figure-->", begun-found, begun)
	}
	return quotation.ReplaceAllStringFunc(page, func(place string) string {
		parts := quotation.FindStringSubmatch(place)
		return parts[1] + quoted(run, parts[2], parts[3], parts[4]) + parts[6]
	}), nil
}

// quoted is a figure as it is quoted.
func quoted(run *figure.Run, id, factor, unit string) string {
	f, found := run.Value(id)
	if !found {
		return notThere
	}
	if factor == "" {
		return figure.Format(f.Value, f.Unit)
	}
	number, divides := strings.CutSuffix(factor, "/")
	times, err := strconv.ParseFloat(number, 64)
	if err != nil || divides && f.Value == 0 {
		return notThere
	}
	if divides {
		return figure.Format(times/f.Value, unit)
	}
	return figure.Format(times*f.Value, unit)
}
