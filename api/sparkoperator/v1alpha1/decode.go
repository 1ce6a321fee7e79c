package v1alpha1

import (
	"encoding/json"

	"github.com/sparkoperator/spark-operator/bounds"
)

var connectBounds = bounds.Kind{Spec: bounds.ShapeOf[SparkConnectSpec](), Status: bounds.ShapeOf[SparkConnectStatus]()}

// UnmarshalJSON decodes a SparkConnect. A spec that exceeds a limit, or does not fit its type, stays empty, and OutOfBounds says why.
func (in *SparkConnect) UnmarshalJSON(data []byte) (err error) {
	type plain SparkConnect // which has no UnmarshalJSON
	in.OutOfBounds, in.SpecBytes, err = bounds.Decode(data, connectBounds, (*plain)(in), &in.Spec, &in.Status)
	return err
}

// MarshalJSON encodes a SparkConnect. One whose spec was not read is an error: written back, its empty spec would take the place of the stored one.
func (in SparkConnect) MarshalJSON() ([]byte, error) {
	type plain SparkConnect // which has no MarshalJSON
	if in.OutOfBounds != "" {
		return nil, bounds.Unwritable(in.OutOfBounds)
	}
	return json.Marshal(plain(in))
}

// DropLargeSpec empties a spec of more than most bytes, as it was read, and reports whether the spec is of that size. Caches do not keep such specs.
func (in *SparkConnect) DropLargeSpec(most int) bool {
	if in.SpecBytes <= most {
		return false
	}
	in.Spec = SparkConnectSpec{}
	return true
}

// Bounds returns what the specs and statuses of this package's kinds are held to when they are decoded, by the name of the kind.
func Bounds() map[string]bounds.Kind {
	return map[string]bounds.Kind{
		"SparkConnect": connectBounds,
	}
}
