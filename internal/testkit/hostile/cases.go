package hostile

import (
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/sparkoperator/spark-operator/internal/testkit/crdfields"
)

const (
	// Etcd is how large an object may be for etcd to take it, less what its envelope needs.
	Etcd = 1536<<10 - 8<<10
	// Spec is how large the spec of an object may be for the operator to act on it, less what is in it besides the worst value. It is a little below the
	// documented limit, so that what is measured is not refused.
	Spec = 512<<10 - 8<<10
	// sampleSize is how large the texts of the sample are.
	sampleSize = 96 << 10
	// most is how many items the operator lets a list have, and mostEntries a map.
	most, mostEntries = 1000, 2000
	// annotations is how much the API server lets the annotations of one object take, less some.
	annotations = 250 << 10
	// labelKey is how long the API server lets the key of a label be.
	labelKey = 253 + 1 + 63
	// Of the lists and maps that a schema does not name the sample takes every so many.
	untypedStride = 12
)

// Case is one hostile object.
type Case struct {
	Definition *Definition
	// Field names the field, or the two fields, that hold the worst value; Value says what that is.
	Field, Value string
	// Together are the fields that are hostile at once where these are many.
	Together []string
	base     int
	set      func(object tree)
}

// Name is unique in a run.
func (c *Case) Name() string {
	name := c.Definition.Name() + " " + c.Field + " = " + c.Value
	if c.base > 0 {
		name += " (base " + strconv.Itoa(c.base) + ")"
	}
	return name
}

// JSON is the object as the API server sends it.
func (c *Case) JSON() ([]byte, error) {
	object, err := base(c.Definition, c.base)
	if err != nil {
		return nil, err
	}
	c.set(object)
	return encode(object)
}

// Generator makes the cases of some definitions.
type Generator struct {
	Definitions []*Definition
	// Keys are the keys and prefixes of Spark's configuration that the operator reads; a prefix ends with a dot.
	Keys []string
	// Thorough makes all values of each field, and of each twin of a field one in twenty; without it each field has few.
	Thorough bool
	// Twins makes all values of twins, too.
	Twins bool
}

// All are the cases, in the same order in each run.
func (g *Generator) All() iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		var twins twins
		for _, d := range g.Definitions {
			for c := range g.Of(d) {
				if g.Thorough && !g.Twins && twins.skip(c) {
					continue
				}
				if !yield(c) {
					return
				}
			}
		}
	}
}

// at is a case that puts a value at one field.
func at(d *Definition, f *Field, base int, worst Worst) *Case {
	return &Case{Definition: d, Field: f.String(), Value: worst.Name, base: base, set: func(object tree) {
		put(object, d.Schema, f.Path, worst.Value())
	}}
}

// alone are the cases of each field by itself. In the sample, neighbours that hold one value each are hostile together.
func (g *Generator) alone(d *Definition) iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		var groups groups
		for i, f := range fieldsOf(d) {
			switch single := !f.IsList() && !f.IsMap() && !crdfields.IsRaw(f.Schema); {
			case single && len(f.Schema.Properties) > 0:
				continue
			case single && !g.Thorough:
				groups.add(f)
				continue
			case !g.Thorough && !f.Typed && i%untypedStride != 0:
				continue
			}
			if !g.byItself(d, f, i, yield) {
				return
			}
		}
		groups.yield(d, yield)
	}
}

// yield yields the cases of all groups while more are wanted.
func (g *groups) yield(d *Definition, yield func(*Case) bool) {
	for _, fields := range g.all {
		turns := 2
		if !fields[0].Typed || d.Kind == "ScheduledSparkApplication" {
			turns = 1
		}
		for turn := range turns {
			if !yield(together(d, fields, turn)) {
				return
			}
		}
	}
}

// byItself yields the cases of one field, and reports whether more are wanted.
func (g *Generator) byItself(d *Definition, f *Field, i int, yield func(*Case) bool) bool {
	for base := range bases[d.Name()] {
		if base > 0 && (!g.Thorough || len(f.Path) > 4) {
			break
		}
		for _, worst := range g.worst(f, i, base) {
			if !yield(at(d, f, base, worst)) {
				return false
			}
		}
	}
	return true
}

