package bounds

// The limits of a spec. They are at least five times what large applications have. docs/validation.md lists them, and tools/crdfinish writes the same
// numbers into the definitions: a test compares the two.
const (
	// MaxSpecBytes is how long a spec may be, as JSON.
	MaxSpecBytes = 512 * 1024
	// MaxSpecValues is how many values a spec may have: texts, numbers, lists, objects.
	MaxSpecValues = 10_000
	// MaxDepth is how deep lists and objects may lie in each other.
	MaxDepth = 64
	// MaxItems is how many items a list may have, unless its field has a limit of its own.
	MaxItems = 1_000
	// MaxEntries is how many entries a map may have, unless its field has a limit of its own.
	MaxEntries = 2_000
	// MaxContainers is how many sidecars, or init containers, a pod may have.
	MaxContainers = 100
	// MaxObjects is how many items a list may have each of which becomes API objects.
	MaxObjects = 20
	// MaxNumber is how many characters a number may have.
	MaxNumber = 64
	// MaxQuantity is how many characters a quantity may have.
	MaxQuantity = 64
	// MaxParsed is how many characters a time or a duration may have.
	MaxParsed = 253
	// MaxExponent is how many digits the exponent of a quantity may have.
	MaxExponent = 2
)

// MaxStatusItems is how many items or entries a list or map of a status may have. It is about what etcd can store: it never limits what the operator, or
// another operator before it, wrote.
const MaxStatusItems = 20_000

// maxShown is how many characters of a user's text, such as a key of a map, a fault shows.
const maxShown = 63
