package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

// counter is a writer that counts bytes.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// compressedSize returns the size that an image would have in a registry, where all layers are compressed with gzip.
// The image is a docker-archive tar.
func compressedSize(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()

	var total counter
	for archive := tar.NewReader(f); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return int64(total), nil
		}

		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}

		if header.Typeflag != tar.TypeReg {
			continue
		}

		if err := addCompressed(&total, archive); err != nil {
			return 0, fmt.Errorf("%s: %s: %w", path, header.Name, err)
		}
	}
}

// addCompressed adds the compressed size of a file to total. It compresses the file unless it is already compressed.
func addCompressed(total *counter, file io.Reader) error {
	in := bufio.NewReader(file)
	if magic, err := in.Peek(2); err == nil && bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		_, err := io.Copy(total, in)
		return err
	}

	out := gzip.NewWriter(total)
	_, err := io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// operatorResident returns the operator's resident memory in bytes. It reads the operator's own metrics through the API
// server.
func operatorResident(ctx context.Context, c *cluster.Cluster) (int64, error) {
	var pods corev1.PodList

	err := c.Client.List(ctx, &pods, client.InNamespace(cluster.Namespace), client.MatchingLabels{"app.kubernetes.io/component": "controller"})
	if err != nil || len(pods.Items) != 1 {
		return 0, errors.Join(err, fmt.Errorf("the operator has %d pods, but the measurement needs exactly one", len(pods.Items)))
	}

	text, err := c.Core.CoreV1().Pods(cluster.Namespace).ProxyGet("http", pods.Items[0].Name, "8080", "/metrics", nil).DoRaw(ctx)
	if err != nil {
		return 0, err
	}
	return sample(text, "process_resident_memory_bytes")
}

// sample returns the value of a metric that has no labels. The input is in Prometheus' text format.
func sample(text []byte, metric string) (int64, error) {
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, metric+" "); ok {
			f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return int64(f), err
		}
	}
	return 0, fmt.Errorf("the operator's metrics do not contain %s", metric)
}
