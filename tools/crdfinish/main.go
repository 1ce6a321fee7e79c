// Command crdfinish turns the output of controller-gen into the custom resource definitions that are installed.
//
//	crdfinish OUT IN.yaml...
//
// It does five things for which controller-gen has no marker:
//
//   - It keeps the descriptions of our own fields and drops the descriptions inside Kubernetes' own types. Each copy of
//     the dropped descriptions would cost 100 kB, and kubectl apply stores a whole definition in an annotation of at
//     most 256 kB.
//   - It narrows Kubernetes' own types to values that their Go types can decode. If a typed client cannot decode one
//     stored object, the client's watch of all objects ends.
//   - It limits every list, map and quantity that has no limit of its own. The package bounds of the main module
//     applies the same limits when it decodes an object.
//   - It declares metadata.name, so that validation rules can name this field.
//   - It serves a group's older version with the schema of the stored version, so that nothing has to be converted.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

const header = "# Generated from the types in api/ by tools/generate.sh. Edit those instead.\n"

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: crdfinish OUTDIR IN.yaml...")
		os.Exit(2)
	}

	for _, in := range os.Args[2:] {
		if err := finishFile(in, filepath.Join(os.Args[1], filepath.Base(in))); err != nil {
			fmt.Fprintln(os.Stderr, "crdfinish:", err)
			os.Exit(1)
		}
	}
}

func finishFile(in, out string) error {
	raw, err := os.ReadFile(in)
	if err != nil {
		return err
	}

	finished, err := finish(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	return os.WriteFile(out, append([]byte(header), finished...), 0o644)
}

// finish returns the definition to install for the definition that controller-gen wrote. Input and result are YAML.
func finish(raw []byte) ([]byte, error) {
	var crd map[string]any
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		return nil, err
	}

	spec, _ := crd["spec"].(map[string]any)

	versions, _ := spec["versions"].([]any)
	if len(versions) == 0 {
		return nil, fmt.Errorf("the file has no spec.versions, so it is not a custom resource definition")
	}

	for _, v := range versions {
		version, _ := v.(map[string]any)
		schema, _ := version["schema"].(map[string]any)

		root, ok := schema["openAPIV3Schema"].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("version %v has no schema", version["name"])
		}

		finishSchema(root, false)
		limitParts(root)
		nameInMetadata(root)
	}

	group, _ := spec["group"].(string)
	if name := olderVersions[group]; name != "" && len(versions) == 1 {
		spec["versions"] = append(versions, additionalVersion(versions[0].(map[string]any), name))
	}
	return yaml.Marshal(crd)
}

// nameInMetadata declares metadata.name, so that a validation rule can name it as its field. The API server has the
// rest of the schema of metadata.
func nameInMetadata(root map[string]any) {
	properties, _ := root["properties"].(map[string]any)
	if metadata, ok := properties["metadata"].(map[string]any); ok {
		metadata["properties"] = map[string]any{"name": map[string]any{"type": "string"}}
	}
}

// olderVersions maps an API group to the older version that the group also serves. The older version has no Go types of
// its own.
var olderVersions = map[string]string{"spark.apache.org": "v1beta1"}

// additionalVersion returns a version of the definition with the given name. The API server serves this version but
// does not store objects in it. Its schema is that of the stored version. Only its printer columns have the reverse
// order, because users of v1beta1 of spark.apache.org expect that order.
func additionalVersion(stored map[string]any, name string) map[string]any {
	version := maps.Clone(stored)

	version["name"], version["storage"] = name, false
	if columns, ok := stored["additionalPrinterColumns"].([]any); ok {
		columns = slices.Clone(columns)
		slices.Reverse(columns)
		version["additionalPrinterColumns"] = columns
	}
	return version
}

