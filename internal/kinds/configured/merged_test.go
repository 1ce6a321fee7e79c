package configured_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// places are the places of a custom resource that can set Spark's configuration in addition to sparkConf. A place has a
// piece for each kind, in the order of configured.Admission. TEXT stands for a text in JSON. An empty piece means that
// the kind has no such place. The text is options of a JVM, except if the name of the place contains another form.
var places = map[string][5]string{
	"options": {
		`spec: {driver: {javaOptions: TEXT}}`, `spec: {template: {driver: {javaOptions: TEXT}}}`,
		`spec: {sparkConf: {spark.driver.extraJavaOptions: TEXT}}`,
		`spec: {sparkConf: {spark.driver.defaultJavaOptions: TEXT}}`,
	},
	"variable": {
		`spec: {driver: {env: [{name: JDK_JAVA_OPTIONS, value: TEXT}]}}`,
		`spec: {template: {driver: {envVars: {JAVA_TOOL_OPTIONS: TEXT}}}}`,
		`spec: {server: {template: {spec: {containers: [{name: spark-kubernetes-driver, env: [{name: SPARK_SUBMIT_OPTS, value: TEXT}]}, {name: log, image: i}]}}}}`,
		`spec: {sparkConf: {spark.kubernetes.driverEnv._JAVA_OPTIONS: TEXT}}`,
		`spec: {masterSpec: {statefulSetSpec: {template: {spec: {containers: [{name: master, env: [{name: SPARK_DAEMON_JAVA_OPTS, value: TEXT}]}]}}}}}`,
	},
	"template's variable": {
		`spec: {driver: {template: {spec: {containers: [{name: a, env: [{name: SPARK_SUBMIT_OPTS, value: TEXT}]}]}}}}`,
		`spec: {template: {driver: {template: {spec: {containers: [{name: a, env: [{name: SPARK_DAEMON_JAVA_OPTS, value: TEXT}]}]}}}}}`,
		`spec: {server: {template: {spec: {containers: [{env: [{name: IBM_JAVA_OPTIONS, value: TEXT}]}]}}}}`,
		`spec: {driverSpec: {podTemplateSpec: {spec: {containers: [{name: a, env: [{name: JDK_JAVA_OPTIONS, value: TEXT}]}]}}}}`,
		`spec: {workerSpec: {statefulSetSpec: {template: {spec: {containers: [{name: worker, env: [{name: SPARK_WORKER_OPTS, value: TEXT}]}]}}}}}`,
	},
	"reference of a variable": {
		`spec: {driver: {env: [{name: A, value: TEXT}, {name: JDK_JAVA_OPTIONS, value: "-Da=b $(A)"}]}}`,
		`spec: {template: {driver: {env: [{name: A, value: TEXT}, {name: B, value: "$(A)"}, {name: JDK_JAVA_OPTIONS, value: "$(B)"}]}}}`,
		`spec: {server: {template: {spec: {containers: [{env: [{name: A, value: TEXT}, {name: JDK_JAVA_OPTIONS, value: "$(A)"}]}]}}}}`,
		`spec: {driverSpec: {podTemplateSpec: {spec: {containers: [{name: a, env: [{name: A, value: TEXT}, {name: JDK_JAVA_OPTIONS, value: "$(A)"}]}]}}}}`,
	},
	"reference of a later variable": {
		`spec: {sparkConf: {spark.executorEnv.JDK_JAVA_OPTIONS: "-Da=b $(Z)", spark.executorEnv.Z: TEXT}}`,
		`spec: {template: {sparkConf: {spark.kubernetes.driverEnv.JDK_JAVA_OPTIONS: "-Da=b $(Z)", spark.kubernetes.driverEnv.Z: TEXT}}}`,
		`spec: {sparkConf: {spark.executorEnv.JDK_JAVA_OPTIONS: "-Da=b $(Z)", spark.executorEnv.Z: TEXT}}`,
		`spec: {sparkConf: {spark.kubernetes.driverEnv.JDK_JAVA_OPTIONS: "-Da=b $(Z)", spark.kubernetes.driverEnv.Z: TEXT}}`,
	},
	"executor's options": {
		`spec: {executor: {javaOptions: TEXT}}`, `spec: {template: {executor: {javaOptions: TEXT}}}`,
		`spec: {sparkConf: {spark.executor.extraJavaOptions: TEXT}}`,
		`spec: {sparkConf: {spark.executor.defaultJavaOptions: TEXT}}`,
	},
	"executor's variable": {
		`spec: {executor: {envVars: {JDK_JAVA_OPTIONS: TEXT}}}`,
		`spec: {template: {executor: {template: {spec: {containers: [{env: [{name: JAVA_TOOL_OPTIONS, value: TEXT}]}]}}}}}`,
		`spec: {sparkConf: {spark.executorEnv._JAVA_OPTIONS: TEXT}}`,
		`spec: {executorSpec: {podTemplateSpec: {spec: {containers: [{name: a, env: [{name: JDK_JAVA_OPTIONS, value: TEXT}]}]}}}}`,
	},
	"executor's option, a whole word": {
		`spec: {executor: {envVars: {SPARK_JAVA_OPT_77: TEXT}}}`,
		`spec: {template: {sparkConf: {spark.executorEnv.SPARK_JAVA_OPT_x: TEXT}}}`,
		`spec: {sparkConf: {spark.executorEnv.SPARK_JAVA_OPT_99: TEXT}}`,
		`spec: {executorSpec: {podTemplateSpec: {spec: {containers: [{name: a, env: [{name: SPARK_JAVA_OPT_9, value: TEXT}]}]}}}}`,
	},
	"options in an option": {
		`spec: {driver: {javaOptions: "-Dspark.executor.extraJavaOptions=-Dspark.jars.packages=com.evil:a:1"}}`, ``,
		`spec: {sparkConf: {spark.driver.extraJavaOptions: "'-Dspark.executorEnv.JDK_JAVA_OPTIONS=-Dspark.jars.packages=com.evil:a:1'"}}`,
	},
}

