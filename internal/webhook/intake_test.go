package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/webhook/certs"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// answerTimeout is how long the API server waits for an answer with the chart's default values.
const answerTimeout = 5 * time.Second

// serveIntake starts the operator's server with the handler of all webhooks, and returns its address.
func serveIntake(t *testing.T) string {
	t.Helper()

	var reviewers []*Reviewer
	for _, kind := range configured.Admission(nil) {
		reviewers = append(reviewers, &Reviewer{Kind: kind})
	}

	handler, err := Handler(reviewers, &Executors{Log: logr.Discard()}, nil)
	if err != nil {
		t.Fatal(err)
	}

	files := &certs.Files{Dir: t.TempDir(), Serving: &certs.Serving{}, Log: logr.Discard()}

	chain, key, err := certs.Issue([]string{"hook.ns.svc"}, time.Now(), time.Hour)
	if err := errors.Join(err, os.WriteFile(filepath.Join(files.Dir, "tls.crt"), chain, 0o600),
		os.WriteFile(filepath.Join(files.Dir, "tls.key"), key, 0o600)); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)

	go func() { _ = files.Start(ctx) }()

	kit.Wait(t, "the certificate", func(context.Context) error { return files.Serving.Ready(nil) })

	server, err := NewServer("127.0.0.1:0", handler, files.Serving, 0)
	if err != nil {
		t.Fatal(err)
	}

	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()

	t.Cleanup(func() {
		cancel()

		_ = server.server.Close() // the clients of these tests do not end by themselves

		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return server.listener.Addr().String()
}

var unverified = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // a test's own server

// dialFrom connects to a server from a local address.
func dialFrom(ctx context.Context, from, to string) (net.Conn, error) {
	return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(ctx, "tcp", to)
}

// createExecutor sends the review of an executor pod from 127.0.0.1 over a connection of its own, as the API server
// does.
func createExecutor(t *testing.T, address string) error {
	ctx, cancel := context.WithTimeout(t.Context(), answerTimeout)
	defer cancel()

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: unverified, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialFrom(ctx, "127.0.0.1", address)
		}}}

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+ExecutorPath,
		strings.NewReader(executorReview))
	if err != nil {
		return err
	}

	req.Header.Set("Content-Type", "application/json")

	answer, err := client.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()

	if body, err := io.ReadAll(answer.Body); err != nil || !bytes.Contains(body, []byte(`"allowed":true`)) {
		return fmt.Errorf("%s %s %w", answer.Status, body, err)
	}
	return nil
}

const executorReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","namespace":"jobs","operation":"CREATE",
"resource":{"version":"v1","resource":"pods"},"object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"exec"},"spec":{"containers":[{"name":"spark-kubernetes-executor","image":"spark"}]}}}}`

// begin sends the headers of a request over TLS, and the first part of its body.
func begin(conn net.Conn, path string, length int, part []byte) (*tls.Conn, error) {
	secure := tls.Client(conn, unverified)
	_, err := fmt.Fprintf(secure,
		"POST %s HTTP/1.1\r\nHost: hook\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path,
		length, part)
	return secure, err
}

