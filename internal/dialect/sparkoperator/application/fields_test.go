package application

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	difference "github.com/google/go-cmp/cmp"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/validate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/internal/dialect/table"
	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

const fieldsDocument = "../../../../docs/fields.md"

// Lines of docs/fields.md before and after the part about SparkConnects. The tests of SparkConnects write that part.
const (
	connectHeading = "## spec of a SparkConnect"
	refusalsStart  = "[validation.md](validation.md) lists the values that are refused."
)

// fieldSample is a sample of a field. It consists of two YAML texts. The first one (value) sets the field. The second
// one (with) contains the other settings that the field needs to have an effect. Both texts describe the object that
// contains the field: the spec, the driver or the executor.
type fieldSample struct{ value, with string }

// specSamples contains a sample for each field of the spec, except those of driver and executor.
var specSamples = map[string]fieldSample{
	"type":                {value: `type: Scala`},
	"sparkVersion":        {value: `sparkVersion: 4.1.3`},
	"mode":                {value: `mode: client`},
	"proxyUser":           {value: `proxyUser: u`},
	"image":               {value: `image: other`},
	"imagePullPolicy":     {value: `imagePullPolicy: Always`},
	"imagePullSecrets":    {value: `imagePullSecrets: [s]`},
	"mainClass":           {value: `mainClass: Other`},
	"mainApplicationFile": {value: `mainApplicationFile: local:///other.jar`},
	"arguments":           {value: `arguments: [a]`},
	"sparkConf":           {value: `sparkConf: {spark.NAME: v}`},
	"hadoopConf":          {value: `hadoopConf: {NAME: v}`},
	"sparkConfigMap":      {value: `sparkConfigMap: c`},
	"hadoopConfigMap":     {value: `hadoopConfigMap: c`},
	"volumes": {value: `volumes: [{name: v, secret: {secretName: s}}]`,
		with: `{volumes: [{name: v, emptyDir: {}}], driver: {volumeMounts: [{name: v, mountPath: /v}]}, executor: {volumeMounts: [{name: v, mountPath: /v}]}}`},
	"deps.jars":             {value: `deps: {jars: [local:///a.jar]}`},
	"deps.files":            {value: `deps: {files: [local:///a]}`},
	"deps.pyFiles":          {value: `deps: {pyFiles: [local:///a.py]}`},
	"deps.packages":         {value: `deps: {packages: ["g:a:1"]}`},
	"deps.excludePackages":  {value: `deps: {excludePackages: ["g:a"]}`},
	"deps.repositories":     {value: `deps: {repositories: [https://r]}`},
	"deps.archives":         {value: `deps: {archives: ["local:///a.zip#a"]}`},
	"nodeSelector":          {value: `nodeSelector: {NAME: v}`},
	"pythonVersion":         {value: `pythonVersion: "3"`},
	"memoryOverheadFactor":  {value: `memoryOverheadFactor: "0.5"`},
	"batchScheduler":        {value: `batchScheduler: volcano`},
	"batchSchedulerOptions": {with: `batchScheduler: yunikorn`, value: `batchSchedulerOptions: {queue: q}`},
	"sparkUIOptions":        {value: `sparkUIOptions: {servicePort: 80}`},
	"driverIngressOptions":  {value: `driverIngressOptions: [{servicePort: 1, servicePortName: a}]`},

	"dynamicAllocation.enabled": {value: `dynamicAllocation: {enabled: true}`},
	"dynamicAllocation.initialExecutors": {value: `dynamicAllocation: {initialExecutors: 2}`,
		with: `dynamicAllocation: {enabled: true}`},
	"dynamicAllocation.minExecutors": {value: `dynamicAllocation: {minExecutors: 1}`,
		with: `dynamicAllocation: {enabled: true}`},
	"dynamicAllocation.maxExecutors": {value: `dynamicAllocation: {maxExecutors: 3}`,
		with: `dynamicAllocation: {enabled: true}`},
	"dynamicAllocation.shuffleTrackingEnabled": {value: `dynamicAllocation: {shuffleTrackingEnabled: false}`,
		with: `dynamicAllocation: {enabled: true}`},
	"dynamicAllocation.shuffleTrackingTimeout": {value: `dynamicAllocation: {shuffleTrackingTimeout: 500}`,
		with: `dynamicAllocation: {enabled: true}`},

	"monitoring.exposeDriverMetrics": {value: `monitoring: {exposeDriverMetrics: true}`,
		with: `monitoring: {exposeDriverMetrics: false, exposeExecutorMetrics: false, prometheus: {jmxExporterJar: /j}}`},
	"monitoring.exposeExecutorMetrics": {value: `monitoring: {exposeExecutorMetrics: true}`,
		with: `monitoring: {exposeDriverMetrics: false, exposeExecutorMetrics: false, prometheus: {jmxExporterJar: /j}}`},
	"monitoring.metricsProperties":     {value: `monitoring: {exposeDriverMetrics: false, exposeExecutorMetrics: false, metricsProperties: p}`},
	"monitoring.metricsPropertiesFile": {value: `monitoring: {exposeDriverMetrics: false, exposeExecutorMetrics: false, metricsPropertiesFile: /f}`},
	"monitoring.prometheus": {value: `monitoring: {prometheus: {jmxExporterJar: /j}}`,
		with: `monitoring: {exposeDriverMetrics: true, exposeExecutorMetrics: true}`},
	"monitoring.prometheusServlet": {value: `monitoring: {prometheusServlet: true}`,
		with: `monitoring: {exposeDriverMetrics: true, exposeExecutorMetrics: true}`},
}

