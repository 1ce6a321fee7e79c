package bounds

// The limits of a spec. Large applications use at most a fifth of each limit. docs/limits.md lists the limits, and
// tools/crdfinish writes them into the custom resource definitions. A test checks that the definitions have the same
// limits as this package.
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
	// MaxNumber is the maximum number of characters of a number.
	MaxNumber = 64
	// MaxQuantity is the maximum number of characters of a quantity.
	MaxQuantity = 64
	// MaxParsed is the maximum number of characters of a time or a duration.
	MaxParsed = 253
	// MaxExponent is the maximum number of digits in the exponent of a quantity.
	MaxExponent = 2
)

// MaxStatusItems is the maximum number of items of a list, or entries of a map, in a status. etcd can store about this
// many in one object. The limit therefore never affects a status that this operator or a previous operator wrote.
const MaxStatusItems = 20_000

// maxShown is the maximum number of characters of a user's text, such as a map key, that a fault shows.
const maxShown = 63
