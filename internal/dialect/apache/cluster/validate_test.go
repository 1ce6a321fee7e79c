package cluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
)

func TestValidateCluster(t *testing.T) {
	workers := func(first, least, most int64) func(*sparkv1.SparkCluster) {
		return func(sc *sparkv1.SparkCluster) {
			sc.Spec.ClusterTolerations.InstanceConfig = sparkv1.WorkerInstanceConfig{InitWorkers: first,
				MinWorkers: least, MaxWorkers: most}
		}
	}
	name := func(name string) func(*sparkv1.SparkCluster) {
		return func(sc *sparkv1.SparkCluster) { sc.Name = name }
	}
	version := func(version string) func(*sparkv1.SparkCluster) {
		return func(sc *sparkv1.SparkCluster) { sc.Spec.RuntimeVersions.SparkVersion = version }
	}
	master := func(template string) func(*sparkv1.SparkCluster) {
		return func(sc *sparkv1.SparkCluster) {
			sc.Spec.MasterSpec = &sparkv1.MasterSpec{MemberSpec: sparkv1.MemberSpec{StatefulSetSpec: rawOf(template)}}
		}
	}
	conf := func(key, value string) func(*sparkv1.SparkCluster) {
		return func(sc *sparkv1.SparkCluster) { sc.Spec.SparkConf = map[string]string{key: value} }
	}

	const counts = "spec.clusterTolerations.instanceConfig."
	for what, c := range map[string]struct {
		change func(*sparkv1.SparkCluster)
		fields []string
	}{
		"nothing":                     {func(*sparkv1.SparkCluster) {}, nil},
		"the longest name":            {name(strings.Repeat("x", 45)), nil},
		"a name that is too long":     {name(strings.Repeat("x", 46)), []string{"metadata.name"}},
		"a name with a dot":           {name("a.b"), []string{"metadata.name"}},
		"a name that begins with 1":   {name("1a"), []string{"metadata.name"}},
		"no workers":                  {workers(0, 0, 0), nil},
		"autoscaling from no workers": {workers(0, 0, 3), nil},
		"a minimum above the maximum": {workers(1, 3, 2), nil},
		"negative numbers": {workers(-1, -2, -3),
			[]string{counts + "initWorkers", counts + "minWorkers", counts + "maxWorkers"}},
		"a number above an int32": {workers(1, 1, 1<<31), []string{counts + "maxWorkers"}},
		"the largest numbers":     {workers(1<<31-1, 1<<31-1, 1<<31-1), nil},
		"a preview version":       {version("4.2.0-preview1"), nil},
		"an invalid version": {version("not a version"),
			[]string{"spec.runtimeVersions.sparkVersion"}},
		"an empty version":               {version(""), []string{"spec.runtimeVersions.sparkVersion"}},
		"an empty version with an image": {func(sc *sparkv1.SparkCluster) { version("")(sc); conf("spark.kubernetes.container.image", "i")(sc) }, nil},
		"an invalid StatefulSet": {master(`{"replicas":"x"}`),
			[]string{"spec.masterSpec.statefulSetSpec"}},
		"an invalid pod template": {master(`{"template":{"spec":{"volumes":[{"name":"spark-cluster-conf"}]}}}`),
			[]string{"spec.masterSpec.statefulSetSpec.template.spec.volumes"}},
		"the operator's own label": {master(`{"template":{"metadata":{"labels":{"sparkoperator.dev/x":"y"}}}}`),
			[]string{"spec.masterSpec.statefulSetSpec.template.metadata.labels"}},
		"an invalid value": {conf("spark.x", "a\x00"), []string{"spec.sparkConf[spark.x]"}},
		"an invalid value that may be secret": {conf("spark.x.password", "hunter2\x00"),
			[]string{"spec.sparkConf[spark.x.password]"}},
		"several faults": {func(sc *sparkv1.SparkCluster) { name("A")(sc); version(" ")(sc); workers(-1, 0, 0)(sc) },
			[]string{"metadata.name", "spec.runtimeVersions.sparkVersion", counts + "initWorkers"}},
	} {
		t.Run(what, func(t *testing.T) {
			sc := sparkCluster(c.change)

			var fields []string
			for _, fault := range validateCluster(sc) {
				fields = append(fields, fault.Field)
				if fault.Message == "" || strings.Contains(fault.Message, "hunter2") {
					t.Errorf("%s: the message is %q", fault.Field, fault.Message)
				}
			}

			if diff := cmp.Diff(c.fields, fields); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}

			if _, err := testClusters.objects(sc); (err == nil) != (c.fields == nil) {
				t.Errorf("it has faults %v, and the rendering says %v", fields, err)
			}
		})
	}
}