// podSamples contains a sample for each field that driver and executors have in common.
var podSamples = map[string]fieldSample{
	"template":         {value: `template: {metadata: {labels: {NAME: v}}, spec: {containers: [{name: x}], volumes: [{name: v, emptyDir: {}}]}}`},
	"cores":            {value: `cores: 2`},
	"coreLimit":        {value: `coreLimit: "4"`},
	"coreRequest":      {value: `coreRequest: 500m`},
	"memory":           {value: `memory: 2g`},
	"memoryLimit":      {value: `memoryLimit: 4g`},
	"memoryOverhead":   {value: `memoryOverhead: 1g`},
	"gpu":              {value: `gpu: {name: nvidia.com/gpu, quantity: 1}`},
	"image":            {value: `image: own`},
	"configMaps":       {value: `configMaps: [{name: c, path: /c}]`},
	"secrets":          {value: `secrets: [{name: s, path: /s, secretType: GCPServiceAccount}, {name: t, path: /t, secretType: HadoopDelegationToken}]`},
	"env":              {value: `env: [{name: NAME, value: v}]`},
	"envVars":          {value: `envVars: {NAME: v}`},
	"envFrom":          {value: `envFrom: [{secretRef: {name: s}}]`},
	"envSecretKeyRefs": {value: `envSecretKeyRefs: {NAME: {name: s, key: k}}`},
	"labels":           {value: `labels: {NAME: v}`},
	"annotations":      {value: `annotations: {NAME: v}`},
	"volumeMounts": {value: `volumeMounts: [{name: mine, mountPath: /m}]`,
		with: `template: {spec: {containers: [{name: x}], volumes: [{name: mine, emptyDir: {}}]}}`},
	"affinity":                      {value: `affinity: {podAntiAffinity: {}}`},
	"tolerations":                   {value: `tolerations: [{key: k, operator: Exists}]`},
	"podSecurityContext":            {value: `podSecurityContext: {fsGroup: 1}`},
	"securityContext":               {value: `securityContext: {runAsUser: 1, allowPrivilegeEscalation: false}`},
	"schedulerName":                 {value: `schedulerName: s`},
	"sidecars":                      {value: `sidecars: [{name: s, image: i}]`},
	"initContainers":                {value: `initContainers: [{name: s, image: i}]`},
	"hostNetwork":                   {value: `hostNetwork: true`},
	"nodeSelector":                  {value: `nodeSelector: {NAME: v}`},
	"dnsConfig":                     {value: `dnsConfig: {nameservers: [10.0.0.1]}`},
	"terminationGracePeriodSeconds": {value: `terminationGracePeriodSeconds: 5`},
	"serviceAccount":                {value: `serviceAccount: a`},
	"hostAliases":                   {value: `hostAliases: [{ip: 10.0.0.1}]`},
	"shareProcessNamespace":         {value: `shareProcessNamespace: true`},
	"podName":                       {value: `podName: mine`},
	"javaOptions":                   {value: `javaOptions: -Da=b`},
	"lifecycle":                     {value: `lifecycle: {preStop: {exec: {command: [a]}}}`},
	"kubernetesMaster":              {value: `kubernetesMaster: https://api:6443`},
	"serviceAnnotations":            {value: `serviceAnnotations: {NAME: v}`},
	"serviceLabels":                 {value: `serviceLabels: {NAME: v}`},
	"ports":                         {value: `ports: [{name: p, protocol: TCP, containerPort: 80}]`},
	"priorityClassName":             {value: `priorityClassName: p`},
	"instances":                     {value: `instances: 7`},
	"deleteOnTermination":           {value: `deleteOnTermination: false`},
}

