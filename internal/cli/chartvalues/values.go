// Package chartvalues converts values files of other operators' Helm charts to values of this operator's chart. It uses
// the table that the chart's templates read too, so a converted file installs what the original file installs.
package chartvalues

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/charts"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// entry describes a value of another operator's chart, as charts/spark-operator/files/peer-values.yaml explains.
type entry struct {
	Key      string         `yaml:"key"`
	Path     []string       `yaml:"path"`
	To       string         `yaml:"to"`
	As       string         `yaml:"as"`
	Sets     map[string]any `yaml:"sets"`
	Harmless yaml.Node      `yaml:"harmless"`
	Effect   string         `yaml:"effect"`
	Why      string         `yaml:"why"`
}

// path returns the keys that lead to the value.
func (e *entry) path() []string {
	if e.Path != nil {
		return e.Path
	}
	return strings.Split(e.Key, ".")
}

// conversion is the state of the conversion of one file.
type conversion struct {
	root    *yaml.Node      // a mapping
	removed []string        // comments about values that have no place in the result
	peer    bool            // whether a value of another operator's chart was found
	lists   map[string]bool // the paths whose lists were moved there
}

// Convert converts a values file. Comments in the result name each value that was moved or removed, and each value that
// the chart does not have.
func Convert(text []byte) ([]byte, error) {
	document, _, err := podtemplate.ReadYAML(text)
	if err != nil {
		return nil, err
	}

	c := conversion{root: &yaml.Node{Kind: yaml.MappingNode}, lists: map[string]bool{}}
	if document != nil && len(document.Content) > 0 && document.Content[0].Tag != "!!null" {
		c.root = document.Content[0]
	}

	if c.root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: a values file is a map, such as controller: {replicas: 2}", c.root.Line)
	}

	expand(c.root)

	table, err := peerTable()
	if err != nil {
		return nil, err
	}

	known := map[string]any{}
	if err := utiljson.Unmarshal(charts.KnownValues, &known); err != nil {
		return nil, err
	}

	c.gates()
	c.namespaces(table.flat)
	slices.SortStableFunc(table.entries, func(a, b entry) int { return len(b.path()) - len(a.path()) })

	for i := range table.entries {
		if err := c.apply(&table.entries[i]); err != nil {
			return nil, err
		}
	}

	own, err := defaultRepository(known)
	if err != nil {
		return nil, err
	}

	c.image(table, own)
	c.webhookPort()
	c.unknown(c.root, known, known, "")
	return c.bytes()
}

// bytes returns the result.
func (c *conversion) bytes() ([]byte, error) {
	var out bytes.Buffer

	for _, line := range c.removed {
		fmt.Fprintf(&out, "# %s\n", line)
	}

	if len(c.removed) > 0 {
		out.WriteString("\n")
	}

	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)

	if err := encoder.Encode(c.root); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// table is the content of peer-values.yaml.
type table struct {
	names, tags []*regexp.Regexp // of images
	shared      *regexp.Regexp   // the name of images of either operator
	numbers     *regexp.Regexp   // tags of other operators, beside this operator's repository
	version     string           // the tag of this operator's image
	flat        []string         // values of chart 1.x
	entries     []entry
}

// peerTable reads the table.
func peerTable() (t table, err error) {
	document, _, err := podtemplate.ReadYAML(charts.PeerValues)
	if err != nil {
		return t, err
	}

	var content struct {
		Images struct {
			Names, Tags []string
			Shared      string
			Numbers     string
		}
		Flat   []string
		Values []entry
	}
	if err := document.Decode(&content); err != nil {
		return t, err
	}

	for _, text := range content.Images.Names {
		t.names = append(t.names, regexp.MustCompile(text))
	}

	for _, text := range content.Images.Tags {
		t.tags = append(t.tags, regexp.MustCompile(text))
	}

	var chart struct {
		Version string `yaml:"appVersion"`
	}
	if err := yaml.Unmarshal(charts.Chart, &chart); err != nil {
		return t, err
	}

	t.shared, t.numbers = regexp.MustCompile(content.Images.Shared), regexp.MustCompile(content.Images.Numbers)
	t.version = chart.Version
	t.flat, t.entries = content.Flat, content.Values
	return t, nil
}

// expand replaces aliases below a node by copies, and removes anchors, because moved values would lose their anchors.
func expand(node *yaml.Node) {
	for i, child := range node.Content {
		if child.Kind == yaml.AliasNode {
			node.Content[i] = clone(child.Alias)
		}

		expand(node.Content[i])
		node.Content[i].Anchor = ""
	}
}

