package chart

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// configOf returns the parsed configuration file that the chart renders.
func configOf(t *testing.T, r rendered) config.Configuration {
	t.Helper()

	c, err := config.Parse([]byte(configMapOf(t, r, "spark-operator-controller").Data["config.yaml"]))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func configMapOf(t *testing.T, r rendered, name string) *corev1.ConfigMap {
	t.Helper()

	for _, configMap := range objectsOf[*corev1.ConfigMap](r) {
		if configMap.Name == name {
			return configMap
		}
	}

	t.Fatalf("no ConfigMap %s", name)
	return nil
}

// rightsOf returns the rights of the controller from its Role or ClusterRole.
func rightsOf(r rendered) map[string]string {
	for _, role := range objectsOf[*rbacv1.Role](r) {
		if role.Name == "spark-operator-controller" {
			return granted(role.Rules)
		}
	}

	for _, role := range objectsOf[*rbacv1.ClusterRole](r) {
		if role.Name == "spark-operator-controller" {
			return granted(role.Rules)
		}
	}
	return nil
}

// clusterRoles returns all rendered ClusterRoles except the webhook's.
func clusterRoles(r rendered) []*rbacv1.ClusterRole {
	return slices.DeleteFunc(objectsOf[*rbacv1.ClusterRole](r),
		func(role *rbacv1.ClusterRole) bool { return role.Name == "spark-operator-admission" })
}

// TestSwitchedOffAPIHasNoRights checks that disabling an API removes the rights on all of its resources, and that the
// operator's configuration disables the API too.
func TestSwitchedOffAPIHasNoRights(t *testing.T) {
	for _, test := range []struct {
		values            string
		spark, apache     bool
		clusters          bool
		without, stillHas string
	}{
		{"{}", true, true, true, "nothing", "spark.apache.org/sparkclusters"},
		{"{sparkOperator: {enable: false}}", false, true, true, "sparkoperator.k8s.io/",
			"spark.apache.org/sparkapplications"},
		{"{apache: {enable: false}}", true, false, false, "spark.apache.org/",
			"sparkoperator.k8s.io/sparkapplications"},
		{"{apache: {clusters: {enable: false}}}", true, true, false, "/sparkclusters",
			"spark.apache.org/sparkapplications"},
	} {
		r := mustRender(t, install{values: "controller: " + test.values})

		c := configOf(t, r)
		if c.Applications() != test.spark || c.ApacheApplications() != test.apache ||
			c.SparkClusters() != test.clusters {
			t.Errorf("%s: %+v, %+v", test.values, c.SparkOperator, c.Apache)
		}

		rights := rightsOf(r)
		for key := range rights {
			if strings.Contains(key, test.without) {
				t.Errorf("%s: the operator has a right on %s", test.values, key)
			}
		}

		if rights[test.stillHas] == "" {
			t.Errorf("%s: the operator has no right on %s among %v", test.values, test.stillHas,
				slices.Sorted(maps.Keys(rights)))
		}
	}
}

// TestApacheValuesReachTheConfiguration checks that the values of controller.apache reach the operator's configuration
// file.
func TestApacheValuesReachTheConfiguration(t *testing.T) {
	r := mustRender(t, install{values: `
controller:
  apache:
    operatorName: mine
    labelSelector: team=a
    trimHistory: false
    events: {enable: false, excludedReasons: [Driver.*], minInterval: 1m}
    metrics: {enable: true, port: 1111}
    health: {enable: true, port: 2222}
    sentinels: {enable: true, delay: 5s}
    properties: |
      spark.logConf=true
      spark.kubernetes.operator.reconciler.parallelism=50
`})
	want := config.Default().Apache
	want.OperatorName, want.LabelSelector, want.TrimHistory = "mine", "team=a", new(false)
	want.Metrics.BindAddress, want.Health.BindAddress = ":1111", ":2222"
	want.Events = config.ApacheEvents{Enabled: new(false), ExcludedReasons: []string{"Driver.*"},
		MinInterval: &metav1.Duration{Duration: time.Minute}}
	want.Sentinels = config.Sentinels{Enabled: true, Delay: metav1.Duration{Duration: 5 * time.Second},
		Namespace: "default"}

	want.PropertiesFile = "/etc/spark-operator/spark-operator.properties"
	if diff := cmp.Diff(want, configOf(t, r).Apache); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	text := configMapOf(t, r, "spark-operator-controller").Data["spark-operator.properties"]
	if !strings.Contains(text, "spark.logConf=true\nspark.kubernetes.operator.reconciler.parallelism=50") {
		t.Errorf("the properties are %q", text)
	}
	var ports []int32

	container := objectOf[*appsv1.Deployment](t, r).Spec.Template.Spec.Containers[0]
	for _, port := range container.Ports {
		ports = append(ports, port.ContainerPort)
	}

	if !slices.Contains(ports, 1111) || !slices.Contains(ports, 2222) {
		t.Errorf("ports %v", ports)
	}

	if !slices.ContainsFunc(container.VolumeMounts,
		func(m corev1.VolumeMount) bool { return m.MountPath == "/etc/spark-operator" }) {
		t.Error("the properties are not mounted")
	}

	if len(objectsOf[client.Object](r)) == 0 {
		t.Error("nothing was rendered")
	}
}

// TestChangedPropertiesRollThePods checks that a change of the properties replaces the operator's pods, because the
// operator reads the properties only at startup.
func TestChangedPropertiesRollThePods(t *testing.T) {
	sum := func(values string) string {
		return objectOf[*appsv1.Deployment](t,
			mustRender(t, install{values: values})).Spec.Template.Annotations["checksum/config"]
	}
	if sum("controller: {apache: {properties: spark.logConf=true}}") == sum("controller: {apache: {properties: spark.logConf=false}}") {
		t.Error("other properties give the same pods")
	}
}

// TestInvalidApacheValuesAreRejected checks that the chart rejects invalid values, and that the error names the value.
// The chart also rejects properties that the chart itself sets from other values or from the release, because other
// rendered objects depend on these settings.
func TestInvalidApacheValuesAreRejected(t *testing.T) {
	const p = "controller: {apache: {properties: 'spark.kubernetes.operator."
	for values, want := range map[string]string{
		"controller: {sparkOperator: {enable: false}, apache: {enable: false}}":                          "would serve nothing",
		"controller: {apache: {enabled: false}}":                                                         "enabled",
		"controller: {apache: {operatorName: 'a b'}}":                                                    "/controller/apache/operatorName",
		"controller: {apache: {metrics: {enable: true, port: 8081}}}":                                    "must differ",
		"controller: {apache: {metrics: {enable: true, port: 1}, health: {enable: true, port: 1}}}":      "must differ",
		"controller: {apache: {events: {minInterval: 5}}}":                                               "/controller/apache/events/minInterval",
		"config: {apache: {events: {enabled: false}}}":                                                   "/config/apache",
		"controller: {dynamicConfig: {source: Secret}}":                                                  "/controller/dynamicConfig/source",
		"controller: {apache: {sentinels: {application: {create: true}}}}":                               "controller.apache.sentinels",
		"controller: {apache: {labelSelector: a=b, sentinels: {enable: true, cluster: {create: true}}}}": "controller.apache.labelSelector",
		"config: {apache: {enabled: false}}":                                                             "/config/apache",
		"config: {sparkOperator: {enabled: false}}":                                                      "/config/sparkOperator",
		"config: {dynamicConfig: {enabled: true}}":                                                       "/config/dynamicConfig",
		p + "watchedNamespaces=a'}}":                                                                     "spark.jobNamespaces",
		p + "watchedNamespaces : a'}}":                                                                   "spark.jobNamespaces",
		p + "watchedNamespaces a'}}":                                                                     "spark.jobNamespaces",
		p + "namespace=a'}}":                                                                             "the release's namespace",
		p + "dynamicConfig.enabled=true'}}":                                                              "controller.dynamicConfig.enable",
		p + "kueue.enabled=true'}}":                                                                      "controller.kueue.enable",
		p + "metrics.port=1'}}":                                                                          "controller.apache.metrics",
		p + "leaderElection.leaseName=a'}}":                                                              "the release's name",
		"spark: {serviceAccount: {aliases: [A_B]}}":                                                      "/spark/serviceAccount/aliases/0",
	} {
		if _, err := render(t, install{values: values}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want it to name %s", values, err, want)
		}
	}

	for _, values := range []string{"config: {apache: {clusters: {domain: example.org}, missingDriverGracePeriod: 5s, metrics: {path: /other}}}", p + "watchedNamespaces='}}", p + "nameless=1'}}", "controller: {apache: {properties: '#spark.kubernetes.operator.watchedNamespaces=a'}}"} {
		mustRender(t, install{values: values})
	}
}

// TestDynamicConfigIsMountedAndReadable checks the objects that the chart renders for a dynamic configuration. A
// dynamic configuration can change the served namespaces at run time, so the operator needs rights in the whole
// cluster. It needs no right on Namespace objects. Depending on the values, the operator finds the ConfigMap by its
// labels or reads it as a mounted file.
func TestDynamicConfigIsMountedAndReadable(t *testing.T) {
	const data = "create: true, data: {spark.kubernetes.operator.watchedNamespaces: 'a,b'}"
	for _, source := range []string{config.SourceConfigMap, config.SourceFile} {
		r := mustRender(t, install{values: "controller: {dynamicConfig: {enable: true, source: " + source + ", " +
			data + "}}"})
		if roles := clusterRoles(r); len(roles) != 1 || granted(roles[0].Rules)["/namespaces"] != "" {
			t.Errorf("%s: cluster roles %v", source, roles)
		}

		cm, c := configMapOf(t, r, "spark-operator-dynamic"), configOf(t, r).DynamicConfig
		if !c.Enabled || c.Source != source || c.Namespace != cm.Namespace {
			t.Errorf("%s: %+v, ConfigMap in %s", source, c, cm.Namespace)
		}

		for want := range strings.SplitSeq(c.Selector, ",") {
			key, value, _ := strings.Cut(want, "=")
			if cm.Labels[key] != value {
				t.Errorf("%s: its label %s is %q, want %q", source, key, cm.Labels[key], value)
			}
		}

		mounts := objectOf[*appsv1.Deployment](t, r).Spec.Template.Spec.Containers[0].VolumeMounts

		mounted := slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool {
			return strings.HasPrefix(c.File, m.MountPath+"/") && m.Name == "dynamic"
		})
		switch text := cm.Data["spark-operator-dynamic.properties"]; {
		case mounted != (source == config.SourceFile):
			t.Errorf("%s: mounted %v", source, mounted)
		case mounted && text != "spark.kubernetes.operator.watchedNamespaces = a,b\n":
			t.Errorf("the file is %q", text)
		case !mounted && cm.Data["spark.kubernetes.operator.watchedNamespaces"] != "a,b":
			t.Errorf("the data is %v", cm.Data)
		}
	}

	if r := mustRender(t, install{}); len(objectsOf[*corev1.ConfigMap](r)) != 1 || len(clusterRoles(r)) != 0 {
		t.Error("without the switch there is a ConfigMap or a ClusterRole")
	}
}

