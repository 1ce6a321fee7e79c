package cause

import "testing"

// TestRulesOfSparkMessages checks the reasons for messages of Spark, the JVM and Python of which no log is recorded.
func TestRulesOfSparkMessages(t *testing.T) {
	for text, want := range map[string]string{
		"org.apache.spark.SparkException: Kryo serialization failed: Buffer overflow. Available: 0, required: 4. To avoid this, increase spark.kryoserializer.buffer.max value.": "BufferTooSmall",
		"org.apache.spark.SparkException: Could not execute broadcast in 300 secs. You can increase the timeout for broadcasts via spark.sql.broadcastTimeout or disable it":     "BroadcastFailed",
		"org.apache.spark.SparkException: Cannot broadcast the table that is larger than 8.0 GiB: 9.1 GiB.":                                                                      "BroadcastFailed",
		"java.io.FileNotFoundException: /tmp/blockmgr-1/0c/temp_shuffle_2 (Too many open files)":                                                                                 "TooManyOpenFiles",
		"java.io.FileNotFoundException: /data/orders.csv (Permission denied)":                                                                                                    "FilePermission",
		"java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory or process/resource limits reached":                                                  "OutOfNativeMemory",
		"# There is insufficient memory for the Java Runtime Environment to continue.":                                                                                           "OutOfNativeMemory",
		"java.lang.OutOfMemoryError: Java heap space":                                                                                                                            "OutOfHeap",
		"Traceback (most recent call last):\n  File \"job.py\", line 3, in <module>\nMemoryError":                                                                                "PythonOutOfMemory",
		"java.lang.NoSuchMethodError: 'scala.collection.mutable.ArrayOps scala.Predef$.refArrayOps(java.lang.Object[])'":                                                         "WrongScalaVersion",
	} {
		if got := Search("", text); got.Reason != want || got.Line == "" || got.Advice == "" {
			t.Errorf("%s: %+v, want the reason %s", text, got, want)
		}
	}
}
