package online

import (
	"encoding/json"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// printObjects prints the complete objects as a list in one of kubectl's output formats: json, yaml or
// jsonpath=TEMPLATE.
func printObjects(out io.Writer, rows []listed, output string) error {
	list := metav1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: []runtime.RawExtension{}}
	for _, row := range rows {
		text, err := json.Marshal(row.object)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, runtime.RawExtension{Raw: text})
	}
	text, err := json.MarshalIndent(list, "", "    ")
	if err != nil {
		return err
	}
	format, template, _ := strings.Cut(output, "=")
	switch {
	case output == "json":
		text = append(text, '\n')
	case output == "yaml":
		if text, err = terminal.YAML(text); err != nil {
			return err
		}
	case format == "jsonpath" && template != "":
		return printPath(out, text, template)
	default:
		return exit.Usagef("-o %s: the formats are: wide, name, json, yaml, jsonpath=TEMPLATE", output)
	}
	_, err = out.Write(text)
	return err
}

// printPath prints the fields of a JSON text that a JSONPath template selects. Like kubectl, it prints nothing for
// missing fields.
func printPath(out io.Writer, text []byte, template string) error {
	path := jsonpath.New("output").AllowMissingKeys(true)
	if err := path.Parse(template); err != nil {
		return exit.Usagef("-o jsonpath=%s: %v", template, err)
	}
	var list any
	if err := utiljson.Unmarshal(text, &list); err != nil {
		return err
	}
	if err := path.Execute(out, list); err != nil {
		return exit.Usagef("-o jsonpath=%s: %v", template, err)
	}
	return nil
}
