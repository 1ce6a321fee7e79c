package steps

import (
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/language"
)

// The main classes that run a Python or R application.
const (
	pythonRunner = "org.apache.spark.deploy.PythonRunner"
	rRunner      = "org.apache.spark.deploy.RRunner"
)

// commandStep sets the arguments of the image's entrypoint (DriverCommandFeatureStep). The step appends these arguments
// to the arguments of the pod template.
func commandStep(d *draft.Draft) error {
	args := []string{submit.RoleDriver}
	if d.Request.ProxyUser != "" {
		args = append(args, "--proxy-user", d.Request.ProxyUser)
	}

	class, resource := d.Request.MainClass, d.Request.Resource
	switch d.Language {
	case language.Python:
		class = pythonRunner

		if err := pythonEnv(d); err != nil {
			return err
		}
	case language.R:
		class = rRunner
	case language.Java:
		if resource == "" {
			resource = draft.NoResource
		}
	}

	args = append(args, "--properties-file", draft.ConfDir+"/"+draft.PropertiesFile, "--class", class, resource)
	for _, arg := range args {
		d.Spark.Args = append(d.Spark.Args, submit.EscapeArg(arg))
	}
	// Kubernetes fills in the references of the application's own arguments, as after spark-submit.
	d.Spark.Args = append(d.Spark.Args, d.Request.Arguments...)
	d.Props.Set("spark.kubernetes.resource.type", string(d.Language))
	return nil
}

// pythonEnv sets the variables for the Python interpreters, from the configuration or else from the submitter's
// environment. If neither names an interpreter, the image decides.
func pythonEnv(d *draft.Draft) error {
	if version, ok := d.Conf.Get("spark.kubernetes.pyspark.pythonVersion"); ok && d.Line.PythonVersion && version != "3" {
		return submit.KeyErrorf("spark.kubernetes.pyspark.pythonVersion", "only 3 is possible, but it is %s", d.Conf.Quote("spark.kubernetes.pyspark.pythonVersion", version))
	}

	python, err := d.Conf.String("spark.pyspark.python", d.Request.Environment["PYSPARK_PYTHON"])
	if err != nil {
		return err
	}

	driver, err := d.FirstOf("spark.pyspark.driver.python", "spark.pyspark.python")
	if err != nil {
		return err
	}

	for _, name := range []string{"PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON"} {
		if driver == "" {
			driver = d.Request.Environment[name]
		}
	}

	if python != "" {
		d.AddEnv("PYSPARK_PYTHON", python)
	}

	if driver != "" {
		d.AddEnv("PYSPARK_DRIVER_PYTHON", driver)
	}
	return nil
}
