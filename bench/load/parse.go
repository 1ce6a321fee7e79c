package load

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	strict "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// most bounds a description: load stops by itself.
const most = 100_000

// Parse reads a description of load. A field that is unknown, there twice or cannot be meant is an error that names it.
func Parse(text []byte) (Spec, error) {
	var s Spec
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return Spec{}, fmt.Errorf("load: %w", err)
	}
	unknown, err := strict.UnmarshalStrict(asJSON, &s)
	if err := errors.Join(append(unknown, err)...); err != nil {
		return Spec{}, fmt.Errorf("load: %w", err)
	}
	if err := s.validate(); err != nil {
		return Spec{}, fmt.Errorf("load: %w", err)
	}
	return s, nil
}

func (s Spec) validate() error {
	if len(s.Classes) == 0 {
		return errors.New("classes: there is none")
	}
	var errs []error
	known := map[string]bool{}
	for i, c := range s.Classes {
		for _, fault := range c.faults() {
			errs = append(errs, fmt.Errorf("classes[%d].%s", i, fault))
		}
		if known[c.Name] {
			errs = append(errs, fmt.Errorf("classes[%d].name: %q is the name of another class", i, c.Name))
		}
		known[c.Name] = true
	}
	return errors.Join(errs...)
}

func (c Class) faults() (faults []string) {
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	// Room for a number behind each.
	for _, named := range [...]struct{ field, value string }{{"name", c.Name}, {"namespace", c.Namespace}} {
		for _, wrong := range validation.IsDNS1123Label(named.value) {
			fault(true, "%s: %q: %s", named.field, named.value, wrong)
		}
		fault(len(named.value) > 40, "%s: %q is longer than 40 characters", named.field, named.value)
	}
	fault(c.Count < 1 || c.Count > most, "count: %d is not from 1 to %d", c.Count, most)
	fault(c.Namespaces < 0 || c.Namespaces > max(1, c.Count), "namespaces: %d is not from 0 to the count", c.Namespaces)
	fault(c.Rate < 0, "rate: %v is less than none", c.Rate)
	fault(c.Executors < 0 || c.Executors > 1000, "executors: %d is not from 0 to 1000", c.Executors)
	fault(c.Fail < 0 || c.Fail > 1, "fail: %v is not from 0 to 1", c.Fail)
	_, says := c.Spec["arguments"]
	fault(says, "spec.arguments: the arguments are what the simulated driver does: say run, executors, fail")
	return faults
}
