package supervise

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sparkoperator/spark-operator/local/internal/proc"
)

// Phase is the state of a whole cluster.
type Phase string

// The phases of a cluster. A start begins in phase Starting and ends in phase Ready or Failed. In phase Failed the
// start has failed and the components are stopped.
const (
	Starting Phase = "starting"
	Ready    Phase = "ready"
	Failed   Phase = "failed"
	Stopping Phase = "stopping"
)

// Status is the state of a component.
type Status string

// The statuses of a component. A component is ready if it has passed its health check since its last start. It is
// restarting if it has ended and its next start waits for the end of the backoff.
const (
	ComponentStarting   Status = "starting"
	ComponentReady      Status = "ready"
	ComponentRestarting Status = "restarting"
	ComponentStopped    Status = "stopped"
)

// State is the supervisor's report to other processes. It is stored in the file state.json in the cluster's directory.
type State struct {
	// Supervisor is the process that writes the file. If that process has ended, the state is outdated.
	Supervisor proc.ID `json:"supervisor"`
	Phase      Phase   `json:"phase"`
	// Error is the reason why the cluster failed. If it quotes a log, it has several lines.
	Error string `json:"error,omitempty"`
	// Steps are the finished steps of the start, in the order in which they finished.
	Steps      []Step           `json:"steps,omitempty"`
	Components []ComponentState `json:"components,omitempty"`
}

// Step is a finished part of the start.
type Step struct {
	Name string `json:"name"`
	// Seconds is the duration of the step. Steps may overlap.
	Seconds float64 `json:"seconds"`
}

// ComponentState describes a component.
type ComponentState struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	// PID is the component's process ID; 0 if it does not run.
	PID int `json:"pid,omitempty"`
	// Since is the time of the last change of the component's state.
	Since time.Time `json:"since"`
	// Restarts is the number of times that the component has ended and was scheduled for a restart.
	Restarts int `json:"restarts,omitempty"`
	// LastExit describes the end of the component's last run; empty if it has never ended.
	LastExit string `json:"lastExit,omitempty"`
	// Log is the path of the component's log.
	Log string `json:"log"`
}

// StateFile returns the path of a cluster's state file.
func StateFile(dir string) string { return filepath.Join(dir, "state.json") }

// ReadState returns the state in a cluster's directory. The error is fs.ErrNotExist if there is no state file.
func ReadState(dir string) (State, error) {
	var state State

	b, err := os.ReadFile(StateFile(dir))
	if err != nil {
		return state, fmt.Errorf("read the cluster's state: %w", err)
	}

	if err := json.Unmarshal(b, &state); err != nil {
		return state, fmt.Errorf("read the cluster's state %s: %w", StateFile(dir), err)
	}
	return state, nil
}

// writeState replaces the state file atomically, because other processes poll the file.
func writeState(dir string, state State) error {
	b, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return fmt.Errorf("write the cluster's state: %w", err)
	}

	path := StateFile(dir)
	if err := os.WriteFile(path+".new", append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the cluster's state: %w", err)
	}

	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write the cluster's state: %w", err)
	}
	return nil
}
