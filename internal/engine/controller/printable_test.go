package controller

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/test/kit/hostile"
	"github.com/sparkoperator/spark-operator/test/kit/unprintable"
)

// TestMessagesArePrintable checks that no status and no answer to a review contains a character that a terminal
// interprets, whatever the texts and keys of a custom resource contain, and whatever a driver wrote before it failed.
// The first version of the operator wrote escape sequences of a mainClass into conditions.
func TestMessagesArePrintable(t *testing.T) {
	known := meters(t)
	defer func(before func(string, []byte), text string) { observed, failure = before, text }(observed, failure)

	failure = "exit code 1: " + unprintable.Text
	cases, texts := 0, 0
	name, fromStatus, failed := "", false, map[string]bool{}
	observed = func(what string, text []byte) {
		if len(text) == 0 {
			return
		}

		var tree any
		if err := json.Unmarshal(text, &tree); err != nil {
			t.Errorf("%s: %s: %v", name, what, err)
		}

		eachText("", tree, func(path, text string) {
			texts++

			if what == "status" && fromStatus && text == unprintable.Text {
				return // the operator keeps what others wrote there
			}

			if found := unprintable.First(text); found != "" && !failed[what+path] {
				failed[what+path] = true
				t.Errorf("%s: %s%s: %q", name, what, path, found)
			}
		})
	}

	for c := range hostile.Cases(t).AllUnprintable() {
		object, err := c.JSON()
		if err != nil {
			t.Fatal(err)
		}

		name, fromStatus = c.Name(), strings.HasPrefix(c.Field, "status.")
		cases++

		if _, err := known[c.Definition.Stored+" "+c.Definition.Kind](object); err != nil &&
			!bytes.Contains([]byte(err.Error()), []byte("decode")) {
			t.Errorf("%s: %v", name, err)
		}
	}

	if cases < 500 || texts < 20*cases {
		t.Errorf("%d cases, %d texts", cases, texts)
	}

	t.Logf("%d cases, %d texts", cases, texts)
}

// eachText calls a function for each text and each key of a JSON tree.
func eachText(path string, value any, visit func(path, text string)) {
	switch value := value.(type) {
	case string:
		visit(path, value)
	case []any:
		for _, item := range value {
			eachText(path+"[]", item, visit)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			visit(path+"{}", key)
			eachText(path+"."+strings.Trim(key, "0123456789"), value[key], visit)
		}
	}
}
