// Package budget carries the budget of memory of a request in the request's context. So the code that reads large
// answers needs no user and no session.
package budget

import (
	"context"
	"errors"
)

// ErrSpent is the error for an answer that is not read because the budget is spent.
var ErrSpent = errors.New("too many large answers are read at the same time")

type key struct{}

// With returns a context with a budget. The function take adds a number of bytes to what the request holds, or reports
// false if that would be too much.
func With(ctx context.Context, take func(bytes int64) bool) context.Context {
	return context.WithValue(ctx, key{}, take)
}

// Take takes a number of bytes of the budget, which the request holds until its end. Without a budget, it does nothing.
func Take(ctx context.Context, bytes int64) error {
	if take, ok := ctx.Value(key{}).(func(int64) bool); ok && !take(bytes) {
		return ErrSpent
	}
	return nil
}
