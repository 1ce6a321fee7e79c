package record

import (
	"maps"
	"strings"
)

// These values are the same in every run of spark-submit. Addresses and paths are those inside the isolated machine in
// which spark-submit runs.
const (
	// Address is the address of the recording API server. Only spark-submit shares its network.
	Address = "127.0.0.1:6443"
	// Master is the value of --master.
	Master = "k8s://http://" + Address
	// User is the user that runs spark-submit. It is also the default of SPARK_USER.
	User = "root"
	// SparkHome is Spark's directory.
	SparkHome = "/opt/spark"
	// JavaHome is Java's directory.
	JavaHome = "/opt/java/openjdk"
)

// Arguments returns the complete command line of spark-submit for the case.
func Arguments(c Case) []string {
	common := []string{"--master", Master, "--deploy-mode", "cluster", "--conf", "spark.kubernetes.submission.waitAppCompletion=false"}
	return append(common, c.CommandLine()...)
}

// Environment returns the complete environment of spark-submit for the case: the variables that spark-submit needs, and
// the case's own variables, which take precedence. It sets SPARK_CONF_DIR only if the case has files below conf/.
// Otherwise Spark's scripts choose that directory.
func Environment(c Case) map[string]string {
	env := map[string]string{
		"PATH":       JavaHome + "/bin:" + SparkHome + "/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME":       "/root",
		"JAVA_HOME":  JavaHome,
		"SPARK_HOME": SparkHome,
		"LANG":       "C.UTF-8", // Java decodes its arguments and file names with it.
	}
	if c.HasConfDir() {
		env["SPARK_CONF_DIR"] = Dir + "/conf"
	}

	maps.Copy(env, c.Env)
	return env
}

// HasConfDir reports whether the case has files below conf/, which form its SPARK_CONF_DIR.
func (c Case) HasConfDir() bool {
	for name := range c.allFiles() {
		if strings.HasPrefix(name, "conf/") {
			return true
		}
	}
	return false
}
