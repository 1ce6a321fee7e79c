package manifest

import (
	"encoding/json"
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// Loaded is a custom resource of one of the five kinds, with the place from which it was read.
type Loaded struct {
	Document
	Object client.Object
}

// Objects reads the custom resources of the operator's kinds from files and directories; "-" is the standard input. It
// returns an error with all faults of the files, or if the files contain no such custom resources. It prints warnings.
// The argument validation says what an unknown field is, in the words of the API server: Strict, Warn or Ignore.
func Objects(names []string, s terminal.Streams, validation string) (found []Loaded, err error) {
	files, err := Files(names)
	if err != nil {
		return nil, exit.With(exit.Invalid, err)
	}

	var wrong []error
	for _, file := range files {
		data, err := Load(file, s.In)
		if err != nil {
			return nil, exit.With(exit.Invalid, err)
		}

		objects, _, faults := ObjectsIn(file, data)
		found = append(found, objects...)

		for _, fault := range faults {
			switch unknown := fault.Rule == RuleUnknownField; {
			case !fault.Warning(), unknown && validation == metav1.FieldValidationStrict:
				wrong = append(wrong, fault)
			case !unknown || validation == metav1.FieldValidationWarn:
				s.Warn(fault.Error())
			}
		}
	}

	switch {
	case len(wrong) > 0:
		return nil, exit.With(exit.Invalid, errors.Join(wrong...))
	case len(found) == 0:
		return nil, exit.Errorf(exit.Invalid, "%s: the files contain no custom resource of %s", strings.Join(names, ", "), strings.Join(Groups, " or "))
	}
	return found, nil
}

// ObjectsIn returns the custom resources of the operator's kinds in the content of a file, and its other documents.
func ObjectsIn(file string, data []byte) (found []Loaded, others []Document, faults []*Fault) {
	documents, faults := Read(file, data)
	for i := range documents {
		object, more := documents[i].Object()
		switch faults = append(faults, more...); {
		case object != nil:
			found = append(found, Loaded{documents[i], object})
		case len(more) == 0:
			others = append(others, documents[i])
		}
	}
	return found, others, faults
}

// YAML returns an object as a manifest, without its status. All texts of the manifest can be printed.
func YAML(object client.Object) ([]byte, error) {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}

	delete(tree, "status")

	text, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	return terminal.YAML(text)
}
