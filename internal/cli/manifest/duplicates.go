package manifest

import (
	"fmt"
	"regexp"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// changing matches keys without quotes that YAML may read as a boolean or a number, and so as another text.
var changing = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|[-+.\d].*)$`)

// changedKey returns the fault of a key that kubectl and the API server read as another text, such as on, which becomes
// true. It returns nil if they read the key as it is written.
func (d *Document) changedKey(path string, key *yamlv3.Node) *Fault {
	if key.Style != 0 || !changing.MatchString(key.Value) {
		return nil
	}
	var read map[string]any

	_, asJSON, err := podtemplate.ReadManifest([]byte(key.Value + ": 0"))
	if err == nil {
		err = utiljson.Unmarshal(asJSON, &read)
	}

	if _, same := read[key.Value]; same || len(read) != 1 || err != nil {
		return nil //nolint:nilerr // a key that cannot be read alone is a fault of the document
	}

	for text := range read {
		path = strings.TrimPrefix(path+"["+key.Value+"]", ".")
		return &Fault{Place{d.File, d.line + key.Line, key.Column}, RuleInvalid, path, fmt.Sprintf("is the key %q, because YAML reads %s so; put it in quotes: %q", text, key.Value, key.Value)}
	}
	return nil
}

// duplicates returns a warning for each key that an object has twice, and an error for each key that YAML changes.
// kubectl and the API server take the last value of a key.
func (d *Document) duplicates(path string, node *yamlv3.Node) (faults []*Fault) {
	lines := map[string]int{}
	for i := 0; i < len(node.Content); i++ {
		if node.Kind == yamlv3.SequenceNode {
			faults = append(faults, d.duplicates(fmt.Sprintf("%s[%d]", path, i), node.Content[i])...)
			continue
		}

		key := node.Content[i]
		i++

		if changed := d.changedKey(path, key); changed != nil {
			faults = append(faults, changed)
		}

		below := strings.TrimPrefix(path+"."+key.Value, ".")
		if strings.ContainsAny(key.Value, "./") {
			below = path + "[" + key.Value + "]"
		}

		if _, value := Child(node, key.Value); lines[key.Value] > 0 && value == node.Content[i] {
			counts := "that of this line"
			if value.Kind == yamlv3.ScalarNode {
				counts = conf.Quote(key.Value, value.Value)
			}

			faults = append(faults, &Fault{d.Place(below), RuleDuplicate, below,
				fmt.Sprintf("is set twice in the same object; the last value counts, %s, and not that of line %d: remove one of the two", counts, lines[key.Value])})
		}

		lines[key.Value] = d.line + key.Line
		faults = append(faults, d.duplicates(below, node.Content[i])...)
	}
	return faults
}
