package fields

import (
	"testing"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
)

// TestLanguageFollowsTheSuffix checks which names of files are programs in Python and R.
func TestLanguageFollowsTheSuffix(t *testing.T) {
	for file, languages := range map[string]string{"a.py": "Python", " a.py ": "Python", "a.py , b.zip": "Python",
		"a.R": "R", "a.r": "R", "a.PY": "", "a.py.zip": "", "py": "", "": ""} {
		_, python := ProgramOf(&sparkv1.ApplicationSpec{PyFiles: file,
			MainClass: "org.apache.spark.deploy.PythonRunner"})
		if (python == nil) != (languages == "Python") || python != nil && python.Field != "spec.pyFiles" {
			t.Errorf("%q as Python: %v", file, python)
		}

		_, r := ProgramOf(&sparkv1.ApplicationSpec{SparkRFiles: file})
		if file != "" && (r == nil) != (languages == "R") || r != nil && r.Field != "spec.sparkRFiles" {
			t.Errorf("%q as R: %v", file, r)
		}
	}
}
