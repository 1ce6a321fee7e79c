package screen

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// formats are the output formats of the verb list.
const formats = "wide, name, json, yaml, jsonpath=TEMPLATE, custom-columns=HEADER:PATH,..."

// printObjects prints the complete objects as a list in one of kubectl's output formats: json, yaml, jsonpath=TEMPLATE
// or custom-columns=HEADER:PATH,...
func (r *listVerb) printObjects(rows []listed, output string) error {
	list := metav1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: []runtime.RawExtension{}}
	for _, row := range rows {
		text, err := json.Marshal(row.object)
		if err != nil {
			return err
		}

		list.Items = append(list.Items, runtime.RawExtension{Raw: text})
	}

	format, template, _ := strings.Cut(output, "=")
	switch {
	case output == "json", output == "yaml":
		text, err := Encode(list, output)
		if err != nil {
			return err
		}

		_, err = r.Out.Write(text)
		return err
	case format == "jsonpath" && template != "":
		text, err := json.Marshal(list)
		if err != nil {
			return err
		}
		return printPath(r.Out, text, template)
	case format == "custom-columns" && template != "":
		return r.printColumns(list.Items, template)
	}
	return exit.Usagef("-o %s: the formats are: %s", output, formats)
}

// printColumns prints a table with the columns of a specification such as NAME:.metadata.name,IMAGE:.spec.image. As
// with kubectl, the braces and the first dot of a path are optional, and a missing value is <none>.
func (r *listVerb) printColumns(items []runtime.RawExtension, specification string) error {
	var table terminal.Table

	var paths []*jsonpath.JSONPath
	for column := range strings.SplitSeq(specification, ",") {
		header, path, _ := strings.Cut(column, ":")
		if path = strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(path, "{"), "}"), "."); header == "" || path == "" {
			return exit.Usagef("-o custom-columns: %q is not HEADER:PATH, such as NAME:.metadata.name", column)
		}

		parsed := jsonpath.New(header).AllowMissingKeys(true)
		if err := parsed.Parse("{." + path + "}"); err != nil {
			return exit.Usagef("-o custom-columns: %s: %v", column, err)
		}

		table.Columns, paths = append(table.Columns, terminal.Column{Header: header}), append(paths, parsed)
	}

	for _, item := range items {
		var object any
		if err := utiljson.Unmarshal(item.Raw, &object); err != nil {
			return err
		}

		var cells []string
		for _, path := range paths {
			found, err := path.FindResults(object)
			if err != nil {
				return exit.Usagef("-o custom-columns: %v", err)
			}

			var values []string
			for _, value := range slices.Concat(found...) {
				values = append(values, fmt.Sprint(value.Interface()))
			}

			if values == nil {
				values = []string{"<none>"}
			}

			cells = append(cells, strings.Join(values, ","))
		}

		table.Rows = append(table.Rows, cells)
	}

	_, err := io.WriteString(r.Out, table.String(r.Width))
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
