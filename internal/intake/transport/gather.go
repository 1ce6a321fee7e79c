package transport

import (
	"context"
	"net"
	"time"
)

// gathering is a connection that reads events in batches. If the previous read has drained all bytes that had arrived,
// the next read pauses first. Bytes that arrive during the pause are then read together. If nothing has arrived for
// longer than the pause, the next bytes are read at once.
//
// If each event were read by itself, it would wake a chain of goroutines. On a machine that also runs the API server,
// this would cost the API server a whole core.
//
// There is no pause while many bytes arrive, because a cache is being filled then. If the reader paused, the sender
// could send only as much per pause as fits into the connection's window.
type gathering struct {
	net.Conn
	pause   time.Duration
	begun   time.Time
	drained bool      // the last read has read all bytes that had arrived
	read    time.Time // time of the last read

	since          time.Time // when the counted bytes began to arrive
	come, previous int       // bytes in the current and in the previous interval, each one pause long
}

const (
	// beginning is how long a new connection is read without pauses, for handshakes and the first lists.
	beginning = 2 * time.Second
	// much is a number of bytes. If at least as many arrive during a pause, reads stop pausing. A few thousand
	// executors that start or end each minute cause fewer bytes.
	much = 512 << 10
)

// Read implements net.Conn. It must not be called concurrently; HTTP reads a connection with one reader.
func (c *gathering) Read(p []byte) (int, error) {
	if c.drained && max(c.come, c.previous) < much && c.read.Sub(c.begun) >= beginning {
		time.Sleep(c.pause - time.Since(c.read))
	}

	n, err := c.Conn.Read(p)
	c.drained, c.read = n < len(p), time.Now()
	c.count(n)
	return n, err
}

// count adds n bytes to the current interval. It begins a new interval if the current one is over.
func (c *gathering) count(n int) {
	switch past := c.read.Sub(c.since); {
	case past >= 2*c.pause:
		c.since, c.come, c.previous = c.read, 0, 0
	case past >= c.pause:
		c.since, c.come, c.previous = c.read, 0, c.come
	}

	c.come += n
}

// dialer is a function that opens connections.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// gather returns a dialer whose connections are gathering connections with the given pause.
func (d dialer) gather(pause time.Duration) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &gathering{Conn: c, pause: pause, begun: time.Now()}, nil
	}
}
