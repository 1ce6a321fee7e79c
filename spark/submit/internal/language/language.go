// Package language determines the language of an application from its main resource, as SparkSubmit does.
package language

import (
	"strings"
)

// Language is the value of spark.kubernetes.resource.type: the language of the application.
type Language string

// The languages that Spark distinguishes. Scala and every other language of the JVM count as Java.
const (
	Java   Language = "java"
	Python Language = "python"
	R      Language = "r"
)

// Of determines the language from the suffix of the resource alone, as SparkSubmit does.
func Of(resource string) Language {
	switch {
	case strings.HasSuffix(resource, ".py"):
		return Python
	case strings.HasSuffix(resource, ".R"), strings.HasSuffix(resource, ".r"):
		return R
	}
	return Java
}
