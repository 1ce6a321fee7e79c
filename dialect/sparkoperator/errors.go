package sparkoperator

import "github.com/sparkoperator/spark-operator/dialect"

// FieldError says which field of a custom resource cannot be used, why, and what to write instead.
type FieldError = dialect.FieldError
