package transport

import (
	"context"
	"net"
	"time"
)

// gathering is a connection that pauses reading after all arrived bytes were read. Bytes that arrive during the pause
// are read together. An event that is read by itself wakes a chain of goroutines and takes a core from the API server
// if they share one. After silence, reading begins at once.
//
// There is no pause while many bytes arrive, which means that a cache is being filled. A pausing reader would limit the
// sender to the connection's window.
type gathering struct {
	net.Conn
	pause   time.Duration
	begun   time.Time
	drained bool      // by the last read
	read    time.Time // time of the last read

	since          time.Time // when the counted bytes began to arrive
	come, previous int       // bytes in the current and in the previous interval, each one pause long
}

const (
	// beginning is how long a new connection is read without pauses, for handshakes and the first lists.
	beginning = 2 * time.Second
	// much exceeds the bytes per pause from a few thousand executors that start or end each minute.
	much = 512 << 10
)

// Read implements net.Conn. A connection below HTTP has one reader.
func (c *gathering) Read(p []byte) (int, error) {
	if c.drained && max(c.come, c.previous) < much && c.read.Sub(c.begun) >= beginning {
		time.Sleep(c.pause - time.Since(c.read))
	}
	n, err := c.Conn.Read(p)
	c.drained, c.read = n < len(p), time.Now()
	c.count(n)
	return n, err
}

// count counts the bytes that arrived.
func (c *gathering) count(n int) {
	switch past := c.read.Sub(c.since); {
	case past >= 2*c.pause:
		c.since, c.come, c.previous = c.read, 0, 0
	case past >= c.pause:
		c.since, c.come, c.previous = c.read, 0, c.come
	}
	c.come += n
}

// dialer opens connections.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// gather makes the dialer's connections gather bytes for one pause.
func (d dialer) gather(pause time.Duration) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &gathering{Conn: c, pause: pause, begun: time.Now()}, nil
	}
}
