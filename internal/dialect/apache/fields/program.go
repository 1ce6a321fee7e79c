package fields

import (
	"fmt"
	"strings"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// PythonRunner is the class that runs Python programs in the driver. If it is the main class, the first entry of the
// list pyFiles is the program.
const PythonRunner = "org.apache.spark.deploy.PythonRunner"

// Program describes what a driver runs.
type Program struct {
	// Class is the main class; empty for Python and R.
	Class string
	// Resource is the program's main file; empty if the program is a class in the image.
	Resource string
	// Field is the field of the custom resource that contains Resource.
	Field string
	// further are the files that follow Resource in the list of Field. They are the value of its configuration key.
	further string
}

// ProgramOf returns the program that the driver runs. Its main file is the first entry of spec.jars. If jars is empty,
// it is the first entry of pyFiles; if pyFiles is empty too, it is sparkRFiles. If all three are empty, the program is
// a class in the image.
//
// A list is checked as a whole, as the definition does it: it may not have a reference to a variable in any entry.
func ProgramOf(spec *sparkv1.ApplicationSpec) (Program, *dialect.FieldError) {
	for _, files := range []dialect.FieldValue{{Field: "spec.jars", Value: spec.Jars}, {Field: "spec.pyFiles", Value: spec.PyFiles}, {Field: "spec.sparkRFiles", Value: spec.SparkRFiles}} {
		if problem := submit.OptionProblem(files.Value); problem != "" {
			return Program{}, &dialect.FieldError{Field: files.Field, Message: problem}
		}
	}

	switch {
	case spec.Jars != "":
		first, rest, _ := strings.Cut(spec.Jars, ",")
		return Program{Class: spec.MainClass, Resource: strings.TrimSpace(first), Field: "spec.jars", further: strings.TrimSpace(rest)}, nil
	case spec.PyFiles != "":
		first, rest, listed := strings.Cut(spec.PyFiles, ",")

		p := Program{Resource: strings.TrimSpace(first), Field: "spec.pyFiles", further: strings.TrimSpace(rest)}
		if !listed && spec.MainClass != PythonRunner {
			p.further = p.Resource // the operator has always put the main file on the Python path too
		}
		return p, endsIn(p, ".py", "Python")
	case spec.MainClass == PythonRunner:
		return Program{}, &dialect.FieldError{Field: "spec.pyFiles", Message: "is empty, but " + PythonRunner + " runs the first file in it; add a file"}
	case spec.SparkRFiles != "":
		p := Program{Resource: strings.TrimSpace(spec.SparkRFiles), Field: "spec.sparkRFiles"}
		return p, endsIn(p, ".R", "R")
	}
	return Program{Class: spec.MainClass, Field: "spec.jars"}, nil
}

// endsIn returns an error if the name of the program's file does not end in the suffix of its language. Spark detects
// the language only by the suffix (SparkSubmit.isPython, isR), so without the suffix it would run the program as a jar.
func endsIn(p Program, suffix, language string) *dialect.FieldError {
	if strings.HasSuffix(p.Resource, suffix) || strings.HasSuffix(p.Resource, strings.ToLower(suffix)) {
		return nil
	}
	return &dialect.FieldError{Field: p.Field, Message: fmt.Sprintf("Spark does not recognize %q as a %s program; use a name that ends in %s", p.Resource, language, suffix)}
}

// Unused returns a warning for each field that names a program other than the one that runs.
func (p Program) Unused(spec *sparkv1.ApplicationSpec) (warnings []string) {
	for _, other := range []struct{ field, files string }{{"spec.pyFiles", spec.PyFiles}, {"spec.sparkRFiles", spec.SparkRFiles}} {
		if other.files != "" && other.field != p.Field {
			warnings = append(warnings, other.field+": has no effect: "+p.Field+" names the program; use spark.submit.pyFiles or spark.files for further files")
		}
	}
	return warnings
}
