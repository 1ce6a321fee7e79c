package act

import (
	"maps"
	"sync"
	"time"
)

// onceLifetime is for how long the result of a request is kept for its repetitions.
const onceLifetime = 10 * time.Minute

// once makes requests with equal keys take effect once, such as those of a double click.
type once[T any] struct {
	mu    sync.Mutex
	calls map[string]*call[T]
}

// call is a request that has been made, or is being made.
type call[T any] struct {
	at     time.Time
	result func() (T, error)
}

// do calls the function, or returns the result of the call with the same key. Only a success is kept, so a repetition
// after a failure is a new call. Without a key, every call is new.
func (o *once[T]) do(key string, act func() (T, error)) (T, error) {
	if key == "" {
		return act()
	}

	o.mu.Lock()
	maps.DeleteFunc(o.calls, func(_ string, c *call[T]) bool { return time.Since(c.at) > onceLifetime })

	c := o.calls[key]
	if c == nil {
		c = &call[T]{time.Now(), sync.OnceValues(act)}
		o.calls[key] = c
	}
	o.mu.Unlock()

	result, err := c.result()
	if err != nil {
		o.mu.Lock()
		maps.DeleteFunc(o.calls, func(_ string, other *call[T]) bool { return other == c })
		o.mu.Unlock()
	}
	return result, err
}
