package v1beta2

import "github.com/sparkoperator/spark-operator/api/bounds"

var (
	applicationBounds = bounds.Kind{Spec: bounds.ShapeOf[SparkApplicationSpec](), Status: bounds.ShapeOf[SparkApplicationStatus]()}
	scheduleBounds    = bounds.Kind{Spec: bounds.ShapeOf[ScheduledSparkApplicationSpec](), Status: bounds.ShapeOf[ScheduledSparkApplicationStatus]()}
)

// UnmarshalJSON decodes a SparkApplication. If the spec exceeds a limit or does not fit its type, the spec stays empty,
// and OutOfBounds contains the reason.
func (in *SparkApplication) UnmarshalJSON(data []byte) (err error) {
	type plain SparkApplication // which has no UnmarshalJSON
	in.OutOfBounds, in.SpecBytes, err = bounds.Decode(data, applicationBounds, (*plain)(in), &in.Spec, &in.Status)
	return err
}

// UnmarshalJSON decodes a ScheduledSparkApplication. If the spec exceeds a limit or does not fit its type, the spec
// stays empty, and OutOfBounds contains the reason.
func (in *ScheduledSparkApplication) UnmarshalJSON(data []byte) (err error) {
	type plain ScheduledSparkApplication // which has no UnmarshalJSON
	in.OutOfBounds, in.SpecBytes, err = bounds.Decode(data, scheduleBounds, (*plain)(in), &in.Spec, &in.Status)
	return err
}

// MarshalJSON encodes a SparkApplication. If the spec could not be decoded, it returns an error, because an update with
// the empty spec would overwrite the stored spec.
func (in SparkApplication) MarshalJSON() ([]byte, error) {
	type plain SparkApplication // which has no MarshalJSON
	return bounds.Encode(plain(in), in.OutOfBounds)
}

// MarshalJSON encodes a ScheduledSparkApplication. If the spec could not be decoded, it returns an error, because an
// update with the empty spec would overwrite the stored spec.
func (in ScheduledSparkApplication) MarshalJSON() ([]byte, error) {
	type plain ScheduledSparkApplication // which has no MarshalJSON
	return bounds.Encode(plain(in), in.OutOfBounds)
}

// DropLargeSpec empties the spec if its JSON has more than limit bytes, and reports whether it did so. Caches use it to
// save memory.
func (in *SparkApplication) DropLargeSpec(limit int) bool {
	return bounds.Drop(&in.Spec, in.SpecBytes, limit)
}

// DropLargeSpec empties the spec if its JSON has more than limit bytes, and reports whether it did so. Caches use it to
// save memory.
func (in *ScheduledSparkApplication) DropLargeSpec(limit int) bool {
	return bounds.Drop(&in.Spec, in.SpecBytes, limit)
}

// Bounds maps the names of this package's kinds to the limits that their specs and statuses must keep when they are
// decoded.
func Bounds() map[string]bounds.Kind {
	return map[string]bounds.Kind{
		"SparkApplication":          applicationBounds,
		"ScheduledSparkApplication": scheduleBounds,
	}
}
