package draft

import (
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/language"
)

// fileLists are the keys whose values are lists of files. Spark-submit uploads these files or expands their patterns.
var fileLists = []string{"spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles"}

// mixingClasses are the main classes with which arguments of the application become options of spark-submit: Spark's
// launcher searches the arguments of most of them (SparkSubmitCommandBuilder.specialClasses), and the first one is
// spark-submit itself.
var mixingClasses = []string{
	"org.apache.spark.deploy.SparkSubmit",
	"org.apache.spark.repl.Main", "org.apache.spark.sql.application.ConnectRepl", "org.apache.spark.sql.connect.service.SparkConnectServer",
	"org.apache.spark.sql.hive.thriftserver.HiveThriftServer2", "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver",
}

// rejectOptions rejects texts that spark-submit would read as its own options instead of as a file or an argument of
// the application. Such options would override the configuration.
func (d *Draft) rejectOptions() error {
	if problem := submit.OptionProblem(d.Request.Resource); problem != "" {
		return submit.FieldErrorf("Resource", "%s", problem)
	}

	for _, key := range fileLists {
		list, _ := d.Conf.Get(key)
		for _, uri := range conf.SplitList(list) {
			if strings.HasPrefix(uri, "-") {
				return submit.KeyErrorf(key, "%s", submit.OptionProblem(uri))
			}
		}
	}

	if d.Language != language.Java || !slices.Contains(mixingClasses, d.Request.MainClass) {
		return nil
	}

	for _, argument := range d.Request.Arguments {
		if strings.HasPrefix(argument, "-") && argument != "--hiveconf" || strings.Contains(argument, "$(") {
			return submit.FieldErrorf("Arguments", "%s could be read as an option by spark-submit, which searches the arguments of the class %s for options; set keys in the configuration instead",
				conf.Quote("Arguments", argument), d.Request.MainClass)
		}
	}
	return nil
}

// rejectFiles rejects files that spark-submit would upload, and patterns that spark-submit would expand.
func (d *Draft) rejectFiles() error {
	if err := d.rejectOptions(); err != nil {
		return err
	}

	for _, key := range fileLists {
		list, _ := d.Conf.Get(key)
		for _, uri := range conf.SplitList(list) {
			switch {
			case isSubmitterFile(uri):
				err := submit.KeyErrorf(key, "%s", submitterFileMessage(key, uri))
				if !d.uploads() {
					return err
				}

				d.onlyByJVM(err)
			case conf.NotURI(uri) != "":
				return submit.KeyErrorf(key, "%s", conf.IllegalURI(uri, conf.NotURI(uri)))
			case isPattern(uri):
				d.onlyByJVM(submit.KeyErrorf(key, "%s is a pattern, which needs the file system's own client to expand; list the files", conf.Quote(key, uri)))
			}
		}
	}

	if !isSubmitterFile(d.Request.Resource) {
		if part := conf.NotURI(d.Request.Resource); part != "" {
			return submit.FieldErrorf("Resource", "%s", conf.IllegalURI(d.Request.Resource, part))
		}
	} else if d.Request.Resource != "" {
		err := submit.FieldErrorf("Resource", "%s", submitterFileMessage("Resource", d.Request.Resource))
		// Spark-submit does not upload an R file: it passes the path to the driver.
		if !d.uploads() && d.Language != language.R {
			return err
		}

		d.onlyByJVM(err)
	}
	return nil
}

// uploads reports whether the configuration sets the path to which spark-submit uploads files from its own machine.
func (d *Draft) uploads() bool {
	path, _ := d.Conf.Get("spark.kubernetes.file.upload.path")
	return path != ""
}

// jarCanBeOpened reports whether spark-submit could open the jar to search it for the main class. It cannot open a jar
// with the scheme "local", since Hadoop has no such file system. A jar on spark-submit's own machine counts only if an
// upload path is configured, because spark-submit also has to upload the jar.
func (d *Draft) jarCanBeOpened() bool {
	switch {
	case d.Request.Resource == "":
		return false
	case isSubmitterFile(d.Request.Resource):
		return d.uploads()
	}
	return !strings.HasPrefix(d.Request.Resource, "local:")
}

// isSubmitterFile reports whether a URI names a file on the submitter's machine.
func isSubmitterFile(uri string) bool {
	scheme, _, ok := strings.Cut(uri, ":")
	return !ok || strings.Contains(scheme, "/") || strings.EqualFold(scheme, "file")
}

func submitterFileMessage(key, uri string) string {
	return conf.Quote(key, uri) + " is a file of the submitter, which is never read; use local:///PATH for a file of the image, or a URL that the driver " +
		"can read, such as s3a://, gs://, hdfs:// or https://"
}

// isPattern reports whether a URI is a pattern that spark-submit would expand with a Hadoop file system.
func isPattern(uri string) bool {
	switch scheme, _, _ := strings.Cut(uri, ":"); scheme {
	case "local", "http", "https", "ftp":
		return false
	}
	return strings.ContainsAny(uri, `*?[{\`)
}
