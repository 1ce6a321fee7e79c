// Package wire converts objects to and from the API server's protobuf encoding, for tests of code that reads the bytes.
package wire

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// codec knows the types that the caches decode.
var codec = func() runtime.Serializer {
	kinds := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(kinds))
	utilruntime.Must(metav1.AddMetaToScheme(kinds))
	return protobuf.NewSerializer(kinds, kinds)
}()

// Encode returns an object as the API server sends it.
func Encode(t testing.TB, object runtime.Object) []byte {
	t.Helper()

	var out bytes.Buffer
	if err := codec.Encode(object, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Decode returns the object that a client decodes from these bytes.
func Decode(t testing.TB, object []byte) runtime.Object {
	t.Helper()

	out, _, err := codec.Decode(object, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