// kubernetesTypes lists the names of the properties whose values have Kubernetes' own types. A property with such a
// name has the same type in all kinds of this project.
var kubernetesTypes = map[string]bool{
	"affinity": true, "conditions": true, "dnsConfig": true, "env": true, "envFrom": true, "hostAliases": true, "ingressTLS": true,
	"initContainers": true, "lifecycle": true, "podSecurityContext": true, "resources": true, "securityContext": true, "service": true, "sidecars": true,
	"tolerations": true, "volumeMounts": true, "volumes": true,
}

// finishSchema applies the function narrow to a schema and to all schemas in it, and drops the descriptions inside
// Kubernetes' own types. The parameter inside is true if one of Kubernetes' own types contains the schema.
func finishSchema(schema map[string]any, inside bool) {
	narrow(schema)

	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		property := p.(map[string]any)
		if inside {
			delete(property, "description")
		}

		finishSchema(property, inside || kubernetesTypes[name])
	}

	for _, key := range []string{"items", "additionalProperties"} {
		if below, ok := schema[key].(map[string]any); ok {
			// The description of the list covers its elements.
			delete(below, "description")
			finishSchema(below, inside)
		}
	}
}

// The patterns for the exponent of a quantity. The schema of Kubernetes' own type contains looseExponent, which admits
// fractions and numbers whose computation takes hours. The function narrow replaces it by wholeExponent, which admits
// only whole exponents of at most two digits. It also replaces signed by unsigned, because a negative quantity is never
// valid.
const (
	looseExponent = `([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+)))`
	wholeExponent = `([eE](\+|-)?[0-9]{1,2})`
	signed        = `^(\+|-)?`
	unsigned      = `^\+?`
)

// narrow excludes the values that the schema of a Kubernetes type accepts but its Go type cannot decode. The tests find
// such values with crd.Probes of test/kit/crd.
func narrow(schema map[string]any) {
	pattern, _ := schema["pattern"].(string)
	switch {
	case schema["x-kubernetes-int-or-string"] == true && pattern == "":
		// intstr.IntOrString holds an int32.
		schema["minimum"], schema["maximum"] = -1<<31, 1<<31-1
	case schema["x-kubernetes-int-or-string"] == true:
		// resource.Quantity
		schema["pattern"] = strings.NewReplacer(signed, unsigned, looseExponent, wholeExponent).Replace(pattern)
		schema["maxLength"], schema["minimum"] = maxQuantity, 0
	case schema["format"] == "date-time" && pattern == "":
		// The format date-time allows t and z in lower case, but metav1.Time does not.
		schema["pattern"] = "^[^tz]*$"
	}
}

// The limits of lists, maps and quantities. The package bounds in the main module has the same limits, and its test
// compares them with the output of this program.
const (
	maxItems       = 1_000
	maxEntries     = 2_000
	maxStatusItems = 20_000
	maxQuantity    = 64
)

// limitParts limits the lists and maps of a custom resource's spec and status.
func limitParts(root map[string]any) {
	properties, _ := root["properties"].(map[string]any)
	if spec, ok := properties["spec"].(map[string]any); ok {
		limit(spec, maxItems, maxEntries)
	}

	if status, ok := properties["status"].(map[string]any); ok {
		limit(status, maxStatusItems, maxStatusItems)
	}
}

// limit sets maxItems and maxProperties in a schema and all schemas in it, unless they are already set. The parameter
// items is the limit for lists, and the parameter entries is the limit for maps.
func limit(schema map[string]any, items, entries int) {
	properties, _ := schema["properties"].(map[string]any)
	for _, p := range properties {
		limit(p.(map[string]any), items, entries)
	}

	for _, below := range []struct {
		key, limit string
		most       int
	}{{"items", "maxItems", items}, {"additionalProperties", "maxProperties", entries}} {
		inner, ok := schema[below.key].(map[string]any)
		if !ok {
			continue
		}

		if schema[below.limit] == nil {
			schema[below.limit] = below.most
		}

		limit(inner, items, entries)
	}
}
