package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
)

const (
	// RestartAnnotation is an annotation of a custom resource that requests a restart without an edit of the spec. Its
	// value names the request, for example the time of the request. Each new value requests one restart.
	RestartAnnotation = "sparkoperator.dev/restart"
	// RestartRequestAnnotation is an annotation of a driver pod and of a pod that runs spark-submit. It contains the
	// restart request (RestartRequest) that the custom resource had when the pod was created. If the operator died
	// between a launch and its status write, it shows which request the launch has already carried out.
	RestartRequestAnnotation = "sparkoperator.dev/restart-request"
)

// RestartRequest returns the restart request in the annotations of a custom resource, or "" if there is none. The
// request is a digest of the value of RestartAnnotation, so that it takes little room in a status, however long the
// value is.
func RestartRequest(annotations map[string]string) string {
	value := annotations[RestartAnnotation]
	if value == "" {
		return ""
	}

	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:12])
}

// RestartRequested reports whether a restart request still has to be carried out. The parameter `done` is the last
// request that was carried out, and the parameter `wanted` is the current request. If `wanted` is empty, because the
// annotation was removed, the result is false.
func RestartRequested(done, wanted string) bool { return wanted != "" && wanted != done }
