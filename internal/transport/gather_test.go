package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

const gap = 50 * time.Millisecond

// connected is a connection that gathers, and its other end.
func connected(t *testing.T) (near, far net.Conn) {
	t.Helper()
	one, other := net.Pipe()
	near, err := dialer(func(context.Context, string, string) (net.Conn, error) { return one, nil }).gather(gap)(t.Context(), "tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	return near, other
}

// read reads once, and says how long that took.
func read(t *testing.T, c net.Conn, into int) (string, time.Duration) {
	t.Helper()
	began, p := time.Now(), make([]byte, into)
	n, err := c.Read(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(p[:n]), time.Since(began)
}

func TestGathering(t *testing.T) {
	type step struct {
		after time.Duration // before it is sent
		sent  string
		took  time.Duration // to read it from then
	}
	for name, steps := range map[string][]step{
		"after silence at once":          {{0, "a", 0}, {time.Second, "b", 0}},
		"soon after another it waits":    {{0, "a", 0}, {gap / 5, "b", gap * 4 / 5}},
		"each of many waits for itself":  {{0, "a", 0}, {gap / 5, "b", gap * 4 / 5}, {gap / 2, "c", gap / 2}, {gap, "d", 0}},
		"while more has come it is read": {{0, "12345678", 0}, {0, "1234", 0}, {gap / 2, "a", gap / 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := connected(t)
				for i, s := range steps {
					time.Sleep(s.after)
					go func() { _, _ = far.Write([]byte(s.sent)) }()
					if got, took := read(t, near, 8); got != s.sent || took != s.took {
						t.Errorf("step %d: read %q after %v, want %q after %v", i, got, took, s.sent, s.took)
					}
				}
			})
		})
	}
}

// A reader that waits for more hears of the end.
func TestGatheringEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := connected(t)
		go func() { _, _ = far.Write([]byte("a")); _ = far.Close() }()
		read(t, near, 8)
		if _, err := near.Read(make([]byte, 8)); !errors.Is(err, io.EOF) {
			t.Errorf("of a connection that was closed: %v", err)
		}
	})
}

// A connection that cannot be made is the dialer's error.
func TestGatherNoConnection(t *testing.T) {
	refused := errors.New("refused")
	dial := dialer(func(context.Context, string, string) (net.Conn, error) { return nil, refused }).gather(gap)
	if c, err := dial(t.Context(), "tcp", ""); !errors.Is(err, refused) || c != nil {
		t.Errorf("%v, %v", c, err)
	}
}