// TestClientsThatOccupyTheWebhook opens many connections that send nothing, little, slowly, or a lot, from the address
// of the API server and from another one. The API server must still get its answer for an executor in time.
//
// Requests used to take a slot before they were read, so 8 slow clients stopped the webhook, and 64 for 80 seconds.
func TestClientsThatOccupyTheWebhook(t *testing.T) {
	large := bytes.Repeat([]byte(" "), 1<<20)

	attacks := map[string]func(conn net.Conn) (net.Conn, error){
		"nothing": func(conn net.Conn) (net.Conn, error) { return conn, nil },
		"a TLS handshake": func(conn net.Conn) (net.Conn, error) {
			secure := tls.Client(conn, unverified)
			return secure, secure.Handshake()
		},
		"headers":        func(conn net.Conn) (net.Conn, error) { return begin(conn, ExecutorPath, 1000, nil) },
		"half a request": func(conn net.Conn) (net.Conn, error) { return begin(conn, ExecutorPath, 1000, []byte("{")) },
		"half a large request": func(conn net.Conn) (net.Conn, error) {
			return begin(conn, ExecutorPath, 6<<20, large)
		},
		"a review with a long answer that they do not read": func(conn net.Conn) (net.Conn, error) {
			body := fmt.Appendf(nil, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":%q}}`, bytes.Repeat([]byte("u"), 6<<20))
			return begin(conn, ExecutorPath, len(body), body)
		},
		"half a review": func(conn net.Conn) (net.Conn, error) {
			return begin(conn, Path(configured.Admission(nil)[0].GVK()), 1000, []byte("{"))
		},
	}
	for name, attack := range attacks {
		for _, from := range []string{"127.0.0.1", "127.0.0.2"} {
			sizes := []int{64, 500}
			switch {
			case name == "half a request":
				sizes = append(sizes, maxConnections+100)
			case strings.Contains(name, "long answer"):
				sizes = sizes[:1]
			}

			for _, n := range sizes {
				t.Run(fmt.Sprintf("%d clients at %s send %s", n, from, name), func(t *testing.T) {
					address := serveIntake(t)

					var group atomic.Int32
					for range n {
						conn, err := dialFrom(t.Context(), from, address)
						if err != nil {
							t.Fatal(err)
						}

						t.Cleanup(func() { conn.Close() })

						if _, err := attack(conn); err == nil { // an error: the server has closed this one already
							group.Add(1)
						}
					}

					if group.Load() < 30 {
						t.Fatalf("only %d clients could send", group.Load())
					}

					for range 3 {
						if err := createExecutor(t, address); err != nil {
							t.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// TestMemoryOfUnansweredRequests checks that the server ends requests that together hold more than maxHeld, and keeps
// the ones that fit.
func TestMemoryOfUnansweredRequests(t *testing.T) {
	address := serveIntake(t)
	const size, clients = 4 << 20, 20

	var ended atomic.Int32
	for range clients {
		conn, err := dialFrom(t.Context(), "127.0.0.2", address)
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { conn.Close() })
		go func() {
			secure, err := begin(conn, ExecutorPath, maxBytes-1, bytes.Repeat([]byte(" "), size))
			if err == nil {
				_, err = secure.Read(make([]byte, 1)) // an answer or an end, before the request is complete
			}

			if t.Context().Err() == nil && !errors.Is(err, net.ErrClosed) {
				ended.Add(1)
			}
		}()
	}
	const fit = maxHeld / size
	kit.Wait(t, "the server to end requests", func(context.Context) error {
		if n := ended.Load(); n < clients-fit {
			return fmt.Errorf("%d of %d requests have ended", n, clients)
		}
		return nil
	})

	if err := createExecutor(t, address); err != nil {
		t.Error(err)
	}

	if n := ended.Load(); n > clients-fit+1 {
		t.Errorf("%d requests have ended, although %d fit", n, fit)
	}
}

// TestBound plays sequences of growing and released shares.
func TestBound(t *testing.T) {
	type step struct {
		client string // its first letter is its address
		grow   int    // 0: release
	}
	for _, test := range []struct {
		name    string
		steps   []step
		dropped string
	}{
		{"at the limit", []step{{"a1", 6}, {"b1", 4}}, ""},
		{"the oldest of one address", []step{{"a1", 5}, {"a2", 5}, {"a3", 1}}, "a1 "},
		{"the largest of one address", []step{{"a1", 4}, {"a2", 5}, {"a3", 2}}, "a2 "},
		{"the address that holds most", []step{{"b1", 4}, {"a1", 3}, {"a2", 3}, {"b2", 1}}, "a1 "},
		{"one that grows itself", []step{{"a1", 4}, {"b1", 8}}, "b1 "},
		{"several at once", []step{{"a1", 3}, {"a2", 3}, {"a3", 4}, {"b1", 4}}, "a3 "},
		{"a released one does not count", []step{{"a1", 9}, {"a1", 0}, {"b1", 9}}, ""},
		{"a released one is the youngest if it grows again",
			[]step{{"a1", 5}, {"a2", 5}, {"a1", 0}, {"a1", 5}, {"a3", 5}}, "a2 "},
		{"a dropped one cannot grow", []step{{"a1", 11}, {"a1", 11}, {"b1", 9}}, "a1 "},
	} {
		b, shares, dropped := &bound{limit: 10}, map[string]*share{}, ""
		for _, s := range test.steps {
			if shares[s.client] == nil {
				shares[s.client] = &share{bound: b, address: s.client[:1], drop: func() { dropped += s.client + " " }}
			}

			if s.grow == 0 {
				shares[s.client].release()
			} else if err := shares[s.client].grow(s.grow); (err != nil) != shares[s.client].dropped {
				t.Errorf("%s: %s: %v", test.name, s.client, err)
			}

			sum := 0
			for _, s := range shares {
				sum += s.size
			}

			if b.held > b.limit || b.held != sum {
				t.Errorf("%s: %d are held, the shares have %d", test.name, b.held, sum)
			}
		}

		if dropped != test.dropped {
			t.Errorf("%s: %q were dropped, want %q", test.name, dropped, test.dropped)
		}
	}
}

// TestAddressesTakeTurns checks that a client waits for one request of each other address, however many they have, and
// that requests whose clients went away neither get a slot nor lose one.
func TestAddressesTakeTurns(t *testing.T) {
	s, ctx := newSlots(1), t.Context()
	if !s.take(ctx, "first") {
		t.Fatal("a free slot is not given")
	}

	order := make(chan string, 1000)
	queue := func(ctx context.Context, address string) {
		s.mu.Lock()
		before := len(s.waiting[address])

		s.mu.Unlock()
		go func() {
			if s.take(ctx, address) {
				order <- address
			}
		}()

		kit.Wait(t, "the request to wait", func(context.Context) error {
			s.mu.Lock()
			defer s.mu.Unlock()

			if len(s.waiting[address]) == before {
				return errors.New("it does not wait")
			}
			return nil
		})
	}

	gone, leave := context.WithCancel(ctx)
	for range 20 {
		queue(ctx, "flood")
		queue(gone, "gone")
	}

	queue(ctx, "api")
	leave()

	got := ""
	for range 21 {
		s.give()

		got += <-order + " "
	}

	if want := "flood api " + strings.Repeat("flood ", 19); got != want {
		t.Errorf("the order is %q, want %q", got, want)
	}

	s.give()

	if !s.take(ctx, "last") || len(s.turns) > 0 || s.free != 0 {
		t.Errorf("the slot is lost: %d are free, %d addresses wait", s.free, len(s.turns))
	}
}
