package lifecycle

// ContentLabel marks what stands beside a driver for others than Spark (a Service of its web UI, an Ingress). Its value is a digest of the object as
// it was wanted, so that an object's metadata is enough to see whether it is as it should be. Such an object is no part of an attempt's end:
// no decision waits for it.
const ContentLabel = "sparkoperator.dev/content"

// ReasonLeft is the reason of the Cause of an object that another operator made for a driver that was taken over from it: it does what is wanted, is left as it
// is, and goes with that driver.
const ReasonLeft = "LeftByAnotherOperator"

// Surrounding is what became of one object that was to stand beside a driver.
type Surrounding struct {
	Kind, Name string
	// Stands tells that the object is there as it is wanted. One that is neither there nor has a cause is on its way.
	Stands bool
	// Old tells that what stands there does what it did before, and is not what is wanted: it could not be brought to that, or is kept until what replaces
	// it stands. It is only told of what clients cannot do without.
	Old bool
	// Address is the cluster address of a Service, where it was read. What is known to stand is not read again.
	Address string
	// Cause is why the object is not there, or not as it is wanted, or there although nobody wants it any more.
	Cause Cause
}
