package audit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// wrote are lines of the operator's, one after the other, which end at a moment of one millisecond each.
func wrote(from int, writes ...[3]string) string {
	var log strings.Builder
	for i, w := range writes {
		verb, resource, _ := strings.Cut(w[0], " ")
		log.WriteString(line(operator, verb, resource, w[1], 200, from+i, from+i, w[2]))
	}
	return log.String()
}

const (
	ofX       = `{"metadata":{"ownerReferences":[{"kind":"SparkApplication","name":"x"}]}}`
	ofY       = `{"metadata":{"ownerReferences":[{"kind":"SparkApplication","name":"y"}]}}`
	driverOfX = `{"metadata":{"labels":{"spark-role":"driver"},"ownerReferences":[{"kind":"SparkApplication","name":"x"}]}}`
	labeled   = `{"metadata":{"labels":{"spark-role":"driver","spark-app-selector":"s1"},"ownerReferences":[{"kind":"SparkApplication","name":"x"}]}}`
	aboutX    = `{"involvedObject":{"kind":"SparkApplication","name":"x"}}`
	aboutPod  = `{"involvedObject":{"kind":"Pod","name":"x-driver"}}`
	running   = `{"status":{"applicationState":{"state":"RUNNING"}}}`
	completed = `{"status":{"applicationState":{"state":"COMPLETED"}}}`
	failed    = `{"status":{"applicationState":{"state":"FAILED"}}}`
)

func create(name string, at int) string {
	return line(LoadAgent, "create", "sparkapplications", name, 201, at, at, `{"kind":"SparkApplication"}`)
}

// TestLives: what counts is the life with the most writes, of those that began within what is looked at and ended well.
func TestLives(t *testing.T) {
	full := create("x", 0) + wrote(1,
		[3]string{"create configmaps", "x-conf", ofX}, [3]string{"create pods", "x-driver", driverOfX}, [3]string{"patch sparkapplications/status", "x", running},
		[3]string{"create events", "x.1", aboutX}, [3]string{"create events", "x.2", aboutPod}, [3]string{"patch events", "x.2", `{"count":2}`},
		[3]string{"delete services", "x-ui", ""}, [3]string{"delete pods", "x-driver", `{}`}, [3]string{"patch sparkapplications", "x", `{}`},
		[3]string{"patch sparkapplications/status", "x", completed},
	)
	small := create("y", 30) + wrote(31, [3]string{"create pods", "y-driver", ofY}, [3]string{"patch sparkapplications/status", "y", completed})
	of := func(objects, status, events, others float64) map[string]float64 {
		return map[string]float64{figure.MostObjects: objects, figure.MostStatusWrites: status, figure.MostEventWrites: events, figure.MostOtherWrites: others}
	}
	for name, tt := range map[string]struct {
		log    string
		scope  Scope
		want   map[string]float64
		astray map[string]int
	}{
		"one life":               {full, Scope{}, of(2, 2, 3, 2), map[string]int{"delete services": 1}}, // nobody made that Service
		"the most, not the mean": {small + full, Scope{}, of(2, 2, 3, 2), map[string]int{"delete services": 1}},
		"one that failed is no successful life": {
			small + strings.ReplaceAll(full, `"COMPLETED"`, `"FAILED"`), Scope{}, of(1, 1, 0, 0), map[string]int{"delete services": 1},
		},
		"one that began before":     {full + small, Scope{From: moment0(5)}, of(1, 1, 0, 0), map[string]int{"delete services": 1}},
		"no life":                   {create("x", 0) + wrote(1, [3]string{"patch sparkapplications/status", "x", failed}), Scope{}, map[string]float64{}, map[string]int{}},
		"a refused write is none":   {small + strings.Replace(wrote(40, [3]string{"patch sparkapplications/status", "y", running}), `"code":200`, `"code":409`, 1), Scope{}, of(1, 1, 0, 0), map[string]int{}},
		"the nodes' writes neither": {small + line(NodeAgent, "patch", "pods/status", "y-driver", 200, 40, 40, `{}`), Scope{}, of(1, 1, 0, 0), map[string]int{}},
	} {
		got, err := ReadAccount(strings.NewReader(tt.log), tt.scope)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, byName(got.Lives.Figures("lives", "operator"))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(tt.astray, got.Astray); diff != "" {
			t.Errorf("%s: for no application: %s", name, diff)
		}
	}
}