// TestPropertiesKeepTheirText checks that the reader of a properties file gets each value as the user wrote it. Values
// of several lines, and a file whose first line is indented, were invalid YAML, and backslashes were lost.
func TestPropertiesKeepTheirText(t *testing.T) {
	data := map[string]string{
		"policy": "rules:\n  - name: a\n",
		"spark.kubernetes.operator.events.excludedReasons": `Spark\w+`,
		"blank": "  a: b",
		"plain": "a,b",
	}

	values, err := json.Marshal(map[string]any{"controller": map[string]any{
		"dynamicConfig": map[string]any{"enable": true, "source": config.SourceFile, "create": true, "data": data},
		"apache":        map[string]any{"properties": "  spark.a=1\nspark.b=2\n"},
	}})
	if err != nil {
		t.Fatal(err)
	}

	r := mustRender(t, install{values: string(values)})

	read, err := conf.UnmarshalProperties(configMapOf(t, r, "spark-operator-dynamic").Data["spark-operator-dynamic.properties"])
	if err != nil {
		t.Fatal(err)
	}

	for key, want := range data {
		if got, _ := read.Get(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}

	if text := configMapOf(t, r, "spark-operator-controller").Data["spark-operator.properties"]; text != "  spark.a=1\nspark.b=2\n" {
		t.Errorf("the properties are %q", text)
	}
}

// TestAliasesHaveTheRightsOfTheServiceAccount checks that each alias of the service account exists in each namespace
// and has the rights of the service account.
func TestAliasesHaveTheRightsOfTheServiceAccount(t *testing.T) {
	r := mustRender(t, install{values: "spark: {jobNamespaces: [a, b], serviceAccount: {aliases: [spark]}}"})

	var made, bound []string
	for _, account := range objectsOf[*corev1.ServiceAccount](r) {
		made = append(made, account.Namespace+"/"+account.Name)
	}

	for _, binding := range objectsOf[*rbacv1.RoleBinding](r) {
		if binding.Name == "spark-operator-spark" {
			for _, subject := range binding.Subjects {
				bound = append(bound, subject.Namespace+"/"+subject.Name)
			}
		}
	}

	slices.Sort(made)
	slices.Sort(bound)

	want := []string{"a/spark", "a/spark-operator-spark", "b/spark", "b/spark-operator-spark"}
	if diff := cmp.Diff(want, bound); diff != "" {
		t.Errorf("bound (-want +got):\n%s", diff)
	}

	want = append(want, "spark-operator/spark-operator-controller")
	slices.Sort(want)

	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("made (-want +got):\n%s", diff)
	}
}

