package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/kept"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/stage"
	"github.com/sparkoperator/spark-operator/internal/record/run"
	"github.com/sparkoperator/spark-operator/internal/record/store"
)

const (
	// placesOfNamespace is the largest number of stores of a namespace that are read without --store. A namespace has two
	// if the platform has changed the store.
	placesOfNamespace = 2
	// placeTimeout bounds how long a store is read that the user has not named.
	placeTimeout = 30 * time.Second
)

// place is a store that the status of a custom resource names, and the namespace whose records it has.
type place struct{ store, namespace string }

// placesIn returns the stores that the statuses of custom resources name, of each namespace the last ones. The operator
// writes the records of a namespace into the store of its logs. A tenant may have written a status, so the rules of
// kept.StoreOf apply. The notes are about places that only the user can confirm.
func placesIn(objects []client.Object) (found []place, notes []string) {
	last := slices.SortedFunc(slices.Values(objects), func(a, b client.Object) int {
		return b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time)
	})
	count, noted := map[string]int{}, map[string]bool{}

	for _, object := range last {
		o, namespace := kube.OperatorStatus(object), object.GetNamespace()
		if o == nil || o.Logs == nil || o.Logs.Place == "" || strings.HasPrefix(o.Logs.Place, "configmap/") {
			continue
		}

		url, err := kept.StoreOf(o.Logs.Place, store.Attempt{Namespace: namespace, Name: object.GetName(), UID: object.GetUID()})
		if err != nil {
			if !noted[namespace] {
				notes = append(notes, fmt.Sprintf("%s may have records in a store that is not read: %v", kube.Title(object), err))
			}

			noted[namespace] = true

			continue
		}

		if next := (place{url, namespace}); !slices.Contains(found, next) && count[namespace] < placesOfNamespace {
			found = append(found, next)
			count[namespace]++
		}
	}
	return found, notes
}

// fromPlaces returns the records in the stores that the statuses of custom resources name. An error is only a note,
// because the user has not named the store.
func (s *source) fromPlaces(ctx context.Context, objects []client.Object, w wanted) (found []*run.Record, notes []string) {
	places, notes := placesIn(objects)
	defer stage.Quiet()()

	for _, p := range places {
		records, left, err := readPlace(ctx, p, w)
		if err != nil {
			notes = append(notes, fmt.Sprintf("the records of namespace %s are not read: %v", p.namespace, err))
			continue
		}

		found, notes = append(found, records...), append(notes, left...)
	}
	return found, notes
}

func readPlace(ctx context.Context, p place, w wanted) (found []*run.Record, notes []string, _ error) {
	ctx, cancel := context.WithTimeout(ctx, placeTimeout)
	defer cancel()

	opened, err := store.OpenBucket(ctx, p.store, stage.Hints("--store"))
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = opened.Close() }()

	return readBucket(ctx, opened, p.namespace, w)
}
