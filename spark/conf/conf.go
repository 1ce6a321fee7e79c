package conf

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// Conf is a Spark configuration. Keys keep the order in which they were first set. The zero value is empty and ready to
// use; a nil *Conf reads as empty. Concurrent use is safe only for reads.
type Conf struct {
	// keys contains the keys in the order in which they were set. Deleted keys stay in it until there are many of them
	// (see Delete).
	keys   []string
	values map[string]entry
	env    map[string]string
	system map[string]string
}

// entry is the value of a key, and the index of the key in Conf.keys.
type entry struct {
	value string
	at    int
}

// New returns an empty configuration.
func New() *Conf { return &Conf{values: map[string]entry{}} }

// FromMap returns a configuration with the pairs of m, sorted by key, so that the same map always gives the same order.
func FromMap(m map[string]string) *Conf {
	c := &Conf{keys: SortedKeys(m), values: make(map[string]entry, len(m))}
	for i, key := range c.keys {
		c.values[key] = entry{m[key], i}
	}
	return c
}

// SortedKeys returns the keys of a map in byte order. It allocates less than slices.Sorted(maps.Keys(m)), and nothing
// for an empty map.
func SortedKeys[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}

	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}

	slices.Sort(keys)
	return keys
}

// Set sets key to value. A key that already exists keeps its place.
func (c *Conf) Set(key, value string) {
	if c.values == nil {
		c.values = map[string]entry{}
	}

	e, ok := c.values[key]
	if !ok {
		e.at = len(c.keys)
		c.keys = append(c.keys, key)
	}

	e.value = value
	c.values[key] = e
}

// SetIfMissing sets key to value unless key already has a value, and reports whether it set the value. An empty value
// counts as a value.
func (c *Conf) SetIfMissing(key, value string) bool {
	if _, ok := c.Get(key); ok {
		return false
	}

	c.Set(key, value)
	return true
}

// Get returns the raw text of key, without looking up old names of the key and without substitution.
func (c *Conf) Get(key string) (string, bool) {
	if c == nil {
		return "", false
	}

	e, ok := c.values[key]
	return e.value, ok
}

// Has reports whether key has a value, which may be empty.
func (c *Conf) Has(key string) bool {
	_, ok := c.Get(key)
	return ok
}

// Delete removes keys and ignores missing ones. Its amortized cost is constant for each key.
func (c *Conf) Delete(keys ...string) {
	for _, key := range keys {
		delete(c.values, key)
	}

	if len(c.keys) > 2*len(c.values) {
		c.keys = c.Keys()
		for i, key := range c.keys {
			c.values[key] = entry{c.values[key].value, i}
		}
	}
}

// Len returns the number of keys.
func (c *Conf) Len() int {
	if c == nil {
		return 0
	}
	return len(c.values)
}

// Keys returns the keys in order. The slice is a copy, which the caller may change.
func (c *Conf) Keys() []string {
	if c == nil {
		return nil
	}

	keys := make([]string, 0, len(c.values))
	for key := range c.All() {
		keys = append(keys, key)
	}
	return keys
}

// All yields keys and raw values in order.
func (c *Conf) All() iter.Seq2[string, string] { return c.WithPrefix("") }

// WithPrefix yields, for each key that begins with prefix, the rest of the key and the raw value, in the order of the
// keys. Spark reads groups of keys such as spark.kubernetes.driver.label.* this way.
func (c *Conf) WithPrefix(prefix string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if c == nil {
			return
		}

		for i, key := range c.keys {
			rest, ok := strings.CutPrefix(key, prefix)
			if !ok {
				continue
			}

			if e, ok := c.values[key]; ok && e.at == i && !yield(rest, e.value) {
				return
			}
		}
	}
}

// Map returns the raw pairs as a new map.
func (c *Conf) Map() map[string]string {
	if c == nil {
		return map[string]string{}
	}

	m := make(map[string]string, len(c.values))
	for key, e := range c.values {
		m[key] = e.value
	}
	return m
}

// Equal reports whether c and other have the same pairs in the same order, and the same environment and system
// properties. A nil Conf equals only nil.
func (c *Conf) Equal(other *Conf) bool {
	if c == nil || other == nil {
		return c == other
	}
	return slices.Equal(c.Keys(), other.Keys()) && maps.Equal(c.Map(), other.Map()) && maps.Equal(c.env, other.env) && maps.Equal(c.system, other.system)
}

// Clone returns an independent copy of c, including its environment and system properties. The clone of a nil Conf is
// an empty Conf.
func (c *Conf) Clone() *Conf {
	if c == nil {
		return New()
	}

	out := &Conf{keys: slices.Clone(c.keys), values: make(map[string]entry, len(c.values)), env: maps.Clone(c.env), system: maps.Clone(c.system)}
	maps.Copy(out.values, c.values)
	return out
}

// Sorted returns a copy with the keys in byte order.
func (c *Conf) Sorted() *Conf {
	if c == nil {
		return New()
	}

	out := &Conf{keys: c.Keys(), values: make(map[string]entry, len(c.values)), env: maps.Clone(c.env), system: maps.Clone(c.system)}
	slices.Sort(out.keys)

	for i, key := range out.keys {
		out.values[key] = entry{c.values[key].value, i}
	}
	return out
}

// WithEnvironment returns a copy whose typed reads replace "${env:NAME}" by the variable NAME of env. If env does not
// have NAME, the reference stays unchanged: a configuration never reads the environment of the process.
func (c *Conf) WithEnvironment(env map[string]string) *Conf {
	out := c.Clone()
	out.env = maps.Clone(env)
	return out
}

// WithSystemProperties returns a copy whose typed reads replace "${system:NAME}" by the property NAME of properties,
// which are the system properties of the submitting JVM. If properties does not have NAME, the reference stays
// unchanged.
func (c *Conf) WithSystemProperties(properties map[string]string) *Conf {
	out := c.Clone()
	out.system = maps.Clone(properties)
	return out
}