// groupSize is how many fields of the sample are hostile together, and groupDepth how much of their paths they have in common. Of fields that no schema names,
// and of those of a schedule's applications, more are.
const groupSize, moreSize, groupDepth = 30, 120, 4

// groups are fields by the beginning of their paths.
type groups struct {
	all  [][]*Field
	last map[string]int // by that beginning, the group that still has room
}

func (g *groups) add(f *Field) {
	if g.last == nil {
		g.last = map[string]int{}
	}
	size, depth := groupSize, groupDepth
	if !f.Typed || len(f.Path) > 1 && f.Path[1] == "template" {
		size, depth = moreSize, groupDepth-1
	}
	key := strings.Join(f.Path[:min(len(f.Path)-1, depth)], ".") + strconv.FormatBool(f.Typed)
	at, known := g.last[key]
	if !known || len(g.all[at]) == size {
		at = len(g.all)
		g.all, g.last[key] = append(g.all, nil), at
	}
	g.all[at] = append(g.all[at], f)
}

// together is a case of several fields of one object, each with one of its worst values.
func together(d *Definition, fields []*Field, turn int) *Case {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.String()
	}
	name := fmt.Sprintf("%s and %d fields after it", names[0], len(names)-1)
	return &Case{Definition: d, Field: name, Together: names, Value: "turn " + strconv.Itoa(turn), set: func(object tree) {
		for i, f := range fields {
			if all := scalars(f, sampleSize/len(fields)); len(all) > 0 {
				worst := all[0]
				if turn > 0 {
					worst = all[(i*7+len(f.Path)+turn*5)%len(all)]
				}
				put(object, d.Schema, f.Path, worst.Value())
			}
		}
	}}
}

// worst are the values of a field. The sample takes one of the texts of a string, another for each field, and the longest.
func (g *Generator) worst(f *Field, i, base int) []Worst {
	size := Spec
	if !g.Thorough {
		size = sampleSize
	}
	var all []Worst
	switch {
	case f.IsList():
		all = g.lists(f, i)
	case f.IsMap():
		all = g.entries(f)
	case crdfields.IsRaw(f.Schema):
		all = deep()
	default:
		all = scalars(f, size)
		if base > 0 {
			all = all[:min(len(all), 3)]
		}
		if !g.Thorough && len(all) > 2 {
			all = []Worst{all[0], all[1+i%(len(all)-1)]}
		}
		if g.Thorough && f.Schema.Type == "string" && len(f.Schema.Enum) == 0 {
			all = append(all, strs(f.Schema, []text{repeated("as long as etcd takes", "a", Etcd)})...)
		}
	}
	return all
}

// lists are lists of many items.
func (g *Generator) lists(f *Field, i int) []Worst {
	var all []Worst
	add := func(how style, count, size int) {
		if f.Schema.MaxItems != nil {
			count = min(count, int(*f.Schema.MaxItems))
		}
		name := fmt.Sprintf("%d %s items of at most %d KiB", count, how, size>>10)
		all = append(all, Worst{name, func() any { return items(f, how, count, size) }})
	}
	if g.Thorough || i%2 == 0 {
		add(distinct, most, Spec)
	}
	if g.Thorough || i%2 == 1 {
		add(fat, most, Spec)
	}
	if g.Thorough {
		add(bare, 1<<20, Etcd)
		add(distinct, 1<<20, Etcd)
		add(distinct, 1<<20, Spec)
		add(fat, 1<<20, Etcd)
	}
	return all
}

// items are so many items of a list as fit.
func items(f *Field, how style, count, size int) []any {
	var out []any
	for i := range count {
		item := filler(f.Schema.Items.Schema, f.Last(), i, how, 0)
		if size -= sizeOf(item) + 1; size < 0 {
			break
		}
		out = append(out, item)
	}
	return out
}

func sizeOf(value any) int {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return len(text)
}

