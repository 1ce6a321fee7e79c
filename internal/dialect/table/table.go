package table

import (
	"cmp"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// A Table describes the fields of objects of the type T.
type Table[T any] struct {
	fields []*field
	byPath map[string][]*field
}

// field is one field of a row, in which Role is replaced.
type field struct {
	Row
	role   string // "driver", "executor", or "" for both
	at, on path   // of the field that is read, and of Row.If
	isMap  bool
}

// New returns the table of the given rows. The arguments driver and executor are the names of the fields that describe
// the two roles. They replace Role in paths. Rows of a role that stand together are ordered by the role.
func New[T any](driver, executor string, rows ...Row) *Table[T] {
	t := &Table[T]{byPath: map[string][]*field{}}

	roles := []struct{ name, path, part string }{{"driver", driver, "Driver"}, {"executor", executor, "Executor"}}
	for len(rows) > 0 {
		together := slices.IndexFunc(rows, func(r Row) bool { return !r.ofRoles() })
		if together < 0 {
			together = len(rows)
		}

		together = max(together, 1)
		for _, role := range roles {
			for _, row := range rows[:together] {
				f := &field{Row: row}
				if row.ofRoles() {
					f.role = role.name
					f.Path, f.From = strings.ReplaceAll(row.Path, Role, role.path), strings.ReplaceAll(row.From, Role, role.path)
					f.Key, f.Part = strings.ReplaceAll(row.Key, Role, role.name), strings.ReplaceAll(row.Part, Role, role.part)
				}

				t.add(f)
			}

			if !rows[0].ofRoles() {
				break
			}
		}

		rows = rows[together:]
	}
	return t
}

func (r Row) ofRoles() bool { return strings.Contains(r.Path+r.Key+r.Part, Role) }

func (t *Table[T]) add(f *field) {
	if from := cmp.Or(f.From, f.Path); from != "" {
		var last reflect.Type
		f.at, last = pathOf(reflect.TypeFor[T](), from)
		f.isMap = last.Kind() == reflect.Map
	}

	if f.If != "" {
		f.on, _ = pathOf(reflect.TypeFor[T](), f.If)
	}

	t.fields = append(t.fields, f)
	t.byPath[f.Path] = append(t.byPath[f.Path], f)
}

// family reports whether the keys of a field end with the names of its entries.
func (f *field) family() bool { return strings.HasSuffix(f.Key, ".") }

// Rows yields the fields of the table, with Role replaced.
func (t *Table[T]) Rows() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		for _, f := range t.fields {
			if !yield(f.Row) {
				return
			}
		}
	}
}

// A Value is the value of a field that an object sets, or one of the field's entries.
type Value struct {
	*Row
	// Entry is the name of the entry, or "".
	Entry string
	// Text is the value of the key.
	Text string
}

// Values yields the values of the fields that an object sets, in the order of the rows. Fields whose values have no
// text are left out, except lists of empty texts. If the argument only is not nil, it selects the rows.
func (t *Table[T]) Values(object *T, only func(*Row) bool) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		root := reflect.ValueOf(object)
		for _, f := range t.fields {
			if only != nil && !only(&f.Row) {
				continue
			}

			if !f.family() {
				if text, set := f.text(root); set && !yield(Value{&f.Row, "", text}) {
					return
				}
				continue
			}

			entries := f.entries(root)
			if len(entries) == 0 {
				continue
			}

			for _, name := range conf.SortedKeys(entries) {
				if !yield(Value{&f.Row, name, entries[name]}) {
					return
				}
			}
		}
	}
}

// value returns the value of a field in an object, or nil if the object does not contain the field. For Row.Text it
// also returns a value that is not set.
func (f *field) value(root reflect.Value) any {
	if f.on != nil {
		if on, found := f.on.in(root, false); !found || !on.Bool() {
			return nil
		}
	}

	v, found := f.at.in(root, false)
	switch {
	case !found || f.at == nil || f.Text == nil && v.IsZero():
		return nil
	case v.Kind() == reflect.Struct:
		return v.Addr().Interface() // without a copy
	}
	return v.Interface()
}

func (f *field) text(root reflect.Value) (text string, set bool) {
	value := f.value(root)
	if f.Text != nil && value != nil {
		text = f.Text(f.role, value)
		return text, text != ""
	}

	text = textOf(value)
	list, _ := value.([]string)
	return text, text != "" || len(list) > 0
}

func (f *field) entries(root reflect.Value) map[string]string {
	value := f.value(root)
	if f.Entries != nil && value != nil {
		return f.Entries(value)
	}

	entries, _ := value.(map[string]string)
	return entries
}

