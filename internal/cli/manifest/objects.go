package manifest

import (
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

		documents, faults := Read(file, data)
		for i := range documents {
			object, more := documents[i].Object()
			if faults = append(faults, more...); object != nil {
				found = append(found, Loaded{documents[i], object})
			}
		}

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
