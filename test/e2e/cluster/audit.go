package cluster

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Request describes one request to the API server and its response. It is the part of an audit.k8s.io/v1 Event that the
// tests read.
type Request struct {
	// Stage is ResponseComplete. A watch logs ResponseStarted first.
	Stage          string
	StageTimestamp time.Time
	User           struct{ Username string }
	Verb           string
	RequestURI     string
	ObjectRef      struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	ResponseStatus struct{ Code int }
	Annotations    map[string]string
}

// Done reports whether the API server completed the request successfully.
func (r Request) Done() bool { return r.Stage == "ResponseComplete" && r.ResponseStatus.Code/100 == 2 }

// DryRun reports whether the request was a dry run, which stores nothing.
func (r Request) DryRun() bool { return strings.Contains(r.RequestURI, "dryRun=") }

// Decision returns the authorizer's decision, which is allow or forbid. It returns an empty string if the API server
// did not query the authorizer.
func (r Request) Decision() string { return r.Annotations["authorization.k8s.io/decision"] }

// ReadAudit reads an audit log and calls the given function with every request, in the order of the responses. It
// ignores an incomplete last line.
func ReadAudit(log io.Reader, each func(Request)) error {
	lines := bufio.NewReaderSize(log, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return err
		}

		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("audit log: %w", err)
		}

		each(r)
	}
}
