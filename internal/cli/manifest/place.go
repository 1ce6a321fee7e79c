package manifest

import (
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// Place returns the place of a field, such as spec.driver.env[0].name or spec.sparkConf[spark.master]. If the document
// does not have the field, Place returns the place of the nearest enclosing field.
func (d *Document) Place(field string) Place {
	found, _ := d.nearest(field)
	return Place{d.File, d.line + found.Line, found.Column}
}

// nearest returns the nodes of a field, or of the nearest enclosing field, as Child does.
func (d *Document) nearest(field string) (shown, value *yamlv3.Node) {
	shown, value = d.root, d.root
	for _, key := range Keys(field) {
		at, below := Child(value, key)
		if below == nil {
			break
		}

		shown, value = at, below
	}
	return shown, value
}

// Has reports whether the document has a field.
func (d *Document) Has(field string) bool {
	node := d.root
	for _, key := range Keys(field) {
		if _, node = Child(node, key); node == nil {
			return false
		}
	}
	return true
}

// Child finds an entry of a mapping or a sequence, and returns the node of its value. It also returns the node whose
// line and column messages show: the key of the mapping's entry, or the item of the sequence. Both nodes are nil if the
// entry does not exist.
func Child(node *yamlv3.Node, key string) (shown, value *yamlv3.Node) {
	if node.Kind == yamlv3.AliasNode {
		node = node.Alias
	}

	switch node.Kind {
	case yamlv3.MappingNode:
		for i := len(node.Content) - 2; i >= 0; i -= 2 { // of two equal keys, the last counts
			if node.Content[i].Value == key {
				return node.Content[i], node.Content[i+1]
			}
		}
	case yamlv3.SequenceNode:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i]
		}
	}
	return nil, nil
}

// Keys splits a path at its dots and brackets. The text in brackets is one key, because the keys of maps can contain
// dots.
func Keys(field string) (keys []string) {
	for field != "" {
		if inner, ok := strings.CutPrefix(field, "["); ok {
			key, rest, closed := strings.Cut(inner, "]")
			if !closed {
				return keys
			}

			keys = append(keys, key)
			field = strings.TrimPrefix(rest, ".")
			continue
		}

		end := strings.IndexAny(field, ".[")
		if end < 0 {
			return append(keys, field)
		}

		keys = append(keys, field[:end])
		if field = field[end:]; strings.HasPrefix(field, ".") {
			field = field[1:]
		}
	}
	return keys
}
