package config

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// refused is a setting of a section that the operator refuses, and the beginning of the message.
type refused struct {
	section, Setting, Error string
	// Chart is a part of the chart's message, which test/e2e/chart compares.
	Chart string
	fault *field.Error
}

// refusedSettings returns the settings of ../testdata/refused.yaml, each with the one fault that the operator finds.
func refusedSettings(t *testing.T) (all []refused) {
	t.Helper()

	text, err := os.ReadFile("../testdata/refused.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var sections map[string][]refused
	if err := yaml.UnmarshalStrict(text, &sections); err != nil {
		t.Fatal(err)
	}

	for section, settings := range sections {
		for _, s := range settings {
			s.section, s.fault = section, faultOf(t, section+": "+s.Setting)
			all = append(all, s)
		}
	}
	return all
}

// faultOf returns the only fault that the operator finds in a section.
func faultOf(t *testing.T, section string) *field.Error {
	t.Helper()

	_, err := Parse(fmt.Appendf(nil, "%s\n%s", header, section))

	var (
		several utilerrors.Aggregate
		fault   *field.Error
	)
	if !errors.As(err, &several) || len(several.Errors()) != 1 || !errors.As(several.Errors()[0], &fault) {
		t.Fatalf("%.200s: got %v, want a single fault", section, err)
	}
	return fault
}

// TestRefusedSettings checks that each setting of refused.yaml is refused with its message, which names the field and
// says what is wrong, and no secret.
func TestRefusedSettings(t *testing.T) {
	named := regexp.MustCompile(`^(defaults|policy\.rules|logs)\[\d]\.\S.*?: (Invalid value|Required value|Forbidden|Duplicate value|Unsupported value): .`)
	for _, s := range refusedSettings(t) {
		if got := s.fault.Error(); !strings.HasPrefix(got, s.Error) || strings.Contains(got, "secret") {
			t.Errorf("%s: %s:\n got %s\nwant %s", s.section, s.Setting, got, s.Error)
		}

		if !named.MatchString(s.Error) {
			t.Errorf("%s: %s: the message must begin with the field and have a phrase: %s", s.section, s.Setting, s.Error)
		}
	}
}

// TestRefusedSettingsAreToldApart checks that the message of a setting is not also that of a setting with another
// message, so that TestRefusedSettings fails if the operator refuses a setting for another reason.
func TestRefusedSettingsAreToldApart(t *testing.T) {
	all := refusedSettings(t)
	for _, a := range all {
		for _, b := range all {
			if a.Error != b.Error && strings.HasPrefix(b.fault.Error(), a.Error) {
				t.Errorf("%s: %s has a message that %s has as well: %s", a.section, a.Setting, b.Setting, a.Error)
			}
		}
	}
}
