package application

// These names are for the tests of schedules, which are in a package of their own: schedule imports this one.
var (
	Usual = usual
	AppOf = appOf
)

// Refusal is an application that is refused: a piece of YAML, and the field that the refusal names.
type Refusal struct{ Field, Piece string }

// Refused are the applications of the table of refusals.
func Refused() (all []Refusal) {
	for _, r := range refusals {
		all = append(all, Refusal{r.field, r.piece})
	}
	return all
}
