package auxiliary

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// TestFailedRevertIsRetried checks that a pass which cannot revert an edit requests the next try itself, because no
// other event may come.
func TestFailedRevertIsRetried(t *testing.T) {
	owner := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "pi", UID: "u"}}
	service := metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: "s", UID: "s", ResourceVersion: "7",
			Labels: map[string]string{identity.AppUIDLabel: "u", identity.AttemptLabel: "1"},
		},
	}

	k := Keeper{Memory: &Memory{}}
	k.Memory.NoteEdit(types.NamespacedName{Namespace: "n", Name: "pi"}, &service)

	service.ResourceVersion = "8"
	view := dependents.View{Owner: owner, Set: dependents.Set{Others: []metav1.PartialObjectMetadata{service}},
		Now: noon}
	unrendered := errors.New("no such volume")
	got := k.Revert(t.Context(), view,
		Launch{Object: owner, Attempt: 1, At: noon,
			Render: func(client.Object, lifecycle.Action, time.Time) (submit.Objects, error) {
				return submit.Objects{Driver: &corev1.Pod{}}, unrendered
			}})

	if diff := cmp.Diff(Reverted{Failures: []error{unrendered}, RequeueAfter: EditInterval}, got,
		cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) })); diff != "" {
		t.Error(diff)
	}
}
