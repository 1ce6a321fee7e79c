// Package peer reads the settings of the operators that this one replaces: the flags of the kubeflow operator, and the properties of the operator of
// spark.apache.org. Each setting that has a counterpart becomes a field of the configuration file, package config, which knows nothing of this
// package. Each that has none is accepted, and reported with the reason.
package peer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/sparkoperator/spark-operator/internal/config"
)

// Flags are the command line flags of the kubeflow operator, read as this operator's configuration: each that means something here is another name for
// a field of the file, and wins over it; one that means nothing is accepted, and told.
type Flags struct {
	flags []*flag
	// Properties is a file of properties of the operator of spark.apache.org; it takes the place of the configuration file's apache.propertiesFile.
	Properties string
}

// Unused is a flag or a property that was given and has no effect.
type Unused struct {
	// Name of the flag, without hyphens, or of the property.
	Name string
	// Why it has no effect.
	Why string
	// Property tells that it is a property.
	Property bool
}

// flag is one flag as it was given.
type flag struct {
	known
	given bool
	text  string
}

// known is what a flag means.
type known struct {
	name string
	// kind is shown in the help, and says how a value is read.
	kind kind
	// field is the path in the configuration file that the flag is another name for; empty where it is none, or where apply says.
	field string
	// apply takes what the path alone does not tell. It may refuse a value.
	apply func(overlay, string) error
	// why tells why the flag has no effect, where it has none; lost tells that of a value.
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

// AddController adds the flags of "controller start".
func (f *Flags) AddController(to *pflag.FlagSet) {
	for _, k := range controllerFlags {
		one := &flag{known: k}
		usage := "alias of " + k.field + " in the configuration file"
		switch {
		case k.why != "":
			usage = "no effect: " + k.why
		case k.field == "":
			usage = "alias; see docs/migrate-kubeflow.md"
		}
		added := to.VarPF(one, k.name, "", usage)
		added.Hidden = k.why != ""
		if k.kind == boolean {
			added.NoOptDefVal = "true"
		}
		f.flags = append(f.flags, one)
	}
}

// String is what was given.
func (f *flag) String() string { return f.text }

// Type is the flag's kind, for the help.
func (f *flag) Type() string { return string(f.kind) }

// Set takes a value. A list that is given again grows, as that operator's does.
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

// read makes of a flag's text what the file would hold.
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
		var items []any // none where the text is empty
		if value == "" {
			return items, nil
		}
		for item := range strings.SplitSeq(value, ",") {
			item = strings.Trim(strings.TrimSpace(item), `"`) // that operator's chart writes the empty name as ""
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
		err := json.Unmarshal([]byte(value), &content)
		return content, err
	}
	return value, nil
}

// Load reads the file at path, which may be empty for none, lays the properties over it, if there is a file of them, and what the flags say over both.
// It returns what was given and has no effect.
func (f *Flags) Load(path string) (config.Configuration, []Unused, error) {
	laid, unused, err := f.laid()
	if err != nil {
		return config.Configuration{}, nil, err
	}
	file, err := readOverlay(path)
	if err != nil {
		return config.Configuration{}, nil, err
	}
	properties := cmp.Or(f.Properties, file.text("apache", "propertiesFile"))
	if len(laid) == 0 && properties == "" {
		c, err := config.Load(path)
		return c, unused, err
	}
	if properties != "" {
		over, more, err := propertiesOver(properties)
		if err != nil {
			return config.Configuration{}, nil, err
		}
		file.merge(over)
		unused = append(unused, more...)
	}
	file.merge(laid)
	c, err := file.parse()
	if err != nil {
		return config.Configuration{}, nil, fmt.Errorf("configuration %s with the flags and properties over it: %w", cmp.Or(path, "of no file"), err)
	}
	return c, unused, nil
}

// laid is what the flags lay over the file, and those of them that have no effect.
func (f *Flags) laid() (laid overlay, unused []Unused, _ error) {
	laid = overlay{}
	for _, one := range f.flags {
		if !one.given {
			continue
		}
		if one.why != "" {
			unused = append(unused, Unused{Name: one.name, Why: one.why})
			continue
		}
		if err := one.lay(laid); err != nil {
			return nil, nil, fmt.Errorf("--%s=%s: %w", one.name, one.text, err)
		}
		if one.lost != nil {
			if why := one.lost(one.text); why != "" {
				unused = append(unused, Unused{Name: one.name, Why: why})
			}
		}
	}
	return laid, unused, nil
}

func (f *flag) lay(to overlay) error {
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