// podEnv returns for each kind with a driver or a server a piece that sets a variable of it in the template.
func podEnv(name, value string) [4]string {
	spec := fmt.Sprintf(`{template: {spec: {containers: [{name: a, env: [{name: %s, value: %q}]}]}}}`, name, value)
	return [4]string{`spec: {driver: ` + spec + `}`, `spec: {template: {driver: ` + spec + `}}`,
		`spec: {server: ` + spec + `}`,
		`spec: {driverSpec: ` + strings.Replace(spec, "template", "podTemplateSpec", 1) + `}`}
}

// piece returns the piece of a place, or "" if the kind has no such place.
func piece(t *testing.T, place string, kind int, text string) string {
	t.Helper()

	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(places[place][kind], "TEXT", string(quoted))
}

// refusedInSameWords checks that a review refuses an object, that one of the messages contains a text, and that a pass
// creates nothing and reports the first message. Without rules, the review must accept the object.
func refusedInSameWords(t *testing.T, rules string, kind int, words string, pieces ...string) {
	t.Helper()

	cfg, admitted := configWithRules(t, rules), configured.Admission(nil)[kind]
	if faults := admitted.Review(configWithRules(t, ""), nil, object(t, kind, pieces...),
		noon).Faults; len(faults) > 0 {
		t.Errorf("%s %v: without rules: %v", admitted.GVK(), pieces, faults)
		return
	}

	faults := admitted.Review(cfg, nil, object(t, kind, pieces...), noon).Faults
	for _, fault := range faults {
		if strings.Contains(fault.Error(), words) && strings.HasPrefix(fault.Field, "spec.") {
			checkPass(t, all(func() config.Configuration { return cfg })[kind], object(t, kind, pieces...),
				faults[0].Error())
			return
		}
	}

	t.Errorf("%s %v with %s: no message has %s: %v", admitted.GVK(), pieces, rules, words, faults)
}

