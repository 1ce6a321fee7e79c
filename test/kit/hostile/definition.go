// Package hostile generates the most expensive custom resources that our definitions accept. It sets each field to the
// longest, largest and most deeply nested values, and to the largest numbers of items, that the field's schema accepts.
// Tests measure the cost of these objects.
package hostile

import "github.com/sparkoperator/spark-operator/test/kit/crdfields"

// These aliases give short names to the types of package crdfields.
type (
	// Schema is the OpenAPI schema of a field, which decides the values that the field may have.
	Schema = crdfields.Schema
	// Definition is one version of one custom resource definition.
	Definition = crdfields.Definition
	// Field is one field of a definition.
	Field = crdfields.Field
)

// Definitions reads every version of every definition in a folder.
func Definitions(folder string) ([]*Definition, error) { return crdfields.Definitions(folder) }

func fieldsOf(d *Definition) []*Field {
	all, _ := d.Fields()
	return all
}
