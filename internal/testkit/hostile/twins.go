package hostile

import "strings"

// twinStride is the number of cases of a twin for each one that is measured.
const twinStride = 20

// role replaces steps of paths, so that fields with the same schema and the same reading code get the same path.
var role = strings.NewReplacer(
	".executor.", ".driver.", ".server.", ".driver.", ".executorSpec.", ".driverSpec.", ".workerSpec.", ".masterSpec.",
	"initContainers[]", "containers[]", "ephemeralContainers[]", "containers[]", "sidecars[]", "containers[]",
	"hadoopConf[", "sparkConf[",
)

// twins finds cases that repeat those of another field. Twin fields belong to the same definition, and have the same
// schema and the same code that reads them. Examples are an executor's fields after a driver's, and an init container's
// after a container's. The template of a schedule is a twin of an application's spec.
type twins struct {
	first  map[string]string // by the path of a driver's container, the field that came first
	passed int
}

// skip reports whether a case belongs to a twin and is not measured.
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
