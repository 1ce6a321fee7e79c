// Package table describes the fields of a custom resource as rows of a table: the Spark configuration key of each
// field, which of the two takes precedence, how the value is written, and which values are valid. The table
// determines the configuration of a launch, the field that an error names, the precedence of the platform's defaults,
// and the conversion of a spark-submit command line.
//
// row.go describes a row, table.go the questions that a table answers, and path.go finds a field in an object.
package table

// Role in a path, a key or a part stands for the driver and for the executors. Such a row describes two fields.
const Role = "ROLE"

// Precedence says which value counts if both a field and the entry of its key in sparkConf are set.
type Precedence int

const (
	// Overrides means that the field overrides the key.
	Overrides Precedence = iota
	// Yields means that the key overrides the field.
	Yields
	// Follows means that the value of the field is appended to that of the key, as with options of a JVM.
	Follows
	// Implies is like Yields, but without a warning, because the field only implies the value.
	Implies
	// Replaces means that the operator sets the field on the pods, and not the key. A default of the key gives way.
	Replaces
	// Names means that other code sets the key. The row only names the field in errors about the key.
	Names
)

// A Row describes a field, or the two fields of a driver and its executors.
type Row struct {
	// Path is the field, such as "spec.ROLE.memory". It is empty for a reserved key without a field.
	Path string
	// Key is the Spark configuration key, such as "spark.ROLE.memory", or "" if the field has none. If it ends with a
	// dot, the field consists of entries. Each entry sets the key that ends with the name of the entry.
	Key string
	// From is the field that is read, if it is not Path itself.
	From string
	// Precedence of the field and the key.
	Precedence Precedence
	// If is the path of a bool. If this is not true, the field has no effect.
	If string
	// Text returns the value of the key. The argument role is "driver" or "executor", or "" for a field of both. The
	// argument value is the value of the field, or a pointer to a struct. If Text is nil, the value is written as in
	// the field, or, for a list, separated by commas.
	Text func(role string, value any) string
	// Entries returns the entries of a field that is not a map of strings.
	Entries func(value any) map[string]string
	// Check returns an error if Spark does not accept a value of the field.
	Check func(text string) error
	// Part is the name of the field in a submit.Request or a connect.Request, such as "MainClass" or "ROLE.Ports".
	Part string
	// Reserved is true if users may set only the field, and not the key. Advice says what to do instead of setting the
	// key; if it is empty, the advice is to use the field.
	Reserved bool
	Advice   string
	// FromKey reports whether `sparkctl submit` writes a value of the key into the field, or leaves it in sparkConf.
	// If it is nil, the key always stays in sparkConf.
	FromKey func(text string) bool
}

// Always is a Row.FromKey that accepts every value that fits the field.
func Always(string) bool { return true }
