// Package statuswrite decides which part of a status to write and when, and whether the cache is as new as the
// operator's last write.
package statuswrite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patch returns the merge patch from the stored status of an object to the decided status. It returns nil if the two
// are equal as JSON. The function status returns a pointer to the status of an object. The rest of the object is not
// compared, because a pass writes nothing else. The patch contains the UID and the resourceVersion that were read, so
// that any later change of the object is a conflict.
func Patch(object, decided client.Object, status func(client.Object) any) ([]byte, error) {
	stored := reflect.ValueOf(status(object))
	old, changed := differing(stored, reflect.ValueOf(status(decided)))

	before, err := json.Marshal(old.Interface())
	if err != nil {
		return nil, fmt.Errorf("encode the stored status: %w", err)
	}

	after, err := json.Marshal(changed.Interface())
	if err != nil {
		return nil, fmt.Errorf("encode the status: %w", err)
	}

	if bytes.Equal(before, after) {
		return nil, nil
	}

	diff := after
	// The first status is sent whole, because its difference from the zero value would lack fields that the schema
	// requires.
	if !stored.Elem().IsZero() {
		if diff, err = jsonpatch.CreateMergePatch(before, after); err != nil {
			return nil, fmt.Errorf("compare the status: %w", err)
		}
	}

	if string(diff) == "{}" {
		return nil, nil
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": object.GetUID(), "resourceVersion": object.GetResourceVersion()},
		"status":   json.RawMessage(diff),
	})
}

// differing returns copies of two structs (given by pointers), without the fields that are equal in both. A patch
// between the copies equals the patch between the whole structs, but the copies are cheaper to encode, because most
// passes change little or nothing of a status. A struct with its own JSON encoding is copied whole.
func differing(old, changed reflect.Value) (before, after reflect.Value) {
	before, after = reflect.New(old.Type().Elem()), reflect.New(changed.Type().Elem())
	for i := range old.Elem().NumField() {
		a, b := old.Elem().Field(i), changed.Elem().Field(i)
		if reflect.DeepEqual(a.Addr().Interface(), b.Addr().Interface()) {
			continue
		}

		if a.Kind() == reflect.Pointer && a.Type().Elem().Kind() == reflect.Struct && !a.IsNil() && !b.IsNil() && !a.Type().Implements(marshaler) {
			a, b = differing(a, b)
		}

		before.Elem().Field(i).Set(a)
		after.Elem().Field(i).Set(b)
	}
	return before, after
}

var marshaler = reflect.TypeFor[json.Marshaler]()
