package launch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// TestDefaultsAreNotedOnTheConfigMapOfSpark checks which object gets the annotations. Only the ConfigMap with Spark's
// configuration and, if the operator does not create it, the pod that runs spark-submit may get them.
func TestDefaultsAreNotedOnTheConfigMapOfSpark(t *testing.T) {
	settings := &platform.Settings{Version: "v7", Origins: map[string]string{"imagePullSecrets": "defaults[2]"}}
	want := map[string]string{"sparkoperator.dev/defaults": "v7",
		"sparkoperator.dev/defaults-origins": `{"imagePullSecrets":"defaults[2]"}`}

	config := func(key string) *corev1.ConfigMap {
		return &corev1.ConfigMap{Data: map[string]string{key: "spark.a=b"}}
	}
	for name, c := range map[string]struct {
		before []submit.Object
		noted  int // the index of the annotated object in before; -1: the pod; -2: none
		pod    *corev1.Pod
	}{
		"the driver's ConfigMap": {[]submit.Object{&corev1.Service{}, config("other"),
			config("spark.properties")}, 2, &corev1.Pod{}},
		"spark-submit":                        {[]submit.Object{&corev1.Secret{}}, -1, &corev1.Pod{}},
		"no ConfigMap with the configuration": {[]submit.Object{config("core-site.xml")}, -1, &corev1.Pod{}},
		"two ConfigMaps with a configuration": {[]submit.Object{config("spark.properties"),
			config("spark.properties")}, 0, &corev1.Pod{}},
		"objects that could not be built":      {nil, -2, nil},
		"a ConfigMap, and no pod":              {[]submit.Object{config("spark.properties")}, 0, nil},
		"a ConfigMap with other, and no pod":   {[]submit.Object{config("other")}, -2, nil},
		"an empty configuration, and the pod":  {[]submit.Object{&corev1.ConfigMap{Data: map[string]string{"spark.properties": ""}}}, -1, &corev1.Pod{}},
		"a Secret with Spark's key is not one": {[]submit.Object{&corev1.Secret{Data: map[string][]byte{"spark.properties": []byte("a")}}}, -1, &corev1.Pod{}},
	} {
		Defaults{Settings: settings,
			Filled: []string{"imagePullSecrets"}}.Annotate(submit.Objects{Before: c.before, Driver: c.pod}, conf.New())

		all := map[int]metav1.Object{}
		for i, object := range c.before {
			all[i] = object
		}

		if c.pod != nil {
			all[-1] = c.pod
		}

		for i, object := range all {
			wanted := map[string]string(nil)
			if i == c.noted {
				wanted = want
			}

			if diff := cmp.Diff(wanted, object.GetAnnotations()); diff != "" {
				t.Errorf("%s: object %d (-want +got):\n%s", name, i, diff)
			}
		}
	}
}

// TestFaultsOfDefaultsNameTheirOrigin checks that a user learns which faults come from the operator's configuration.
// The text must not appear at a key that the user sets, because the advice would be wrong.
func TestFaultsOfDefaultsNameTheirOrigin(t *testing.T) {
	settings := &platform.Settings{
		SparkConf: map[string]string{"spark.a": "x", "spark.b": "x", "spark.c]": "x"},
		Origins:   map[string]string{"sparkConf[spark.a]": "defaults[1] (batch)"},
	}

	const from, to = " (the value is a default of the operator's configuration, ",
		"; set the key in spec.sparkConf to override it)"
	for name, c := range map[string]struct {
		settings    *platform.Settings
		own         map[string]string
		field, want string
	}{
		"a default with an origin": {settings, nil, "spec.sparkConf[spark.a]",
			"is wrong" + from + "defaults[1] (batch)" + to},
		"a default without an origin": {settings, map[string]string{"spark.a": "y"}, "spec.sparkConf[spark.b]",
			"is wrong" + from + "defaults" + to},
		"a key that ends with a bracket": {settings, nil, "spec.sparkConf[spark.c]]",
			"is wrong" + from + "defaults" + to},
		"a key of the user": {settings, map[string]string{"spark.a": ""}, "spec.sparkConf[spark.a]",
			"is wrong"},
		"a key without a default":  {settings, nil, "spec.sparkConf[spark.d]", "is wrong"},
		"another field":            {settings, nil, "spec.hadoopConf[spark.a]", "is wrong"},
		"a field of the same name": {settings, nil, "spark.a", "is wrong"},
		"no defaults":              {nil, nil, "spec.sparkConf[spark.a]", "is wrong"},
	} {
		fault := &dialect.FieldError{Field: c.field, Message: "is wrong"}
		faults := []*dialect.FieldError{fault}
		Defaults{Settings: c.settings, Own: c.own}.Explain(faults)

		if got := faults[0]; got.Field != c.field || got.Message != c.want {
			t.Errorf("%s: %v\nwant %s: %s", name, got, c.field, c.want)
		}

		if fault.Message != "is wrong" {
			t.Errorf("%s: the fault itself was changed, which others may hold", name)
		}
	}
}

