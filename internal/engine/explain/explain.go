// Package explain finds reasons that neither a pod's status nor its driver reports: why a pod is pending, why wanted
// executors do not exist, and which right a failed driver lacked. If no explanation can be found, the pass continues
// without it. Explanations only become reasons in the status, with one exception: if the newest Event about a pending
// driver reports that it was evicted or preempted, and the driver then disappears, it counts as evicted.
package explain

import (
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// timeout bounds the reads for one explanation.
const timeout = 3 * time.Second

// These are values of apianswer.Question.Part. Each stands for one sort of question of this package. Questions about
// missing executors have the value lifecycle.Executors.
const (
	partWarnings lifecycle.Part = "Warnings" // the Events of a pending pod
	partRights   lifecycle.Part = "Rights"   // the rights of a failed driver
	// partAllowed is the part of questions about the rights of a driver that wants executors. The reply is kept only if
	// no right is missing.
	partAllowed lifecycle.Part = "Allowed"
)

// Explainer finds reasons by queries to the API server, and remembers the answers. Workers may use it concurrently.
type Explainer struct {
	live             client.Reader // reads the API server, never a cache
	writer           client.Writer
	allowed          *Allowance
	replies          apianswer.Replies
	eventsUnreadable atomic.Bool // the last read of Events failed
}

// New returns an Explainer. It reads through the client `live`, and sends dry runs and reviews of rights through the
// client `writer`, within the given Allowance. Only the rights of a failed driver are reviewed at once, because the
// reason of its failure is stored in the same pass. No request makes the API server store an object.
func New(live client.Reader, writer client.Writer, allowed *Allowance) *Explainer {
	return &Explainer{live: live, writer: writer, allowed: allowed}
}

// Answer is the result of a query for a reason, such as the wait reason of a pod.
type Answer struct {
	Cause      lifecycle.Cause // empty if no reason was found
	QueryAfter time.Duration   // the delay before the next query; no query is needed if it is 0 or less
	// Skipped is true if no query was allowed and no earlier answer is known. The reason in the status may still be
	// valid.
	Skipped bool
}

// skipped returns the Answer with the last cause if no query is allowed now. If this process has no last cause, the
// Answer is marked as Skipped: another process may have found a cause, so the reason in the status may still be valid.
func skipped(last lifecycle.Cause) Answer {
	return Answer{Cause: last, QueryAfter: lifecycle.QueryInterval(0), Skipped: last.Reason == ""}
}

// Forget drops the remembered answers for a custom resource.
func (e *Explainer) Forget(key types.NamespacedName) {
	for _, part := range []lifecycle.Part{lifecycle.Executors, partWarnings, partRights, partAllowed} {
		e.replies.Forget(apianswer.Question{Key: key, Part: part})
	}
}