// TestSentinelsAreInTheirNamespaces checks the sentinels, the custom resources with which the operator probes itself.
// They must have the sentinel label, and be in the namespace that the operator's configuration names.
func TestSentinelsAreInTheirNamespaces(t *testing.T) {
	for namespaces, want := range map[string]string{"[default]": "default",
		"[spark-operator, default]": "spark-operator", "[]": "spark-operator", "['', a]": "spark-operator"} {
		r := mustRender(t, install{values: "spark: {jobNamespaces: " + namespaces +
			", allowReleaseNamespace: true}\ncontroller: {apache: {sentinels: {enable: true, application: {create: true}, cluster: {create: true}}}}", apis: []string{"spark.apache.org/v1"}})
		if got := configOf(t, r).Apache.Sentinels.Namespace; got != want {
			t.Errorf("%s: the operator may write to sentinels of %s, want %s", namespaces, got, want)
		}

		var kinds []string
		for _, object := range r.objects {
			if object.GetLabels()["spark.operator/sentinel"] == "true" {
				kinds = append(kinds, object.GetObjectKind().GroupVersionKind().Kind)
				if object.GetNamespace() != want {
					t.Errorf("%s: it is in %s, want %s", namespaces, object.GetNamespace(), want)
				}
			}
		}

		slices.Sort(kinds)

		if diff := cmp.Diff([]string{"SparkApplication", "SparkCluster"}, kinds); diff != "" {
			t.Errorf("%s (-want +got):\n%s", namespaces, diff)
		}
	}
}

