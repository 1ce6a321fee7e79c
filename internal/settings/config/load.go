package config

import (
	"errors"
	"fmt"
	"os"

	"sigs.k8s.io/json"

	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// Load reads, decodes and validates the file at path and sets the defaults. An empty path means an empty file.
func Load(path string) (Configuration, error) {
	if path == "" {
		return Default(), nil
	}

	data, err := os.ReadFile(path)
	if err != nil {
		return Configuration{}, fmt.Errorf("read the configuration: %w", err)
	}

	c, err := Parse(data)
	if err != nil {
		return Configuration{}, fmt.Errorf("configuration %s: %w", path, err)
	}
	return c, nil
}

// Parse decodes YAML or JSON strictly, sets the defaults and validates the result. An unknown or repeated field is an
// error that names the field.
func Parse(data []byte) (Configuration, error) {
	var c Configuration
	if err := decode(data, &c); err != nil {
		return Configuration{}, fmt.Errorf("not a %s of %s: %w", Kind, APIVersion, err)
	}

	c.applyDefaults()

	if err := c.Validate(); err != nil {
		return Configuration{}, err
	}
	return c, nil
}

// ParseNewer decodes the file of an operator that may be newer than this program. It ignores unknown fields, and does
// not validate the file.
func ParseNewer(data []byte) (Configuration, error) {
	c := Default()

	_, asJSON, err := podtemplate.ReadYAML(data)
	if err == nil {
		err = json.UnmarshalCaseSensitivePreserveInts(asJSON, &c)
	}
	return c, err
}

// removed contains the fields that existed only in earlier versions of the file, each with an explanation of what to
// use instead.
var removed = map[string]string{
	"sharding": "it was removed, because several replicas were no faster than one; leave it out. " +
		"To split the work, run one operator for each group of namespaces (docs/tuning.md#several-releases)",
}

// decode decodes YAML strictly. It converts the YAML to JSON first, because the JSON decoder names an unknown field by
// its whole path.
func decode(data []byte, c *Configuration) error {
	_, asJSON, err := podtemplate.ReadYAML(data)
	if err != nil {
		return err
	}

	strict, err := json.UnmarshalStrict(asJSON, c)
	if err != nil {
		return err
	}

	for i, err := range strict {
		for name, instead := range removed {
			if err.Error() == fmt.Sprintf("unknown field %q", name) {
				strict[i] = fmt.Errorf("%w: %s", err, instead)
			}
		}
	}
	return errors.Join(strict...)
}
