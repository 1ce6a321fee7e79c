package v1alpha1

import (
	"encoding/json"

	"github.com/sparkoperator/spark-operator/bounds"
)

var connectBounds = bounds.Kind{Spec: bounds.ShapeOf[SparkConnectSpec](), Status: bounds.ShapeOf[SparkConnectStatus]()}

// UnmarshalJSON decodes a SparkConnect. If the spec exceeds a limit or does not fit its type, it stays empty, and
// OutOfBounds gives the reason.
func (in *SparkConnect) UnmarshalJSON(data []byte) (err error) {
	type plain SparkConnect // which has no UnmarshalJSON
	in.OutOfBounds, in.SpecBytes, err = bounds.Decode(data, connectBounds, (*plain)(in), &in.Spec, &in.Status)
	return err
}

// MarshalJSON encodes a SparkConnect. It returns an error if the spec was not read: an update with the empty spec would
// overwrite the stored one.
func (in SparkConnect) MarshalJSON() ([]byte, error) {
	type plain SparkConnect // which has no MarshalJSON
	if in.OutOfBounds != "" {
		return nil, bounds.Unwritable(in.OutOfBounds)
	}
	return json.Marshal(plain(in))
}

// DropLargeSpec empties the spec if its JSON is longer than most bytes, and reports whether it is. Caches do not keep
// such specs.
func (in *SparkConnect) DropLargeSpec(most int) bool {
	if in.SpecBytes <= most {
		return false
	}
	in.Spec = SparkConnectSpec{}
	return true
}

// Bounds returns the shapes that limit the specs and statuses of this package's kinds when they are decoded, by the
// name of the kind.
func Bounds() map[string]bounds.Kind {
	return map[string]bounds.Kind{
		"SparkConnect": connectBounds,
	}
}
