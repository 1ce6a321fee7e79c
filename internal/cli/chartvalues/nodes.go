package chartvalues

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// value returns the value of a key of a map, or nil.
func value(node *yaml.Node, key string) *yaml.Node {
	if i := index(node, key); i >= 0 {
		return node.Content[i+1]
	}
	return nil
}

// keyNode returns the node of a key of a map, or nil.
func keyNode(node *yaml.Node, key string) *yaml.Node {
	if i := index(node, key); i >= 0 {
		return node.Content[i]
	}
	return nil
}

func index(node *yaml.Node, key string) int {
	if node == nil || node.Kind != yaml.MappingNode {
		return -1
	}

	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// find returns the value at a path, or nil.
func find(node *yaml.Node, path []string) *yaml.Node {
	for _, part := range path {
		node = value(node, part)
	}
	return node
}

// set sets the value of a key of a map, and returns the value.
func set(node *yaml.Node, key string, to *yaml.Node) *yaml.Node {
	if i := index(node, key); i >= 0 {
		node.Content[i+1] = to
	} else {
		node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, to)
	}
	return to
}

// commentsOf returns the user's comments at the key at a path, in lines.
func commentsOf(node *yaml.Node, path []string) string {
	at := find(node, path[:len(path)-1])

	key := keyNode(at, path[len(path)-1])
	if key == nil {
		return ""
	}
	return strings.TrimSpace(key.HeadComment + "\n" + key.LineComment)
}

// remove removes the value at a path, and the maps above it that become empty.
func remove(node *yaml.Node, path []string) {
	i := index(node, path[0])
	if i < 0 {
		return
	}

	if below := node.Content[i+1]; len(path) > 1 {
		if remove(below, path[1:]); below.Kind != yaml.MappingNode || len(below.Content) > 0 {
			return
		}
	}

	node.Content = slices.Delete(node.Content, i, i+2)
}
