package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Surroundings is what is to stand beside an application's driver for others than Spark; of a cluster, which has no driver, all that it is made of.
type Surroundings struct {
	// Objects that are wanted, each with a digest of itself as lifecycle.ContentLabel.
	Objects []submit.Object
	// Unsettled leaves everything as it is.
	Unsettled bool
	// Stays leaves Services as they are, though nothing is wanted any more: they go with the driver's pod. What leads to them from outside goes at once, as the
	// next application may want the same address.
	Stays bool
	// Read names the Services among Objects whose address the status lacks.
	Read []string
	// Told writes what became of the surroundings into the status of the custom resource that was asked about, and returns what is to be told of them once
	// that is stored. Told the same again it changes nothing. It is nil where everything is Unsettled.
	Told func(is []lifecycle.Surrounding, now time.Time) []Event
	// Decides is there instead of Told where the custom resource lives by its surroundings: what became of them is decided about in the same pass. It writes
	// what follows into the status, and returns what that adds to the plan that Decide made: phases entered, notices, and when to look again.
	Decides func(is []lifecycle.Surrounding, now time.Time) lifecycle.Plan
}

// MarkContent labels an object with a digest of itself.
func MarkContent(object submit.Object) {
	text, err := json.Marshal(object)
	if err != nil {
		text = []byte(err.Error()) // it is made of Kubernetes' types, which are JSON
	}
	sum := sha256.Sum256(text)
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[lifecycle.ContentLabel] = hex.EncodeToString(sum[:12])
	object.SetLabels(labels)
}

// Hindrances are what the cluster says against the surroundings.
func Hindrances(is []lifecycle.Surrounding) (causes []lifecycle.Cause) {
	for _, s := range is {
		if s.Cause.Reason != "" {
			causes = append(causes, lifecycle.Cause{Reason: s.Cause.Reason, Message: s.Kind + " " + s.Name + ": " + s.Cause.Message})
		}
	}
	return causes
}
