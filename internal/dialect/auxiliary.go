package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// AuxiliaryObjects describes the auxiliary objects that an application should have, such as the Services and Ingresses
// of its driver. A SparkCluster has no driver, so all its objects are auxiliary.
type AuxiliaryObjects struct {
	// Objects are the wanted objects. Each has the owner's identity, and a digest of its content as the label
	// lifecycle.ContentLabel.
	Objects []submit.Object
	// Unsettled means that this pass changes none of the objects, for example because the custom resource is
	// being deleted or its spec is invalid.
	Unsettled bool
	// KeepServices means that existing Services are kept although Objects does not contain them: the Services of a
	// driver that has ended, which are deleted later, together with its pod, or the Service whose new spec is invalid.
	// Ingresses and routes are deleted at once, because the next application may need the same address.
	KeepServices bool
	// Inherited are the objects that another operator may have created under these names. They lack the labels by which
	// the caches select the operator's own objects. Those that the custom resource owns are deleted with the unwanted
	// objects. Only their kinds, namespaces and names are set.
	Inherited []submit.Object
	// ReadAddresses contains the names of Services in Objects whose addresses are missing in the status.
	ReadAddresses []string
	// Record writes the state of the objects into the status of the custom resource, and returns the events to emit
	// after the status is stored. It is called once in every pass that is not Unsettled. From the same status and the
	// same objects, it returns the same events. Calling it twice has the same result as calling it once. It is nil if
	// Unsettled is true.
	Record func(live []lifecycle.AuxiliaryObject, now time.Time) []Event
	// Decide is set instead of Record if the pass must decide about the custom resource again, with the state of the
	// objects. Decide writes the result into the status. It returns additions to the plan of the first decision:
	// transitions, notices and the time of the requeue.
	Decide func(live []lifecycle.AuxiliaryObject, now time.Time) lifecycle.Plan
}

// MarkContent writes a digest of an object into the object's label lifecycle.ContentLabel. The digest does not depend
// on an earlier value of this label.
func MarkContent(object submit.Object) {
	labels := object.GetLabels()
	if _, marked := labels[lifecycle.ContentLabel]; marked {
		if delete(labels, lifecycle.ContentLabel); len(labels) == 0 {
			labels = nil // an unstructured object keeps an empty map
		}

		object.SetLabels(labels)
	}

	text, err := json.Marshal(object)
	if err != nil {
		text = []byte(err.Error()) // impossible: Kubernetes types marshal
	}

	sum := sha256.Sum256(text)

	if labels == nil {
		labels = map[string]string{}
	}

	labels[lifecycle.ContentLabel] = hex.EncodeToString(sum[:12])
	object.SetLabels(labels)
}

// ObjectFailures returns a cause for each object that could not be created or updated.
func ObjectFailures(live []lifecycle.AuxiliaryObject) (causes []lifecycle.Cause) {
	for _, s := range live {
		if s.Cause.Reason != "" {
			causes = append(causes, lifecycle.Cause{Reason: s.Cause.Reason, Message: s.Kind + " " + s.Name + ": " + s.Cause.Message})
		}
	}
	return causes
}
