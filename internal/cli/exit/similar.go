package exit

import (
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Similar returns up to three arguments for objects whose names are similar to the given name, the most similar
// first.
func Similar(objects []client.Object, name, namespace string) (near []string) {
	type candidate struct {
		text     string
		distance int
	}

	var all []candidate
	for _, object := range objects {
		distance := 2 * Distance(name, object.GetName())
		if strings.HasPrefix(object.GetName(), name) {
			distance = min(distance, 2)
		}

		text := object.GetName()
		if object.GetNamespace() != namespace {
			text += " -n " + object.GetNamespace()
			distance++
		}

		if distance <= max(2, len(name)) {
			all = append(all, candidate{text, distance})
		}
	}

	slices.SortStableFunc(all, func(a, b candidate) int { return a.distance - b.distance })

	for _, c := range all {
		if !slices.Contains(near, c.text) && len(near) < 3 {
			near = append(near, c.text)
		}
	}
	return near
}

// Distance returns the smallest number of letters to insert, remove or replace to turn a into b.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}

	for i := range len(a) {
		before := row[0]

		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost = 1 + min(before, row[j], row[j+1])
			}

			before, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