// Configure writes the values of an object's fields into a configuration that already contains sparkConf.
func (t *Table[T]) Configure(c *conf.Conf, object *T) {
	for v := range t.Values(object, nil) {
		key := v.Key + v.Entry
		switch {
		case v.Key == "":
		case v.Precedence == Overrides:
			c.Set(key, v.Text)
		case v.Precedence == Yields, v.Precedence == Implies:
			c.SetIfMissing(key, v.Text)
		case v.Precedence == Follows:
			if own, _ := c.Get(key); own != v.Text {
				c.Set(key, strings.TrimSpace(own+" "+v.Text))
			}
		}
	}
}

// of yields the fields that a key belongs to, each with the name of the entry.
func (t *Table[T]) of(key string) iter.Seq2[*field, string] {
	return func(yield func(*field, string) bool) {
		for _, f := range t.fields {
			entry, found := "", f.Key == key
			if f.family() {
				entry, found = strings.CutPrefix(key, f.Key)
			}

			if found && !yield(f, entry) {
				return
			}
		}
	}
}

// sets reports whether an object sets a field, or the given entry of a field.
func (f *field) sets(object reflect.Value, entry string) bool {
	if !f.family() {
		_, set := f.text(object)
		return set
	}

	_, set := f.entries(object)[entry]
	return set
}

// Sets reports whether a field of an object sets a key. If precedences are given, fields with other precedences do not
// count.
func (t *Table[T]) Sets(object *T, key string, precedences ...Precedence) bool {
	for f, entry := range t.of(key) {
		if (len(precedences) == 0 || slices.Contains(precedences, f.Precedence)) && f.sets(reflect.ValueOf(object), entry) {
			return true
		}
	}
	return false
}

// FieldOf returns the field that sets a key, such as "spec.driver.memory" or "spec.driver.labels[team]", or "" if no
// field can set it. If several fields can set the key, it is the last field that does so in the object, or else the
// first field.
func (t *Table[T]) FieldOf(object *T, key string) (named string) {
	for f, entry := range t.of(key) {
		if f.Precedence == Replaces || named != "" && !f.sets(reflect.ValueOf(object), entry) {
			continue
		}

		named = f.Path
		if f.family() && f.isMap {
			named += "[" + entry + "]"
		}
	}
	return named
}

// FieldOfPart returns the field that sets a part of a request, or "" if no field is known.
func (t *Table[T]) FieldOfPart(part string) string {
	at := slices.IndexFunc(t.fields, func(f *field) bool { return f.Part == part && part != "" })
	if at < 0 {
		return ""
	}
	return t.fields[at].Path
}

// Key returns the first key of a field. It panics if the field has none.
func (t *Table[T]) Key(path string) string {
	for _, f := range t.byPath[path] {
		if f.Key != "" {
			return f.Key
		}
	}

	panic("table: no key of " + path)
}

// FirstSet returns the first of the given fields that an object sets, or "".
func (t *Table[T]) FirstSet(object *T, paths ...string) string {
	for _, path := range paths {
		if t.Effective(object, nil, path) != "" {
			return path
		}
	}
	return ""
}

// Effective returns the value of a field, or else the value of one of the field's keys in sparkConf, or else "".
func (t *Table[T]) Effective(object *T, sparkConf map[string]string, path string) string {
	for _, f := range t.byPath[path] {
		if text, set := f.text(reflect.ValueOf(object)); set {
			return text
		}

		if text := sparkConf[f.Key]; text != "" {
			return text
		}
	}
	return ""
}

// Reserved returns the keys that users may not set, each with the advice what to do instead.
func (t *Table[T]) Reserved() map[string]string {
	reserved := map[string]string{}
	for _, f := range t.fields {
		if f.Reserved && f.Advice != "" {
			reserved[f.Key] = f.Advice
		} else if f.Reserved {
			reserved[f.Key] = "use " + f.Path
		}
	}
	return reserved
}

// Take moves values of a configuration into the fields of an object (Row.FromKey). It removes their keys. If several
// keys belong to one field, the first row determines the value.
func (t *Table[T]) Take(c *conf.Conf, object *T) {
	for _, f := range t.fields {
		text, set := c.Get(f.Key)
		if f.FromKey == nil || !set || !f.FromKey(text) {
			continue
		}

		field, _ := f.at.in(reflect.ValueOf(object), true)
		if !field.IsZero() || write(field, text) {
			c.Delete(f.Key)
		}
	}
}
