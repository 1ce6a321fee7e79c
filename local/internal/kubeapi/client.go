// Package kubeapi sends sparklocal's few requests to the API server and to the health ports of the other components. It
// does not use client-go, so that sparklocal compiles in seconds.
package kubeapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Client sends requests to one server as one user.
type Client struct {
	base string
	http *http.Client
}

// StatusError is a response with a status outside the 2xx range.
type StatusError struct {
	// Code is the HTTP status.
	Code int
	// Body is the start of the response body.
	Body string
}

func (e *StatusError) Error() string { return fmt.Sprintf("status %d: %s", e.Code, e.Body) }

// New returns a client of the server at base, which is a URL without a path. The scheme of base must be https, or http
// if config is nil.
func New(base string, config *tls.Config) *Client {
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true, MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second}
	return &Client{base: base, http: &http.Client{Transport: transport, Timeout: 10 * time.Second}}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Get requests a path. Unless out is nil, Get decodes the JSON response into out.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	return c.do(ctx, http.MethodGet, path, nil, out)
}

// Create posts an object to its collection. If the object already exists, Create leaves it unchanged and returns nil,
// because sparklocal never changes its objects.
func (c *Client) Create(ctx context.Context, path string, object any) error {
	err := c.do(ctx, http.MethodPost, path, object, nil)
	if status, ok := errors.AsType[*StatusError](err); ok && status.Code == http.StatusConflict {
		return nil
	}
	return err
}

// DryRun posts an object to its collection without storing it, and decodes the object that the API server would store
// into out. See https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run.
func (c *Client) DryRun(ctx context.Context, path string, object, out any) error {
	return c.do(ctx, http.MethodPost, path+"?dryRun=All", object, out)
}

func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}

		body = bytes.NewReader(b)
	}

	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}

	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}

	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	// The limit is far above the size of any response that sparklocal reads.
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}

	if resp.StatusCode/100 != 2 {
		return &StatusError{Code: resp.StatusCode, Body: string(answer[:min(len(answer), 500)])}
	}

	if out == nil {
		return nil
	}

	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}
