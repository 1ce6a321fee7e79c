package manifest

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/config/crd"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// property is the schema of a value in a definition. It has the keywords that the specs of the definitions use, except
// limits of sizes, which package bounds checks. A test compares what it refuses with the validation of the API server.
type property struct {
	Type        string               `json:"type"`
	Properties  map[string]*property `json:"properties"`
	Items       *property            `json:"items"`
	Entries     *property            `json:"additionalProperties"`
	Required    []string             `json:"required"`
	Enum        []string             `json:"enum"`
	Pattern     string               `json:"pattern"`
	Minimum     *float64             `json:"minimum"`
	Maximum     *float64             `json:"maximum"`
	MinLength   int                  `json:"minLength"`
	Default     any                  `json:"default"`
	IntOrString bool                 `json:"x-kubernetes-int-or-string"`
	Open        bool                 `json:"x-kubernetes-preserve-unknown-fields"`
}

// definitions holds the schemas that were read (definition).
var definitions = map[schema.GroupVersionKind]*property{}

// definition returns the schema of a kind that the operator serves. Reading a definition takes longer than checking a
// document with it, so each is read once.
func definition(kind schema.GroupVersionKind) *property {
	if definitions[kind] == nil {
		root := readDefinition(kind)
		root.Properties["metadata"] = metadata
		root.Required = []string{"spec"}        // the operator reports what is missing in the metadata
		root.Properties["status"] = &property{} // the API server ignores the status of a new object
		definitions[kind] = root
	}
	return definitions[kind]
}

func readDefinition(kind schema.GroupVersionKind) *property {
	var found struct {
		Spec struct {
			Versions []struct {
				Name   string `json:"name"`
				Schema struct {
					Root *property `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}

	text, err := crd.Files.ReadFile(fmt.Sprintf("%s_%ss.yaml", kind.Group, strings.ToLower(kind.Kind)))
	if err == nil {
		_, text, err = podtemplate.ReadYAML(text)
	}

	if err == nil {
		err = utiljson.Unmarshal(text, &found)
	}

	if err != nil {
		panic(fmt.Sprintf("manifest: the definition of %s cannot be read: %v", kind, err))
	}

	for _, version := range found.Spec.Versions {
		if version.Name == kind.Version {
			return version.Schema.Root
		}
	}

	panic(fmt.Sprintf("manifest: no definition has %s", kind))
}

// checker compares a document with the definition of its kind.
type checker struct {
	document *Document
	root     *property
	found    []*Fault
}

func (c *checker) add(rule, path, message string, args ...any) {
	if slices.ContainsFunc(c.found, func(f *Fault) bool { return f.Field == path && (!f.Warning() || f.Rule == rule) }) {
		return
	}

	c.found = append(c.found, &Fault{Place: c.document.Place(path), Rule: rule, Field: path, Message: fmt.Sprintf(message, args...)})
}

// value checks a value. Of the values of a wrong type, it reports those whose Go type takes any value. Package bounds
// reports the others.
func (c *checker) value(path string, value any, p *property) {
	if _, isObject := value.(map[string]any); p.Open && p.Type == "object" && !isObject {
		c.add(RuleInvalid, path, "is not an object; write its fields")
	}

	switch value := value.(type) {
	case bool:
		if p.IntOrString {
			c.add(RuleInvalid, path, "is the boolean %t, not a number or text; put it in quotes", value)
		}
	case string:
		c.text(path, value, p)
	case int64:
		c.number(path, float64(value), p)
	case float64:
		c.number(path, value, p)
	case []any:
		c.list(path, value, p)
	case map[string]any:
		c.object(path, value, p)
	}
}

func (c *checker) list(path string, value []any, p *property) {
	if p.IntOrString {
		c.add(RuleInvalid, path, "is not a number or text; write a single one")
	}

	for i, item := range value {
		below := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case p.Items == nil:
		case item == nil:
			c.add(RuleInvalid, below, "has no value; write one, or remove the item")
		default:
			c.value(below, item, p.Items)
		}
	}
}

// object checks an object or a map. The API server removes fields without a value before it checks the others.
func (c *checker) object(path string, value map[string]any, p *property) {
	if p.IntOrString {
		c.add(RuleInvalid, path, "is not a number or text; write a single one")
	}

	for _, key := range slices.Sorted(maps.Keys(value)) {
		below := strings.TrimPrefix(path+"."+key, ".")

		next := p.Properties[key]
		if p.Entries != nil {
			below, next = path+"["+key+"]", p.Entries
		}

		switch {
		case next != nil && value[key] != nil:
			c.value(below, value[key], next)
		case next == nil && len(p.Properties) > 0 && !p.Open:
			c.add(RuleUnknownField, below, "is unknown; the API server drops it%s", c.advice(path, key, p))
		}
	}

	for _, key := range p.Required {
		if value[key] == nil && p.Properties[key].Default == nil {
			c.add(RuleMissingField, strings.TrimPrefix(path+"."+key, "."), "is required")
		}
	}
}

// shell matches the command lines of containers, where a shell may replace a reference to a variable.
var shell = regexp.MustCompile(`\.(command|args)\[\d+\]$`)

// patterns says what to write for each pattern of the definitions.
var patterns = map[string]string{
	`^\+?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,2}))?$`: "is not a quantity; write one such as 500m or 2Gi",
}

func (c *checker) text(path, value string, p *property) {
	switch {
	case len(p.Enum) > 0 && !slices.Contains(p.Enum, value):
		way := "one of " + strings.Join(p.Enum, ", ")
		if i := slices.IndexFunc(p.Enum, func(known string) bool { return strings.EqualFold(known, value) }); i >= 0 {
			way = p.Enum[i]
		}

		c.add(RuleInvalid, path, "%q is not accepted; write %s", value, way)
	case len(value) < p.MinLength:
		c.add(RuleInvalid, path, "is empty; write a value, or remove the field")
	case p.Pattern != "" && !regexp.MustCompile(p.Pattern).MatchString(value):
		c.add(RuleInvalid, path, "%q %s", value, patterns[p.Pattern])
	}

	if open := conf.Placeholder(value); open != "" && !shell.MatchString(path) && !strings.Contains(value, "\n") {
		c.add(RulePlaceholder, path, conf.PlaceholderMessage, open)
	}
}

func (c *checker) number(path string, value float64, p *property) {
	switch {
	case p.IntOrString && value != math.Trunc(value):
		c.add(RuleInvalid, path, "is the number %v, not a whole number or text; put it in quotes", value)
	case p.Minimum != nil && value < *p.Minimum:
		c.add(RuleInvalid, path, "%v is too small; write %v or more", value, *p.Minimum)
	case p.Maximum != nil && value > *p.Maximum:
		c.add(RuleInvalid, path, "%v is too large; write %v or less", value, *p.Maximum)
	}
}
