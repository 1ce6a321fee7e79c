package submit

import (
	"strings"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// checkPackages rejects Maven coordinates that the driver would reject when it resolves them
// (MavenUtils.extractMavenCoordinates). It does not resolve any coordinates itself.
func (d *draft) checkPackages() error {
	if packages, _ := d.conf.Get("spark.jars.packages"); strings.TrimSpace(packages) == "" {
		return nil
	}
	for _, list := range [...]struct {
		key, form string
		parts     int
	}{
		{"spark.jars.packages", "GROUP:ARTIFACT:VERSION", 3},
		{"spark.jars.excludes", "GROUP:ARTIFACT", 2},
	} {
		text, _ := d.conf.Get(list.key)
		for _, coordinates := range conf.SplitList(text) {
			// Spark accepts slashes as separators too.
			parts := strings.Split(strings.ReplaceAll(coordinates, "/", ":"), ":")
			if len(parts) != list.parts || strings.TrimSpace(parts[0]) == "" || strings.TrimSpace(parts[1]) == "" || strings.TrimSpace(parts[list.parts-1]) == "" {
				return KeyErrorf(list.key, "should be %s, but has %s", list.form, conf.Quote(list.key, coordinates))
			}
		}
	}
	return nil
}
