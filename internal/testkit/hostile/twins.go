package hostile

import "strings"

// twinStride is how many cases of a twin there are for one that is measured.
const twinStride = 20

// role replaces steps of paths that lead to fields of one schema, which the operator reads by the same code.
var role = strings.NewReplacer(
	".executor.", ".driver.", ".server.", ".driver.", ".executorSpec.", ".driverSpec.", ".workerSpec.", ".masterSpec.",
	"initContainers[]", "containers[]", "ephemeralContainers[]", "containers[]", "sidecars[]", "containers[]",
	"hadoopConf[", "sparkConf[",
)

// twins tells which cases repeat those of another field of the same definition, with the same schema and the same code
// that reads it: those of an executor after a driver's, those of an init container after a container's. A schedule's
// template is the spec of an application.
type twins struct {
	first  map[string]string // by the path of a driver's container, the field that was met first
	passed int
}

// skip reports whether a case is one of the twins that are not measured.
func (t *twins) skip(c *Case) bool {
	path := c.Definition.Name() + " ." + c.Field
	shared := role.Replace(path)
	if t.first == nil {
		t.first = map[string]string{}
	}
	first, known := t.first[shared]
	if !known {
		t.first[shared] = path
	}
	schedules := c.Definition.Kind == "ScheduledSparkApplication" && strings.HasPrefix(c.Field, "spec.template.")
	if !schedules && (!known || first == path) {
		return false
	}
	t.passed++
	return t.passed%twinStride != 0
}