// TestRulesSeeOptionsAndVariables checks that the rules judge keys of Spark that options of a JVM and variables set, in
// each place and however they are quoted.
func TestRulesSeeOptionsAndVariables(t *testing.T) {
	t.Parallel()

	const denied = `{name: p, sparkConf: {denied: ["spark.jars.packages"]}}`
	for place := range places {
		texts := []string{"-Dspark.jars.packages=com.evil:a:1"}
		if !strings.Contains(place, "whole word") {
			texts = append(texts, `-Xss1m '-D'spark.jars.packages=com.evil:a:1`, `-Dspark."jars".packages=com.evil:a:1`,
				`"-Dspark.jars.packages=com.evil:a:1"`,
				"-Da='b c'\n\t-Dspark.jars.packages=com.evil:a:1", `-cp /a -Dspark.jars.packages`,
				"--add-opens java.base/java.lang=ALL-UNNAMED -Dspark.jars.packages=com.evil:a:1")
		}

		if place == "options" {
			texts = append(texts, `-Dspark.jars.\packages=com.evil:a:1`, `-D\spark.jars.packages=x`,
				"-Da=b\u2003-Dspark.jars.packages=x")
		}

		for kind := range configured.Admission(nil) {
			for _, text := range texts {
				if over := piece(t, place, kind, text); over != "" {
					refusedInSameWords(t, denied, kind,
						`the key "spark.jars.packages" is not allowed by the rule sparkConf.denied of the policy p`, over)
				}
			}
		}
	}
}

// TestRulesSeeOptionsOfDrivers checks the rules that only the options of a driver can break.
func TestRulesSeeOptionsOfDrivers(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ rules, text, words string }{
		{`{name: p, packages: {allowed: ["org.apache.*"]}}`, "-Dspark.jars.packages=com.evil:a:1",
			`the package "com.evil:a:1" is not allowed by the rule packages`},
		{`{name: p, packages: {allowed: ["org.apache.*"]}}`, "-Dspark.jars=ivy://com.evil:a:1",
			`the package "com.evil:a:1" is not allowed by the rule packages`},
		{`{name: p, repositories: {allowed: []}}`, "-Dspark.jars.repositories=https://e.org",
			`the repository "https://e.org" is not allowed by the rule repositories`},
		{`{name: p, repositories: {allowed: []}}`, "-Dspark.jars.ivySettings=/tmp/x",
			`whose file may name any repository, is not allowed by the rule repositories`},
		{`{name: p, limits: {executors: 50}}`, "-Dspark.executor.instances=1000",
			`the key "spark.executor.instances" in an option of the JVM or a variable, where the operator cannot compute its effect on pods, is not allowed by the rule limits of the policy p (owner: data team); set it in sparkConf`},
		{`{name: p, limits: {cores: 50}}`, "-Dspark.dynamicAllocation.enabled=true",
			`is not allowed by the rule limits of the policy p`},
		{`{name: p, level: baseline}`, "-Dspark.kubernetes.executor.podTemplateFile=/tmp/x",
			`is not allowed by the rule podSecurity of the policy p`},
		{`{name: p, images: {allowed: ["spark:*"]}}`, "-Dspark.kubernetes.executor.container.image=evil",
			`is not allowed by the rule podSecurity of the policy p`},
		{`{name: p, sparkConf: {required: {spark.executor.instances: "2"}}}`, "-Dspark.executor.instances=3",
			`the value "3" of spark.executor.instances is not allowed by the rule sparkConf.required of the policy p (owner: data team); set it to a value that matches 2`},
	} {
		for _, place := range []string{"options", "variable", "template's variable", "reference of a variable"} {
			for kind := range 4 {
				extra := unchanged
				if strings.Contains(c.rules, "required") {
					extra = `spec: {sparkConf: {spark.executor.instances: "2"}}`
					if kind == 1 {
						extra = `spec: {template: {sparkConf: {spark.executor.instances: "2"}}}`
					}
				}

				refusedInSameWords(t, c.rules, kind, c.words, extra, piece(t, place, kind, c.text))
			}
		}
	}
}

