package online

import "github.com/sparkoperator/spark-operator/internal/cli/terminal"

// verbs holds what all verbs of this package use: the program's standard streams.
type verbs struct{ terminal.Streams }