// steering contains the fields, or the beginnings of the paths of fields, that affect no pod. Each entry also describes
// what these fields do.
var steering = []struct{ path, does string }{
	{"suspend", "whether the application is kept from starting, or stopped"},
	{"type", "nothing: the operator reads the language from the extension of `mainApplicationFile`; an event reports a different `type`"},
	{"mode", "nothing: the driver always runs in a pod of its own"},
	{"restartPolicy.", "whether and when the operator makes another attempt"},
	{"failureRetries", "nothing; it has never had an effect in this API"},
	{"retryInterval", "nothing; it has never had an effect in this API"},
	{"timeToLiveSeconds", "when the finished application is deleted"},
	{"timeouts.", "how long an attempt may take until the operator ends it"},
	{"submission.mode", "whether the operator or spark-submit creates the driver pod"},
	{"sparkUIOptions", "the Service and the Ingress of the web UI ([ui.md](ui.md)); an edit has an effect while the application runs"},
	{"driverIngressOptions", "Services and Ingresses of other ports of the driver ([ui.md](ui.md)); an edit has an effect while the application runs"},
	{"driverPodDisruptionBudget",
		"whether a PodDisruptionBudget protects the driver from evictions while the application runs"},
}

// whole contains the paths of those parts of the spec that docs/fields.md describes as one field, although they contain
// several fields.
var whole = []string{"batchSchedulerOptions", "sparkUIOptions", "driverIngressOptions", "monitoring.prometheus",
	"driver", "executor"}

// place contains the parts of the created objects that change if a field is set. If the operator rejects the field's
// sample, it contains the error instead.
type place struct {
	conf             []string
	driver, executor []string
	service          []string
	refused          string
}

// placeOf sets the sample value in a small application, and returns the parts of the created objects that change.
func placeOf(t *testing.T, wrap string, s fieldSample) place {
	t.Helper()

	base, app := sparkapp.Of(t, wrapped(wrap, s.with)), sparkapp.Of(t, wrapped(wrap, s.with), wrapped(wrap, s.value))
	if wrong := validate.Spec(app); len(wrong) > 0 {
		return place{refused: wrong[0].Message}
	}

	checkStorable(t, app)
	before, after := renderApp(t, base), renderApp(t, app)

	var p place
	for _, key := range slices.Sorted(maps.Keys(after.Conf)) {
		if before.Conf[key] != after.Conf[key] {
			p.conf = append(p.conf, key)
		}
	}

	p.driver = fieldtable.PodChanges(before.Driver, before.DriverContainer, after.Driver, after.DriverContainer)

	p.executor = fieldtable.PodChanges(before.Executor, before.ExecutorContainer, after.Executor,
		after.ExecutorContainer)
	for _, part := range []string{"labels", "annotations"} {
		oldMeta, newMeta := before.Services[0]["metadata"].(map[string]any)[part],
			after.Services[0]["metadata"].(map[string]any)[part]
		if difference.Diff(oldMeta, newMeta) != "" {
			p.service = append(p.service, "metadata."+part)
		}
	}
	return p
}

