package cluster

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Request is what is read of an audit.k8s.io/v1 Event: one request to the API server, as far as it was answered.
type Request struct {
	// Stage is ResponseComplete, and for a watch ResponseStarted before that.
	Stage          string
	StageTimestamp time.Time
	User           struct{ Username string }
	Verb           string
	ObjectRef      struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	ResponseStatus struct{ Code int }
	Annotations    map[string]string
}

// Done says whether the request was answered to its end, and with success.
func (r Request) Done() bool { return r.Stage == "ResponseComplete" && r.ResponseStatus.Code/100 == 2 }

// Decision is what the API server's authorizer said: allow or forbid, or nothing where it was not asked.
func (r Request) Decision() string { return r.Annotations["authorization.k8s.io/decision"] }

// ReadAudit calls each for every line of an audit log, in the order of the answers. What has no line end yet is still being written.
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
