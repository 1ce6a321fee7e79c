package budget_test

import (
	"errors"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/ground/budget"
)

func TestTake(t *testing.T) {
	if err := budget.Take(t.Context(), 1<<40); err != nil {
		t.Errorf("without a budget: %v", err)
	}

	left := int64(10)
	ctx := budget.With(t.Context(), func(n int64) bool {
		if n > left {
			return false
		}

		left -= n
		return true
	})

	if err := budget.Take(ctx, 6); err != nil || left != 4 {
		t.Errorf("%v, %d left", err, left)
	}

	if err := budget.Take(ctx, 6); !errors.Is(err, budget.ErrSpent) || left != 4 {
		t.Errorf("%v, %d left", err, left)
	}
}