// wrapped returns the text of an application in which % is replaced by the text of a sample.
func wrapped(wrap, text string) string {
	if !strings.HasPrefix(text, "{") {
		text = "{" + text + "}"
	}
	return strings.Replace(wrap, "%", text, 1)
}

// TestFieldsDocument compares docs/fields.md with its expected text, or writes it with -update. The page lists every
// field of the API and where its value ends up.
func TestFieldsDocument(t *testing.T) {
	d := document{t: t}
	d.line("# Where each field ends up")
	d.line("")
	d.line("This page lists every field of the SparkApplications and SparkConnects of `sparkoperator.k8s.io`, and the parts of the")
	d.line("created objects that change if the field is set. *container* is the Spark container. Configuration reaches driver and")
	d.line("executors in `spark.properties`. The parts of executors' pods are in the template from which Spark creates them. No")
	d.line("webhook is involved, except for [some fields of executors](#what-spark-sets-over-the-executors-template).")
	d.line("")
	d.line("A test writes this page from the objects that the operator renders, and fails if a field is missing:")
	d.line("")
	d.line("```sh")
	d.line("go test -p 1 ./internal/dialect/sparkoperator/{application,connect} -run TestFieldsDocument -update")
	d.line("```")
	d.spec()
	d.roles()
	d.addOverwritten()
	fieldtable.Hold(t, fieldsDocument, "", connectHeading, d.text.String(), *update)
	var end document
	end.t, end.refused = t, d.refused
	end.refusals()
	fieldtable.Hold(t, fieldsDocument, refusalsStart, "", end.text.String(), *update)
}

type document struct {
	t       *testing.T
	text    strings.Builder
	refused []string
}

func (d *document) line(format string, args ...any) { fmt.Fprintf(&d.text, format+"\n", args...) }

func (d *document) refuse(path, message string) {
	d.refused = append(d.refused, fmt.Sprintf("| `%s` | %s |", path, message))
}

func (d *document) spec() {
	d.line("")
	d.line("## spec")
	d.line("")
	d.line("| field | configuration | driver pod | executors' pods |")
	d.line("|---|---|---|---|")

	var steers []string
	for _, path := range fieldtable.Leaves(reflect.TypeFor[v1beta2.SparkApplicationSpec](), "", whole...) {
		if path == "driver" || path == "executor" {
			continue
		}

		if i := slices.IndexFunc(steering, func(s struct{ path, does string }) bool {
			return path == s.path || strings.HasSuffix(s.path, ".") && strings.HasPrefix(path, s.path)
		}); i >= 0 {
			steers = append(steers, fmt.Sprintf("| `%s` | %s |", path, steering[i].does))
			if s, ok := specSamples[path]; ok {
				if p := placeOf(d.t, "spec: %", s); len(p.conf)+len(p.driver)+len(p.executor) > 0 {
					d.t.Errorf("%s reaches pods: %+v", path, p)
				}
			}
			continue
		}

		s, ok := specSamples[path]
		if !ok {
			d.t.Errorf("spec.%s is not in specSamples", path)
			continue
		}

		switch p := placeOf(d.t, "spec: %", s); {
		case p.refused != "":
			d.refuse(path, p.refused)
		case len(p.conf)+len(p.driver)+len(p.executor) == 0:
			d.t.Errorf("spec.%s has no effect", path)
		default:
			d.line("| `%s` | %s | %s | %s |", path, fieldtable.Codes(p.conf), fieldtable.Codes(p.driver),
				fieldtable.Codes(p.executor))
		}
	}

	d.line("")
	d.line("A typed field takes precedence over the same key in `sparkConf`. There are %s exceptions, as in the kubeflow operator:", words[len(yielding())])
	d.line("`sparkConf` takes precedence over %s. The", listed(yielding()))
	d.line("labels in the application's metadata reach both pods, too, except those of Kueue. `javaOptions` follow the options of")
	d.line("`spark.driver.extraJavaOptions` and `spark.executor.extraJavaOptions`; a JVM uses the last of two options that")
	d.line("contradict each other. Lint, the webhook and an event of the launch name each value that another one overrides.")
	d.line("")
	d.line("These fields control the operator and reach no pod:")
	d.line("")
	d.line("| field | what it controls |")
	d.line("|---|---|")

	for _, line := range steers {
		d.line("%s", line)
	}
}