// TestRulesRefuseWhatTheyCannotRead checks the parts of a custom resource whose effect on Spark's configuration the
// operator cannot read, under each kind of rule that they could break.
func TestRulesRefuseWhatTheyCannotRead(t *testing.T) {
	t.Parallel()
	const reads = "from which Spark may read options,"
	rules := []string{
		`{name: p, sparkConf: {denied: [spark.x]}}`, `{name: p, sparkConf: {required: {spark.x: z}}}`,
		`{name: p, packages: {allowed: [a]}}`, `{name: p, repositories: {allowed: [a]}}`,
		`{name: p, limits: {executors: 9}}`, `{name: p, level: baseline}`,
		`{name: p, serviceAccounts: {allowed: [default]}}`,
	}
	container := func(fields string) [5]string {
		spec := `{spec: {containers: [{name: a, ` + fields + `}], volumes: [{name: v, configMap: {name: c}}]}}`
		daemon := `{spec: {containers: [{name: NAME, ` + fields + `}], volumes: [{name: v, configMap: {name: c}}]}}`
		return [5]string{
			`spec: {driver: {template: ` + spec + `}}`, `spec: {template: {driver: {template: ` + spec + `}}}`,
			`spec: {server: {template: ` + spec + `}}`, `spec: {driverSpec: {podTemplateSpec: ` + spec + `}}`,
			`spec: {masterSpec: {statefulSetSpec: {template: ` + strings.ReplaceAll(daemon, "NAME", "master") + `}}}`,
		}
	}
	options := func(text string) (all [5]string) {
		for kind := range all {
			all[kind] = piece(t, "options", kind, text)
		}
		return all
	}
	ownVolume := container(`volumeMounts: [{name: spark-conf-volume-driver, mountPath: /opt/spark/conf/java-opts, subPath: spark.properties}]`)
	ownVolume[2], ownVolume[4] = "", ""

	references := "" // each variable has ten references to the one before
	for i := range 30 {
		references += fmt.Sprintf(`, {name: A%d, value: %q}`, i+1, strings.Repeat(fmt.Sprintf("$(A%d)", i), 10))
	}

	references += `, {name: JDK_JAVA_OPTIONS, value: "-Da=$(A30)"}`

	withoutServer := func(all [5]string) [5]string { all[2] = ""; return all }
	for _, c := range []struct {
		pieces [5]string
		words  string
	}{
		{options("-Da=b @/tmp/options"),
			`the word "@/tmp/options" in the options of the JVM, whose effect on the Spark configuration is unknown, is not allowed by the rule`},
		{options("'@'/tmp/options"), `the word "@/tmp/options" in the options`},
		{options("-XX:VMOptionsFile=/tmp/o"), `the word "-XX:VMOptionsFile=/tmp/o" in the options`},
		{options("-XX:Flags=/tmp/o"), `the word "-XX:Flags=/tmp/o" in the options`},
		{options("-Xoptionsfile=/tmp/o"), `the word "-Xoptionsfile=/tmp/o" in the options`},
		{options("org.apache.spark.deploy.SparkSubmit --conf spark.jars=local:///a.jar local:///b.jar"),
			`the word "org.apache.spark.deploy.SparkSubmit" in the options`},
		{options("-jar /tmp/a.jar"), `the word "-jar" in the options`},
		{options("--add-opens @/tmp/o"), `the word "@/tmp/o" in the options`},
		{options("-D${env:X}=y"), `in the options`},
		{container(`env: [{name: JDK_JAVA_OPTIONS, value: "@/tmp/o"}]`), `the word "@/tmp/o" in the options`},
		{container(`env: [{name: JDK_JAVA_OPTIONS, valueFrom: {secretKeyRef: {name: s, key: k}}}]`),
			"the variable JDK_JAVA_OPTIONS of the "},
		{container(`env: [{name: SPARK_SUBMIT_OPTS, valueFrom: {configMapKeyRef: {name: s, key: k}}}]`),
			"whose value cannot be read, is not allowed by the rule"},
		{container(`env: [{name: SPARK_DAEMON_JAVA_OPTS, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['a']"}}}]`), "whose value cannot be read, is not allowed by the rule"},
		{container(`env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: JAVA_TOOL_OPTIONS, value: "-Da=$(A)"}]`), "whose value cannot be read, is not allowed by the rule"},
		{container(`envFrom: [{prefix: APP_, secretRef: {name: s}}], env: [{name: JDK_JAVA_OPTIONS, value: "-Da=$(APP_X)"}]`), "whose value cannot be read, is not allowed by the rule"},
		{container(`envFrom: [{prefix: APP_, secretRef: {name: s}}], env: [{name: JDK_JAVA_OPTIONS, value: "-Da=$(APP_X)"}, {name: APP_X, value: x}]`), "whose value cannot be read, is not allowed by the rule"},
		{container(`env: [{name: JDK_JAVA_OPTIONS, value: "-Da=$(A)"}, {name: A, value: "$(Z)"}, {name: Z, value: "x -Dspark.x=y"}]`), "whose value cannot be read, is not allowed by the rule"},
		{container(`env: [{name: A0, value: xxxxxxxxxx}` + references + `]`), "the variable JDK_JAVA_OPTIONS of the "},
		{container(`envFrom: [{prefix: DEFAULT_, secretRef: {name: s}}]`), "a variable of envFrom of the "},
		{ownVolume, "the volume spark-conf-volume-driver at /opt/spark/conf/java-opts of the driver, " + reads},
		{options("-D{{APP_ID}}.x=y"), `the word "-D{{APP_ID}}.x=y" in the options`},
		{container(`envFrom: [{configMapRef: {name: c}}]`), "a variable of envFrom of the "},
		{container(`envFrom: [{prefix: SPARK_SUB, secretRef: {name: c}}]`),
			"list the variables in env, or set a prefix"},
		{container(`env: [{name: SPARK_CONF_DIR, value: /mnt}]`),
			"which makes Spark read options from other files, is not allowed by the rule"},
		{container(`env: [{name: SPARK_HOME, value: /mnt}]`), "which makes Spark read options from other files,"},
		{container(`env: [{name: BASH_ENV, value: /mnt/x}]`), "which makes Spark read options from other files,"},
		{container(`volumeMounts: [{name: v, mountPath: /opt/spark/conf/java-opts, subPath: x}]`),
			"the volume v at /opt/spark/conf/java-opts of the "},
		{container(`volumeMounts: [{name: v, mountPath: /opt/spark/./conf/spark-env.sh}]`), reads},
		{container(`volumeMounts: [{name: v, mountPath: /opt/spark/bin}]`), reads},
		{container(`volumeMounts: [{name: v, mountPath: /opt/}]`), reads},
		{withoutServer(container(`args: [driver, "--conf", spark.x=z]`)),
			"the command or args of the Spark container of the "},
		{withoutServer(container(`command: [env, SPARK_SUBMIT_OPTS=-Dspark.x=z]`)),
			"the command or args of the Spark container of the "},
		{[5]string{`spec: {sparkConfigMap: conf}`, `spec: {template: {sparkConfigMap: conf}}`},
			"the variable SPARK_CONF_DIR of the driver, which makes Spark read options from other files,"},
		{[5]string{`spec: {driver: {envFrom: [{secretRef: {name: s}}]}}`,
			`spec: {template: {driver: {envFrom: [{secretRef: {name: s}}]}}}`}, "a variable of envFrom of the driver,"},
		{[5]string{`spec: {driver: {envSecretKeyRefs: {_JAVA_OPTIONS: {name: s, key: k}}}}`, ``, ``,
			`spec: {sparkConf: {spark.kubernetes.driver.secretKeyRef._JAVA_OPTIONS: "s:k"}}`},
			"the variable _JAVA_OPTIONS of the driver, whose value cannot be read,"},
		{[5]string{``, ``, ``, `spec: {sparkConf: {spark.kubernetes.driver.secrets.s: /opt/spark/conf/x}}`},
			"of the driver, " + reads},
	} {
		for kind, over := range c.pieces {
			for _, rule := range rules {
				if over == "" || kind == 4 && !strings.Contains(rule, "sparkConf") {
					continue // the pods of a cluster do not depend on its configuration
				}

				extra := unchanged
				if strings.Contains(rule, "required") {
					extra = [5]string{`spec: {sparkConf: {spark.x: z}}`, `spec: {template: {sparkConf: {spark.x: z}}}`,
						`spec: {sparkConf: {spark.x: z}}`, `spec: {sparkConf: {spark.x: z}}`,
						`spec: {sparkConf: {spark.x: z}}`}[kind]
				}

				refusedInSameWords(t, rule, kind, c.words, extra, over)
			}
		}
	}
}

