package table

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// thing is an object with fields of every type that a table reads by itself.
type thing struct {
	Meta `json:",inline"`
	Spec spec `json:"spec"`
}

// Meta is a part whose fields belong to the object itself.
type Meta struct {
	Labels map[string]string `json:"labels,omitempty"`
}

type spec struct {
	Driver   *pod              `json:"driver,omitempty"`
	Executor pod               `json:"executor,omitzero"`
	Files    []string          `json:"files,omitempty"`
	Hadoop   map[string]string `json:"hadoop,omitempty"`
	Mount    []string          `json:"mount,omitempty"`
	Scaling  *scaling          `json:"scaling,omitempty"`
	Class    string            `json:"class,omitempty"`
}

type pod struct {
	Memory  *string           `json:"memory,omitempty"`
	Cores   *int32            `json:"cores,omitempty"`
	Options *string           `json:"options,omitempty"`
	Keep    *bool             `json:"keep,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
}

type scaling struct {
	On   bool   `json:"on,omitempty"`
	Most *int32 `json:"most,omitempty"`
}

var things = New[thing]("driver", "executor",
	Row{Path: "spec.ROLE.memory", Key: "s.ROLE.memory", Reserved: true, FromKey: Always,
		Check: func(string) error { return errors.New("no") }},
	Row{Path: "spec.ROLE.cores", Key: "s.ROLE.cores", FromKey: Always},
	Row{Path: "labels", Key: "s.ROLE.label."},
	Row{Path: "spec.ROLE.labels", Key: "s.ROLE.label."},
	Row{Path: "spec.driver.memory", Key: "s.memory", Precedence: Replaces, FromKey: Always},
	Row{Path: "spec.ROLE.options", Key: "s.ROLE.options", Precedence: Follows},
	Row{Path: "spec.executor.keep", Key: "s.keep", Precedence: Yields},
	Row{Path: "spec.files", Key: "s.files", Part: "Files", FromKey: func(text string) bool { return text != "stay" }},
	Row{Path: "spec.hadoop", Key: "s.hadoop."},
	Row{Path: "spec.mount", Key: "s.ROLE.mount.", Part: "ROLE.Mount", Precedence: Names,
		Entries: func(any) map[string]string { return nil }},
	Row{Path: "spec.scaling.on", Key: "s.scaling", If: "spec.scaling.on"},
	Row{Path: "spec.scaling.most", Key: "s.most", If: "spec.scaling.on"},
	Row{Path: "spec.class", Key: "s.class", Precedence: Implies,
		Text: func(role string, value any) string { return role + value.(string) + "!" }},
	Row{Key: "s.master", Reserved: true, Advice: "remove the key"},
)

func sampleThing() *thing {
	return &thing{
		Meta: Meta{Labels: map[string]string{"a": "meta", "b": "meta"}},
		Spec: spec{
			Driver:   &pod{Memory: new("1g"), Options: new("-Dx"), Labels: map[string]string{"a": "own"}},
			Executor: pod{Cores: new(int32(2)), Keep: new(false)},
			Files:    []string{"f", "g"}, Hadoop: map[string]string{"h": ""},
			Scaling: &scaling{On: true, Most: new(int32(9))}, Class: "c",
		},
	}
}

// TestConfigure checks what each precedence does with a key that sparkConf sets too, and how values are written.
func TestConfigure(t *testing.T) {
	c := conf.FromMap(map[string]string{"s.driver.memory": "own", "s.keep": "own", "s.driver.options": "own",
		"s.class": "own", "s.most": "own", "s.other": "own"})
	things.Configure(c, sampleThing())

	want := map[string]string{
		"s.driver.memory": "1g", "s.keep": "own", "s.driver.options": "own -Dx", "s.class": "own", "s.most": "9",
		"s.other": "own", "s.executor.cores": "2",
		"s.driver.label.a": "own", "s.driver.label.b": "meta", "s.executor.label.a": "meta",
		"s.executor.label.b": "meta",
		"s.files":            "f,g", "s.hadoop.h": "", "s.scaling": "true",
	}
	if diff := cmp.Diff(want, c.Map()); diff != "" {
		t.Errorf("over keys (-want +got):\n%s", diff)
	}

	c = conf.New()
	things.Configure(c, &thing{Spec: spec{Executor: pod{Keep: new(false), Options: new("-Dx")}, Class: "c",
		Scaling: &scaling{Most: new(int32(9))}}})

	if diff := cmp.Diff(map[string]string{"s.keep": "false", "s.executor.options": "-Dx", "s.class": "c!"},
		c.Map()); diff != "" {
		t.Errorf("without keys (-want +got):\n%s", diff)
	}
}

// TestNamesOfFields checks which field a key belongs to, and which fields count as set.
func TestNamesOfFields(t *testing.T) {
	object := sampleThing()
	for key, want := range map[string]struct {
		field string
		sets  bool
	}{
		"s.driver.memory": {"spec.driver.memory", true}, "s.executor.memory": {"spec.executor.memory", false},
		"s.executor.cores": {"spec.executor.cores", true},
		"s.driver.label.a": {"spec.driver.labels[a]", true}, "s.driver.label.b": {"labels[b]", true},
		"s.driver.label.z": {"labels[z]", false},
		"s.memory":         {"", true}, "s.hadoop.h": {"spec.hadoop[h]", true},
		"s.driver.mount.x": {"spec.mount", false},
		"s.most":           {"spec.scaling.most", true},
		"s.none":           {"", false}, "s.master": {"", false},
	} {
		if field, sets := things.FieldOf(object, key), things.Sets(object, key); field != want.field ||
			sets != want.sets {
			t.Errorf("%s is %q, set %v; want %+v", key, field, sets, want)
		}
	}

	if things.Sets(object, "s.driver.memory", Yields, Follows) {
		t.Error("a field counts with a precedence that it does not have")
	}

	for part, want := range map[string]string{"Files": "spec.files", "Driver.Mount": "spec.mount",
		"Executor.Mount": "spec.mount", "Other": ""} {
		if got := things.FieldOfPart(part); got != want {
			t.Errorf("the part %s is %q, want %q", part, got, want)
		}
	}

	if got := things.FirstSet(object, "spec.executor.memory", "spec.driver.memory",
		"spec.files"); got != "spec.driver.memory" {
		t.Errorf("the first field is %q", got)
	}

	if diff := cmp.Diff(map[string]string{"s.driver.memory": "use spec.driver.memory",
		"s.executor.memory": "use spec.executor.memory", "s.master": "remove the key"}, things.Reserved()); diff != "" {
		t.Errorf("reserved (-want +got):\n%s", diff)
	}
}

// TestEffective checks that the field precedes its keys, in the order of the rows.
func TestEffective(t *testing.T) {
	own := map[string]string{"s.driver.memory": "first", "s.memory": "second"}
	for want, get := range map[string]func() string{
		"1g":    func() string { return things.Effective(sampleThing(), own, "spec.driver.memory") },
		"first": func() string { return things.Effective(&thing{}, own, "spec.driver.memory") },
		"second": func() string {
			return things.Effective(&thing{}, map[string]string{"s.memory": "second"}, "spec.driver.memory")
		},
		"": func() string { return things.Effective(&thing{}, nil, "spec.driver.memory") },
	} {
		if got := get(); got != want {
			t.Errorf("the value is %q, want %q", got, want)
		}
	}
}

// TestTake checks that Take is the reverse of Configure for the fields that it moves, and that it leaves the others.
func TestTake(t *testing.T) {
	c := conf.FromMap(map[string]string{"s.driver.memory": "1g", "s.memory": "2g", "s.driver.cores": "many",
		"s.executor.cores": "3", "s.files": "f, g", "s.driver.options": "-Dx"})
	var object thing
	things.Take(c, &object)

	want := thing{Spec: spec{Driver: &pod{Memory: new("1g")}, Executor: pod{Cores: new(int32(3))},
		Files: []string{"f", "g"}}}
	if diff := cmp.Diff(want, object); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(map[string]string{"s.driver.cores": "many", "s.driver.options": "-Dx"}, c.Map()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}

	c = conf.FromMap(map[string]string{"s.files": "stay"})
	if things.Take(c, &object); c.Len() != 1 {
		t.Error("a value that the row does not accept is moved")
	}
}

// TestOrder checks that the values come in the order of the rows, and of the roles among rows that stand together.
func TestOrder(t *testing.T) {
	var keys []string
	for v := range things.Values(sampleThing(), nil) {
		keys = append(keys, v.Key+v.Entry)
	}

	want := []string{"s.driver.memory", "s.driver.label.a", "s.driver.label.b", "s.driver.label.a", "s.executor.cores",
		"s.executor.label.a", "s.executor.label.b"}
	if diff := cmp.Diff(want, keys[:len(want)]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	selected := slices.Collect(things.Values(sampleThing(), func(r *Row) bool { return r.Key == "s.executor.cores" }))
	if len(selected) != 1 || selected[0].Key != "s.executor.cores" {
		t.Errorf("of one row come %d values", len(selected))
	}

	if rows := slices.Collect(things.Rows()); rows[0].Key != "s.driver.memory" || rows[1].Key != "s.driver.cores" ||
		rows[4].Key != "s.executor.memory" {
		t.Errorf("the rows begin with %v", rows[:5])
	}
}

// TestUnknownField checks that a row of a field that does not exist is noticed at once.
func TestUnknownField(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a table with an unknown field")
		}
	}()

	New[thing]("driver", "executor", Row{Path: "spec.driver.none"})
}
