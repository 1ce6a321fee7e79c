package console

import (
	"context"
	"sync"
	"time"

	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

const (
	// settingsLifetime is for how long the operator's configuration is used before it is read again.
	settingsLifetime = 30 * time.Second
	// settingsTimeout bounds a read.
	settingsTimeout = 5 * time.Second
)

// settings keeps the configuration of the operator, from which explanations and rendered objects follow.
type settings struct {
	read func(context.Context) (config.Configuration, error)

	mu    sync.Mutex
	at    time.Time            // of the last read
	found config.Configuration // at first the defaults
	err   error
}

// operator returns the operator with its present configuration. If the configuration cannot be read, it returns the
// last one, or else the defaults, with the error.
func (s *settings) operator(ctx context.Context) (preview.Operator, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.read != nil && time.Since(s.at) >= settingsLifetime {
		s.readAgain(ctx)
	}
	return preview.Operator{Config: s.found}, s.err
}

// readAgain reads the configuration. Other requests share the result, so the read outlasts the request that started it.
func (s *settings) readAgain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settingsTimeout)
	defer cancel()

	found, err := s.read(ctx)
	if s.at, s.err = time.Now(), err; err == nil {
		s.found = found
	}
}
