package bounds

// The limits of a spec. They are at least five times what large applications use. docs/validation.md lists them, and
// tools/crdfinish writes the same numbers into the definitions. A test compares the numbers.
const (
	// MaxSpecBytes is the most bytes of a spec, as JSON.
	MaxSpecBytes = 512 * 1024
	// MaxSpecValues is the most values in a spec: texts, numbers, lists and objects.
	MaxSpecValues = 10_000
	// MaxDepth is the most levels of nested lists and objects.
	MaxDepth = 64
	// MaxItems is the most items of a list, unless its field has its own limit.
	MaxItems = 1_000
	// MaxEntries is the most entries of a map, unless its field has its own limit.
	MaxEntries = 2_000
	// MaxContainers is the most sidecars, and the most init containers, of a pod.
	MaxContainers = 100
	// MaxObjects is the most items of a list if each item becomes API objects.
	MaxObjects = 20
	// MaxNumber is the most characters of a number.
	MaxNumber = 64
	// MaxQuantity is the most characters of a quantity.
	MaxQuantity = 64
	// MaxParsed is the most characters of a time or a duration.
	MaxParsed = 253
	// MaxExponent is the most digits in the exponent of a quantity.
	MaxExponent = 2
)

// MaxStatusItems is the maximum number of items or entries of a list or map in a status. It is about as many as etcd
// can store, so the limit never affects a status that this operator, or another operator before it, wrote.
const MaxStatusItems = 20_000

// maxShown is the maximum number of characters of a user's text, such as a map key, that a fault shows.
const maxShown = 63
