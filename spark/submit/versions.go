package submit

import (
	"github.com/sparkoperator/spark-operator/spark/submit/internal/line"
)

// LeastOverhead is the least memory, in MiB, that Spark adds to the heap of a pod by default.
const LeastOverhead = 384

// SupportedVersions returns the names of the supported Spark lines, such as "4.1", oldest first.
func SupportedVersions() []string {
	out := make([]string, len(line.Lines))
	for i, q := range line.Lines {
		out[i] = q.String()
	}
	return out
}

// LineOf returns the major and minor number of the line that native.Build uses for a declared version, such as 4 and 1
// for "4.1.4".
func LineOf(version string) (major, minor int) {
	q, _ := line.Of(version)
	return q.Major, q.Minor
}
