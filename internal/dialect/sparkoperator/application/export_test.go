package application

import (
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// Usual and AppOf are used by the tests of the package schedule. Those tests cannot be in this package, because
// schedule imports it.
var (
	Usual = usual
	AppOf = sparkapp.Of
)

// Refusal describes a SparkApplication that the operator rejects. Piece is the part of its YAML that causes the
// rejection, and Field is the field that the error names.
type Refusal struct{ Field, Piece string }

// Refused returns the applications of testdata/refusals.yaml that are always rejected.
func Refused() (all []Refusal) {
	for _, r := range refusals {
		all = append(all, Refusal{r.FieldOfPiece(), r.Piece})
	}
	return all
}
