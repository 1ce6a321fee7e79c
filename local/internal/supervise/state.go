package supervise

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sparkoperator/spark-operator/local/internal/proc"
)

// Phase is where a cluster is as a whole.
type Phase string

// The phases, in the order in which a cluster meets them. Failed means that it did not come up; its processes have been ended.
const (
	Starting Phase = "starting"
	Ready    Phase = "ready"
	Failed   Phase = "failed"
	Stopping Phase = "stopping"
)

// Status is where one component is.
type Status string

// The statuses of a component. A ready one has answered its health check since its last start; a restarting one is dead and waits out its
// backoff.
const (
	ComponentStarting   Status = "starting"
	ComponentReady      Status = "ready"
	ComponentRestarting Status = "restarting"
	ComponentStopped    Status = "stopped"
)

// State is what the supervisor tells everybody else, in the file state.json of the cluster's directory.
type State struct {
	// Supervisor is the process that writes the file: a state whose supervisor is gone is history.
	Supervisor proc.ID `json:"supervisor"`
	Phase      Phase   `json:"phase"`
	// Error says why the cluster failed, over several lines when it quotes a log.
	Error string `json:"error,omitempty"`
	// Steps are the finished steps of the start, in order.
	Steps      []Step           `json:"steps,omitempty"`
	Components []ComponentState `json:"components,omitempty"`
}

// Step is one finished part of the start.
type Step struct {
	Name string `json:"name"`
	// Seconds is how long it took; steps may overlap.
	Seconds float64 `json:"seconds"`
}

// ComponentState is what is known of one component.
type ComponentState struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	// PID is its process id, 0 when it does not run.
	PID int `json:"pid,omitempty"`
	// Since is when it entered this status.
	Since time.Time `json:"since"`
	// Restarts counts its starts after the first.
	Restarts int `json:"restarts,omitempty"`
	// LastExit says how its last run ended; empty when it never did.
	LastExit string `json:"lastExit,omitempty"`
	// Log is the path of its log file.
	Log string `json:"log"`
}

// StateFile is the path of a cluster's state file.
func StateFile(dir string) string { return filepath.Join(dir, "state.json") }

// ReadState returns the state in a cluster's directory. The error is fs.ErrNotExist when no cluster was ever started there.
func ReadState(dir string) (State, error) {
	var state State
	b, err := os.ReadFile(StateFile(dir))
	if err != nil {
		return state, fmt.Errorf("state of the cluster: %w", err)
	}
	if err := json.Unmarshal(b, &state); err != nil {
		return state, fmt.Errorf("state of the cluster: %s: %w", StateFile(dir), err)
	}
	return state, nil
}

// writeState replaces the file in one step, since readers poll it.
func writeState(dir string, state State) error {
	b, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return fmt.Errorf("state of the cluster: %w", err)
	}
	path := StateFile(dir)
	if err := os.WriteFile(path+".new", append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("state of the cluster: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("state of the cluster: %w", err)
	}
	return nil
}
