package stage

import (
	"path"
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

const (
	// mountURI is the beginning of the URIs by which Spark reads a directory of its pods as a file system of Hadoop.
	mountURI = "viewfs://sparkctl/files"
	// mountKey is the property that maps mountURI to the directory (org.apache.hadoop.fs.viewfs.ViewFileSystem).
	mountKey = "spark.hadoop.fs.viewfs.mounttable.sparkctl.link./files"
)

// useDirectory changes an application so that it reads the files of the set from a directory. The driver and the
// executors have this directory at the same path. The callback returns the path of a file relative to the directory.
//
// The main file, jars and Python files get URIs with the scheme local. For --files and --archives, Spark ignores this
// scheme (SparkContext.addFile): SparkFiles.get does not find such a file, and executors do not unpack such an archive.
// Files and archives get URIs of Hadoop's viewfs instead, and Spark copies them like files of a remote file system.
func (s *fileSet) useDirectory(app *v1beta2.SparkApplication, directory string, name func(*localFile) string) error {
	copied := false

	err := s.rewrite(app, func(option string, f *localFile) string {
		if option == filesOption || option == archivesOption {
			copied = true
			return mountURI + "/" + name(f)
		}
		return "local://" + path.Join(directory, name(f))
	})
	if copied {
		setProperty(app, mountKey, "file://"+directory)
	}

	setPythonPath(app, directory)
	return err
}

// setProperty sets a Spark property of an application.
func setProperty(app *v1beta2.SparkApplication, key, value string) {
	if app.Spec.SparkConf == nil {
		app.Spec.SparkConf = map[string]string{}
	}

	app.Spec.SparkConf[key] = value
}

// setPythonPath adds the Python files of a directory to PYTHONPATH in the executors. It does so only for Spark versions
// before 4.1. In these versions, the driver finds modules in Python files with the scheme local, but the executors do
// not.
func setPythonPath(app *v1beta2.SparkApplication, directory string) {
	const key = "spark.executorEnv.PYTHONPATH"

	major, minor := submit.LineOf(app.Spec.SparkVersion)
	if _, set := app.Spec.SparkConf[key]; set || major > 4 || major == 4 && minor >= 1 {
		return
	}

	var places []string
	for _, uri := range app.Spec.Deps.PyFiles {
		file, staged := strings.CutPrefix(uri, "local://")
		if !staged || !strings.HasPrefix(file, directory+"/") {
			continue
		}

		if strings.HasSuffix(file, ".py") {
			file = path.Dir(file)
		}

		if !slices.Contains(places, file) {
			places = append(places, file)
		}
	}

	if len(places) > 0 {
		setProperty(app, key, strings.Join(places, ":"))
	}
}
