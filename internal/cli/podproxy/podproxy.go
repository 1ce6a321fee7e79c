// Package podproxy sends requests to Spark's pods through the API server's proxy, with the rights of the user: to the
// web UI of a driver, a Connect server or a master, and to Spark's REST API at the same port.
package podproxy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/ground/budget"
)

// defaultUIPort is the port of Spark's web UI, which serves the REST API, if the pod does not name one.
const defaultUIPort = 4040

// uiPortNames are the names of the web UI's port: in drivers, in Connect servers, and in masters.
var uiPortNames = []string{"spark-ui", "web-ui", "web"}

// UIPort returns the port of the web UI of a driver, a Connect server or a master.
func UIPort(pod *corev1.Pod) int { return kube.PortNamed(pod, defaultUIPort, uiPortNames...) }

// Path returns the path below which the API server passes requests on to a port of a pod.
func Path(pod *corev1.Pod, port int) string {
	return fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:%d/proxy", pod.Namespace, pod.Name, port)
}

// Do sends a request without a body to a port of a pod through the API server, with the rights of the user.
// The target has the path and the query. The caller bounds and closes the body of the answer.
//
// It follows no redirect. The program in the pod would choose the target, and the request has the user's credentials.
func Do(ctx context.Context, c *kube.Client, method string, pod *corev1.Pod, port int, target *url.URL, header http.Header) (*http.Response, error) {
	below := path.Clean("/" + target.Path) // no path leads out of the pod
	if strings.HasSuffix(target.Path, "/") && below != "/" {
		below += "/"
	}

	address, client := c.HTTP()
	address.Path = strings.TrimSuffix(address.Path, "/") + Path(pod, port) + below
	address.RawQuery = target.RawQuery

	request, err := http.NewRequestWithContext(ctx, method, address.String(), nil)
	if err != nil {
		return nil, err
	}

	if header != nil {
		request.Header = header
	}

	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client.Do(request)
}

// maxAnswer is the largest answer of Spark's REST API that is read, and maxRefusal the largest answer about an error.
const (
	maxAnswer  = 16 << 20
	maxRefusal = 64 << 10
)

// maxObjects and maxValues are the largest numbers of JSON objects and of commas in an answer that is read. A decoded
// value takes many times the size of its text, and the author of the pod's program writes the text.
const (
	maxObjects = 100_000
	maxValues  = 1_000_000
)

// ErrTooLarge is the error for an answer that is larger than what Read reads.
var ErrTooLarge = errors.New("the answer is too large")

// Read returns the answer to a GET request for a path and a query to a port of a pod, as Do sends it. If the answer is
// an error of the API server, Read returns this error, which Explain can make readable. The error budget.ErrSpent means
// that the budget of the context is too small for the answer.
func Read(ctx context.Context, c *kube.Client, pod *corev1.Pod, port int, at *url.URL) ([]byte, error) {
	answer, err := Do(ctx, c, http.MethodGet, pod, port, at, http.Header{"Accept": {"application/json"}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()

	if answer.StatusCode != http.StatusOK {
		return nil, refusalOf(answer)
	}

	text, err := readAll(ctx, answer.Body)
	if err == nil && tooLarge(text) {
		err = ErrTooLarge
	}
	return text, err
}

// pieceSize is the number of bytes of an answer that the budget counts at once, and decodedSize what a byte takes with
// its decoded value.
const (
	pieceSize   = 64 << 10
	decodedSize = 2
)

// readAll reads an answer in pieces, each of which the budget of the request counts before it is read.
func readAll(ctx context.Context, body io.Reader) ([]byte, error) {
	var text bytes.Buffer
	for text.Len() <= maxAnswer {
		if err := budget.Take(ctx, decodedSize*pieceSize); err != nil {
			return nil, err
		}

		if _, err := io.CopyN(&text, body, pieceSize); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

func tooLarge(text []byte) bool {
	return len(text) > maxAnswer || bytes.Count(text, []byte("{")) > maxObjects || bytes.Count(text, []byte(",")) > maxValues
}

// refusalOf returns the error in an answer. Answers without a Status are those of the pod.
func refusalOf(answer *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxRefusal))
	if err != nil {
		return err
	}

	var status metav1.Status
	if utiljson.Unmarshal(text, &status) == nil && status.Kind == "Status" {
		status.Code = cmp.Or(status.Code, int32(answer.StatusCode))
		return apierrors.FromObject(&status)
	}
	return fmt.Errorf("the pod answers with the status %s", answer.Status)
}
