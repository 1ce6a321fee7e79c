package lifecycle

// ContentLabel is a label of a driver's auxiliary objects, such as a Service of its web UI or an Ingress. Its value is
// a digest of the wanted object. The metadata of an existing object is therefore enough to compare it with the wanted
// object. No decision waits for auxiliary objects, so they do not delay the end of an attempt.
const ContentLabel = "sparkoperator.dev/content"

// ReasonInherited is the reason in the Cause of an inherited auxiliary object. Another operator created such an object
// for a driver that this operator has taken over. The object is used without changes, and is deleted together with the
// driver.
const ReasonInherited = "LeftByAnotherOperator"

// AuxiliaryObject is the state of one auxiliary object.
type AuxiliaryObject struct {
	Kind, Name string
	// Current reports that the live object equals the wanted object. An object that is not Current and has no Cause is
	// being created.
	Current bool
	// Outdated reports that the live object still serves its previous purpose but differs from the wanted object.
	// Either the update failed, or the object is kept until its replacement exists. Outdated is set only for objects on
	// which clients depend.
	Outdated bool
	// Address is the cluster address of a Service, if it was read. The Service is not read again while it is known to
	// exist as wanted.
	Address string
	// Cause says why the object is missing, differs from the wanted object, or exists although it is no longer wanted.
	Cause Cause
}
