package v1

import (
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/api/bounds"
)

var (
	applicationBounds = bounds.Kind{Spec: bounds.ShapeOf[ApplicationSpec](), Status: bounds.ShapeOf[ApplicationStatus]()}
	clusterBounds     = bounds.Kind{Spec: bounds.ShapeOf[ClusterSpec](), Status: bounds.ShapeOf[ClusterStatus]()}
)

// UnmarshalJSON decodes a SparkApplication. If the spec exceeds a limit or does not fit its type, the spec stays empty
// except for suspend, and OutOfBounds contains the reason.
func (in *SparkApplication) UnmarshalJSON(data []byte) (err error) {
	type plain SparkApplication // which has no UnmarshalJSON

	in.OutOfBounds, in.SpecBytes, err = bounds.Decode(data, applicationBounds, (*plain)(in), &in.Spec, &in.Status)
	if in.OutOfBounds != "" {
		in.Spec.Suspend = suspended(data)
	}
	return err
}

// UnmarshalJSON decodes a SparkCluster. If the spec exceeds a limit or does not fit its type, the spec stays empty
// except for suspend, and OutOfBounds contains the reason.
func (in *SparkCluster) UnmarshalJSON(data []byte) (err error) {
	type plain SparkCluster // which has no UnmarshalJSON

	in.OutOfBounds, in.SpecBytes, err = bounds.Decode(data, clusterBounds, (*plain)(in), &in.Spec, &in.Status)
	if in.OutOfBounds != "" {
		in.Spec.Suspend = suspended(data)
	}
	return err
}

// suspended returns spec.suspend of a custom resource whose spec could not be decoded. Such a resource is held too.
func suspended(data []byte) *bool {
	var in struct {
		Spec struct {
			Suspend *bool `json:"suspend"`
		} `json:"spec"`
	}
	_ = utiljson.Unmarshal(data, &in) // without the field, the resource is not held
	return in.Spec.Suspend
}

// MarshalJSON encodes a SparkApplication. If the spec could not be decoded, it returns an error, because an update with
// the empty spec would overwrite the stored spec.
func (in SparkApplication) MarshalJSON() ([]byte, error) {
	type plain SparkApplication // which has no MarshalJSON
	return bounds.Encode(plain(in), in.OutOfBounds)
}

// MarshalJSON encodes a SparkCluster. If the spec could not be decoded, it returns an error, because an update with the
// empty spec would overwrite the stored spec.
func (in SparkCluster) MarshalJSON() ([]byte, error) {
	type plain SparkCluster // which has no MarshalJSON
	return bounds.Encode(plain(in), in.OutOfBounds)
}

// DropLargeSpec empties the spec if its JSON has more than limit bytes, and reports whether it did so. Caches use it to
// save memory.
func (in *SparkApplication) DropLargeSpec(limit int) bool {
	return bounds.Drop(&in.Spec, in.SpecBytes, limit)
}

// DropLargeSpec empties the spec if its JSON has more than limit bytes, and reports whether it did so. Caches use it to
// save memory.
func (in *SparkCluster) DropLargeSpec(limit int) bool {
	return bounds.Drop(&in.Spec, in.SpecBytes, limit)
}

// Bounds maps the names of this package's kinds to the limits that their specs and statuses must keep when they are
// decoded.
func Bounds() map[string]bounds.Kind {
	return map[string]bounds.Kind{
		"SparkApplication": applicationBounds,
		"SparkCluster":     clusterBounds,
	}
}
