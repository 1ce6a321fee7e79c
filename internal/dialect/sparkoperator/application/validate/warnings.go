package validate

import (
	"cmp"
	"fmt"
	"path"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/internal/dialect/table"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// OverriddenWarnings returns a warning for each key of sparkConf that a typed field overrides, and for each typed field
// that sparkConf overrides.
//
// The argument app is the application as the user wrote it. The argument merged is the application with the platform's
// defaults, and the argument c is its configuration.
func OverriddenWarnings(app, merged *v1beta2.SparkApplication, c *conf.Conf) []string {
	c = c.Clone()
	c.Set(naming.DriverPodNameKey, naming.DriverPodName(merged))

	warnings := dialect.Overridden(app.Spec.SparkConf, c, func(key string) string {
		if key == naming.DriverPodNameKey {
			return fields.Application.FieldOfPart("DriverPodName")
		}
		return specification.SettingField(merged, key)
	})

	both := func(r *table.Row) bool {
		_, set := app.Spec.SparkConf[r.Key]
		return set && r.Precedence == table.Yields
	}
	for v := range fields.Application.Values(app, both) {
		if own := app.Spec.SparkConf[v.Key]; own != v.Text {
			warnings = append(warnings, v.Path+": "+conf.Quote(v.Key, v.Text)+" has no effect: "+dialect.ConfField(v.Key)+" sets "+conf.Quote(v.Key, own)+"; remove one of them")
		}
	}
	return warnings
}

// languages maps the extension of a main file to the language that Spark assumes for it (SparkSubmit).
var languages = map[string]v1beta2.SparkApplicationType{
	".py": v1beta2.SparkApplicationTypePython, ".jar": v1beta2.SparkApplicationTypeJava,
	".R": v1beta2.SparkApplicationTypeR, ".r": v1beta2.SparkApplicationTypeR,
}

// TypeWarnings returns a warning if the main file contradicts spec.type. Such an application is not rejected, because
// Spark ignores the type and runs the language of the main file.
func TypeWarnings(spec *v1beta2.SparkApplicationSpec) []string {
	ending := path.Ext(spec.MainApplicationFile)
	language, known := languages[ending]

	says := cmp.Or(spec.Type, language)
	if says == v1beta2.SparkApplicationTypeScala {
		says = v1beta2.SparkApplicationTypeJava
	}

	if !known || says == language {
		return nil
	}
	return []string{fmt.Sprintf("spec.type is %s, but spec.mainApplicationFile ends with %s; Spark uses the language of the file", spec.Type, ending)}
}