// TestRulesAcceptOtherOptions checks that rules do not refuse options and variables that set nothing of Spark, and that
// rules about other things refuse none.
func TestRulesAcceptOtherOptions(t *testing.T) {
	t.Parallel()

	const strict = `{name: p, level: baseline, limits: {executors: 9}, packages: {allowed: []}, repositories: {allowed: []}, sparkConf: {denied: [spark.x]}}`
	for place := range places {
		for _, text := range []string{"-Dlog4j2.configurationFile=/a", "-XX:+UseG1GC",
			"-javaagent:/a.jar=8090:/b.yaml"} {
			for kind, admitted := range configured.Admission(nil) {
				over := piece(t, place, kind, text)
				if place == "options in an option" || over == "" {
					continue
				}

				if faults := admitted.Review(configWithRules(t, strict), nil, object(t, kind, over),
					noon).Faults; len(faults) > 0 {
					t.Errorf("%s %s: %v", admitted.GVK(), over, faults)
				}
			}
		}
	}

	for _, over := range []string{
		`spec: {driver: {envFrom: [{prefix: APP_, secretRef: {name: s}}]}}`,
		`spec: {driver: {env: [{name: SPARK_SUBMIT_OPTS, value: "-Djava.rmi.server.hostname=$(IP)"}, {name: IP, value: x}]}}`,
		`spec: {driver: {env: [{name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}, {name: JDK_JAVA_OPTIONS, value: "-Dhost=$(IP) --add-opens java.base/java.lang=ALL-UNNAMED"}]}}`,
		`spec: {executor: {envFrom: [{prefix: X, configMapRef: {name: s}}]}}`,
		`spec: {volumes: [{name: v, emptyDir: {}}], driver: {volumeMounts: [{name: v, mountPath: /opt/spark/work-dir}]}}`,
	} {
		if faults := configured.Admission(nil)[0].Review(configWithRules(t, strict), nil, object(t, 0, over),
			noon).Faults; len(faults) > 0 {
			t.Errorf("%s: %v", over, faults)
		}
	}

	for kind, admitted := range configured.Admission(nil) {
		for _, over := range []string{piece(t, "options", kind, "-Dspark.x=1 @file"),
			piece(t, "template's variable", kind, "@file")} {
			if faults := admitted.Review(configWithRules(t, `{name: p, ingress: {hosts: {allowed: [a]}}}`), nil,
				object(t, kind, over), noon).Faults; over != "" && len(faults) > 0 {
				t.Errorf("%s %s: %v", admitted.GVK(), over, faults)
			}
		}
	}

	for kind := range 4 {
		env := podEnv("DEFAULT_ARTIFACT_REPOSITORY", "https://e.org")[kind]
		refusedInSameWords(t, `{name: p, repositories: {allowed: []}}`, kind,
			`the repository "https://e.org" is not allowed by the rule repositories`, env)
		refusedInSameWords(t, `{name: p, sparkConf: {denied: [spark.remote]}}`, kind,
			`the key "spark.remote" is not allowed`, podEnv("SPARK_REMOTE", "sc://a")[kind])

		if faults := configured.Admission(nil)[kind].Review(configWithRules(t, `{name: p, level: baseline}`), nil,
			object(t, kind, env), noon).Faults; len(faults) > 0 {
			t.Errorf("%s: %v", env, faults)
		}
	}

	for name := range map[string]bool{"SPARK_EXECUTOR_CORES": true, "SPARK_EXECUTOR_MEMORY": true} {
		refusedInSameWords(t, `{name: p, limits: {cores: 9}}`, 0, "set it in sparkConf",
			fmt.Sprintf(`spec: {driver: {env: [{name: %s, value: "64"}]}}`, name))
	}
}
