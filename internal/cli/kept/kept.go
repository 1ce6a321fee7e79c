// Package kept prints the logs that the operator has kept of attempts whose pods are gone. It reads them with the
// rights of the user: a ConfigMap with those of the kubeconfig, an object store with the user's own cloud credentials.
//
// Everything that it reads may have been written by a tenant. A place in a status counts only if it is that of this
// attempt. A file counts only if the index of the attempt lists it.
package kept

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/podlog"
	"github.com/sparkoperator/spark-operator/internal/cli/stage"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/ground/budget"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/record/store"
)

// StoreVariable is the environment variable with the URL of the store of kept logs and records, the default of --store.
const StoreVariable = "SPARK_LOG_STORE"

// maxExcess is by how many bytes a file may be longer than its index says. The mark in the place of the omitted part
// counts too.
const maxExcess = 64 << 10

// Reader reads the kept logs of one object.
type Reader struct {
	Client *kube.Client
	// ConfigMaps reads the ConfigMaps with logs; nil: the client does.
	ConfigMaps client.Reader
	Object     client.Object
	Store      string // URL of the store; empty: the one in the object's status
	// Shared is true if the program serves several users. Then only logs in ConfigMaps are read, with the rights of the
	// user: an object store would be read with the credentials of the program.
	Shared bool
	Err    io.Writer
	Width  int
}

// Print writes the kept logs that the options select, each line as for a pod. It leaves out the logs of pods whose UIDs
// the argument printed has, and adds those of executors. It reports false if nothing is kept of the attempt.
func (r *Reader) Print(ctx context.Context, o kube.LogOptions, printed map[string]bool, out io.Writer) (bool, error) {
	attempt := r.attempt(o)
	if attempt.Number < 1 {
		return false, nil
	}

	logs, closeLogs, err := r.open(ctx, attempt)
	if logs == nil || err != nil {
		return false, err
	}
	defer closeLogs()

	index, err := logs.Index(ctx, attempt)
	if o := kube.OperatorStatus(r.Object); err != nil && r.Store == "" && (o == nil || o.Logs == nil) {
		return false, nil
	}

	if err != nil {
		return false, exit.With(exit.Cluster, err)
	}

	if o.Executor == "" && (index == nil || index.Driver == nil) {
		if found, err := r.uploaded(ctx, logs, attempt, o, out); found || err != nil {
			return found, err
		}
	}

	if index == nil {
		return false, r.whyNot(ctx, logs, attempt)
	}
	return r.listed(ctx, logs, index, o, printed, out)
}

// listed prints the logs of an index that the options select.
func (r *Reader) listed(ctx context.Context, logs store.Logs, index *store.Index, o kube.LogOptions, printed map[string]bool, out io.Writer) (bool, error) {
	if o.Since > 0 {
		r.note("a kept log has no times of its lines, so --since does not apply")
	}

	if o.Executor != kube.AllExecutors {
		return r.one(ctx, logs, index, o, out)
	}
	return r.all(ctx, logs, index, o, printed, out)
}

// Index returns what is kept of the attempt that the options select; nil if nothing is kept.
func (r *Reader) Index(ctx context.Context, o kube.LogOptions) (*store.Index, error) {
	attempt := r.attempt(o)
	if attempt.Number < 1 {
		return nil, nil
	}

	logs, closeLogs, err := r.open(ctx, attempt)
	if err != nil {
		return nil, err
	}
	defer closeLogs()
	return logs.Index(ctx, attempt)
}

// attempt returns the attempt that the options select. Spark's containers do not restart, so what ran before a
// container is the attempt before.
func (r *Reader) attempt(o kube.LogOptions) store.Attempt {
	s := kube.Summarize(r.Object)

	number := cmp.Or(o.Attempt, s.Attempt)
	if o.Previous {
		number--
	}
	return store.Attempt{Kind: kinds.Of(r.Object).Kind, Namespace: s.Namespace, Name: s.Name, UID: r.Object.GetUID(), Number: number}
}

// one prints one log: of the driver, or of the executor with the id or pod name in the options.
func (r *Reader) one(ctx context.Context, logs store.Logs, index *store.Index, o kube.LogOptions, out io.Writer) (bool, error) {
	f := index.Find(o.Executor)
	if f == nil {
		at := slices.IndexFunc(index.Executors, func(f store.File) bool { return f.Pod == o.Executor })
		if at < 0 {
			return false, nil
		}

		f = &index.Executors[at]
	}

	if f.Missing != "" {
		return false, exit.Errorf(exit.Cluster, "the log of pod %s was not kept: %s", bounds.Line(f.Pod), bounds.Line(f.Missing))
	}
	return true, r.copy(ctx, logs, index.Attempt, f, o.Tail, "", out)
}

// all prints the logs of all executors, one after the other.
func (r *Reader) all(ctx context.Context, logs store.Logs, index *store.Index, o kube.LogOptions, printed map[string]bool, out io.Writer) (found bool, _ error) {
	for i := range index.Executors {
		f := &index.Executors[i]

		prefix := "[" + bounds.Line(f.Pod) + "] "
		switch {
		case printed[string(f.PodUID)]:
			continue
		case f.Missing != "":
			fmt.Fprintf(out, "%slog was not kept: %s\n", prefix, bounds.Line(f.Missing))
		default:
			if err := r.copy(ctx, logs, index.Attempt, f, o.Tail, prefix, out); err != nil {
				fmt.Fprintf(out, "%slog ended: %s\n", prefix, bounds.Line(err.Error()))
			}
		}

		printed[string(f.PodUID)], found = true, true
	}

	if index.Omitted > 0 {
		r.note("the logs of %s were not kept, because there were too many", bounds.Count(int32(index.Omitted), "further executor"))
	}
	return found, nil
}

