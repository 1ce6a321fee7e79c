package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"k8s.io/klog/v2"
)

func TestJSONLog(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLogger(&out, "debug", "json")
	if err != nil {
		t.Fatal(err)
	}
	log.WithName("controller").Info("phase entered", "application", klog.KRef("team-a", "pi"), "attempt", 2)
	log.V(1).Info("details")
	log.V(9).Info("too much")
	log.Error(errors.New("boom"), "write the status")

	var records []map[string]any
	for line := range strings.Lines(out.String()) {
		record := map[string]any{}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("not JSON: %v: %s", err, line)
		}
		records = append(records, record)
	}
	if len(records) != 3 {
		t.Fatalf("%d records, want 3:\n%s", len(records), out.String())
	}
	for i, want := range []struct{ level, msg, key, value string }{
		{"INFO", "phase entered", "logger", "controller"}, {"DEBUG", "details", "", ""}, {"ERROR", "write the status", "err", "boom"},
	} {
		if records[i]["level"] != want.level || records[i]["msg"] != want.msg {
			t.Errorf("record %d is %v, want %s %q", i, records[i], want.level, want.msg)
		}
		if want.key != "" && records[i][want.key] != want.value {
			t.Errorf("record %d: %s is %v, want %s", i, want.key, records[i][want.key], want.value)
		}
	}
	object, _ := json.Marshal(records[0]["application"])
	if string(object) != `{"name":"pi","namespace":"team-a"}` {
		t.Errorf("the object's reference is %s", object)
	}
}

func TestLevelsAndFormats(t *testing.T) {
	for _, test := range []struct {
		level, format string
		info, fails   bool
	}{
		{"info", "text", true, false}, {"warn", "json", false, false}, {"error", "json", false, false},
		{"chatty", "json", false, true}, {"info", "xml", false, true},
	} {
		var out bytes.Buffer
		log, err := NewLogger(&out, test.level, test.format)
		if (err != nil) != test.fails {
			t.Errorf("%s, %s: %v", test.level, test.format, err)
		}
		if err != nil {
			continue
		}
		log.Info("hello")
		if got := out.Len() > 0; got != test.info {
			t.Errorf("%s shows info: %t, want %t", test.level, got, test.info)
		}
	}
}
