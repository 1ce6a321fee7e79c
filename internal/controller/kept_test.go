package controller

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"
)

var wireCodec = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

// sent is an object as the API server sends it.
func sent(t *testing.T, object runtime.Object) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := wireCodec.Encode(object, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// received is what a client decodes.
func received(t *testing.T, object []byte) runtime.Object {
	t.Helper()
	out, _, err := wireCodec.Decode(object, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// anyObjects fills objects with values that an API server could send.
func anyObjects(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.3).NumElements(0, 3).MaxDepth(12).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(int64(c.Intn(1000)), resource.DecimalSI)
		},
		func(m *metav1.Time, c randfill.Continue) { m.Time = time.Unix(int64(c.Intn(1<<30)), 0) },
		func(m *metav1.MicroTime, c randfill.Continue) { m.Time = time.Unix(int64(c.Intn(1<<30)), 0) },
		func(i *intstr.IntOrString, c randfill.Continue) { *i = intstr.FromInt32(int32(c.Intn(1000))) },
		func(s *string, c randfill.Continue) { *s = fmt.Sprintf("s%d", c.Intn(1000)) },
		func(c1 *corev1.PodCondition, c randfill.Continue) {
			c.FillNoCustom(c1)
			all := append([]corev1.PodConditionType{corev1.PodInitialized}, executorConditions...)
			c1.Type = all[c.Intn(len(all))]
		},
		func(e *corev1.EnvVar, c randfill.Continue) {
			c.FillNoCustom(e)
			if c.Intn(4) == 0 {
				e.Name = serverVariable
			}
		},
		func(k *corev1.Container, c randfill.Continue) {
			c.FillNoCustom(k)
			k.Name = []string{driverContainer, executorContainer, "main", "sidecar"}[c.Intn(4)]
		},
		func(m *metav1.ObjectMeta, c randfill.Continue) {
			c.FillNoCustom(m)
			m.Labels, m.Annotations = map[string]string{"other": "x"}, map[string]string{"other": "x"}
			for _, label := range childLabels {
				if c.Intn(2) == 0 {
					m.Labels[label] = fmt.Sprintf("v%d", c.Intn(1000))
				}
			}
			roles := append([]string{roleExecutor, roleServer}, driverRoles...)
			m.Labels[labelRole] = roles[c.Intn(len(roles))]
			for _, annotation := range podAnnotations {
				if c.Intn(2) == 0 {
					m.Annotations[annotation] = fmt.Sprintf("v%d", c.Intn(1000))
				}
			}
		},
	)
}

// TestKeptIsWhatTrimReads: what is left out before a child is decoded would have been dropped after. Whoever has trimPod read another field finds out here that it is
// to be kept.
func TestKeptIsWhatTrimReads(t *testing.T) {
	trimmed := func(t *testing.T, trim func(any) (any, error), in []byte) any {
		t.Helper()
		out, err := trim(received(t, in))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, of := range []struct {
		version, kind string
		make          func() runtime.Object
		trim          func(any) (any, error)
	}{
		{"v1", "Pod", func() runtime.Object { return &corev1.Pod{} }, trimPod},
		{metav1.SchemeGroupVersion.String(), "PartialObjectMetadata", func() runtime.Object { return &metav1.PartialObjectMetadata{} }, trimChild},
		{metav1.SchemeGroupVersion.String(), "PartialObjectMetadata", func() runtime.Object { return &metav1.PartialObjectMetadata{} }, trimMetadata},
	} {
		for seed := range int64(200) {
			object := of.make()
			anyObjects(seed).Fill(object)
			object.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(of.version, of.kind))
			whole := sent(t, object)
			less := kept.Shed(whole)
			if len(less) >= len(whole) {
				t.Fatalf("%s, seed %d: nothing was left out of %d bytes", of.kind, seed, len(whole))
			}
			if diff := cmp.Diff(trimmed(t, of.trim, whole), trimmed(t, of.trim, less)); diff != "" {
				t.Fatalf("%s, seed %d (-decoded whole +decoded less):\n%s", of.kind, seed, diff)
			}
		}
	}
}
