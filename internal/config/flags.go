package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// Flags are the command line flags of the kubeflow operator, read as this operator's configuration: each that means something here is another name for
// a field of the file, and wins over it; one that means nothing is accepted, and told.
type Flags struct {
	flags []*flag
}

// Unused is a flag that was given and has no effect.
type Unused struct {
	// Name of the flag, without hyphens.
	Name string
	// Why it has no effect.
	Why string
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
func (f *Flags) AddController(to *pflag.FlagSet) { f.add(to, controllerFlags) }

// AddWebhook adds the flags of "webhook start".
func (f *Flags) AddWebhook(to *pflag.FlagSet) { f.add(to, webhookFlags) }

func (f *Flags) add(to *pflag.FlagSet, table []known) {
	for _, k := range table {
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

// Load reads the file at path, which may be empty for none, and lays what the flags say over it. It returns the flags that have no effect.
func (f *Flags) Load(path string) (Configuration, []Unused, error) {
	laid := overlay{}
	var unused []Unused
	for _, one := range f.flags {
		if !one.given {
			continue
		}
		if one.why != "" {
			unused = append(unused, Unused{one.name, one.why})
			continue
		}
		if err := one.lay(laid); err != nil {
			return Configuration{}, nil, fmt.Errorf("--%s=%s: %w", one.name, one.text, err)
		}
		if one.lost != nil {
			if why := one.lost(one.text); why != "" {
				unused = append(unused, Unused{one.name, why})
			}
		}
	}
	if len(laid) == 0 {
		c, err := Load(path)
		return c, unused, err
	}
	file := overlay{}
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return Configuration{}, nil, fmt.Errorf("read the configuration: %w", err)
		}
		if err := yaml.UnmarshalStrict(data, &file); err != nil {
			return Configuration{}, nil, fmt.Errorf("configuration %s: %w", path, err)
		}
	}
	file.merge(laid)
	data, err := json.Marshal(file)
	if err != nil {
		return Configuration{}, nil, err
	}
	c, err := Parse(data)
	if err != nil {
		return Configuration{}, nil, fmt.Errorf("configuration %s with the flags over it: %w", cmp.Or(path, "of no file"), err)
	}
	return c, unused, nil
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

// overlay is a part of a configuration file.
type overlay map[string]any

// set puts a value at a path such as "controller.workers".
func (o overlay) set(path string, value any) {
	first, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		o[first] = value
		return
	}
	below, isMap := o[first].(overlay)
	if !isMap {
		below = overlay{}
		o[first] = below
	}
	below.set(rest, value)
}

// merge lays another over it: maps are merged, everything else is replaced.
func (o overlay) merge(over overlay) {
	for _, key := range slices.Sorted(maps.Keys(over)) {
		below, isMap := over[key].(overlay)
		if !isMap {
			o[key] = over[key]
			continue
		}
		under := overlay{}
		if was, ok := o[key].(map[string]any); ok {
			under = was
		}
		under.merge(below)
		o[key] = map[string]any(under)
	}
}
