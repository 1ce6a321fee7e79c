package admission

import (
	"encoding/json"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sparkoperator/spark-operator/test/kit/crd"
)

// schemas contains the schemas that Faults has compiled, by the file name and version.
var schemas sync.Map

// Faults returns the errors with which the API server would reject the creation of an object. The argument file is the
// name of one of our definition files, and version is one of the versions in it.
func Faults(t testing.TB, file, version string, object any) field.ErrorList {
	t.Helper()

	key := file + " " + version

	schema, ok := schemas.Load(key)
	if !ok {
		compiled, err := NewSchema(crd.Ours(t, file), version)
		if err != nil {
			t.Fatal(err)
		}

		schema, _ = schemas.LoadOrStore(key, compiled)
	}

	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}

	_, errs := schema.(*Schema).Admit(text)
	return errs
}
