package manifest

import (
	"io"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
)

// Loaded is a custom resource of one of the five kinds, with the place from which it was read.
type Loaded struct {
	Document
	Object client.Object
}

// Objects reads the custom resources of the operator's kinds from files and directories; "-" is the standard input. It
// returns an error at the first document that cannot be read. It also returns an error if the files contain no such
// custom resources.
func Objects(names []string, in io.Reader) (found []Loaded, err error) {
	files, err := Files(names)
	if err != nil {
		return nil, exit.With(exit.Invalid, err)
	}
	for _, file := range files {
		data, err := Load(file, in)
		if err != nil {
			return nil, exit.With(exit.Invalid, err)
		}
		documents, faults := Read(file, data)
		if len(faults) > 0 {
			return nil, exit.With(exit.Invalid, faults[0])
		}
		for i := range documents {
			object, err := documents[i].Object()
			if err != nil {
				return nil, exit.With(exit.Invalid, err)
			}
			if object != nil {
				found = append(found, Loaded{documents[i], object})
			}
		}
	}
	if len(found) == 0 {
		return nil, exit.Errorf(exit.Invalid, "%s: the files contain no custom resource of %s", strings.Join(names, ", "), strings.Join(Groups, " or "))
	}
	return found, nil
}
