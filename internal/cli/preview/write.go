package preview

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// The output formats.
const (
	YAML = "yaml" // documents
	JSON = "json" // one object in each line, as the operator sends it
	Name = "name" // kind and name
)

// Write prints objects in a format.
func Write(out io.Writer, objects []client.Object, format string) error {
	for _, object := range objects {
		text, err := json.Marshal(object)
		if err != nil {
			return err
		}

		switch format {
		case Name:
			text = []byte(strings.ToLower(object.GetObjectKind().GroupVersionKind().Kind) + "/" + bounds.Line(object.GetName()))
		case YAML:
			if text, err = terminal.YAML(text); err != nil {
				return err
			}

			text = append([]byte("---\n"), strings.TrimRight(string(text), "\n")...)
		}

		fmt.Fprintf(out, "%s\n", text)
	}
	return nil
}
