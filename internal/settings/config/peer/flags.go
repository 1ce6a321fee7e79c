// Package peer reads the settings of the operators that this operator replaces: the flags of the kubeflow operator, and
// the properties of the operator of spark.apache.org. A setting that has a counterpart sets a field of the
// configuration file (package config, which does not depend on this package). A setting without a counterpart is
// accepted and reported with the reason.
package peer

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// Flags holds the command line flags of the kubeflow operator. A flag with a counterpart in the configuration file sets
// the counterpart and takes precedence over the file. A flag without a counterpart is accepted and reported.
type Flags struct {
	flags []*flag
	// Properties is the path of a properties file of the operator of spark.apache.org. It takes precedence over
	// apache.propertiesFile of the configuration file.
	Properties string
}

// Unused is a flag or a property that is set but has no effect.
type Unused struct {
	// Name is the name of the flag, without hyphens, or of the property.
	Name string
	// Why is the reason why the flag or property has no effect, or not the whole effect.
	Why string
	// Property is true for a property and false for a flag.
	Property bool
}

// flag is one flag with its given value.
type flag struct {
	known
	given bool
	text  string
}

// known describes a flag of the kubeflow operator: the type of its value and its effect in this operator.
type known struct {
	name string
	// kind is the type of the flag's value. The help shows it, and it determines how the value is parsed.
	kind kind
	// field is the path of the field in the configuration file that the flag sets. It is empty if the flag has no
	// effect or if apply is set.
	field string
	// apply sets the fields of the configuration file, if the flag does more than set one field to its value. It may
	// reject a value.
	apply func(overlay, string) error
	// why is the reason why the flag has no effect; empty if it has one. lost returns the reason why a part of a value
	// has no effect.
	why  string
	lost func(string) string
}

type kind string

const (
	text     kind = "string"
	boolean  kind = "bool"
	number   kind = "int"
	period   kind = "duration"
	texts    kind = "strings"
	numbers  kind = "floats"
	document kind = "JSON"
)

// AddController adds the flags of the kubeflow operator to the flags of the command "controller start".
func (f *Flags) AddController(to *pflag.FlagSet) {
	for _, k := range controllerFlags {
		added := &flag{known: k}

		usage := "alias of " + k.field + " in the configuration file"
		switch {
		case k.why != "":
			usage = "no effect: " + k.why
		case k.field == "":
			usage = "alias; see docs/migrate-kubeflow.md"
		}

		option := to.VarPF(added, k.name, "", usage)

		option.Hidden = k.why != ""
		if k.kind == boolean {
			option.NoOptDefVal = "true"
		}

		f.flags = append(f.flags, added)
	}
}

// String returns the value that the flag was given, as text.
func (f *flag) String() string { return f.text }

// Type returns the type of the flag's value, for the help text.
func (f *flag) Type() string { return string(f.kind) }

// Set sets the flag's value. If a list flag is given again, Set appends its values, as the kubeflow operator does.
func (f *flag) Set(value string) error {
	if _, err := f.kind.read(value); err != nil {
		return err
	}

	if f.given && (f.kind == texts || f.kind == numbers) {
		value = f.text + "," + value
	}

	f.given, f.text = true, value
	return nil
}

// read converts a flag's text to the value that the configuration file would have.
func (k kind) read(value string) (any, error) {
	switch k {
	case boolean:
		return strconv.ParseBool(value)
	case number:
		return strconv.ParseInt(value, 10, 64)
	case period:
		d, err := time.ParseDuration(value)
		return d.String(), err
	case texts, numbers:
		var items []any // nil if the text is empty
		if value == "" {
			return items, nil
		}

		for item := range strings.SplitSeq(value, ",") {
			item = strings.Trim(strings.TrimSpace(item), `"`) // the kubeflow chart writes the empty name as ""
			if k == texts {
				items = append(items, item)
				continue
			}

			n, err := strconv.ParseFloat(item, 64)
			if err != nil {
				return nil, err
			}

			items = append(items, n)
		}
		return items, nil
	case document:
		if strings.TrimSpace(value) == "" {
			return nil, nil
		}
		var content any
		err := utiljson.Unmarshal([]byte(value), &content)
		return content, err
	}
	return value, nil
}

// Load reads the configuration file at path; an empty path means an empty file. It merges the properties file, if one
// is configured, over the configuration file, and the flags over both. It also returns the settings that have no
// effect.
func (f *Flags) Load(path string) (config.Configuration, []Unused, error) {
	fromFlags, unused, err := f.overlay()
	if err != nil {
		return config.Configuration{}, nil, err
	}

	file, err := readOverlay(path)
	if err != nil {
		return config.Configuration{}, nil, err
	}

	properties := cmp.Or(f.Properties, file.text("apache", "propertiesFile"))
	if len(fromFlags) == 0 && properties == "" {
		c, err := config.Load(path)
		return c, unused, err
	}

	if properties != "" {
		over, more, err := propertiesOver(properties)
		if err != nil {
			return config.Configuration{}, nil, err
		}

		if first, ok := over["defaults"].([]any); ok {
			own, _ := file["defaults"].([]any)
			over["defaults"] = append(first, own...) // the file's entries override the properties
		}

		file.merge(over)

		unused = append(unused, more...)
	}

	file.merge(fromFlags)

	c, err := file.parse()
	if err != nil {
		return config.Configuration{}, nil, fmt.Errorf("configuration %s, with flags and properties merged over it: %w", cmp.Or(path, "without a file"), err)
	}
	return c, unused, nil
}

// overlay returns the fields of the configuration file that the flags set, and the flags that have no effect.
func (f *Flags) overlay() (fields overlay, unused []Unused, _ error) {
	fields = overlay{}
	for _, option := range f.flags {
		if !option.given {
			continue
		}

		if option.why != "" {
			unused = append(unused, Unused{Name: option.name, Why: option.why})
			continue
		}

		if err := option.setIn(fields); err != nil {
			return nil, nil, fmt.Errorf("--%s=%s: %w", option.name, option.text, err)
		}

		if option.lost != nil {
			if why := option.lost(option.text); why != "" {
				unused = append(unused, Unused{Name: option.name, Why: why})
			}
		}
	}
	return fields, unused, nil
}

func (f *flag) setIn(to overlay) error {
	if f.apply != nil {
		return f.apply(to, f.text)
	}

	value, err := f.kind.read(f.text)
	if err != nil {
		return err
	}

	to.set(f.field, value)
	return nil
}
