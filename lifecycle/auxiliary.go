package lifecycle

// ContentLabel is a label of the auxiliary objects of a driver (a Service of its web UI, an Ingress). Its value is a
// digest of the wanted object, so that the metadata of an existing object is enough to compare it with the wanted
// object. Auxiliary objects do not delay the end of an attempt, because no decision waits for them.
const ContentLabel = "sparkoperator.dev/content"

// ReasonInherited is the reason in the Cause of an inherited auxiliary object, which another operator created for a
// driver that this operator took over. Such an object serves its purpose, is not changed, and is deleted together with
// that driver.
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
