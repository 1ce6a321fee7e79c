package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sparkoperator/spark-operator/test/kit/unprintable"
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
		{"INFO", "phase entered", "logger", "controller"}, {"DEBUG", "details", "", ""},
		{"ERROR", "write the status", "err", "boom"},
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

// TestLogEventSource checks that an event source is logged by its name. JSON cannot encode an event source, because it
// holds functions.
func TestLogEventSource(t *testing.T) {
	pods := source.Kind[client.Object](nil, &corev1.Pod{}, &handler.EnqueueRequestForObject{})

	function := source.Func(func(context.Context,
		workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		return nil
	})
	for _, test := range []struct {
		source source.Source
		want   string
	}{
		{pods, `"source":"kind source: *v1.Pod"`},
		{function, `"source":"func source: `},
	} {
		var out strings.Builder

		log, err := NewLogger(&out, "info", "json")
		if err != nil {
			t.Fatal(err)
		}

		log.Info("Starting EventSource", "source", test.source)

		if !strings.Contains(out.String(), test.want) {
			t.Errorf("%s does not contain %s", out.String(), test.want)
		}
	}
}

// TestLogsAndEventsArePrintable checks that neither a record nor an Event has characters that a terminal interprets,
// and that a record stays one line of valid JSON.
func TestLogsAndEventsArePrintable(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		var out strings.Builder

		logger, err := NewLogger(&out, "info", format)
		if err != nil {
			t.Fatal(err)
		}

		logger.WithName(unprintable.Text).Error(errors.New(unprintable.Text), unprintable.Text, unprintable.Text,
			unprintable.Text, "list", []string{unprintable.Text})

		if found := unprintable.First(out.String()); found != "" || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%s: %q in %q", format, found, out.String())
		}

		if format == "json" && !json.Valid([]byte(out.String())) {
			t.Errorf("not JSON: %s", out.String())
		}
	}

	event := newEvent(Component, corev1.ObjectReference{Name: "a"}, time.Now(), corev1.EventTypeWarning, unprintable.Text,
		unprintable.Text)
	if found := unprintable.First(event.Message + event.Reason); found != "" || strings.Contains(event.Reason, "\n") {
		t.Errorf("%q in %q", found, event.Message)
	}
}