// TestSentinelsNeedServedKinds checks that a first installation renders no sentinels. The API server does not serve the
// sentinels' kinds before the release is installed, so Helm would reject the whole release.
func TestSentinelsNeedServedKinds(t *testing.T) {
	r := mustRender(t, install{values: "controller: {apache: {sentinels: {enable: true, application: {create: true}, cluster: {create: true}}}}"})
	for _, object := range r.objects {
		if object.GetLabels()["spark.operator/sentinel"] == "true" {
			t.Errorf("%s %s is created before its kind is served", object.GetObjectKind().GroupVersionKind(),
				object.GetName())
		}
	}

	if !strings.Contains(r.notes, "helm upgrade") {
		t.Errorf("the notes do not explain how to get sentinels:\n%s", r.notes)
	}
}

// TestDriversMayManageStatefulSets checks that a switch grants drivers the right on StatefulSets, in every namespace
// that is served, and reports it to the operator, which otherwise warns. The right of nobody else changes.
func TestDriversMayManageStatefulSets(t *testing.T) {
	rights := func(r rendered, namespace string) map[string]string {
		for _, role := range objectsOf[*rbacv1.Role](r) {
			if role.Name == "spark-operator-spark" && role.Namespace == namespace {
				return granted(role.Rules)
			}
		}
		return nil
	}

	const values = "spark: {jobNamespaces: [a, b], rbac: {%s}}"

	without := mustRender(t, install{values: strings.Replace(values, "%s", "create: true", 1)})
	with := mustRender(t, install{values: strings.Replace(values, "%s", "statefulSets: true", 1)})

	if configOf(t, without).Application.StatefulSets || !configOf(t, with).Application.StatefulSets {
		t.Error("the configuration does not follow the switch")
	}

	if off := mustRender(t, install{values: strings.Replace(values, "%s", "statefulSets: true, create: false", 1)}); configOf(t, off).Application.StatefulSets {
		t.Error("without Roles the chart cannot know the rights of drivers")
	}

	for _, namespace := range []string{"a", "b"} {
		want := rights(without, namespace)
		want["apps/statefulsets"] = "create delete get"
		want["apps/statefulsets/scale"] = "get update"

		if diff := cmp.Diff(want, rights(with, namespace)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", namespace, diff)
		}
	}

	if diff := cmp.Diff(rightsOf(without), rightsOf(with)); diff != "" {
		t.Errorf("the rights of the controller (-without +with):\n%s", diff)
	}
}