// copy prints a file that the index lists.
func (r *Reader) copy(ctx context.Context, logs store.Logs, a store.Attempt, f *store.File, tail int64, prefix string, out io.Writer) error {
	if !store.IsOwn(a.Dir() + f.Name) {
		return exit.Errorf(exit.Cluster, "the index of attempt %d lists %q, which is no log of it", a.Number, f.Name)
	}

	in, err := logs.Open(ctx, a, f.Name)
	if err != nil {
		return exit.With(exit.Cluster, err)
	}
	defer func() { _ = in.Close() }()

	text, err := gzip.NewReader(in)
	if err != nil {
		return exit.Errorf(exit.Cluster, "the kept log of pod %s is not readable: %v", bounds.Line(f.Pod), err)
	}

	if f.Truncated() {
		r.note("the log of pod %s had %d bytes, and %d of them are kept", bounds.Line(f.Pod), f.Bytes, f.Kept)
	}

	if f.Partial != "" {
		r.note("the log of pod %s may lack its end: %s", bounds.Line(f.Pod), bounds.Line(f.Partial))
	}

	limited := &io.LimitedReader{R: text, N: max(f.Kept, 0) + maxExcess}
	switch err := r.copyLines(ctx, limited, tail, prefix, out); {
	case errors.Is(err, budget.ErrSpent):
		return exit.Errorf(exit.Cluster, "the kept log of pod %s is not read now: %v; try it again", bounds.Line(f.Pod), err)
	case err != nil:
		return exit.Errorf(exit.Cluster, "the kept log of pod %s is damaged here: %v", bounds.Line(f.Pod), err)
	}

	if limited.N <= 0 {
		return exit.Errorf(exit.Cluster, "the kept log of pod %s is longer than its index says; the rest is not shown", bounds.Line(f.Pod))
	}
	return nil
}

// maxSharedTail is the largest size of the last lines of a log that a program for several users keeps in memory.
const maxSharedTail = 1 << 20

// copyLines writes the last lines of a log.
func (r *Reader) copyLines(ctx context.Context, in io.Reader, tail int64, prefix string, out io.Writer) error {
	most := int64(podlog.MaxTail)
	if r.Shared && tail >= 0 {
		most = maxSharedTail
		if err := budget.Take(ctx, most); err != nil {
			return err
		}
	}
	return podlog.CopyLines(in, tail, most, prefix, out)
}

// whyNot returns an error that says why nothing is kept of an attempt, if that is known.
func (r *Reader) whyNot(ctx context.Context, logs store.Logs, a store.Attempt) error {
	if o := kube.OperatorStatus(r.Object); o != nil && o.Logs != nil && o.Logs.Attempt == a.Number && o.Logs.Message != "" {
		return exit.Errorf(exit.Cluster, "the logs of attempt %d of %s were not kept: %s", a.Number, kube.Title(r.Object), o.Logs.Message)
	}

	kept, err := logs.Attempts(ctx, a)
	if err != nil || len(kept) == 0 {
		return exit.With(exit.Cluster, err)
	}
	return exit.Errorf(exit.Cluster, "no log of attempt %d of %s is kept; there are logs of the attempts %s", a.Number, kube.Title(r.Object), strings.Trim(fmt.Sprint(kept), "[]"))
}

// open opens the place of an attempt's logs; nil if there is none. The caller has to call the second result.
func (r *Reader) open(ctx context.Context, a store.Attempt) (store.Logs, func(), error) {
	place := ""
	if o := kube.OperatorStatus(r.Object); o != nil && o.Logs != nil {
		place = o.Logs.Place
	}

	if r.Store == "" && (place == "" || strings.HasPrefix(place, "configmap/")) {
		if r.ConfigMaps != nil {
			return store.ConfigMaps{Reader: r.ConfigMaps}, func() {}, nil
		}
		return store.ConfigMaps{Reader: r.Client.WithWatch}, func() {}, nil
	}

	if r.Shared {
		return nil, nil, exit.Errorf(exit.Cluster, "the logs are in the object store, which only you can read: %s --attempt %d", kube.Hint("log", r.Object), a.Number)
	}

	at := r.Store
	if at == "" {
		var err error
		if at, err = StoreOf(place, a); err != nil {
			return nil, nil, exit.With(exit.Cluster, err)
		}
	}

	defer stage.Quiet()()

	opened, err := store.OpenBucket(ctx, at, stage.Hints("--store"))
	if err != nil {
		return nil, nil, exit.With(exit.Cluster, err)
	}
	return opened, func() { _ = opened.Close() }, nil
}

// StoreOf returns the URL of the store from the place of an attempt's logs in a status. The place has to be that of an
// attempt of the same object. It must not choose a server or a file of this machine, because a tenant may have written
// it.
func StoreOf(place string, a store.Attempt) (string, error) {
	u, err := url.Parse(place)
	if err != nil || !slices.Contains([]string{"s3", "gs", "azblob"}, u.Scheme) || u.RawQuery != "" || u.User != nil {
		return "", fmt.Errorf("the logs are at %q, which only you can confirm; name the store with --store or %s", place, StoreVariable)
	}

	prefix, _, ok := strings.Cut(place, "/"+a.Resource())
	if !ok {
		return "", errors.New("the status names the logs of another object; name the store with --store or " + StoreVariable)
	}
	return prefix, nil
}

func (r *Reader) note(format string, args ...any) {
	fmt.Fprintln(r.Err, terminal.Wrap("note: ", fmt.Sprintf(format, args...), r.Width))
}
