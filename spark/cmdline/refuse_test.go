package cmdline

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// refusedArgs checks that Parse rejects a command line. The error must name the given key or field and contain the
// given text. Parse must return a Request only if the error is NotNative. refusedArgs returns the error.
func refusedArgs(t *testing.T, s Submitter, args []string, name, text string) submit.Error {
	t.Helper()

	r, warnings, err := Parse(args, s)

	wrong, ok := errors.AsType[*submit.Error](err)
	if !ok {
		t.Errorf("%q gave the error %v, want one about %s", args, err, name)
		return submit.Error{}
	}

	if (wrong.Key == "") == (wrong.Field == "") {
		t.Errorf("%q: an error should have a key or a field, but is %+v", args, wrong)
	}

	if got := wrong.Key + wrong.Field; got != name || !strings.Contains(wrong.Message, text) {
		t.Errorf("%q is refused for %q: %s\nwant %q and a message with %q", args, got, wrong.Message, name, text)
	}

	if given := r.Conf != nil || r.Master != "" || warnings != nil; given != wrong.NotNative {
		t.Errorf("%q: a Request is given: %t", args, given)
	}
	return *wrong
}

func TestRefusedLines(t *testing.T) {
	cluster := []string{"--master", "k8s://h", "--deploy-mode", "cluster"}

	with := func(words ...string) []string { return append(slices.Clone(cluster), words...) }
	for name, c := range map[string]struct {
		args       []string
		name, text string
	}{
		// The line itself.
		"nothing":                      {nil, "Resource", "is missing"},
		"no resource":                  {with("--class", "a.B"), "Resource", "after the options"},
		"an empty resource":            {with(""), "Resource", "empty argument"},
		"an unknown option":            {with("--no-such", "x"), "--no-such", "unrecognized"},
		"an unknown option with value": {with("--no-such=hunter2", "x"), "--no-such", "unrecognized"},
		"an unknown short option":      {with("-x"), "-x", "unrecognized"},
		"a dash":                       {with("-"), "-", "unrecognized"},
		"a short option with =":        {with("-c=spark.a=1", "x"), "-c", "unrecognized"},
		"an empty value":               {with("--conf=", "x"), "--conf", "unrecognized"},
		"a value of two lines":         {with("--conf=spark.a=1\n2", "x"), "--conf", "unrecognized"},
		"an option without value":      {with("--name"), "--name", "needs a value"},
		"--conf without value":         {with("x.py", "-c"), "", ""},
		"--conf without =":             {line("--conf", "spark.a"), "--conf", `next argument "spark.a" has no "="`},
		"--conf with another word":     {line("--conf", "hunter2"), "--conf", `next argument has no "="`},
		"--conf with a secret":         {line("--conf", "spark.my.password:hunter2"), "--conf", `(redacted)`},

		// Lines that are not a submission.
		"--help":        {[]string{"--help"}, "--help", "not a submission"},
		"-h":            {with("-h", "x.py"), "--help", "not a submission"},
		"--usage-error": {[]string{"--usage-error"}, "--usage-error", "not a submission"},
		"--version":     {line("--version"), "--version", "not a submission"},
		"--kill":        {with("--kill", "ns:pod"), "--kill", "ends an application"},
		"--status":      {with("--status=ns:pod"), "--status", "application's state"},
		"run-example":   {[]string{"run-example", "SparkPi"}, "Resource", "examples jar"},

		// Lines that are not for Kubernetes' cluster mode.
		"no master":           {[]string{"--deploy-mode", "cluster", "x.py"}, "spark.master", "--master k8s://"},
		"yarn":                {line("--master", "yarn"), "spark.master", `"yarn" is not Kubernetes`},
		"local":               {line("--master", "local[*]"), "spark.master", "is not Kubernetes"},
		"k8s without slashes": {line("--master", "k8s:h"), "spark.master", "is not Kubernetes"},
		"another scheme":      {line("--master", "k8s://ftp://h"), "spark.master", "should have https"},
		"no scheme":           {line("--master", "k8s://://h"), "spark.master", "should have https"},
		"a password":          {line("--master", "https://me:hunter2@h"), "spark.master", "is not Kubernetes"},
		"a broken password":   {line("--master", "https://me:hunter2%@h:x"), "spark.master", "the address is not"},
		"no mode":             {[]string{"--master", "k8s://h", "x.py"}, "spark.submit.deployMode", "client mode"},
		"client mode":         {line("--deploy-mode", "client"), "spark.submit.deployMode", "--deploy-mode cluster"},
		"another mode":        {line("--deploy-mode", "Cluster"), "spark.submit.deployMode", `is "Cluster"`},
		"--remote":            {line("--remote", "sc://h"), "spark.remote", "Spark Connect"},
		"remote by conf":      {line("-c", "spark.remote=sc://h"), "spark.remote", "Spark Connect"},
		"spark-shell":         {with("spark-shell"), "Resource", "is a shell"},
		"pyspark-shell":       {with("pyspark-shell"), "Resource", "is a shell"},
		"the shell's class": {with("--class", "org.apache.spark.repl.Main", "--other", "spark-internal"),
			"MainClass", "is a shell"},
		"the SQL shell": {with("--class", "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver"),
			"MainClass", "the SQL shell"},
		"the Thrift server": {with("--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2",
			"spark-internal"), "MainClass", "Thrift server"},
		"the Connect server": {with("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "x.jar"),
			"MainClass", "Connect server"},
		"pyspark's own script": {[]string{"pyspark-shell-main", "--name", "x"}, "Resource", "is a shell"},
		"a client's properties": {line("-c", "spark.submit.deployMode=client", "--deploy-mode", "client"),
			"spark.submit.deployMode", "client mode"},

		// Values.
		"memory with a fraction": {line("--driver-memory", "1.5g"), "spark.driver.memory", `is "1.5g"`},
		"no memory": {line("-c", "spark.executor.memory=0m"), "spark.executor.memory",
			"more than zero"},
		"a reference for memory": {line("-c", "spark.a=1g", "-c", "spark.driver.memory=${spark.a}"),
			"spark.driver.memory", "size should be"},
		"no cores":           {line("--driver-cores", "0"), "spark.driver.cores", `is "0"`},
		"cores with a blank": {line("--executor-cores", " 2"), "spark.executor.cores", `is " 2"`},
		"cores with a fraction": {line("-c", "spark.executor.cores=1.5"), "spark.executor.cores",
			"whole number"},
		"too many cores": {line("--executor-cores", "2147483648"), "spark.executor.cores",
			"whole number"},
		"no executors": {line("--num-executors", "0"), "spark.executor.instances",
			"more than zero"},
		"dynamic with a blank": {line("--num-executors", "0", "-c",
			"spark.dynamicAllocation.enabled= true"), "spark.executor.instances", "more than zero"},
		"a total of cores":         {line("--total-executor-cores", "x"), "--total-executor-cores", `is "x"`},
		"a total of cores, by key": {line("-c", "spark.cores.max=x"), "spark.cores.max", `is "x"`},
		"user and principal": {line("--proxy-user", "u", "--principal", "p"), "--proxy-user",
			"--principal"},
		"user and an old principal": {line("--proxy-user", "u", "-c", "spark.yarn.principal=p"), "--proxy-user",
			"--principal"},
		"a heap": {line("--driver-java-options", "-Da=hunter2 -Xmx1g"),
			"spark.driver.extraJavaOptions", "--driver-memory"},
		"a heap in quotes": {line("-c", `spark.driver.defaultJavaOptions='-'"Xm"x1g`),
			"spark.driver.defaultJavaOptions", "--driver-memory"},
		"an unclosed quotation": {line("--driver-java-options", `-Da="hunter2`),
			"spark.driver.extraJavaOptions", "quotation is not closed"},
		"a backslash at the end": {line("--driver-java-options", `-Da=hunter2\`),
			"spark.driver.extraJavaOptions", "quotation is not closed"},
		"a namespace that refers to itself": {line("-c", "spark.kubernetes.namespace=${spark.a}", "-c",
			"spark.a=${spark.a}"), "spark.kubernetes.namespace", "back to itself"},
		"a pod name that refers to itself": {line("-c", "spark.kubernetes.driver.pod.name=${spark.a}", "-c",
			"spark.a=${spark.a}"), "spark.kubernetes.driver.pod.name", "back to itself"},

		// Files.
		"a missing properties file": {line("--properties-file", "none"), "--properties-file",
			"/case/none cannot be read: no such file"},
		"an empty name of a file": {line("--properties-file", ""), "--properties-file", "needs the path"},
		"a missing extra properties file": {line("--extra-properties-file", "/none"), "--extra-properties-file",
			"/none cannot be read"},
		"a blank in the resource": {with("local:///a b.jar"), "Resource", "%20"},
		"a blank before a URL": {line("--jars", "local:///a.jar, local:///b.jar"), "spark.jars",
			"cannot be part of a URI"},
		"brackets in a URL": {line("-c", "spark.files=s3a://b/[ab].txt"), "spark.files",
			`"[" cannot be part of a URI`},
		"a scheme alone": {line("-c", "spark.files=local://"), "spark.files", "names no file"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.name == "" {
				if got := quietly(t, here(nil), c.args).Arguments; !slices.Equal(got, []string{"-c"}) {
					t.Errorf("the arguments are %q", got)
				}
				return
			}

			if err := refusedArgs(t, here(nil), c.args, c.name, c.text); strings.Contains(err.Key+err.Field+err.Message,
				"hunter2") {
				t.Errorf("the message shows a secret: %+v", err)
			} else if err.NotNative {
				t.Errorf("spark-submit could not do it either: %+v", err)
			}
		})
	}
}

// TestOptionsOfLines checks that each Spark release line rejects the options that only later release lines have.
func TestOptionsOfLines(t *testing.T) {
	values := map[string]string{"--load-spark-defaults": "", "--driver-default-class-path": "/c",
		"--extra-properties-file": "/p"}

	firsts := map[string]string{"--load-spark-defaults": "4.0", "--driver-default-class-path": "4.0",
		"--extra-properties-file": "4.2"}
	for name, first := range firsts {
		for _, version := range submit.SupportedVersions() {
			s := here(map[string]string{"/p": ""})
			s.SparkVersion = version

			words := []string{name}
			if value := values[name]; value != "" {
				words = append(words, value)
			}

			if version >= first {
				quietly(t, s, line(words...))
			} else {
				refusedArgs(t, s, line(words...), name, "came with "+first)
			}
		}
	}
}

// TestRefusedEnvironment checks that the error for a value from an environment variable names that variable.
func TestRefusedEnvironment(t *testing.T) {
	for _, c := range []struct{ variable, value, key, text string }{
		{"MASTER", "yarn", "spark.master", "MASTER"},
		{"MASTER", "", "spark.master", "not Kubernetes"},
		{"DEPLOY_MODE", "client", "spark.submit.deployMode", "DEPLOY_MODE"},
		{"DEPLOY_MODE", "x", "spark.submit.deployMode", "DEPLOY_MODE"},
		{"SPARK_REMOTE", "sc://h", "spark.remote", "SPARK_REMOTE"},
		{"SPARK_DRIVER_MEMORY", "", "spark.driver.memory", "SPARK_DRIVER_MEMORY"},
		{"SPARK_EXECUTOR_MEMORY", "0", "spark.executor.memory", "SPARK_EXECUTOR_MEMORY"},
		{"SPARK_EXECUTOR_CORES", "many", "spark.executor.cores", "SPARK_EXECUTOR_CORES"},
	} {
		s := here(nil)
		s.Environment = map[string]string{"MASTER": "k8s://h", "DEPLOY_MODE": "cluster", c.variable: c.value}
		refusedArgs(t, s, []string{"x.py"}, c.key, c.text)
	}
}

func TestRefusedFiles(t *testing.T) {
	const driver, executor = "spark.kubernetes.driver.podTemplateFile", "spark.kubernetes.executor.podTemplateFile"
	latin := "a: \xe4"

	s := here(map[string]string{"/case/latin": latin, "/case/text": "just words", "/case/list": "[]", "/case/open": "{",
		"/case/empty": "", "/case/broken": `spark.my=\u12`,
		"/case/hc/a.xml": latin, "/case/cf/spark-defaults.conf": `spark.token=\u12`})
	for name, c := range map[string]struct {
		environment map[string]string
		words       []string
		name, text  string
		notNative   bool
	}{
		"a missing template": {nil, []string{"-c", driver + "=none"}, driver,
			"/case/none cannot be read", false},
		"a missing executor template": {nil, []string{"-c", executor + "=local:///none"}, executor,
			"/none cannot be read", false},
		"a template that is a text": {nil, []string{"-c", driver + "=text"}, driver, "contains no pod", false},
		"a template that is a list": {nil, []string{"-c", driver + "=list"}, driver, "contains no pod", false},
		"an empty template":         {nil, []string{"-c", driver + "=empty"}, driver, "contains no pod", false},
		"a broken template": {nil, []string{"-c", driver + "=open"}, driver, "neither JSON nor YAML",
			false},
		"a template in another file": {nil, []string{"-c", executor + "=latin"}, executor, "not UTF-8", false},
		"a template in an object store": {nil, []string{"-c", driver + "=s3a://b/t.yaml"}, driver,
			"download it", true},
		"a template of a web server": {nil, []string{"-c", executor + "=https://h/t.yaml"}, executor,
			"download it", true},
		"a template with blanks": {nil, []string{"-c", executor + "=https://h/a b"}, executor, "%20", false},
		"a template on a wrong port": {nil, []string{"-c", driver + "=https://h:port/t"}, driver,
			"is not a valid URI", false},
		"a template's reference": {nil, []string{"-c", driver + "=${spark.a}", "-c", "spark.a=${spark.a}"},
			driver, "back to itself", false},
		"a missing certificate": {nil, []string{"-c", credentialsPrefix + "caCertFile=none"},
			credentialsPrefix + "caCertFile", "/case/none", false},
		"an empty key": {nil, []string{"-c", credentialsPrefix + "clientKeyFile=empty"},
			credentialsPrefix + "clientKeyFile", "is empty", false},
		"a missing krb5.conf": {nil, []string{"-c", kerberosPrefix + "krb5.path=none"},
			kerberosPrefix + "krb5.path", "/case/none", false},
		"a krb5.conf that refers to itself": {nil,
			[]string{"-c", kerberosPrefix + "krb5.path=${spark.a}", "-c", "spark.a=${spark.a}"},
			kerberosPrefix + "krb5.path", "back", false},
		"a missing keytab": {nil, []string{"--keytab", "none"}, "spark.kerberos.keytab", "/case/none",
			false},
		"a keytab as a URI": {nil, []string{"--keytab", "file:///k"}, "spark.kerberos.keytab",
			"cannot be read", false},
		"a missing PodGroup": {nil,
			[]string{"-c", "spark.kubernetes.driver.pod.featureSteps=" + volcanoClass, "-c", volcanoFileKey + "=none"},
			volcanoFileKey, "/case/none", false},
		"Hadoop's files": {map[string]string{"HADOOP_CONF_DIR": "hc"}, nil, "HADOOP_CONF_DIR",
			"/case/hc/a.xml is not UTF-8", false},
		"Hadoop's files and their CM": {map[string]string{"HADOOP_CONF_DIR": "none"},
			[]string{"-c", "spark.kubernetes.hadoop.configMapName=cm"}, "spark.kubernetes.hadoop.configMapName",
			"HADOOP_CONF_DIR", false},
		"a broken properties file": {nil, []string{"--properties-file", "broken"}, "--properties-file",
			"/case/broken: spark.my: broken escape", false},
		"broken defaults": {map[string]string{"SPARK_CONF_DIR": "cf"}, nil, "spark-defaults.conf",
			"/case/cf/spark-defaults.conf: spark.token", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := s

			s.Environment = c.environment
			if err := refusedArgs(t, s, line(c.words...), c.name, c.text); err.NotNative != c.notNative {
				t.Errorf("NotNative is %t: %+v", err.NotNative, err)
			}
		})
	}

	s.ReadFile = nil
	refusedArgs(t, s, line("--properties-file", "text"), "--properties-file",
		"files of the submitting machine cannot be read")

	s.Environment = map[string]string{"SPARK_CONF_DIR": "cf"}
	for _, variable := range []string{"SPARK_CONF_DIR", "HADOOP_CONF_DIR"} {
		s.Environment = map[string]string{variable: "/dir"}
		s.ReadDir = func(dir string) (map[string][]byte, error) { return nil, errors.New("denied") }
		refusedArgs(t, s, line(), variable, "/dir cannot be read: denied")
		s.Environment = nil
		refusedArgs(t, s, line("-c", "spark.home=/dir"), "SPARK_CONF_DIR", "/dir/conf cannot be read: denied")

		s.ReadDir = nil
		if _, _, err := Parse(line(), s); err != nil {
			t.Errorf("%s without a way to read it: %v", variable, err)
		}
	}
}

// TestRequestWithoutItsTemplates checks that Parse returns a complete Request except for the files that only
// spark-submit's own file system clients can read. A caller that has these files can add them.
func TestRequestWithoutItsTemplates(t *testing.T) {
	const driver, executor = "spark.kubernetes.driver.podTemplateFile", "spark.kubernetes.executor.podTemplateFile"
	words := []string{"--master", "k8s://https://h", "--deploy-mode", "cluster", "--class", "a.B", "-c",
		"spark.driver.memory=2g", "-c", "my.key=x", "local:///x.jar", "1"}
	s := Submitter{SparkVersion: "4.1.4"}

	want, warnings, err := Parse(words, s)
	if err != nil || len(warnings) != 1 {
		t.Fatalf("%v, warnings %q", err, warnings)
	}

	stored := append([]string{"-c", driver + "=s3a://b/d.yaml", "-c", executor + "=https://h/e.yaml"}, words...)
	got, gotWarnings, err := Parse(stored, s)

	wrong, ok := errors.AsType[*submit.Error](err)
	if !ok || wrong.Key != driver || !wrong.NotNative {
		t.Fatalf("error %v", err)
	}

	if diff := cmp.Diff(warnings, gotWarnings); diff != "" {
		t.Errorf("warnings (-without templates +with them):\n%s", diff)
	}

	for key, file := range map[string]string{driver: "s3a://b/d.yaml", executor: "https://h/e.yaml"} {
		if value, _ := got.Conf.Get(key); value != file {
			t.Errorf("%s is %q", key, value)
		}
	}

	ready := got
	ready.AppID, ready.ResourceNamePrefix, ready.DriverPodName = "spark-0f1e2d3c", "x", "x-driver"
	ready.Conf.Set("spark.kubernetes.container.image", "i")

	if _, err := native.Build(ready); !errors.As(err, &wrong) || wrong.Key != driver || !wrong.NotNative {
		t.Errorf("Build says %v", err)
	}

	got.Conf.Delete(driver, executor, "spark.kubernetes.container.image")

	if diff := cmp.Diff(want.Conf.Map(), got.Conf.Map()); diff != "" {
		t.Errorf("configuration (-without templates +with them):\n%s", diff)
	}

	want.Conf, got.Conf = nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-without templates +with them):\n%s", diff)
	}
	// An error that spark-submit would also return takes precedence, even if Parse finds it later.
	refusedArgs(t, s, append(stored[:4:4], append([]string{"-c", credentialsPrefix + "caCertFile=/none"}, words...)...),
		credentialsPrefix+"caCertFile", "files of the submitting machine cannot be read")
}

// TestOptions checks that the table of options is sorted, contains each option once, and gives each word one meaning.
func TestOptions(t *testing.T) {
	seen := map[string]bool{}
	for i, o := range options {
		if i > 0 && options[i-1].name >= o.name {
			t.Errorf("%s stands behind %s", o.name, options[i-1].name)
		}

		for _, word := range []string{o.name, o.short, o.key} {
			if word != "" && seen[word] {
				t.Errorf("%s: %q is taken", o.name, word)
			}

			seen[word] = true
		}

		if !strings.HasPrefix(o.name, "--") || o.key != "" && !strings.HasPrefix(o.key, "spark.") || o.asConf &&
			o.key == "" || o.ignored != "" && o.special != "" {
			t.Errorf("%+v makes no sense", o)
		}

		if got := optionOf(o.name); got == nil || got.name != o.name || o.short != "" && optionOf(o.short) != got {
			t.Errorf("%s is not found", o.name)
		}
	}

	for _, word := range []string{"", "-", "--", "name", "--nam", "--names"} {
		if o := optionOf(word); o != nil {
			t.Errorf("%q is %s", word, o.name)
		}
	}
}
