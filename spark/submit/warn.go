package submit

import (
	"strings"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

func (d *draft) warn(format string, args ...any) { d.warns.Add(format, args...) }

// textKeys are the keys of text in which references are replaced, and which go into objects: one that stays there is most likely a fault.
var textKeys = []string{
	"spark.kubernetes.driver.container.image", "spark.kubernetes.container.image", "spark.kubernetes.executor.container.image",
	"spark.kubernetes.container.image.pullSecrets", "spark.kubernetes.authenticate.driver.serviceAccountName",
	"spark.kubernetes.driver.scheduler.name", "spark.kubernetes.scheduler.name", "spark.kubernetes.hadoop.configMapName",
	"spark.kubernetes.kerberos.krb5.configMapName", "spark.kubernetes.kerberos.tokenSecret.name", "spark.kubernetes.kerberos.tokenSecret.itemKey",
	"spark.pyspark.python", "spark.pyspark.driver.python",
}

// tellUnresolved warns of references to an environment or to system properties, which nobody declared. They stay, as Spark leaves them.
func (d *draft) tellUnresolved() {
	for _, key := range textKeys {
		if refs := d.conf.Unresolved(key); len(refs) > 0 {
			d.warn("%s: %s stays as it is: nothing of that name is declared", key, conf.Shorten(strings.Join(refs, ", ")))
		}
	}
}

// decide sets a key that is not the user's, and says so where the user said otherwise.
func (d *draft) decide(key, value string) {
	if was, ok := d.conf.Get(key); ok && was != value {
		d.warn("%s: %s has no effect, it is %q", key, conf.Quote(key, was), value)
	}
	d.conf.Set(key, value)
}
