package draft

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Warn adds a message for the user.
func (d *Draft) Warn(format string, args ...any) { d.Warns.Add(format, args...) }

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
func (d *Draft) warnUnresolved() {
	for _, key := range textKeys {
		if refs := d.Conf.Unresolved(key); len(refs) > 0 {
			d.Warn("%s: %s is not replaced: no variable or property of that name is declared", key, conf.Shorten(strings.Join(refs, ", ")))
		}
	}
}

// sparkVariables matches the variables that Spark, the operator and Kubernetes set on drivers. Kubernetes sets those of
// the API server and, with enableServiceLinks, those of the Services of the namespace.
var sparkVariables = regexp.MustCompile(`^(SPARK_(USER|APPLICATION_ID|DRIVER_BIND_ADDRESS|CONF_DIR|LOCAL_DIRS)|HADOOP_CONF_DIR|PYSPARK_(DRIVER_)?PYTHON|KUBERNETES_.*|.*_SERVICE_(HOST|PORT.*))$`)

// warnReferences warns about references $(NAME) that Kubernetes does not fill in.
func (d *Draft) warnReferences() {
	for i, argument := range d.Request.Arguments {
		for reference := range conf.References(argument) {
			if d.Warns.Full() {
				return
			}

			if !d.driverDefines(strings.Trim(reference, "$()")) {
				d.Warn("%s[%d]: the application gets %s as it is, because neither env nor envFrom of the driver defines the variable (variables of the image do not count); "+
					"define it there, or write the value", cmp.Or(d.Request.ArgumentsField, "Arguments"), i, conf.Quote("Arguments", reference))
			}
		}
	}

	for key, warning := range d.Conf.Unfilled() {
		d.Warn("%s: %s", conf.Shorten(key), warning)
	}
}

// driverDefines reports whether the Spark container of the driver may define a variable. More than 16 sources of
// variables are not searched, because a custom resource may have many references.
func (d *Draft) driverDefines(name string) bool {
	if sparkVariables.MatchString(name) || d.Conf.Has("spark.kubernetes.driverEnv."+name) || d.Conf.Has("spark.kubernetes.driver.secretKeyRef."+name) {
		return true
	}

	if d.variables == nil {
		d.variables = map[string]bool{}
		for _, v := range slices.Concat(d.Spark.Env, d.Request.Driver.Env) {
			d.variables[v.Name] = true
		}
	}

	sources := slices.Concat(d.Spark.EnvFrom, d.Request.Driver.EnvFrom)
	return d.variables[name] || len(sources) > 16 ||
		slices.ContainsFunc(sources, func(from corev1.EnvFromSource) bool { return strings.HasPrefix(name, from.Prefix) })
}
