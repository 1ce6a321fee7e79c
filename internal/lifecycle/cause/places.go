package cause

import "strings"

// place tells by a frame of a stack trace what failed.
type place struct {
	Frame string // part of a frame
	Line  string // what failed
}

// places are looked for if the end of a log has frames of a stack trace without the exception. Earlier places have
// priority, because they say more. They say only what the frame proves, so that they have no reason and no way out.
var places = []place{
	{"org.apache.hadoop.fs.s3a.", "a request to S3 (s3a://) failed"},
	{"org.apache.hadoop.fs.azurebfs.", "a request to Azure storage (abfs://) failed"},
	{"com.google.cloud.hadoop.", "a request to Google Cloud Storage (gs://) failed"},
	{"org.apache.hadoop.fs.RawLocalFileSystem.getFileStatus", "a file or directory does not exist in the pod"},
	{"HiveMetaStoreClient", "a request to the Hive metastore failed"},
	{"org.apache.spark.sql.hive.client.", "a request to the Hive metastore failed"},
	{"org.apache.spark.util.DependencyUtils$.downloadFile", "a file of the application could not be downloaded"},
	{"org.apache.spark.util.DependencyUtils$.resolveMavenDependencies", "the packages of spark.jars.packages could not be resolved"},
	{"org.apache.spark.sql.execution.datasources.DataSource", "the files of a data source could not be opened"},
	{"org.apache.spark.sql.execution.streaming.", "a streaming query failed"},
	{"org.apache.spark.sql.execution.exchange.BroadcastExchangeExec", "a broadcast failed"},
	{"org.apache.spark.sql.execution.datasources.FileFormatWriter", "a task that writes files failed"},
	{"org.apache.spark.sql.execution.datasources.WriteFilesExec", "a task that writes files failed"},
	{"org.apache.spark.sql.execution.datasources.FileScanRDD", "a task that reads files failed"},
	{"org.apache.spark.scheduler.ShuffleMapTask", "a task of a shuffle failed"},
	{"org.apache.spark.api.python.BasePythonRunner", "a Python function failed in a task"},
	{"org.apache.spark.executor.Executor$TaskRunner", "a task failed"},
	{"org.apache.spark.scheduler.DAGScheduler", "a job failed"},
	{"org.apache.spark.sql.catalyst.analysis.", "a table or data source of a query could not be opened"},
	{"SparkClassUtils.classForName", "a class could not be loaded"},
	{"finishConnect", "a connection failed"},
	{"org.apache.spark.SparkContext.<init>", "Spark could not start"},
	{"org.apache.spark.sql.", "a query failed"},
	{"org.apache.spark.SparkContext.runJob", "a job failed"},
	{"org.apache.spark.deploy.SparkSubmit.prepareSubmitEnvironment", "the program could not be prepared"},
	{"org.apache.spark.deploy.JavaMainApplication.start", "the main class ended with an exception"},
	{"org.apache.spark.executor.CoarseGrainedExecutorBackend", "the executor could not start"},
	{"org.apache.spark.api.python.PythonRDD$.collectAndServe", "an action that returns a result failed"},
	{"py4j.ClientServerConnection", "a call of Spark by the Python program failed"},
	{"java.util.concurrent.ForkJoin", "work on several threads failed"},
	{"io.netty.channel.", "a network operation failed"},
	{"org.apache.spark.deploy.SparkSubmit", "the program ended with an exception"},
}

// placeOf returns what failed according to the frames in a log.
func placeOf(log string) Found {
	var frames strings.Builder
	for line := range linesOf(log) {
		if isTraceFrame(line) {
			frames.WriteString(line + "\n")
		}
	}

	for _, place := range places {
		if strings.Contains(frames.String(), place.Frame) {
			return Found{Line: place.Line, Advice: Unread}
		}
	}
	return Found{}
}
