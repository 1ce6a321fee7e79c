package dependents

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestViewIsNotChanged checks that a new fact or object leads to a new view and leaves the old one unchanged, even if a
// list has spare capacity.
func TestViewIsNotChanged(t *testing.T) {
	pods := func(names ...string) []corev1.Pod {
		list := make([]corev1.Pod, 0, 10)
		for _, name := range names {
			list = append(list, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		return list
	}
	roomy := make([]client.Object, 0, 10)
	first := View{Set: Set{Drivers: pods("d1")}, Created: roomy,
		Seen: lifecycle.Observed{Drivers: make([]lifecycle.Driver, 1, 10)}}
	second := first.Add(Set{Drivers: pods("d2")}, []client.Object{&corev1.ConfigMap{}})
	third := first.Add(Set{Drivers: pods("d3")}, nil)

	learned := first.WithFact(func(seen *lifecycle.Observed) {
		seen.Drivers[0].MissingConfigMap, seen.Confirmed = true, true
		seen.Drivers = append(seen.Drivers, lifecycle.Driver{})
	})
	if len(first.Set.Drivers) != 1 || len(first.Created) != 0 || first.Seen.Confirmed ||
		first.Seen.Drivers[0].MissingConfigMap {
		t.Errorf("the view was changed: %+v", first)
	}

	if second.Set.Drivers[1].Name != "d2" || third.Set.Drivers[1].Name != "d3" || len(second.Created) != 1 ||
		len(third.Created) != 0 {
		t.Errorf("two views have each other's: %+v, %+v", second.Set, third.Set)
	}

	if !learned.Seen.Confirmed || len(learned.Seen.Drivers) != 2 || !learned.Seen.Drivers[0].MissingConfigMap {
		t.Errorf("the fact is missing: %+v", learned.Seen)
	}

	if having := second.Deletable(); len(having) != 3 {
		t.Errorf("%d dependents may be deleted", len(having))
	}
}

func TestAccountOf(t *testing.T) {
	named := corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1"}, Spec: corev1.PodSpec{ServiceAccountName: "spark"}}

	set := Set{Drivers: []corev1.Pod{named, {ObjectMeta: metav1.ObjectMeta{UID: "2"}}}}
	for uid, want := range map[string]string{"1": "spark", "2": "default", "3": "default"} {
		if got := set.AccountOf(uid); got != want {
			t.Errorf("of %s: %s, want %s", uid, got, want)
		}
	}
}
