package v1alpha1

import "github.com/sparkoperator/spark-operator/api/bounds"

var connectBounds = bounds.Kind{Spec: bounds.ShapeOf[SparkConnectSpec](), Status: bounds.ShapeOf[SparkConnectStatus]()}

// UnmarshalJSON decodes a SparkConnect. If the spec exceeds a limit or does not fit its type, the spec stays empty, and
// OutOfBounds contains the reason.
func (in *SparkConnect) UnmarshalJSON(data []byte) (err error) {
	type plain SparkConnect // which has no UnmarshalJSON
	in.OutOfBounds, in.SpecBytes, err = bounds.Decode(data, connectBounds, (*plain)(in), &in.Spec, &in.Status)
	return err
}

// MarshalJSON encodes a SparkConnect. If the spec could not be decoded, it returns an error, because an update with the
// empty spec would overwrite the stored spec.
func (in SparkConnect) MarshalJSON() ([]byte, error) {
	type plain SparkConnect // which has no MarshalJSON
	return bounds.Encode(plain(in), in.OutOfBounds)
}

// DropLargeSpec empties the spec if its JSON has more than limit bytes, and reports whether it did so. Caches use it to
// save memory.
func (in *SparkConnect) DropLargeSpec(limit int) bool {
	return bounds.Drop(&in.Spec, in.SpecBytes, limit)
}

// Bounds maps the names of this package's kinds to the limits that their specs and statuses must keep when they are
// decoded.
func Bounds() map[string]bounds.Kind {
	return map[string]bounds.Kind{
		"SparkConnect": connectBounds,
	}
}