// TestLinkOfAnAttempt checks when a status gets the address of an attempt's page in the History Server.
func TestLinkOfAnAttempt(t *testing.T) {
	const id, page = "spark-1", "https://history.example.com/base/history/spark-1/"

	logged := &platform.Settings{HistoryServer: "https://history.example.com/base/", SparkConf: map[string]string{"spark.eventLog.enabled": "true"}}

	silent := &platform.Settings{HistoryServer: "https://history.example.com"}
	newer := &platform.Settings{Version: "2", HistoryServer: logged.HistoryServer, SparkConf: map[string]string{"spark.eventLog.enabled": "true", "spark.eventLog.dir": "s3a://own/logs"}}

	for name, test := range map[string]struct {
		present *platform.Settings
		version string // of the defaults of the launch
		own     map[string]string
		before  string
		phase   lifecycle.Phase
		id      string
		want    string
	}{
		"a running attempt":                       {present: logged, phase: lifecycle.Running, id: id, want: page},
		"the application enables its event log":   {present: silent, own: map[string]string{"spark.eventLog.enabled": "true"}, phase: lifecycle.Launched, id: id, want: "https://history.example.com/history/spark-1/"},
		"the application disables its event log":  {present: logged, own: map[string]string{"spark.eventLog.enabled": "false"}, phase: lifecycle.Running, id: id},
		"the event log is somewhere else":         {present: logged, own: map[string]string{"spark.eventLog.dir": "s3a://own/logs"}, phase: lifecycle.Running, id: id},
		"launched before event logs were on":      {present: newer, phase: lifecycle.Running, id: id},
		"launched with the present defaults":      {present: newer, version: "2", phase: lifecycle.Running, id: id, want: page},
		"the same directory":                      {present: newer, version: "2", own: map[string]string{"spark.eventLog.dir": "s3a://own/logs"}, phase: lifecycle.Running, id: id, want: page},
		"no event log":                            {present: silent, phase: lifecycle.Running, id: id},
		"no History Server":                       {present: &platform.Settings{SparkConf: logged.SparkConf}, phase: lifecycle.Running, id: id},
		"no defaults":                             {phase: lifecycle.Running, id: id},
		"spark-submit has not chosen the id":      {present: logged, phase: lifecycle.Launched},
		"ended before the operator knew a server": {present: logged, phase: lifecycle.Done, id: id},
		"ended": {present: logged, before: page, phase: lifecycle.Done, id: id, want: page},
		"ended, and the server has another address":   {present: silent, before: page, phase: lifecycle.Retained, id: id, want: page},
		"running, and the server has another address": {present: silent, before: page, phase: lifecycle.Running, id: id, want: page},
		"the next attempt":                            {present: logged, before: "https://history.example.com/base/history/spark-0/", phase: lifecycle.Launched, id: id, want: page},
		"the next attempt without a server":           {before: page, phase: lifecycle.Launched, id: "spark-2"},
		"between two attempts":                        {present: logged, before: page, phase: lifecycle.Suspended},
		"an id that is a part of the previous one":    {present: logged, before: "https://history.example.com/base/history/x-spark-1/", phase: lifecycle.Launched, id: id, want: page},
		"an id with characters of an address":         {present: logged, phase: lifecycle.Launched, id: "a/../b?c", want: "https://history.example.com/base/history/a%2F..%2Fb%3Fc/"},
	} {
		o := &statusv1.OperatorStatus{HistoryServerURL: test.before, Defaults: &statusv1.OperatorDefaults{Version: test.version}}
		Link(test.present, test.own, o, lifecycle.Memory{Phase: test.phase}, test.id)

		if o.HistoryServerURL != test.want {
			t.Errorf("%s: %q, want %q", name, o.HistoryServerURL, test.want)
		}
	}

	Link(logged, nil, nil, lifecycle.Memory{Phase: lifecycle.Running}, id) // no status yet
}
