package manifest

import (
	"maps"
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// maxPlaces is the largest number of places that a message offers.
const maxPlaces = 3

// advice says where a definition has a field that is unknown at its place. It looks for the name in other letters at
// the same place, then at the nearest other places, then for similar names at the same place, and last in a pod
// template. It is empty if it finds nothing. The argument p describes the object that has the field.
func (c *checker) advice(path, key string, p *property) string {
	lower := strings.ToLower(key)
	if p.Properties["cores"] != nil && slices.Contains([]string{"resources", "requests", "limits"}, lower) {
		return "; write cores and memory"
	}

	beside := func(selects func(name string) bool) string {
		var names []string
		for _, name := range slices.Sorted(maps.Keys(p.Properties)) {
			if selects(strings.ToLower(name)) && len(names) < maxPlaces {
				names = append(names, name)
			}
		}
		return strings.Join(names, " or ")
	}
	at := func(selects func(string, *property) bool, suffix string) string {
		return strings.Join(c.places(path, selects, suffix), " and ")
	}

	if same := beside(func(name string) bool { return name == lower }); same != "" {
		return "; write " + same
	}

	if elsewhere := at(func(name string, _ *property) bool { return strings.EqualFold(name, key) }, ""); elsewhere != "" {
		return "; the kind has it at " + elsewhere
	}

	if similar := beside(func(name string) bool {
		return exit.Distance(name, lower) <= len(key)/4 || strings.HasSuffix(name, lower)
	}); similar != "" {
		return "; write " + similar
	}

	if inPod := podtemplate.PlaceOf(key); inPod != "" {
		template := func(name string, p *property) bool {
			return p.Open && strings.Contains(strings.ToLower(name), "template")
		}
		return "; a pod has it, so write " + at(template, "."+inPod)
	}
	return ""
}

// places returns the places of the definition that a function selects and that have most in common with a path, in the
// order of their depth. Each gets a suffix.
func (c *checker) places(path string, selects func(string, *property) bool, suffix string) []string {
	var found []string
	best := 0
	var walk func(at string, common int, p *property)
	walk = func(at string, common int, p *property) {
		for _, name := range slices.Sorted(maps.Keys(p.Properties)) {
			next, place := p.Properties[name], strings.TrimPrefix(at+"."+name, ".")
			if selects(name, next) {
				if common > best {
					found, best = nil, common
				}

				if common == best {
					found = append(found, place+suffix)
				}
			}

			shared := common
			if path == place || strings.HasPrefix(path, place+".") {
				shared++
			}

			walk(place, shared, next)
		}
	}
	walk("spec", 0, c.root.Properties["spec"])

	depth := func(place string) int { return strings.Count(place, ".") }
	slices.SortStableFunc(found, func(a, b string) int { return depth(a) - depth(b) })

	for i := range found {
		if i == maxPlaces || depth(found[i]) > depth(found[0]) {
			return found[:i]
		}
	}
	return found
}
