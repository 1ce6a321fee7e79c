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

// templateOfRuns is the beginning of the fields of a schedule that are twins of the fields of an application.
const templateOfRuns = "spec.template."

// twinPath returns a text that is the same for all twins of a field.
func twinPath(d *Definition, field string) string {
	name := d.Name()
	if rest, found := strings.CutPrefix(field, templateOfRuns); found && d.Kind == "ScheduledSparkApplication" {
		name, field = strings.ReplaceAll(name, "Scheduled", ""), "spec."+rest
	}
	return role.Replace(name + " ." + field)
}

// skip reports whether a case is left out because each field that it sets is a twin of an earlier field. Each field of
// a schedule's template counts as a twin.
func (t *twins) skip(c *Case) bool {
	schedules := c.Definition.Kind == "ScheduledSparkApplication" && strings.HasPrefix(c.Field, templateOfRuns)

	twin := true
	for _, field := range append([]string{c.Field}, c.Together...) {
		twin = t.isTwin(c.Definition, field) && twin
	}

	if !twin && !schedules {
		return false
	}
	t.passed++
	return t.passed%twinStride != 0
}

// isTwin reports whether a field is a twin of a field that was passed to isTwin earlier.
func (t *twins) isTwin(d *Definition, field string) bool {
	path := d.Name() + " ." + field
	shared := role.Replace(path)

	if t.first == nil {
		t.first = map[string]string{}
	}

	first, known := t.first[shared]
	if !known {
		t.first[shared] = path
	}
	return known && first != path
}
