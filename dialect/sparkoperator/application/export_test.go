package application

// Names for the tests of the package schedule. These tests cannot be in this package, because schedule imports it.
var (
	Usual = usual
	AppOf = appOf
)

// Refusal describes an application that is rejected: a piece of its YAML, and the field that the error names.
type Refusal struct{ Field, Piece string }

// Refused returns the applications of the table of rejected specs.
func Refused() (all []Refusal) {
	for _, r := range refusals {
		all = append(all, Refusal{r.FieldOfPiece(), r.Piece})
	}
	return all
}
