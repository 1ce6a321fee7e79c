package submit

import "strings"

const (
	confDir        = "/opt/spark/conf"
	propertiesFile = "spark.properties"
)

// The main classes that run a Python or R application.
const (
	pythonRunner = "org.apache.spark.deploy.PythonRunner"
	rRunner      = "org.apache.spark.deploy.RRunner"
)

// noResource is the primary resource of an application that has no file of its own.
const noResource = "spark-internal"

// commandStep sets the arguments of the image's entrypoint (DriverCommandFeatureStep). The step appends these arguments
// to the arguments of the pod template.
func commandStep(d *draft) error {
	args := []string{RoleDriver}
	if d.r.ProxyUser != "" {
		args = append(args, "--proxy-user", d.r.ProxyUser)
	}
	class, resource := d.r.MainClass, d.r.Resource
	switch d.kind {
	case typePython:
		class = pythonRunner
		if err := pythonEnv(d); err != nil {
			return err
		}
	case typeR:
		class = rRunner
	case typeJava:
		if resource == "" {
			resource = noResource
		}
	}
	args = append(args, "--properties-file", confDir+"/"+propertiesFile, "--class", class, resource)
	for _, arg := range args {
		d.spark.Args = append(d.spark.Args, EscapeArg(arg))
	}
	// Kubernetes fills in the references of the application's own arguments, as after spark-submit.
	d.spark.Args = append(d.spark.Args, d.r.Arguments...)
	d.props.Set("spark.kubernetes.resource.type", string(d.kind))
	return nil
}

// pythonEnv sets the variables for the Python interpreters, from the configuration or else from the submitter's
// environment. If neither names an interpreter, the image decides.
func pythonEnv(d *draft) error {
	if version, ok := d.conf.Get("spark.kubernetes.pyspark.pythonVersion"); ok && d.q.pythonVersion && version != "3" {
		return KeyErrorf("spark.kubernetes.pyspark.pythonVersion", "only 3 is possible, but it is %s", d.conf.Quote("spark.kubernetes.pyspark.pythonVersion", version))
	}
	python, err := d.conf.String("spark.pyspark.python", d.r.Environment["PYSPARK_PYTHON"])
	if err != nil {
		return err
	}
	driver, err := d.firstOf("spark.pyspark.driver.python", "spark.pyspark.python")
	if err != nil {
		return err
	}
	for _, name := range []string{"PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON"} {
		if driver == "" {
			driver = d.r.Environment[name]
		}
	}
	if python != "" {
		d.env("PYSPARK_PYTHON", python)
	}
	if driver != "" {
		d.env("PYSPARK_DRIVER_PYTHON", driver)
	}
	return nil
}

// EscapeArg escapes text so that Kubernetes passes it on unchanged in the arguments or the command of a container. The
// kubelet reads "$(NAME)" as a variable and "$$" as a dollar sign, and garbles a character beyond ASCII that follows a
// dollar sign. Other dollar signs need no escape.
func EscapeArg(text string) string {
	if !strings.Contains(text, "$") {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		b.WriteByte(text[i])
		if text[i] == '$' && i+1 < len(text) && (text[i+1] == '$' || text[i+1] == '(' || text[i+1] >= 0x80) {
			b.WriteByte('$')
		}
	}
	return b.String()
}
