// Package explain finds out what neither a pod's status nor its driver says: what a pod waits for, why executors that are wanted are not there, and that a driver
// which failed lacked a right. Nothing is decided by an explanation, and no pass waits for one: where none is to be had it goes on without.
package explain

import (
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// timeout bounds the reads for one explanation.
const timeout = 3 * time.Second

// Parts of questions, beside lifecycle.Executors.
const (
	partWarnings lifecycle.Part = "Warnings" // the Events of a pod that waits
	partRights   lifecycle.Part = "Rights"   // the rights of a driver that failed
	partAllowed  lifecycle.Part = "Allowed"  // the rights of a driver that wants executors, once it was seen to have them all
)

// Explainer asks the API server, and remembers what it said. It is for workers side by side.
type Explainer struct {
	live    client.Reader // reads the API server, and no cache
	asks    client.Writer
	allowed *Allowance
	replies apianswer.Replies
	blind   atomic.Bool // the last read of Events failed
}

// New returns an explainer that reads live, creates only what is not stored (reviews of rights, dry runs), and asks no more than is allowed.
func New(live client.Reader, asks client.Writer, allowed *Allowance) *Explainer {
	return &Explainer{live: live, asks: asks, allowed: allowed}
}

// Answer is what is known now.
type Answer struct {
	Cause   lifecycle.Cause // empty where nobody says anything
	Again   time.Duration   // after which it is worth while to ask again; none where it is not above 0
	Unasked bool            // nobody could be asked, and nothing was said before: what was told last may hold still
}

// unasked is what was said last, as nobody may be asked now. Where nothing was, because another process asked, the status has it.
func unasked(last lifecycle.Cause) Answer {
	return Answer{Cause: last, Again: lifecycle.AskAgain(0), Unasked: last.Reason == ""}
}

// Forget drops what is remembered of a custom resource.
func (e *Explainer) Forget(key types.NamespacedName) {
	for _, part := range []lifecycle.Part{lifecycle.Executors, partWarnings, partRights, partAllowed} {
		e.replies.Forget(apianswer.Question{Key: key, Part: part})
	}
}