// TestAstray: a write for no application is found wherever it is made; what is another load's, a lease, another's or refused is not one.
func TestAstray(t *testing.T) {
	elsewhere := func(log string) string { return strings.ReplaceAll(log, `"namespace":"a"`, `"namespace":"b"`) }
	scope := Scope{From: moment0(1), Namespace: func(name string) bool { return name == "a" }}
	for name, tt := range map[string]struct {
		log  string
		want map[string]int
	}{
		"here":                       {wrote(1, [3]string{"create configmaps", "c", `{}`}), map[string]int{"create configmaps": 1}},
		"in another namespace":       {elsewhere(wrote(1, [3]string{"patch pods", "c", `[]`})), map[string]int{"patch pods": 1}},
		"before":                     {wrote(0, [3]string{"create configmaps", "c", `{}`}), map[string]int{}},
		"another load's application": {elsewhere(wrote(0, [3]string{"create pods", "x-driver", driverOfX}, [3]string{"delete pods", "x-driver", ""}, [3]string{"patch sparkapplications/status", "x", running})), map[string]int{}},
		"of one in another namespace": {
			wrote(0, [3]string{"create pods", "x-driver", driverOfX}) + elsewhere(wrote(1, [3]string{"delete pods", "x-driver", ""})), map[string]int{"delete pods": 1},
		},
		"what an application's label chooses": {
			wrote(0, [3]string{"create pods", "x-driver", labeled}) + strings.Replace(wrote(1, [3]string{"deletecollection pods", "", ""}), `"/x"`, `"/x?labelSelector=spark-app-selector%3Ds1%2Cspark-role%3Dexecutor"`, 1),
			map[string]int{},
		},
		"what another label chooses": {
			wrote(0, [3]string{"create pods", "x-driver", labeled}) + strings.Replace(wrote(1, [3]string{"deletecollection pods", "", ""}), `"/x"`, `"/x?labelSelector=spark-app-selector%3Ds2"`, 1),
			map[string]int{"deletecollection pods": 1},
		},
		"what has an application's label alone": {wrote(0, [3]string{"create pods", "x-driver", labeled}) + wrote(1, [3]string{"create configmaps", "c", `{"metadata":{"labels":{"spark-app-selector":"s1"}}}`}), map[string]int{}},
		"a lease":                               {wrote(1, [3]string{"update leases", "l", `{}`}), map[string]int{}},
		"somebody else's":                       {line(NodeAgent, "create", "pods", "p", 201, 1, 1, `{}`), map[string]int{}},
		"one that failed":                       {line(operator, "create", "pods", "p", 403, 1, 1, `{}`), map[string]int{}},
		"nothing is there":                      {"", map[string]int{}},
	} {
		got, err := ReadAccount(strings.NewReader(tt.log), scope)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got.Astray); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestElsewhere: the operator's writes for another load's application are counted, within the time, and nobody else's.
func TestElsewhere(t *testing.T) {
	elsewhere := func(log string) string { return strings.ReplaceAll(log, `"namespace":"a"`, `"namespace":"b"`) }
	scope := Scope{From: moment0(1), Namespace: func(name string) bool { return name == "a" }}
	for name, tt := range map[string]struct {
		log  string
		want int
	}{
		"its status, and a pod that was made before": {elsewhere(wrote(0, [3]string{"create pods", "x-driver", driverOfX}, [3]string{"delete pods", "x-driver", ""},
			[3]string{"patch sparkapplications/status", "x", running})), 2},
		"before":         {elsewhere(wrote(0, [3]string{"patch sparkapplications/status", "x", running})), 0},
		"this load's":    {wrote(1, [3]string{"patch sparkapplications/status", "x", running}), 0},
		"a node's":       {elsewhere(line(NodeAgent, "create", "pods", "x-driver", 201, 1, 1, driverOfX)), 0},
		"of none at all": {elsewhere(wrote(1, [3]string{"create configmaps", "c", `{}`})), 0},
	} {
		got, err := ReadAccount(strings.NewReader(tt.log), scope)
		if err != nil {
			t.Fatal(err)
		}
		if got.Elsewhere != tt.want {
			t.Errorf("%s: %d, want %d", name, got.Elsewhere, tt.want)
		}
	}
}

// TestAccountFigures: whatever ranges speak of is there, and no figure is there twice.
func TestAccountFigures(t *testing.T) {
	log := create("x", 0) + wrote(1, [3]string{"create pods", "x-driver", driverOfX}, [3]string{"patch sparkapplications/status", "x", completed}, [3]string{"create secrets", "s", ""})
	a, err := ReadAccount(strings.NewReader(log), Scope{})
	if err != nil {
		t.Fatal(err)
	}
	figures := a.Figures("lives", "operator", 2)
	values := byName(figures)
	if len(values) != len(figures) {
		t.Errorf("%d names of %d figures", len(values), len(figures))
	}
	for name, want := range map[string]float64{
		figure.Astray: 1, figure.Elsewhere: 0, figure.MostStatusWrites: 1, figure.StatusWrites: 0.5, figure.NoDriver: 0, figure.NoStatus: 0, figure.Conflicts: 0, figure.Launch99: 0.001,
	} {
		if got, ok := values[name]; !ok || got != want {
			t.Errorf("%s is %v, %t; want %v", name, got, ok, want)
		}
	}
}
