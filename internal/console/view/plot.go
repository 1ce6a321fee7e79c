package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/internal/console/table"
)

// bar is a rectangle of a plot. Lengths along the axis of time are percentages, so that a plot has any width.
type bar struct{ class, x, y, width, height, title string }

func percentage(value float64) string { return fmt.Sprintf("%.3f%%", value) }

// stripHeight is the height of the strip of hours in pixels.
const stripHeight = 56.0

func stripBars(h table.Hours) (bars []bar) {
	most := 1
	for _, hour := range h {
		most = max(most, hour.Running+hour.Pending+hour.Failed)
	}

	for i, hour := range h {
		title := fmt.Sprintf("%s UTC: %d running, %d pending, %d failed", hour.Start.Format("Mon 15:04"), hour.Running, hour.Pending, hour.Failed)
		x, width := percentage(float64(i)*100/24+0.2), percentage(100.0/24-0.4)
		bars = append(bars, bar{"ground", x, "0", width, fmt.Sprint(stripHeight), title})

		y := stripHeight
		for _, part := range []struct {
			class string
			n     int
		}{{"failed", hour.Failed}, {"running", hour.Running}, {"pending", hour.Pending}} {
			if part.n == 0 {
				continue
			}

			height := max(float64(part.n)/float64(most)*(stripHeight-8), 2)
			y -= height
			bars = append(bars, bar{part.class, x, fmt.Sprintf("%.1f", y), width, fmt.Sprintf("%.1f", height), title})
		}
	}
	return bars
}

func stripLabel(h table.Hours) string {
	last, failed := h[len(h)-1], 0
	for _, hour := range h {
		failed += hour.Failed
	}
	return fmt.Sprintf("In this hour: %d running, %d pending. In 24 hours: %d failed.", last.Running, last.Pending, failed)
}

func joined(texts []string) string { return strings.Join(texts, ",") }

// span returns the place and the width of a time on an axis from 0 to 100.
func span(from, to, start, end time.Time) (x, width float64) {
	whole := end.Sub(start).Seconds()
	if whole <= 0 {
		return 0, 100
	}

	x = max(min(from.Sub(start).Seconds()/whole*100, 100), 0)
	return x, max(min(to.Sub(start).Seconds()/whole*100, 100)-x, 0)
}
