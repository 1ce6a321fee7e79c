package localpath

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func claimOf(annotations map[string]string) *corev1.PersistentVolumeClaim {
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "data", UID: "1234", Annotations: annotations},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Resources:   corev1.VolumeResourceRequirements{Requests: size},
		},
	}
}

func TestProvisionerWaitsForItsNode(t *testing.T) {
	p := &provisioner{node: "n"}

	wait, immediate := storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	for _, tt := range []struct {
		name string
		mode *storagev1.VolumeBindingMode
		node string
		want bool
	}{
		{"waits for a pod", &wait, "", false},
		{"its pod goes to our node", &wait, "n", true},
		{"its pod goes elsewhere", &wait, "m", false},
		{"at once", &immediate, "", true},
		{"no mode means at once", nil, "", true},
	} {
		pvc := claimOf(map[string]string{selectedNode: tt.node})
		if got := p.due(pvc, &storagev1.StorageClass{VolumeBindingMode: tt.mode}); got != tt.want {
			t.Errorf("%s: due() = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestVolumeIsNamedByTheClaimsUID(t *testing.T) {
	p := &provisioner{node: "n", dir: "/volumes"}
	retain := corev1.PersistentVolumeReclaimRetain

	pv := p.render(claimOf(nil),
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, ReclaimPolicy: &retain})
	if pv.Name != "pvc-1234" || pv.Spec.Local.Path != "/volumes/pvc-1234" {
		t.Errorf("volume %s is %s: both must come from the claim's UID", pv.Name, pv.Spec.Local.Path)
	}

	if pv.Spec.PersistentVolumeReclaimPolicy != retain || pv.Spec.StorageClassName != "fast" ||
		pv.Annotations[provisionedBy] != Name {
		t.Errorf("volume is %+v", pv)
	}

	if diff := cmp.Diff(claimOf(nil).Spec.AccessModes, pv.Spec.AccessModes); diff != "" {
		t.Errorf("access modes (-claim +volume):\n%s", diff)
	}

	if got := pv.Spec.Capacity[corev1.ResourceStorage]; got.String() != "1Gi" {
		t.Errorf("capacity %v", got.String())
	}

	want := &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "team", Name: "data",
		UID: "1234"}
	if diff := cmp.Diff(want, pv.Spec.ClaimRef); diff != "" {
		t.Errorf("claim (-want +got):\n%s", diff)
	}

	expression := pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0]
	if expression.Key != corev1.LabelHostname || len(expression.Values) != 1 || expression.Values[0] != "n" {
		t.Errorf("the volume may be used on %v", expression)
	}

	if pv := p.render(claimOf(nil),
		&storagev1.StorageClass{}); pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		t.Errorf("without a policy, the volume's end is %s", pv.Spec.PersistentVolumeReclaimPolicy)
	}
}
