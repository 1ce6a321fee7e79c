package submit

import (
	"strings"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

func (d *draft) warn(format string, args ...any) { d.warns.Add(format, args...) }

// textKeys are the keys whose values become parts of objects after references in them are replaced. A reference that
// remains in such a value is most likely a mistake.
var textKeys = []string{
	"spark.kubernetes.driver.container.image", "spark.kubernetes.container.image", "spark.kubernetes.executor.container.image",
	"spark.kubernetes.container.image.pullSecrets", "spark.kubernetes.authenticate.driver.serviceAccountName",
	"spark.kubernetes.driver.scheduler.name", "spark.kubernetes.scheduler.name", "spark.kubernetes.hadoop.configMapName",
	"spark.kubernetes.kerberos.krb5.configMapName", "spark.kubernetes.kerberos.tokenSecret.name", "spark.kubernetes.kerberos.tokenSecret.itemKey",
	"spark.pyspark.python", "spark.pyspark.driver.python",
}

// warnUnresolved warns about references to environment variables or system properties that the Request does not
// contain. Like Spark, Build keeps the text of such a reference.
func (d *draft) warnUnresolved() {
	for _, key := range textKeys {
		if refs := d.conf.Unresolved(key); len(refs) > 0 {
			d.warn("%s: %s is not replaced: no variable or property of that name is declared", key, conf.Shorten(strings.Join(refs, ", ")))
		}
	}
}

// override sets a key that the Request determines, and warns if the user set a different value.
func (d *draft) override(key, value string) {
	if given, ok := d.conf.Get(key); ok && given != value {
		d.warn("%s: %s has no effect: the operator sets %q", key, conf.Quote(key, given), value)
	}
	d.conf.Set(key, value)
}
