package v1

import (
	"encoding/json"

	"github.com/sparkoperator/spark-operator/bounds"
)

var (
	applicationBounds = bounds.Kind{Spec: bounds.ShapeOf[ApplicationSpec](), Status: bounds.ShapeOf[ApplicationStatus]()}
	clusterBounds     = bounds.Kind{Spec: bounds.ShapeOf[ClusterSpec](), Status: bounds.ShapeOf[ClusterStatus]()}
)

// UnmarshalJSON decodes a SparkApplication. A spec that exceeds a limit, or does not fit its type, stays empty, and OutOfBounds says why.
func (in *SparkApplication) UnmarshalJSON(data []byte) (err error) {
	type plain SparkApplication // which has no UnmarshalJSON
	in.OutOfBounds, in.SpecBytes, err = bounds.Decode(data, applicationBounds, (*plain)(in), &in.Spec, &in.Status)
	return err
}

// UnmarshalJSON decodes a SparkCluster. A spec that exceeds a limit, or does not fit its type, stays empty, and OutOfBounds says why.
func (in *SparkCluster) UnmarshalJSON(data []byte) (err error) {
	type plain SparkCluster // which has no UnmarshalJSON
	in.OutOfBounds, in.SpecBytes, err = bounds.Decode(data, clusterBounds, (*plain)(in), &in.Spec, &in.Status)
	return err
}

// MarshalJSON encodes a SparkApplication. One whose spec was not read is an error: written back, its empty spec would take the place of the stored one.
func (in SparkApplication) MarshalJSON() ([]byte, error) {
	type plain SparkApplication // which has no MarshalJSON
	if in.OutOfBounds != "" {
		return nil, bounds.Unwritable(in.OutOfBounds)
	}
	return json.Marshal(plain(in))
}

// MarshalJSON encodes a SparkCluster. One whose spec was not read is an error: written back, its empty spec would take the place of the stored one.
func (in SparkCluster) MarshalJSON() ([]byte, error) {
	type plain SparkCluster // which has no MarshalJSON
	if in.OutOfBounds != "" {
		return nil, bounds.Unwritable(in.OutOfBounds)
	}
	return json.Marshal(plain(in))
}

// DropLargeSpec empties a spec of more than most bytes, as it was read, and reports whether the spec is of that size. Caches do not keep such specs.
func (in *SparkApplication) DropLargeSpec(most int) bool {
	if in.SpecBytes <= most {
		return false
	}
	in.Spec = ApplicationSpec{}
	return true
}

// DropLargeSpec empties a spec of more than most bytes, as it was read, and reports whether the spec is of that size. Caches do not keep such specs.
func (in *SparkCluster) DropLargeSpec(most int) bool {
	if in.SpecBytes <= most {
		return false
	}
	in.Spec = ClusterSpec{}
	return true
}

// Bounds returns what the specs and statuses of this package's kinds are held to when they are decoded, by the name of the kind.
func Bounds() map[string]bounds.Kind {
	return map[string]bounds.Kind{
		"SparkApplication": applicationBounds,
		"SparkCluster":     clusterBounds,
	}
}
