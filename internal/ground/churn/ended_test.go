package churn

import (
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func pod(number int) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pi-exec-" + strconv.Itoa(number), UID: types.UID(strconv.Itoa(number))}}
}

// TestEndsAreBounded checks that noted executors are forgotten when they are counted or their application is deleted,
// and that their number is bounded.
func TestEndsAreBounded(t *testing.T) {
	t.Parallel()
	var e Ended
	key := func(i int) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: strconv.Itoa(i)} }
	failed, gone := endsOf{"ns", false}, endsOf{"ns", true}

	for i := range maxEnds + 10 {
		end := End{Pod: pod(i)}
		e.Note(key(i%7), end)
		e.Note(key(i%7), end) // noting it twice has no effect
		e.Note(key(i%7), End{Pod: end.Pod, Gone: true})
	}

	held := 0
	for i := range 7 {
		held += len(e.Of(key(i)))
	}

	if held != maxEnds+10 || e.held[failed] != maxEnds || e.held[gone] != 10 { // the last ten are known only as deleted
		t.Errorf("%d held, said to be %v, want %d", held, e.held, maxEnds)
	}

	for i := range maxGone {
		e.Note(key(7), End{Pod: pod(i), Gone: true})
	}

	if got := e.Of(key(7)); len(got) != maxGone-10 || e.held[gone] != maxGone {
		t.Errorf("%d are held that are gone, said to be %v, want %d", len(got), e.held, maxGone)
	}

	e.Forget(key(7))
	first := slices.DeleteFunc(e.Of(key(0)), func(e2 End) bool { return e2.Gone })
	e.Counted(key(0), first[:3])
	e.Counted(key(0), first[:3])

	if e.held[failed] != maxEnds-3 {
		t.Errorf("of %d, %v are held", len(first), e.held)
	}

	e.Counted(key(0), first)

	for i := 1; i < 7; i++ {
		e.Forget(key(i))
	}

	e.Forget(key(0))

	if len(e.held) != 0 || len(e.keys) != 0 {
		t.Errorf("%v are held still: %v", e.held, e.keys)
	}
}

// TestEndsOfOthersStay checks that the executors of a namespace are still remembered, however many executors fail in
// other namespaces.
func TestEndsOfOthersStay(t *testing.T) {
	t.Parallel()

	var e Ended
	for i := range 20 * maxEnds {
		key := types.NamespacedName{Namespace: "busy-" + strconv.Itoa(i%10), Name: "app"}
		e.Note(key, End{Pod: pod(i)})
	}

	if all := e.held[endsOf{}]; all != allEnds*maxEnds {
		t.Errorf("%d of all namespaces are remembered, want %d", all, allEnds*maxEnds)
	}

	calm := types.NamespacedName{Namespace: "calm", Name: "app"}
	for i := range maxEnds {
		e.Note(calm, End{Pod: pod(i)})
	}

	if own := len(e.Of(calm)); own != maxEnds/ownEnds {
		t.Errorf("%d of another namespace are remembered, want %d", own, maxEnds/ownEnds)
	}
}
