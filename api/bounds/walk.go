package bounds

// Limit is one limit that Decode enforces. It applies to one list, map, quantity or text in a custom resource's spec or
// status.
type Limit struct {
	// Path is the path of the part in a definition, for example .spec.driver.env[].name. The entries of a map are
	// written as {}.
	Path string
	// Sort is list, map, quantity or text.
	Sort string
	// Max is the maximum number of items, entries or characters.
	Max int
}

// Limits returns the limits of all lists, maps and quantities of a kind. Of its texts, it includes only those that have
// a limit. It omits fields inside raw JSON, because no custom resource definition describes them. It lists the limits
// of a recursive type only once. Tests compare the result with the limits in the definitions.
func Limits(kind Kind) []Limit {
	w := walker{open: map[*Shape]bool{}, items: MaxItems, entries: MaxEntries}
	w.walk(".spec", kind.Spec, 0)
	w.items, w.entries = MaxStatusItems, MaxStatusItems
	w.walk(".status", kind.Status, 0)
	return w.found
}

type walker struct {
	open           map[*Shape]bool
	items, entries int
	found          []Limit
}

func (w *walker) walk(path string, shape *Shape, most int) {
	add := func(sort string, otherwise int) {
		if most == 0 {
			most = otherwise
		}

		w.found = append(w.found, Limit{path, sort, most})
	}

	if w.open[shape] {
		return
	}

	switch shape.sort {
	case quantity:
		add("quantity", MaxQuantity)
	case text:
		if most > 0 {
			add("text", most)
		}
	case list:
		add("list", w.items)
		w.inside(shape, func() { w.walk(path+"[]", shape.elem, 0) })
	case table:
		add("map", w.entries)
		w.inside(shape, func() { w.walk(path+"{}", shape.elem, 0) })
	case object:
		w.inside(shape, func() {
			for name, m := range shape.fields {
				if !m.raw {
					w.walk(path+"."+name, m.shape, m.max)
				}
			}
		})
	}
}

func (w *walker) inside(shape *Shape, walk func()) {
	w.open[shape] = true

	walk()
	delete(w.open, shape)
}
