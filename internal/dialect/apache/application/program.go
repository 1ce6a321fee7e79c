package application

import (
	"fmt"
	"strings"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// pythonRunner is the class that runs Python programs in the driver. If pythonRunner is the main class, the first entry
// of the list pyFiles is the program.
const pythonRunner = "org.apache.spark.deploy.PythonRunner"

// program describes what a driver runs.
type program struct {
	// class is the main class; empty for Python and R.
	class string
	// resource is the program's main file; empty if the program is a class in the image.
	resource string
	// field is the field of the custom resource that contains resource.
	field string
	// jars and pyFiles are the values of spark.jars and spark.submit.pyFiles, unless sparkConf sets them.
	jars, pyFiles string
}

// programOf returns the program that the driver runs. Its main file is the first entry of spec.jars. If jars is empty,
// it is the first entry of pyFiles; if pyFiles is empty too, it is sparkRFiles. If all three are empty, the program is
// a class in the image.
//
// A list is checked as a whole, as the definition does it: it may not have a reference to a variable in any entry.
func programOf(spec *sparkv1.ApplicationSpec) (program, *dialect.FieldError) {
	for _, files := range []dialect.FieldValue{{Field: "spec.jars", Value: spec.Jars}, {Field: "spec.pyFiles", Value: spec.PyFiles}, {Field: "spec.sparkRFiles", Value: spec.SparkRFiles}} {
		if problem := submit.OptionProblem(files.Value); problem != "" {
			return program{}, &dialect.FieldError{Field: files.Field, Message: problem}
		}
	}

	switch {
	case spec.Jars != "":
		first, rest, _ := strings.Cut(spec.Jars, ",")
		return program{class: spec.MainClass, resource: strings.TrimSpace(first), field: "spec.jars", jars: strings.TrimSpace(rest)}, nil
	case spec.PyFiles != "":
		first, rest, listed := strings.Cut(spec.PyFiles, ",")

		p := program{resource: strings.TrimSpace(first), field: "spec.pyFiles", pyFiles: strings.TrimSpace(rest)}
		if !listed && spec.MainClass != pythonRunner {
			p.pyFiles = p.resource // the operator has always put the main file on the Python path too
		}
		return p, endsIn(p, ".py", "Python")
	case spec.MainClass == pythonRunner:
		return program{}, &dialect.FieldError{Field: "spec.pyFiles", Message: "is empty, but " + pythonRunner + " runs the first file in it; add a file"}
	case spec.SparkRFiles != "":
		p := program{resource: strings.TrimSpace(spec.SparkRFiles), field: "spec.sparkRFiles"}
		return p, endsIn(p, ".R", "R")
	}
	return program{class: spec.MainClass, field: "spec.jars"}, nil
}

// endsIn returns an error if the name of the program's file does not end in the suffix of its language. Spark detects
// the language only by the suffix (SparkSubmit.isPython, isR), so without the suffix it would run the program as a jar.
func endsIn(p program, suffix, language string) *dialect.FieldError {
	if strings.HasSuffix(p.resource, suffix) || strings.HasSuffix(p.resource, strings.ToLower(suffix)) {
		return nil
	}
	return &dialect.FieldError{Field: p.field, Message: fmt.Sprintf("Spark does not recognize %q as a %s program; use a name that ends in %s", p.resource, language, suffix)}
}

// unused returns a warning for each field that names a program other than the one that runs.
func (p program) unused(spec *sparkv1.ApplicationSpec) (warnings []string) {
	for _, other := range []struct{ field, files string }{{"spec.pyFiles", spec.PyFiles}, {"spec.sparkRFiles", spec.SparkRFiles}} {
		if other.files != "" && other.field != p.field {
			warnings = append(warnings, other.field+": has no effect: "+p.field+" names the program; use spark.submit.pyFiles or spark.files for further files")
		}
	}
	return warnings
}
