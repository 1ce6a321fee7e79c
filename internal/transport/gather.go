package transport

import (
	"context"
	"net"
	"time"
)

// gathering is a connection of which nothing is read for a while after all was read that had come: what comes meanwhile is read together. Each event that is read by
// itself wakes a chain of goroutines, and takes a core from the API server where they share one; after silence reading begins at once.
//
// Not so while much comes, which is a cache that is filled: for as long as the reader paused the sender could send no more than the connection's windows hold.
type gathering struct {
	net.Conn
	pause   time.Duration
	begun   time.Time
	drained bool      // by the last read
	read    time.Time // the last time

	since     time.Time // when the bytes that are counted began to come
	come, was int       // as many in this while and in the one before, each as long as a pause
}

const (
	// beginning is how long a connection is read as it comes, when it is made: until hands are shaken, and lists asked for.
	beginning = 2 * time.Second
	// much is more than comes in one pause of the events of some thousand executors that begin or end each minute.
	much = 512 << 10
)

// Read implements net.Conn. As for each connection below HTTP, there is one reader.
func (c *gathering) Read(p []byte) (int, error) {
	if c.drained && max(c.come, c.was) < much && c.read.Sub(c.begun) >= beginning {
		time.Sleep(c.pause - time.Since(c.read))
	}
	n, err := c.Conn.Read(p)
	c.drained, c.read = n < len(p), time.Now()
	c.count(n)
	return n, err
}

// count counts what has come.
func (c *gathering) count(n int) {
	switch past := c.read.Sub(c.since); {
	case past >= 2*c.pause:
		c.since, c.come, c.was = c.read, 0, 0
	case past >= c.pause:
		c.since, c.come, c.was = c.read, 0, c.come
	}
	c.come += n
}

// dialer opens connections.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// gather has connections gather what comes for as long as pause.
func (d dialer) gather(pause time.Duration) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &gathering{Conn: c, pause: pause, begun: time.Now()}, nil
	}
}
