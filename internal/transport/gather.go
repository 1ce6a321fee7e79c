package transport

import (
	"context"
	"net"
	"time"
)

// gathering is a connection of which nothing is read for a while after all was read that had come: what comes meanwhile is read together. Each event that is read by
// itself wakes a chain of goroutines, and takes a core from the API server where they share one; an event that comes after silence waits for nothing.
type gathering struct {
	net.Conn
	pause   time.Duration
	drained bool // by the last read
	read    time.Time
}

// Read implements net.Conn. As for each connection below HTTP, there is one reader.
func (c *gathering) Read(p []byte) (int, error) {
	if c.drained {
		time.Sleep(c.pause - time.Since(c.read))
	}
	n, err := c.Conn.Read(p)
	c.drained, c.read = n < len(p), time.Now()
	return n, err
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
		return &gathering{Conn: c, pause: pause}, nil
	}
}
