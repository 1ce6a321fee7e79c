package cluster

import (
	"context"
	"path/filepath"
)

// pauseName is the image that holds a pod's namespaces.
const pauseName = "localhost/pause:1"

func pauseImage(_ context.Context, cache string) (string, error) {
	return filepath.Join(cache, "dev", "pause.tar"), nil
}
