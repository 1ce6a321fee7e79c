package image

import (
	"strings"
	"testing"
)

// TestClassArchive runs drivers of images with a class-data-sharing archive. With -Xshare:on, a JVM that cannot use the
// archive fails.
func TestClassArchive(t *testing.T) {
	for _, version := range testedSpark() {
		t.Run(version, func(t *testing.T) { checkArchive(t, version) })
	}
}

func checkArchive(t *testing.T, version string) {
	root, env := rootfs(t, SparkOptions{Version: version, CDS: true, Tag: "docker.io/apache/spark:" + version + "-cds"})
	java, _ := runInside(t, root, env, "185:185", "java", "-version")
	t.Log(java)

	for _, test := range []struct {
		name, classPath string
		wantCode        int
		want            string
	}{
		{"the jar of the archive first", "/opt/spark/cds/spark.jar", 0, "Pi is roughly 3.1"},
		{"another jar first", "/opt/spark/examples/jars/spark-failures.jar:/opt/spark/cds/spark.jar", 1, "Unable to use shared archive"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, code := runInside(t, root, env, "185:185", "/opt/entrypoint.sh", "driver", "--master", "local[2]", "--driver-memory", "600m",
				"--driver-class-path", test.classPath, "--conf", "spark.driver.defaultJavaOptions=-Xshare:on -XX:SharedArchiveFile=/opt/spark/cds/spark.jsa",
				"--class", "org.apache.spark.examples.SparkPi", "local:///opt/spark/examples/jars/spark-examples.jar", "2")
			if code != test.wantCode || !strings.Contains(out, test.want) {
				t.Errorf("exit code %d, want %d and an output with %q:\n%s", code, test.wantCode, test.want, lastLines(out, 30))
			}
		})
	}
}