// yielding returns the fields over which their keys take precedence.
func yielding() (paths []string) {
	for row := range fields.Application.Rows() {
		if row.Precedence == table.Yields {
			paths = append(paths, "`"+strings.TrimPrefix(row.Path, "spec.")+"`")
		}
	}
	return paths
}

var words = map[int]string{1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}

func listed(names []string) string {
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// TestRowsAreTrue compares the table of fields with the configuration of a launch: if the sample of a field is set, the
// key of the field changes, and the field and an entry of sparkConf have the precedence of the row.
func TestRowsAreTrue(t *testing.T) {
	const own = "own"
	for row := range fields.Application.Rows() {
		switch row.Precedence {
		case table.Replaces, table.Names:
			continue
		}

		if row.Key == "" || row.Path == "" || strings.HasSuffix(row.Key, ".podTemplateContainerName") ||
			row.Path == "metadata.labels" {
			continue
		}

		t.Run(row.Path+" "+row.Key, func(t *testing.T) {
			sample, wrap := sampleOf(row.Path)
			if sample.value == "" {
				t.Fatal("the field has no sample: add it to specSamples or podSamples")
			}

			before, err := specification.Configuration(sparkapp.Of(t, wrapped(wrap, sample.with)))
			if err != nil {
				t.Fatal(err)
			}

			app := sparkapp.Of(t, wrapped(wrap, sample.with), wrapped(wrap, sample.value))

			alone, err := specification.Configuration(app)
			if err != nil {
				t.Fatal(err)
			}

			key := row.Key
			for found := range alone.All() {
				if strings.HasSuffix(row.Key, ".") && strings.HasPrefix(found, row.Key) && !before.Has(found) {
					key = found
				}
			}

			was, _ := before.Get(key)

			text, set := alone.Get(key)
			if !set || text == was {
				t.Fatalf("the field does not set the key: %q, before %q", text, was)
			}

			if row.FromKey != nil { // as `sparkctl submit` does
				line, back := conf.FromMap(map[string]string{key: text}), &v1beta2.SparkApplication{}
				if fields.Application.Take(line, back); line.Len() > 0 ||
					fields.Application.Effective(back, nil, row.Path) != text {
					t.Errorf("the key does not become the field: %v", line.Map())
				}
			}

			app.Spec.SparkConf = platform.With(app.Spec.SparkConf, key, own)

			both, err := specification.Configuration(app)
			if err != nil {
				t.Fatal(err)
			}

			want := map[table.Precedence]string{table.Overrides: text, table.Yields: own, table.Implies: own,
				table.Follows: own + " " + text}[row.Precedence]
			if got, _ := both.Get(key); got != want {
				t.Errorf("with sparkConf the value is %q, want %q", got, want)
			}
		})
	}
}

// sampleOf returns the sample of a field, and the text of an application in which % stands for the sample.
func sampleOf(path string) (s fieldSample, wrap string) {
	path = strings.TrimPrefix(path, "spec.")
	for _, role := range []string{"driver", "executor"} {
		if name, ok := strings.CutPrefix(path, role+"."); ok {
			name, _, _ = strings.Cut(name, ".")
			return podSamples[name], "spec: {" + role + ": %}"
		}
	}
	return specSamples[path], "spec: %"
}

func (d *document) roles() {
	drivers, executors := fieldtable.Leaves(reflect.TypeFor[v1beta2.DriverSpec](), "", whole...),
		fieldtable.Leaves(reflect.TypeFor[v1beta2.ExecutorSpec](), "", whole...)

	d.line("")
	d.line("## spec.driver and spec.executor")
	d.line("")
	d.line("ROLE is `driver` or `executor`.")
	d.line("")
	d.line("| field | configuration | driver pod | executors' pods |")
	d.line("|---|---|---|---|")

	for _, path := range append(slices.Clone(drivers),
		slices.DeleteFunc(slices.Clone(executors), func(p string) bool { return slices.Contains(drivers, p) })...) {
		s, ok := podSamples[path]
		if !ok {
			d.t.Errorf("spec.driver.%s is not in podSamples", path)
			continue
		}
		var places [2]place
		var keys []string

		for i, role := range []string{"driver", "executor"} {
			if !slices.Contains([][]string{drivers, executors}[i], path) {
				continue
			}

			p := placeOf(d.t, "spec: {"+role+": %}", s)
			if p.refused != "" || len(p.conf)+len(p.driver)+len(p.executor)+len(p.service) == 0 {
				d.t.Errorf("spec.%s.%s: no effect, or refused: %s", role, path, p.refused)
			}

			places[i] = p
		}

		for i, role := range []string{"driver", "executor"} {
			for _, key := range places[i].conf {
				other := []string{"executor", "driver"}[i]
				if slices.Contains(places[1-i].conf, strings.Replace(key, "."+role+".", "."+other+".", 1)) {
					key = strings.Replace(key, "."+role+".", ".ROLE.", 1)
				}

				keys = append(keys, key)
			}
		}

		slices.Sort(keys)

		name := path
		switch {
		case !slices.Contains(executors, path):
			name = "driver." + path
		case !slices.Contains(drivers, path):
			name = "executor." + path
		}

		onDriver := fieldtable.Codes(places[0].driver)
		if len(places[0].service) > 0 {
			onDriver = cmp.Or(onDriver, "of its Service: "+fieldtable.Codes(places[0].service))
		}

		if executorFields := places[0].executor; len(executorFields) > 0 {
			d.t.Errorf("spec.driver.%s reaches executors: %v", path, executorFields)
		}

		d.line("| `%s` | %s | %s | %s |", name, fieldtable.Codes(slices.Compact(keys)), onDriver,
			fieldtable.Codes(places[1].executor))
	}

	d.line("")
	d.line("These fields are laid over the user's `template`: items are appended to its lists, maps are merged by key, and single")
	d.line("values are replaced. The Spark container of a template is the container with the name `spark-kubernetes-driver` or")
	d.line("`spark-kubernetes-executor`, or else the first container. A volume of `volumes` whose name begins with")
	d.line("`spark-local-dir-` becomes `spark.kubernetes.ROLE.volumes.*`. A volume mount may also name a volume of the template. A")
	d.line("pod gets the volumes of `volumes` that any of its containers mounts: Spark's container, an init container, a sidecar, or")
	d.line("a container of its template. A mount of a volume that the pod does not have is refused.")
}

// addOverwritten adds the table of the fields that Spark overrides in the executors' template.
func (d *document) addOverwritten() {
	d.line("")
	d.line("## What Spark sets over the executors' template")
	d.line("")
	d.line("Spark creates the executors' pods and overwrites some parts of their template. If Spark has a configuration key for such")
	d.line("a part, the operator sets the key, and the field works. The other parts are set when the API server admits the pods:")
	d.line("")
	d.line("- *policy*: by a MutatingAdmissionPolicy of the chart, if the cluster serves that API (Kubernetes 1.36, or 1.34 if its")
	d.line("  beta version is switched on), or else by the webhook")
	d.line("- *webhook*: by the webhook of the operator")
	d.line("")
	d.line("Both are on by default (`webhook.executors.enable` in the values of the chart, and `webhook.enable` for the webhook).")
	d.line("They change only pods of applications that need it ([configuration.md](configuration.md#executors-at-admission)). Where")
	d.line("they are off, the field has no effect, and the condition `FieldsOverwritten` reports it and what to do. A test compares")
	d.line("the table with pods that Spark's own code created (`internal/dialect/sparkoperator/application/testdata/executors`).")
	d.line("")

	header, rule := "| field of `spec.executor` |", "|---|"
	for _, version := range executorVersions {
		header, rule = header+" "+version[:3]+" |", rule+"---|"
	}

	d.line("%s set by |", header)
	d.line("%s---|", rule)

	for _, row := range []struct{ name, piece, reader string }{
		{"`memoryLimit`", `executor: {memoryLimit: 4g}`, "admission; without it, set `memoryOverhead`"},
		{"`lifecycle` with `spark.decommission.enabled`",
			`{sparkConf: {spark.decommission.enabled: "true"}, executor: {lifecycle: {preStop: {exec: {command: [a]}}}}}`, "admission"},
		{"`gpu` with another amount in `spark.executor.resource`",
			`{sparkConf: {spark.executor.resource.gpu.amount: "1", spark.executor.resource.gpu.vendor: nvidia.com}, executor: {gpu: {name: nvidia.com/gpu, quantity: 2}}}`, "admission"},
		{"`env` of `SPARK_LOCAL_DIRS`, `SPARK_EXECUTOR_POD_IP`, `SPARK_EXECUTOR_POD_NAME`",
			`executor: {env: [{name: SPARK_LOCAL_DIRS, value: /x}]}`,
			"admission; without it, use volumes named `spark-local-dir-...` for local directories"},
		{"`env` of `SPARK_USER` and similar variables, as a reference",
			`executor: {env: [{name: SPARK_USER, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}`, "admission"},
		{"`env` of `SPARK_USER` and similar variables, as a value", `executor: {env: [{name: SPARK_USER, value: me}]}`,
			"`spark.executorEnv.*`"},
		{"`hadoopConfigMap` with `spark.kubernetes.hadoop.configMapName`",
			`{sparkConf: {spark.kubernetes.hadoop.configMapName: theirs}, hadoopConfigMap: c}`, "admission"},
		{"`env` of a name that `envVars`, `envSecretKeyRefs` or `sparkConf` also set",
			`executor: {env: [{name: A, value: me}], envVars: {A: other}}`,
			"the template; the operator leaves the other settings out"},
		{"`sparkConfigMap`", `sparkConfigMap: c`, "`spark.executorEnv.SPARK_CONF_DIR`"},
		{"`terminationGracePeriodSeconds`", `executor: {terminationGracePeriodSeconds: 5}`,
			"`spark.kubernetes.executor.terminationGracePeriodSeconds`"},
		{"`securityContext.allowPrivilegeEscalation`", `executor: {securityContext: {allowPrivilegeEscalation: true}}`,
			"`spark.kubernetes.executor.securityContext.allowPrivilegeEscalation`"},
		{"`schedulerName`", `executor: {schedulerName: a}`, "`spark.kubernetes.executor.scheduler.name`"},
		{"`nodeSelector`", `executor: {nodeSelector: {a: b}}`, "`spark.kubernetes.executor.node.selector.*`"},
	} {
		line := "| " + row.name + " |"
		for _, version := range executorVersions {
			word := "works"

			piece := row.piece
			if !strings.HasPrefix(piece, "{") {
				piece = "{" + piece + "}"
			}

			app := sparkapp.Of(d.t, "spec: {sparkVersion: "+version+"}", "spec: "+piece)

			lostWith := func(a admit.Available) bool { return len(Dialect{Options{Admission: a}}.overwritten(app)) > 0 }
			switch {
			case !lostWith(admit.Available{}):
			case !lostWith(admit.Available{Policy: true}):
				word = "policy"
			case !lostWith(admit.Available{Webhook: true}):
				word = "webhook"
			default:
				word = "**no**"
			}

			line += " " + word + " |"
		}

		d.line("%s %s |", line, row.reader)
	}
}

func (d *document) refusals() {
	for _, line := range d.refused {
		d.t.Errorf("a field of the API is not served: %s", line)
	}

	d.line("")
	d.line("[validation.md](validation.md) lists the values that are refused.")
}
