package main

import (
	"strings"
	"testing"
)

func TestFinish(t *testing.T) {
	got, err := finish([]byte(`
spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        description: ours
        properties:
          memory: {type: string, description: ours too}
          ports:
            type: array
            description: kept
            items: {type: object, description: says the list already, properties: {name: {type: string, description: of our own type}}}
          sidecars:
            type: array
            description: ours
            items:
              type: object
              properties:
                image: {type: string, description: Kubernetes'}
                port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
                limit:
                  x-kubernetes-int-or-string: true
                  pattern: '^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$'
                since: {type: string, format: date-time}
                exact: {type: string, format: date-time, pattern: '^2'}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"description: ours\n", "description: ours too", "description: kept", "description: of our own type",
		"minimum: -2147483648", "maximum: 2147483647", `([eE](\+|-)?[0-9]+))?$`, "pattern: ^[^tz]*$", "pattern: ^2"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	for _, not := range []string{"Kubernetes'", "says the list already"} {
		if strings.Contains(string(got), not) {
			t.Errorf("%q is left in:\n%s", not, got)
		}
	}
	again, err := finish(got)
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != string(got) {
		t.Errorf("finishing twice changes:\n%s\nto:\n%s", got, again)
	}
}

func TestFinishRefusesOtherFiles(t *testing.T) {
	for name, in := range map[string]string{
		"not YAML":          "\t",
		"another kind":      "kind: ConfigMap",
		"a schemaless kind": "spec: {versions: [{name: v1}]}",
	} {
		if _, err := finish([]byte(in)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
