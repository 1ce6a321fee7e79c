package hostile

import "strings"

// twinStride is the interval at which cases of twin fields are measured: every twinStride-th case.
const twinStride = 20

// role replaces the steps of paths in which twin fields differ, so that all twins get the same path.
var role = strings.NewReplacer(
	".executor.", ".driver.", ".server.", ".driver.", ".executorSpec.", ".driverSpec.", ".workerSpec.", ".masterSpec.",
	"initContainers[]", "containers[]", "ephemeralContainers[]", "containers[]", "sidecars[]", "containers[]",
	"hadoopConf[", "sparkConf[",
)

// twins finds the cases that repeat the cases of another field. Two fields of a definition are twins if they have the
// same schema and the same code reads both. Examples are the fields of a driver and an executor, and of a container and
// an init container. The fields of a schedule's template are twins of those of an application's spec.
type twins struct {
	first  map[string]string // the first field of each group of twins, by the path that role makes of it
	passed int
}

// skip reports whether a case is left out because it sets a twin of an earlier field.
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
