package hostile

import (
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/sparkoperator/spark-operator/test/kit/crdfields"
)

const (
	// etcdSize is the largest size of an object that etcd accepts, minus the size of the data that surrounds the object.
	etcdSize = 1536<<10 - 8<<10
	// specSize is the largest size of a value in a spec. It is slightly below the documented limit, so that the operator
	// does not reject the measured object.
	specSize = 512<<10 - 8<<10
	// sampleSize is the size of the texts that the sample uses.
	sampleSize = 96 << 10
	// most is the number of items that the operator accepts in a list, and mostEntries the number of entries in a map.
	most, mostEntries = 1000, 2000
	// annotations is slightly less than the API server's limit for the annotations of one object.
	annotations = 250 << 10
	// labelKey is the length of the longest label key that the API server accepts.
	labelKey = 253 + 1 + 63
	// untypedStride determines how many lists and maps without a schema are in the sample: one in untypedStride.
	untypedStride = 12
)

// Case is one hostile object, with a description of the fields that make it hostile.
type Case struct {
	Definition *Definition
	// Field names the field that has a worst value, or the two fields of a pair. Value describes this value.
	Field, Value string
	// Together names the hostile fields of a case that sets many of them.
	Together []string
	base     int
	set      func(object tree)
}

// Name returns the name of the case, which no other case has.
func (c *Case) Name() string {
	name := c.Definition.Name() + " " + c.Field + " = " + c.Value
	if c.base > 0 {
		name += " (base " + strconv.Itoa(c.base) + ")"
	}
	return name
}

// JSON returns the object as the API server sends it.
func (c *Case) JSON() ([]byte, error) {
	object, err := base(c.Definition, c.base)
	if err != nil {
		return nil, err
	}

	c.set(object)
	return encode(object)
}

// Generator generates the hostile cases of its definitions.
type Generator struct {
	Definitions []*Definition
	// Keys contains the Spark configuration keys that the operator reads. It also contains prefixes of such keys, which
	// end with a dot.
	Keys []string
	// Thorough selects all values of each field. If Thorough is false, the generator makes a sample, in which each field
	// has few values.
	Thorough bool
	// Twins selects the same values for each of several twin fields (see twins). If Twins is false, one of them has all
	// its values, and the others have one in twenty.
	Twins bool
	// Whole selects the whole sample. If Whole and Thorough are false, the generator makes a share of the sample, with
	// each field and each kind of case. In the share, each group of fields has one of its two turns, and each key and
	// each size of pod templates occurs for only some of the definitions.
	Whole bool
}

// shares reports whether the generator makes only a share of the sample.
func (g *Generator) shares() bool { return !g.Whole && !g.Thorough }

// All returns the cases of all definitions, in the same order in every run.
func (g *Generator) All() iter.Seq[*Case] { return g.withoutTwins(g.Of, g.Twins) }

// withoutTwins returns the given cases of all definitions. It leaves out most cases of twin fields, unless the argument
// all is true.
func (g *Generator) withoutTwins(of func(*Definition) iter.Seq[*Case], all bool) iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		var twins twins
		for _, d := range g.Definitions {
			for c := range of(d) {
				if !all && twins.skip(c) {
					continue
				}

				if !yield(c) {
					return
				}
			}
		}
	}
}

// At returns a case that sets one field to one of its worst values.
func At(d *Definition, f *Field, base int, worst Worst) *Case {
	return &Case{Definition: d, Field: f.String(), Value: worst.Name, base: base, set: func(object tree) {
		put(object, d.Schema, f.Path, worst.Value())
	}}
}

// alone returns the cases that set one field each. If the generator is not thorough, it sets several neighbouring
// scalar fields in one case instead.
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

		groups.yield(d, g.shares(), yield)
	}
}

// yield passes the cases of all groups to the given function, until this function returns false. If the argument share
// is true, each group has one turn, and the turns alternate.
func (g *groups) yield(d *Definition, share bool, yield func(*Case) bool) {
	for i, fields := range g.all {
		turns := 2
		if !fields[0].Typed || d.Kind == "ScheduledSparkApplication" {
			turns = 1
		}

		for turn := range turns {
			if share && turns > 1 && turn != i%turns {
				continue
			}

			if !yield(together(d, fields, turn)) {
				return
			}
		}
	}
}

// byItself passes the cases of one field to the given function, until this function returns false. In that case
// byItself returns false too.
func (g *Generator) byItself(d *Definition, f *Field, i int, yield func(*Case) bool) bool {
	for base := range bases[d.Name()] {
		if base > 0 && (!g.Thorough || len(f.Path) > 4) {
			break
		}

		for _, worst := range g.worst(f, i, base) {
			if !yield(At(d, f, base, worst)) {
				return false
			}
		}
	}
	return true
}

// groupSize is the largest number of fields in one case of the sample. The paths of these fields have the same first
// groupDepth steps.
//
// The limits are wider for fields that no schema lists and for fields in the template of a schedule: at most moreSize
// fields, and the same first groupDepth-1 steps.
const groupSize, moreSize, groupDepth = 30, 120, 4

// groups contains the scalar fields of a definition in groups. The fields of a group have paths with the same first
// steps.
type groups struct {
	all  [][]*Field
	last map[string]int // the index of the group that still has room, by the first steps of the paths
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

// together returns a case that sets each of several fields to one of its worst values. The argument turn selects the
// values.
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

// worst returns the worst values of a field. If the generator is not thorough, a scalar field has only two: the first
// of its values, which is the longest text if the field is a string, and one more value, which the field's index i
// selects.
func (g *Generator) worst(f *Field, i, base int) []Worst {
	size := specSize
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
			all = append(all, strs(f.Schema, []text{repeated("as long as etcd takes", "a", etcdSize)})...)
		}
	}
	return all
}

// lists returns values for a field that is a list: lists with many items.
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
		add(distinct, most, specSize)
	}

	if g.Thorough || i%2 == 1 {
		add(fat, most, specSize)
	}

	if g.Thorough {
		add(bare, 1<<20, etcdSize)
		add(distinct, 1<<20, etcdSize)
		add(distinct, 1<<20, specSize)
		add(fat, 1<<20, etcdSize)
	}
	return all
}

// items returns a list for a field. It has at most `count` items, and fewer if these would take more than `size` bytes.
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

// entries returns values for a field that is a map: maps with many entries, and maps with one long key.
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

	all := []Worst{many(mostEntries, specSize)}
	if g.Thorough {
		all = append(all, long(sampleSize), many(1<<20, etcdSize), many(1<<20, specSize), long(specSize), long(etcdSize))
	}
	return all
}

// deep returns values for a field that accepts anything: deeply nested objects and lists, and an object with many
// unknown fields.
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

// pairs returns the cases that fill two lists or maps of one object.
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
				if g.inSample(a, b, i+j) && !yield(g.pair(d, a, b)) {
					return
				}
			}
		}
	}
}

// inSample reports whether the generator makes a case for a pair of lists. Two lists are related if they have the same
// parent or the same name.
//
// A thorough generator makes a case for each related pair, and for each pair in which a schema describes at least one
// of the lists. Any other generator considers only related pairs whose lists both have schemas, and makes a case for
// one in eight of them.
func (g *Generator) inSample(a, b *Field, i int) bool {
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
			put(object, d.Schema, f.Path, many(f, most, specSize/2))
		}
	}}
}

// many returns a long map or list. A map has `count` entries. A list has at most `count` distinct items, and fewer if
// these would take more than `size` bytes. Both become shorter if the schema accepts fewer.
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
