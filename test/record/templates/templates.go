// Package templates has pod templates with many small mistakes, and recordings of what Spark's parser makes of them.
// The tests of spark/podtemplate compare their own results with the recordings.
package templates

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"
)

// Template is one generated pod template.
type Template struct {
	// Name describes the mistake and its place. It is unique.
	Name string
	// Text is the template, in JSON or YAML.
	Text string
}

// Parsed is the result of Spark's parser for one template.
type Parsed struct {
	// Pod is the pod as Spark's Kubernetes client sends it to the API server. It is empty if the parser failed.
	Pod json.RawMessage `json:"pod,omitempty"`
	// Error is the first line of the parser's error.
	Error string `json:"error,omitempty"`
}

// Recording contains the results of several versions of Spark for one template.
type Recording struct {
	Name string `json:"name"`
	Text string `json:"text"`
	// Parsed contains the results by Spark's version. A version that is missing has the result of the version before it.
	Parsed map[string]Parsed `json:"parsed"`
}

// Of returns the result of a version of Spark.
func (r Recording) Of(version string) (parsed Parsed, ok bool) {
	best := ""
	for recorded := range r.Parsed {
		if recorded <= version && recorded > best {
			best = recorded
		}
	}
	return r.Parsed[best], best != ""
}

// ParsedBy returns the result for a pod as JSON and an error, one of which is empty. It sorts the names of the pod's
// fields.
func ParsedBy(pod, failure string) (Parsed, error) {
	if failure != "" {
		return Parsed{Error: failure}, nil
	}
	var tree any
	decoder := json.NewDecoder(strings.NewReader(pod))
	decoder.UseNumber()

	if err := decoder.Decode(&tree); err != nil {
		return Parsed{}, err
	}

	text, err := json.Marshal(tree)
	return Parsed{Pod: text}, err
}

// Load reads a file of recordings.
func Load(file string) (recordings []Recording, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	in, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return recordings, json.NewDecoder(in).Decode(&recordings)
}

// Save writes the results of the templates that All returns, by Spark's version, into a file of recordings. The file is
// compressed JSON with one line for each template.
func Save(name string, parsed map[string][]Parsed) error {
	versions := make([]string, 0, len(parsed))
	for version := range parsed {
		versions = append(versions, version)
	}

	slices.Sort(versions)

	var out strings.Builder
	for i, template := range All() {
		r := Recording{Name: template.Name, Text: template.Text, Parsed: map[string]Parsed{}}
		for j, version := range versions {
			result := parsed[version][i]
			if j == 0 || !Same(result, parsed[versions[j-1]][i]) {
				r.Parsed[version] = result
			}
		}

		line, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("%s: %w", template.Name, err)
		}

		fmt.Fprintf(&out, "%s%s", map[bool]string{true: "[\n", false: ",\n"}[i == 0], line)
	}

	out.WriteString("\n]\n")
	var file bytes.Buffer

	packed, err := gzip.NewWriterLevel(&file, gzip.BestCompression)
	if err != nil {
		return err
	}

	if _, err := packed.Write([]byte(out.String())); err != nil {
		return err
	}

	if err := packed.Close(); err != nil {
		return err
	}
	return os.WriteFile(name, file.Bytes(), 0o644)
}

// Same reports whether two results are equal.
func Same(a, b Parsed) bool { return string(a.Pod) == string(b.Pod) && a.Error == b.Error }

// The trees of templates. An object keeps the order of its members and may have a name twice.
type (
	member struct {
		name  string // as it is written in JSON, without quotation marks
		value any
	}
	object []member
	list   []any
	scalar string // as it is written in JSON
)

func render(b *strings.Builder, value any) {
	switch value := value.(type) {
	case object:
		b.WriteByte('{')

		for i, m := range value {
			if i > 0 {
				b.WriteByte(',')
			}

			b.WriteString(`"` + m.name + `":`)
			render(b, m.value)
		}

		b.WriteByte('}')
	case list:
		b.WriteByte('[')

		for i, element := range value {
			if i > 0 {
				b.WriteByte(',')
			}

			render(b, element)
		}

		b.WriteByte(']')
	case scalar:
		b.WriteString(string(value))
	}
}

func text(value any) string {
	var b strings.Builder
	render(&b, value)
	return b.String()
}

// read parses JSON into a tree. It panics if the text is no JSON.
func read(in string) any {
	decoder := json.NewDecoder(strings.NewReader(in))
	decoder.UseNumber()
	var next func() any
	next = func() any {
		token, err := decoder.Token()
		if err != nil {
			panic(err)
		}

		switch token {
		case json.Delim('{'):
			out := object{}
			for decoder.More() {
				name, _ := decoder.Token()
				out = append(out, member{name.(string), next()})
			}

			_, _ = decoder.Token()
			return out
		case json.Delim('['):
			out := list{}
			for decoder.More() {
				out = append(out, next())
			}

			_, _ = decoder.Token()
			return out
		}

		word, err := json.Marshal(token)
		if err != nil {
			panic(err)
		}
		return scalar(word)
	}
	return next()
}