// clone returns a deep copy of a node.
func clone(node *yaml.Node) *yaml.Node {
	out := *node
	out.Anchor, out.Content = "", nil

	for _, child := range node.Content {
		out.Content = append(out.Content, clone(child))
	}
	return &out
}

// gates replaces the list of feature gates by a map of those that are on, which the table names.
func (c *conversion) gates() {
	at := value(value(c.root, "controller"), "featureGates")
	if at == nil || at.Kind != yaml.SequenceNode {
		return
	}

	on := &yaml.Node{Kind: yaml.MappingNode}

	for _, gate := range at.Content {
		if enabled := value(gate, "enabled"); enabled != nil && enabled.Value == "true" && value(gate, "name") != nil {
			set(on, value(gate, "name").Value, enabled)
		}
	}

	*at = *on
}

// apply moves or removes the value of one entry of the table.
func (c *conversion) apply(e *entry) error {
	path := e.path()
	at := find(c.root, path)

	if at == nil {
		return nil
	}

	c.peer = true
	comment := commentsOf(c.root, path)
	remove(c.root, path)

	if at.Tag == "!!null" || at.Kind == yaml.MappingNode && len(at.Content) == 0 || e.harmless(at) {
		return nil
	}

	if e.To == "" {
		c.removed = append(c.removed, fmt.Sprintf("removed %s: %s", e.Key, e.Why))
		return nil
	}

	if e.As == "list" {
		at = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{at}}
	}

	moved := c.put(e.Key, e.To, at, strings.TrimSpace(comment+"\n# was "+e.Key))

	if !moved || at.Value == "" && at.Kind == yaml.ScalarNode || at.Value == "false" {
		return nil
	}

	for _, key := range slices.Sorted(maps.Keys(e.Sets)) {
		node := new(yaml.Node)
		if err := node.Encode(e.Sets[key]); err != nil {
			return err
		}

		c.put(e.Key, key, node, "# because of "+e.Key)
	}
	return nil
}

// harmless reports whether the value loses no effect. Of a map, only the keys that are set count.
func (e *entry) harmless(at *yaml.Node) bool {
	if e.Harmless.Kind == 0 {
		return false
	}

	if at.Kind != yaml.MappingNode || e.Harmless.Kind != yaml.MappingNode {
		return plain(at) == plain(&e.Harmless)
	}

	for i := 0; i < len(at.Content); i += 2 {
		if other := value(&e.Harmless, at.Content[i].Value); other == nil || plain(at.Content[i+1]) != plain(other) {
			return false
		}
	}
	return true
}

// plain returns a text by which settings can be compared.
func plain(node *yaml.Node) string {
	var v any
	if err := node.Decode(&v); err != nil {
		return err.Error()
	}
	return fmt.Sprint(v)
}

// put moves a value to a path, and reports whether any of it has an effect. The comment stands above the last key.
func (c *conversion) put(from, to string, node *yaml.Node, comment string) bool {
	path := strings.Split(to, ".")
	last := path[len(path)-1]

	if old := find(c.root, path); old != nil && !c.merge(from, to, old, node) {
		return false
	}

	at := c.root

	for _, part := range path[:len(path)-1] {
		next := value(at, part)
		if next == nil || next.Kind != yaml.MappingNode {
			next = set(at, part, &yaml.Node{Kind: yaml.MappingNode})
		}

		at.Style, at = 0, next
	}

	at.Style = 0

	if value(at, last) == nil {
		set(at, last, node)
		c.lists[to] = node.Kind == yaml.SequenceNode
	}

	key := keyNode(at, last)
	key.HeadComment = strings.TrimSpace(key.HeadComment + "\n" + comment)
	return true
}

// merge moves a value to a place that has one, and reports whether any of it has an effect. What the user has written
// there stays. A map is merged under the map that is there, and lists of two moved values are joined.
func (c *conversion) merge(from, to string, old, node *yaml.Node) bool {
	switch {
	case old.Kind == yaml.MappingNode && node.Kind == yaml.MappingNode:
		moved := false

		for i := 0; i+1 < len(node.Content); i += 2 {
			key, below := node.Content[i].Value, value(old, node.Content[i].Value)
			if below == nil {
				set(old, key, node.Content[i+1])
			}

			if below == nil || c.merge(from+"."+key, to+"."+key, below, node.Content[i+1]) {
				moved = true
			}
		}
		return moved
	case old.Tag == "!!null":
		*old = *node
	case c.lists[to] && old.Kind == yaml.SequenceNode && node.Kind == yaml.SequenceNode:
		for _, element := range node.Content {
			if !slices.ContainsFunc(old.Content, func(have *yaml.Node) bool { return plain(have) == plain(element) }) {
				old.Content = append(old.Content, element)
			}
		}
	case plain(old) != plain(node):
		c.removed = append(c.removed, fmt.Sprintf("removed %s: no effect, because %s is set", from, to))
		return false
	}
	return true
}