// entries are maps of many entries, and one of a long key.
func (g *Generator) entries(f *Field) []Worst {
	values := f.Schema.AdditionalProperties.Schema
	many := func(count, size int) Worst {
		if f.String() == "metadata.annotations" {
			size = min(size, annotations)
		}
		if f.Schema.MaxProperties != nil {
			count = min(count, int(*f.Schema.MaxProperties))
		}
		return Worst{fmt.Sprintf("%d entries of at most %d KiB", count, size>>10), func() any {
			out, left := tree{}, size
			for i := 0; i < count; i++ {
				value := filler(values, "value", i, distinct, 0)
				if left -= sizeOf(value) + 12; left < 0 {
					break
				}
				out["k"+strconv.Itoa(i)] = value
			}
			return out
		}}
	}
	long := func(size int) Worst {
		switch f.String() {
		case "metadata.annotations":
			size = min(size, annotations)
		case "metadata.labels":
			size = labelKey
		}
		return Worst{fmt.Sprintf("a key of %d KiB", size>>10), func() any {
			return tree{strings.Repeat("k", size): filler(values, "value", 0, distinct, 0)}
		}}
	}
	all := []Worst{many(mostEntries, Spec)}
	if g.Thorough {
		all = append(all, long(sampleSize), many(1<<20, Etcd), many(1<<20, Spec), long(Spec), long(Etcd))
	}
	return all
}

// deep are values of a field that admits anything.
func deep() []Worst {
	nest := func(levels int) Worst {
		return Worst{fmt.Sprintf("%d objects in one another", levels), func() any {
			return json.RawMessage(strings.Repeat(`{"spec":`, levels) + "{}" + strings.Repeat("}", levels))
		}}
	}
	lists := func(levels int) Worst {
		return Worst{fmt.Sprintf("%d lists in one another", levels), func() any {
			return json.RawMessage(`{"spec":` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + "}")
		}}
	}
	unknown := Worst{"unknown fields", func() any {
		out := tree{}
		for i := range 40000 {
			out["k"+strconv.Itoa(i)] = i
		}
		return out
	}}
	return []Worst{nest(9000), lists(9000), unknown}
}

// pairs are two lists or maps of one object that are long at once.
func (g *Generator) pairs(d *Definition) iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		fields, _ := d.Fields()
		var lists []*Field
		for _, f := range fields {
			if (f.IsList() || f.IsMap()) && f.Path[0] == "spec" && strings.Count(f.String(), "[]") == 0 && !f.IsConf() {
				lists = append(lists, f)
			}
		}
		for i, a := range lists {
			for j, b := range lists[i+1:] {
				if g.meet(a, b, i+j) && !yield(g.pair(d, a, b)) {
					return
				}
			}
		}
	}
}

// meet reports whether two lists are worth a case: in the sample every eighth pair of those that lie together, or have one name, in the definition.
func (g *Generator) meet(a, b *Field, i int) bool {
	related := parent(a) == parent(b) || a.Last() == b.Last()
	if g.Thorough {
		return related || a.Typed || b.Typed
	}
	return related && a.Typed && b.Typed && i%8 == 0
}

func parent(f *Field) string { return strings.Join(f.Path[:len(f.Path)-1], ".") }

func (g *Generator) pair(d *Definition, a, b *Field) *Case {
	return &Case{Definition: d, Field: a.String() + " x " + b.String(), Value: "as many distinct ones as the operator takes", set: func(object tree) {
		for _, f := range []*Field{a, b} {
			put(object, d.Schema, f.Path, many(f, most, Spec/2))
		}
	}}
}

// many is a list or a map of many.
func many(f *Field, count, size int) any {
	if f.IsList() {
		if f.Schema.MaxItems != nil {
			count = min(count, int(*f.Schema.MaxItems))
		}
		return items(f, distinct, count, size)
	}
	if f.Schema.MaxProperties != nil {
		count = min(count, int(*f.Schema.MaxProperties))
	}
	out := tree{}
	for i := range count {
		out["n"+strconv.Itoa(i)] = filler(f.Schema.AdditionalProperties.Schema, "value", i, distinct, 0)
	}
	return out
}
