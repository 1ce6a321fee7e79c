package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// writes counts successful writing requests, by "verb resource[/subresource]".
type writes map[string]int

func (w writes) total() int {
	n := 0
	for _, c := range w {
		n += c
	}
	return n
}

// of counts the writes of one kind.
func (w writes) of(verb, resource string) int { return w[verb+" "+resource] }

func (w writes) kinds() []string { return slices.Sorted(maps.Keys(w)) }

// auditEvent is what is read of an audit.k8s.io/v1 Event.
type auditEvent struct {
	Stage          string
	Verb           string
	UserAgent      string
	StageTimestamp time.Time
	ObjectRef      struct{ Resource, Subresource, Namespace string }
	ResponseStatus struct{ Code int }
}

// audited counts the writes in a namespace since a moment, of the user agents that are asked for.
func (w *world) audited(since time.Time, agent func(string) bool, namespace string) (writes, error) {
	f, err := os.Open(filepath.Join(w.dir, "audit.log"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return countWrites(f, func(e auditEvent) bool {
		return e.StageTimestamp.After(since) && e.ObjectRef.Namespace == namespace && agent(e.UserAgent)
	})
}

// countWrites counts the completed, successful writing requests that are wanted.
func countWrites(in io.Reader, want func(auditEvent) bool) (writes, error) {
	counts := writes{}
	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return counts, nil // what has no line end yet is still being written
		}
		if err != nil {
			return nil, err
		}
		var e auditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, err
		}
		if e.Stage != "ResponseComplete" || e.ResponseStatus.Code >= 300 || !slices.Contains([]string{"create", "update", "patch", "delete"}, e.Verb) || !want(e) {
			continue
		}
		counts[e.Verb+" "+strings.TrimSuffix(e.ObjectRef.Resource+"/"+e.ObjectRef.Subresource, "/")]++
	}
}