// defaultRepository returns the default of image.repository.
func defaultRepository(known map[string]any) (string, error) {
	image, _ := known["image"].(map[string]any)
	if repository, _ := image["repository"].([]any); len(repository) == 1 {
		return fmt.Sprint(repository[0]), nil
	}
	return "", errors.New("the chart has no default of image.repository")
}

// image removes the image of another operator.
func (c *conversion) image(t table, own string) {
	image := value(c.root, "image")
	text := func(key string) string {
		if node := value(image, key); node != nil && node.Tag != "!!null" {
			return node.Value
		}
		return ""
	}
	name, tag := strings.TrimPrefix(text("registry")+"/"+text("repository"), "/"), text("tag")

	var why string

	switch repository := text("repository"); {
	case (repository == "" || repository == own) && text("digest") == "" && t.numbers.MatchString(tag):
		why = "the tag " + tag + " is that of another operator's image"
	case t.theirs(strings.ToLower(name), tag):
		why = strings.TrimSuffix(name+":"+tag, ":") + " is the image of another operator"
	default:
		return
	}

	c.peer = true
	c.removed = append(c.removed, "removed image: "+why+
		"; without a value, the chart uses this operator's own, and from a registry of yours it needs image.registry, image.repository and image.tag")

	for _, key := range []string{"registry", "repository", "tag", "digest"} {
		remove(c.root, []string{"image", key})
	}
}

// theirs reports whether an image with a name in lower case and a tag is that of another operator.
func (t *table) theirs(name, tag string) bool {
	matches := func(patterns []*regexp.Regexp, s string) bool {
		return slices.ContainsFunc(patterns, func(re *regexp.Regexp) bool { return re.MatchString(s) })
	}

	own := tag == t.version && t.shared.MatchString(name)
	return !own && (matches(t.names, name) || matches(t.tags, tag))
}

// namespaces comments on a file of chart 1.x without namespaces, because that chart serves all of them by default.
func (c *conversion) namespaces(flat []string) {
	for _, path := range [][]string{{"sparkJobNamespace"}, {"sparkJobNamespaces"}, {"spark", "jobNamespaces"}} {
		if find(c.root, path) != nil {
			return
		}
	}

	if slices.ContainsFunc(flat, func(key string) bool { return value(c.root, key) != nil }) {
		c.removed = append(c.removed, "spark.jobNamespaces: chart 1.x serves every namespace by default, and this chart serves only default; to serve every namespace, set an empty list")
	}
}

// webhookPort removes a port of the webhook that is the port of metrics, as the default of chart 1.x is here.
func (c *conversion) webhookPort() {
	port, metrics := find(c.root, []string{"webhook", "port"}), find(c.root, []string{"prometheus", "metrics", "port"})
	if !c.peer || port == nil || metrics == nil && port.Value != "8080" || metrics != nil && metrics.Value != port.Value {
		return
	}

	c.removed = append(c.removed, "removed webhook.port: "+port.Value+" is prometheus.metrics.port; the chart uses 9443")
	remove(c.root, []string{"webhook", "port"})
}

// unknown comments on the values that the chart does not have.
func (c *conversion) unknown(at *yaml.Node, known, all map[string]any, path string) {
	for i := 0; i+1 < len(at.Content); i += 2 {
		key, node := at.Content[i], at.Content[i+1]
		name := strings.TrimPrefix(path+"."+key.Value, ".")

		if below, found := known[key.Value]; found {
			if level, isLevel := below.(map[string]any); isLevel && node.Kind == yaml.MappingNode {
				c.unknown(node, level, all, name)
			}
			continue
		}

		at.Style = 0
		key.HeadComment = strings.TrimSpace(key.HeadComment + "\n# " + advice(key.Value, path, known, all))
	}
}

// advice returns what to write instead of a value that the chart does not have.
func advice(key, path string, known, all map[string]any) string {
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if exit.Distance(strings.ToLower(key), strings.ToLower(name)) <= 1 {
			return "The chart does not have this value, and refuses the file. Did you mean " + strings.TrimPrefix(path+"."+name, ".") + "?"
		}
	}
	var places []string

	if _, found := all[key]; found && path != "" {
		places = append(places, key)
	}

	for _, parent := range []string{"controller", "webhook", "spark", "prometheus"} {
		if level, _ := all[parent].(map[string]any); level[key] != nil && parent != path {
			places = append(places, parent+"."+key)
		}
	}

	if len(places) > 0 {
		return "The chart does not have this value here; write " + strings.Join(places, " or ") + "."
	}
	return "The chart does not have this value; remove it."
}
