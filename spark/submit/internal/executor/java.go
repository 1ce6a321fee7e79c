package executor

import (
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
)

// documentationAddress stands for the driver's IP address, which is not known before the driver runs (RFC 5737).
const documentationAddress = "192.0.2.1"

// driverAddress returns the address at which executors find the driver: the driver's Service or, if
// spark.kubernetes.executor.useDriverPodIP is true, the IP address of the driver's pod (BasicExecutorFeatureStep).
func driverAddress(e *draft.Draft) (string, error) {
	if e.Line.DriverPodIP {
		byIP, err := e.Conf.Bool("spark.kubernetes.executor.useDriverPodIP", e.Line.DriverPodIPDefault)
		if err != nil {
			return "", err
		}

		if byIP {
			return documentationAddress, nil
		}
	}

	host, _ := e.Conf.Get("spark.driver.host")
	return host, nil
}

// moduleOptions returns the JVM options that a driver gives its executors before the user's own JVM options
// (SparkContext.supplementJavaIPv6Options and supplementJavaModuleOptions,
// org.apache.spark.launcher.JavaModuleOptions).
func moduleOptions(e *draft.Draft) []string {
	driver, _ := e.Conf.Get("spark.driver.extraJavaOptions")
	words, _ := conf.SplitJavaOptions(driver)
	const ipv6 = "-Djava.net.preferIPv6Addresses="

	options := []string{ipv6 + "false", "-XX:+IgnoreUnrecognizedVMOptions"}
	if slices.Contains(words, ipv6+"true") {
		options[0] = ipv6 + "true"
	}

	if e.Line.VectorModule {
		options = append(options, "--add-modules=jdk.incubator.vector")
	}

	options = append(options, openedPackages...)
	return append(options, e.Line.ModuleOptions...)
}

// openedPackages are the options that open packages of the JDK to Spark.
var openedPackages = func() (options []string) {
	for name := range strings.FieldsSeq("java.lang java.lang.invoke java.lang.reflect java.io java.net java.nio java.util java.util.concurrent " +
		"java.util.concurrent.atomic jdk.internal.ref sun.nio.ch sun.nio.cs sun.security.action sun.util.calendar") {
		options = append(options, "--add-opens=java.base/"+name+"=ALL-UNNAMED")
	}
	return append(options, "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED")
}()
