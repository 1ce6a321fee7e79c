package manifest

import (
	"fmt"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// duplicates returns a warning for each key that an object has twice. kubectl and the API server take the last value.
func (d *Document) duplicates(path string, node *yamlv3.Node) (faults []*Fault) {
	lines := map[string]int{}
	for i := 0; i < len(node.Content); i++ {
		if node.Kind == yamlv3.SequenceNode {
			faults = append(faults, d.duplicates(fmt.Sprintf("%s[%d]", path, i), node.Content[i])...)
			continue
		}
		key := node.Content[i]
		i++
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
