package submit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// maxWarnings is how many warnings Build gives. They become events and conditions, and a template of the tenant's can make many thousands.
const maxWarnings = 20

func (d *draft) warn(format string, args ...any) {
	if len(d.warns) == maxWarnings {
		d.unheard++
		return
	}
	d.warns = append(d.warns, fmt.Sprintf(format, args...))
}

// warnings are the first ones, and a line that tells how many there are beside them.
func (d *draft) warnings() []string {
	if d.unheard == 0 {
		return d.warns
	}
	return append(d.warns, fmt.Sprintf("and %d more warnings", d.unheard))
}

// dropForeign leaves out the keys that are no Spark configuration, as spark-submit does, with one warning for all of them.
func (d *draft) dropForeign() {
	foreign := slices.DeleteFunc(d.conf.Keys(), func(key string) bool { return strings.HasPrefix(key, "spark.") })
	if len(foreign) == 0 {
		return
	}
	d.conf.Delete(foreign...)
	const most = 5
	names := make([]string, 0, most)
	for _, key := range foreign[:min(len(foreign), most)] {
		names = append(names, conf.Shorten(key))
	}
	text, verb := strings.Join(names, ", "), "are"
	if more := len(foreign) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if len(foreign) == 1 {
		verb = "is"
	}
	d.warn("%s: %s left out: only keys that begin with spark. are Spark configuration", text, verb)
}

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

// shown is text, a part of what key's value is with its references replaced, as a message should show it: redacted, cut, and where the
// user did not write it himself the reference instead, which may bring the secret of another key.
func (d *draft) shown(key, text string) string {
	if _, raw, ok := d.conf.Lookup(key); ok && !strings.Contains(raw, text) {
		text = raw
	}
	return conf.Quote(key, text)
}
