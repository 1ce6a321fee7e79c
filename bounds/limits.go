package bounds

// The limits of a spec. They are at least five times what large applications use. docs/validation.md lists the limits,
// and tools/crdfinish writes the same limits into the definitions. A test compares the limits.
const (
	// MaxSpecBytes is the maximum size of a spec, in bytes of JSON.
	MaxSpecBytes = 512 * 1024
	// MaxSpecValues is the maximum number of values in a spec: texts, numbers, lists and objects.
	MaxSpecValues = 10_000
	// MaxDepth is the maximum number of levels of nested lists and objects.
	MaxDepth = 64
	// MaxItems is the maximum number of items of a list, unless the list's field has its own limit.
	MaxItems = 1_000
	// MaxEntries is the maximum number of entries of a map, unless the map's field has its own limit.
	MaxEntries = 2_000
	// MaxContainers is the maximum number of a pod's sidecars, and of its init containers.
	MaxContainers = 100
	// MaxObjects is the maximum number of items of a list whose items become API objects.
	MaxObjects = 20
	// MaxNumber is the maximum number of characters of a number.
	MaxNumber = 64
	// MaxQuantity is the maximum number of characters of a quantity.
	MaxQuantity = 64
	// MaxParsed is the maximum number of characters of a time or a duration.
	MaxParsed = 253
	// MaxExponent is the maximum number of digits in the exponent of a quantity.
	MaxExponent = 2
)

// MaxStatusItems is the maximum number of items or entries of a list or map in a status. It is about as many as etcd
// can store, so the limit never affects a status that this operator or a previous operator wrote.
const MaxStatusItems = 20_000

// maxShown is the maximum number of characters of a user's text, such as a map key, that a fault shows.
const maxShown = 63
