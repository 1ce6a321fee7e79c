package record

import (
	"maps"
	"strings"
)

// What is the same in every run of spark-submit, inside the machine that it sees.
const (
	// Address is where the recording API server is, in a network that it shares with spark-submit alone.
	Address = "127.0.0.1:6443"
	// Master is --master.
	Master = "k8s://http://" + Address
	// User is who runs spark-submit, and what SPARK_USER becomes without another.
	User = "root"
	// SparkHome is where Spark is.
	SparkHome = "/opt/spark"
	// JavaHome is where Java is.
	JavaHome = "/opt/java/openjdk"
)

// Arguments is the whole command line that spark-submit gets for the case.
func Arguments(c Case) []string {
	common := []string{"--master", Master, "--deploy-mode", "cluster", "--conf", "spark.kubernetes.submission.waitAppCompletion=false"}
	return append(common, c.CommandLine()...)
}

// Environment is the whole environment that spark-submit gets for the case: what it needs itself, then the case's own. SPARK_CONF_DIR is there
// when the case has files below conf/, and left to Spark's scripts otherwise.
func Environment(c Case) map[string]string {
	env := map[string]string{
		"PATH":       JavaHome + "/bin:" + SparkHome + "/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME":       "/root",
		"JAVA_HOME":  JavaHome,
		"SPARK_HOME": SparkHome,
		"LANG":       "C.UTF-8", // Java reads its arguments and file names by it.
	}
	if c.HasConfDir() {
		env["SPARK_CONF_DIR"] = Dir + "/conf"
	}
	maps.Copy(env, c.Env)
	return env
}

// HasConfDir says whether the case has files below conf/, its SPARK_CONF_DIR.
func (c Case) HasConfDir() bool {
	for name := range c.allFiles() {
		if strings.HasPrefix(name, "conf/") {
			return true
		}
	}
	return false
}
