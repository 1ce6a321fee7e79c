package controller

import (
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// How often at most a status is written for its crowd alone (Kind.Crowd): a thousand executors that come, run and go are three thousand events, and each
// write is of the whole object, to the store and to everybody who watches.
const (
	pace      = time.Second
	pacedSlow = 2 * time.Second // with more than manyOfThem, whose status is large
	// manyOfThem is the number of executors from which on the slower pace holds.
	manyOfThem = 200
)

// paces remembers when a status was last written for its crowd alone.
type paces struct {
	memory[types.NamespacedName, time.Time]
}

// rest is how long such a write is to wait, of an object of so many executors; 0 = not at all.
func (p *paces) rest(key types.NamespacedName, now time.Time, executors int) time.Duration {
	every := pace
	if executors > manyOfThem {
		every = pacedSlow
	}
	last, known := p.get(key)
	if since := now.Sub(last); known && since >= 0 && since < every {
		return every - since
	}
	return 0
}

// ofTheCrowd reports whether a pass has nothing to store but what its executors are at, and nothing else to tell. Whatever else there is takes that along
// at once. A shortage that begins is not put off: its time counts from the pass that saw it.
func (r *Reconciler[T]) ofTheCrowd(p *pass[T], patch []byte) bool {
	if len(r.kind.Crowd) == 0 || len(p.plan.Trail)+len(p.told)+len(p.warnings)+len(p.made) > 0 || p.hindered != nil ||
		p.plan.Next.ShortSince.Equal(p.now) || slices.ContainsFunc(p.plan.Tell, r.pressing) {
		return false
	}
	var change map[string]any
	if err := json.Unmarshal(patch, &change); err != nil {
		return false
	}
	status, _ := change["status"].(map[string]any)
	return len(status) > 0 && within(status, "", r.kind.Crowd)
}

// pressing reports whether something is to be told at once. What a pass tells that is put off, the next tells: of executors that failed none is lost
// meanwhile (ends).
func (r *Reconciler[T]) pressing(n lifecycle.Notice) bool {
	return !r.kind.CrowdNews || n.Part != lifecycle.Executors || n.Waits
}

// within reports whether a merge patch changes nothing but what lies at the paths, such as "operator.executors".
func within(patch map[string]any, at string, paths []string) bool {
	for key, value := range patch {
		path := at + key
		if slices.Contains(paths, path) {
			continue
		}
		if inner, ok := value.(map[string]any); !ok || len(inner) == 0 || !within(inner, path+".", paths) {
			return false
		}
	}
	return true
}