// bases are the templates that are changed. Together they have a field of each type of Go that pods have, and maps with
// keys that users choose.
var bases = []string{
	`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"n","labels":{"team":"a","tier":"b"},"annotations":{"key":"value"},"finalizers":["a/b"]},"spec":{"containers":[{"name":"c"}]}}`,
	`{"spec":{"hostPID":true,"hostNetwork":false,"serviceAccountName":"sa","priority":5,"activeDeadlineSeconds":60,"nodeSelector":{"disk":"ssd"},"containers":[{"name":"c"}]}}`,
	`{"spec":{"containers":[{"name":"c","image":"i","args":["a","b"],"tty":true,"env":[{"name":"A","value":"1"},{"name":"B","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}}]}]}}`,
	`{"spec":{"containers":[{"name":"c","securityContext":{"privileged":true,"runAsUser":185,"capabilities":{"drop":["ALL"]}},"resources":{"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":1}}}]}}`,
	`{"spec":{"initContainers":[{"name":"i","volumeMounts":[{"name":"v","mountPath":"/v","readOnly":true}]}],"containers":[{"name":"c","ports":[{"containerPort":80}],"livenessProbe":{"httpGet":{"port":"http"},"periodSeconds":5}}]}}`,
	`{"spec":{"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Gi","medium":"Memory"}},{"name":"h","hostPath":{"path":"/"}}],"containers":[{"name":"c"},{"name":"d","image":"j"}]}}`,
	`{"spec":{"tolerations":[{"key":"k","operator":"Exists","tolerationSeconds":3}],"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"k","operator":"In","values":["v"]}]}]}}},"containers":[{"name":"c"}]}}`,
}

// values replace each value of a template.
var values = []string{
	`null`, `true`, `false`, `"true"`, `"True"`, `"FALSE"`, `"yes"`, `0`, `1`, `-1`, `-0`, `5`, `"5"`, `" 5 "`, `"05"`, `"0x5"`, `"5.0"`, `1.5`, `1.50`, `1.0`, `1e2`, `"1e2"`, `3000000000`, `99999999999999999999`,
	`""`, `" "`, `"text"`, `"\u0000"`, `[]`, `[null]`, `["a"]`, `[[]]`, `[["a"]]`, `[{}]`, `{}`, `{"a":"b"}`, `{"name":"x"}`,
}

// All returns the templates. They are the same in each run.
func All() []Template {
	var out []Template
	for i, base := range bases {
		add := func(name string, tree any) {
			out = append(out, Template{fmt.Sprintf("%d %s", i, name), text(tree)})
		}
		root := read(base)
		add("as it is", root)
		change(root, "", func(name string, tree any) { add(name, tree) })
	}
	// The same in YAML: one in three is enough, because the parser of YAML builds the tree that is read afterwards.
	for i := 0; i < len(out) && out[i].Text[0] == '{'; i += 3 {
		out = append(out, Template{"yaml " + out[i].Name, "---\n" + out[i].Text + "\n"})
	}
	return append(out, forms()...)
}

// change calls add with each change of one place of a tree. The argument path is the path of the tree in the template.
func change(tree any, path string, add func(name string, tree any)) {
	switch tree := tree.(type) {
	case object:
		with := func(i int, members ...member) object { return slices.Concat(tree[:i:i], members, tree[i+1:]) }
		for i, m := range tree {
			place := path + "." + m.name
			for _, other := range spellings(m.name) {
				add(place+" as "+other, with(i, member{other, m.value}))
				add(place+" and then "+other, append(slices.Clone(tree), member{other, scalar("false")}))
				add(place+" after "+other, append(object{{other, m.value}}, tree...))
			}

			for _, value := range values {
				add(place+": "+value, with(i, member{m.name, scalar(value)}))
			}

			for _, value := range []string{`null`, `"other"`, `{"name":"other"}`, `[{"name":"other"}]`} {
				add(fmt.Sprintf("%s twice, %s", place, value), append(slices.Clone(tree), member{m.name, scalar(value)}))
			}

			change(m.value, place, func(name string, changed any) { add(name, with(i, member{m.name, changed})) })
		}

		add(path+" with an unknown field", append(slices.Clone(tree), member{"futureField", read(`{"name":"x","list":[1,{"a":null}],"number":1.50}`)}))
	case list:
		for i, element := range tree {
			with := func(elements ...any) list { return slices.Concat(tree[:i:i], elements, tree[i+1:]) }

			place := fmt.Sprintf("%s[%d]", path, i)
			for _, value := range []string{`null`, `1`, `true`, `"x"`, `[]`, `{}`} {
				add(place+": "+value, with(scalar(value)))
				add(fmt.Sprintf("%s before %s", place, value), with(element, scalar(value)))
			}

			change(element, place, func(name string, changed any) { add(name, with(changed)) })
		}
	}
}

// spellings returns other spellings of a name: in other cases, with the letters that fold to s and k, and with an
// escape, which is the same name.
func spellings(name string) []string {
	other := func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}
	out := []string{strings.ToLower(name), strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:], strings.Map(other, name),
		strings.Replace(name, "s", "\u017f", 1), strings.Replace(name, "k", "\u212a", 1), fmt.Sprintf("\\u%04x%s", name[0], name[1:])}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(spelling string) bool { return spelling == name })
}
