package peer

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// overlay is a part of a configuration file, as a tree of maps.
type overlay map[string]any

// set sets the field at a path such as "controller.workers".
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

// merge copies the values of another overlay into o. It merges maps recursively, and replaces all other values.
func (o overlay) merge(over overlay) {
	for _, key := range slices.Sorted(maps.Keys(over)) {
		below, isMap := over[key].(overlay)
		if !isMap {
			o[key] = over[key]
			continue
		}

		under := overlay{}
		if existing, ok := o[key].(map[string]any); ok {
			under = existing
		}

		under.merge(below)
		o[key] = map[string]any(under)
	}
}

// readOverlay reads a configuration file without defaults. An empty path means an empty file.
func readOverlay(path string) (overlay, error) {
	file := overlay{}
	if path == "" {
		return file, nil
	}

	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}

	_, asJSON, err := podtemplate.ReadYAML(data)
	if err == nil {
		err = utiljson.Unmarshal(asJSON, &file)
	}

	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}

	if file == nil { // the file is empty
		file = overlay{}
	}
	return file, nil
}

// asOverlay converts a configuration into the content of a configuration file. The method parse of the overlay converts
// it back.
func asOverlay(c *config.Configuration) (overlay, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}

	file := overlay{}
	return file, utiljson.Unmarshal(data, &file)
}

// parse parses the overlay as a complete configuration file.
func (o overlay) parse() (config.Configuration, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return config.Configuration{}, err
	}
	return config.Parse(data)
}

// text returns the field of a section if the field is a string, and "" otherwise.
func (o overlay) text(section, field string) string {
	within, _ := o[section].(map[string]any)
	text, _ := within[field].(string)
	return text
}
