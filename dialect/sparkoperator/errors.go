package sparkoperator

// FieldError says which field of a custom resource cannot be used, why, and what to write instead.
type FieldError struct {
	Field   string // path, such as "spec.driver.memory"
	Message string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Message }
