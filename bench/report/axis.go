package report

import "math"

// axis is the range of values along one side of a plot, and where it is marked.
type axis struct {
	low, high float64
	ticks     []float64
}

// axisOver covers the values given with about so many marks, at 1, 2 or 5 times a power of ten. It begins at 0 unless the values lie far from it in terms of
// each other, so that what is twice as high is twice as much.
func axisOver(values []float64, marks int) axis {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	if low > high { // of nothing
		low, high = 0, 1
	}
	if low > 0 && low < 10*(high-low) || low == high {
		low = min(low, 0)
	}
	if low == high { // all are 0
		high = 1
	}
	step := niceStep((high - low) / float64(max(marks, 1)))
	a := axis{low: math.Floor(low/step) * step, high: math.Ceil(high/step) * step}
	for i := range int(math.Round((a.high-a.low)/step)) + 1 {
		a.ticks = append(a.ticks, roundTo(a.low+float64(i)*step, step))
	}
	return a
}

// niceStep is the least of 1, 2 and 5 times a power of ten that is no less than what is asked for.
func niceStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, n := range []float64{1, 2, 5} {
		if n*power >= least*(1-1e-9) {
			return n * power
		}
	}
	return 10 * power
}

// roundTo takes the dust of floating point off a multiple of a step.
func roundTo(v, step float64) float64 {
	digits := math.Pow(10, math.Max(0, 1-math.Floor(math.Log10(step))))
	return math.Round(v*digits) / digits
}

// at is where a value lies between two ends of a side.
func (a axis) at(v, from, to float64) float64 {
	return from + (v-a.low)/(a.high-a.low)*(to-from)
}
