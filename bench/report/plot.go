package report

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// plot is the lines of one scenario and title.
type plot struct {
	scenario, title string
	lines           []figure.Series
}

// plots are those of a run, in the order in which they were measured.
func plots(run *figure.Run) (all []*plot) {
	for _, s := range run.Series {
		i := slices.IndexFunc(all, func(p *plot) bool { return p.scenario == s.Scenario && p.title == s.Title })
		if i < 0 {
			i = len(all)
			all = append(all, &plot{scenario: s.Scenario, title: s.Title})
		}
		all[i].lines = append(all[i].lines, s)
	}
	return all
}

// file is the name of the plot's file.
func (p *plot) file() string { return slug(p.scenario+" "+p.title) + ".svg" }

// slug is text as a file name: letters and digits, with dashes between words.
func slug(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return strings.Join(words, "-")
}

// The measures of a plot, in pixels: the whole, and the frame within it, which leaves room for the title, the legend and what the axes say.
const (
	wide, high   = 720, 380
	left, right  = 76, 700
	top, bottom  = 70, 322
	legendLetter = 6.4 // what a letter of the legend takes, about
)

// colors of lines: they can be told apart by people who see few colors, and from a white page as from a black one. The dashes are for those who see none.
var colors = []string{"#3b82f6", "#e07b00", "#0f9d76", "#c2579c", "#a08500", "#56a4d8", "#d0504a", "#7d8590"}

var dashes = []string{"", "7 4", "2 3", "9 3 2 3"}

// style follows the reader's scheme where what shows the picture knows it; its greys can be read on either ground where not.
const style = `text{font:12px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#59636e}.t{font-size:14px;font-weight:600}` +
	`.g{stroke:#8b949e;stroke-opacity:.3}.a{stroke:#8b949e}.l{fill:none;stroke-width:2;stroke-linejoin:round}` +
	`@media(prefers-color-scheme:dark){text{fill:#a9b4c0}}`

// svg draws the plot. The same plot is the same text.
func (p *plot) svg() []byte {
	var xs, ys []float64
	for _, s := range p.lines {
		for _, point := range s.Points {
			xs, ys = append(xs, point[0]), append(ys, point[1])
		}
	}
	x, y := axisOver(xs, 6), axisOver(ys, 5)
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", wide, high, wide, high)
	fmt.Fprintf(&out, "<title>%s: %s</title>\n<style>%s</style>\n", html.EscapeString(p.scenario), html.EscapeString(p.title), style)
	writeText(&out, left, 22, `class="t"`, p.title)
	p.grid(&out, x, y)
	p.legend(&out)
	for i, s := range p.lines {
		line(&out, i, s.Points, x, y)
	}
	out.WriteString("</svg>\n")
	return []byte(out.String())
}

// grid draws both axes with their marks and what they show.
func (p *plot) grid(out *strings.Builder, x, y axis) {
	for _, tick := range y.ticks {
		at := y.at(tick, bottom, top)
		fmt.Fprintf(out, `<path class="g" d="M%d %sH%d"/>`+"\n", left, pixel(at), right)
		writeText(out, left-8, at+4, `text-anchor="end"`, figure.Format(tick, ""))
	}
	for _, tick := range x.ticks {
		at := x.at(tick, left, right)
		fmt.Fprintf(out, `<path class="a" d="M%s %dv5"/>`+"\n", pixel(at), bottom)
		writeText(out, at, bottom+20, `text-anchor="middle"`, figure.Format(tick, ""))
	}
	fmt.Fprintf(out, `<path class="a" fill="none" d="M%d %dV%dH%d"/>`+"\n", left, top, bottom, right)
	if len(p.lines) > 0 {
		writeText(out, (left+right)/2, high-14, `text-anchor="middle"`, p.lines[0].X)
		middle := (top + bottom) / 2
		writeText(out, 16, float64(middle), fmt.Sprintf(`text-anchor="middle" transform="rotate(-90 16 %d)"`, middle), p.lines[0].Y)
	}
}

// legend names the lines above the frame, in a row or two.
func (p *plot) legend(out *strings.Builder) {
	at, row := float64(left), 42
	for i, s := range p.lines {
		room := 28 + legendLetter*float64(len([]rune(s.Name)))
		if at > left && at+room > right {
			at, row = left, row+16
		}
		fmt.Fprintf(out, `<path class="l" %s d="M%s %dh22"/>`+"\n", stroke(i), pixel(at), row)
		writeText(out, at+28, float64(row+4), "", s.Name)
		at += room + 18
	}
}

// stroke is how a line is told from others.
func stroke(i int) string {
	dash := dashes[i/2%len(dashes)]
	if dash != "" {
		dash = fmt.Sprintf(` stroke-dasharray="%s"`, dash)
	}
	return fmt.Sprintf(`stroke="%s"%s`, colors[i%len(colors)], dash)
}

// dots is up to how many points of a line are shown as such; more would run together.
const dots = 24

// line draws one line over its points in the order of x.
func line(out *strings.Builder, i int, points [][2]float64, x, y axis) {
	points = slices.SortedStableFunc(slices.Values(points), func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	var path strings.Builder
	for n, point := range points {
		verb := "L"
		if n == 0 {
			verb = "M"
		}
		path.WriteString(verb + pixel(x.at(point[0], left, right)) + " " + pixel(y.at(point[1], bottom, top)))
	}
	fmt.Fprintf(out, `<path class="l" %s d="%s"/>`+"\n", stroke(i), path.String())
	if len(points) > dots {
		return
	}
	for _, point := range points {
		fmt.Fprintf(out, `<circle r="3" fill="%s" cx="%s" cy="%s"/>`+"\n", colors[i%len(colors)], pixel(x.at(point[0], left, right)), pixel(y.at(point[1], bottom, top)))
	}
}

func writeText(out *strings.Builder, x, y float64, attributes, text string) {
	if attributes != "" {
		attributes = " " + attributes
	}
	fmt.Fprintf(out, `<text x="%s" y="%s"%s>%s</text>`+"\n", pixel(x), pixel(y), attributes, html.EscapeString(text))
}

// pixel is a coordinate, to a tenth of a pixel.
func pixel(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
