package scenario

import "fmt"

// Plans are what can be measured, by name.
func Plans() map[string][]Step { return map[string][]Step{"quick": quick(), "full": full()} }

// Plan is a plan by its name.
func Plan(name string) ([]Step, error) {
	steps, ok := Plans()[name]
	if !ok {
		return nil, fmt.Errorf("no plan %q; there are quick and full", name)
	}
	return steps, nil
}

// quick is small enough for a check of each change: it holds that everything can be measured, and ratios within the run.
func quick() []Step { return []Step{} }

// full is what docs/performance.md is written from.
func full() []Step { return []Step{} }
