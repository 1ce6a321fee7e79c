// Package ledger has the verbs of sparkctl that add up and compare runs: usage, runs and advise. They read the custom
// resources that still exist, and the records of runs that were kept (source.go).
package ledger

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kept"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/cli/stage"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/record/run"
	"github.com/sparkoperator/spark-operator/internal/record/store"
)

// Commands returns the verbs of this package.
func Commands(streams terminal.Streams) []*cobra.Command {
	return []*cobra.Command{usageCommand(streams), runsCommand(streams), adviseCommand(streams)}
}

// source reads runs.
type source struct {
	terminal.Streams
	store string
	now   time.Time
}

func (s *source) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&s.store, "store", os.Getenv(kept.StoreVariable), "`URL` of the object store with the records, as the operator's configuration has it in logs[].store (environment: "+kept.StoreVariable+"); default: "+
		"those in the statuses of applications, and ConfigMaps")
}

// wanted selects runs.
type wanted struct {
	namespace string // empty: all
	group     string // the name of a schedule or of an application; empty: all
	selector  labels.Selector
	clusters  bool      // SparkClusters count as runs
	since     time.Time // runs that ended before are left out; zero: none
	last      int       // the largest number of records of a group; 0: no limit
}

func (w *wanted) selects(r *run.Record) bool {
	if r.Kind == kinds.SparkCluster.Kind && !w.clusters {
		return false // an application may have the same name
	}
	return (w.group == "" || r.Group() == w.group) && (w.selector == nil || w.selector.Matches(labels.Set(r.Labels))) && (r.Ended.IsZero() || !r.Ended.Before(w.since))
}

// runs returns the selected runs, the last started first. Custom resources that exist have precedence over records.
func (s *source) runs(ctx context.Context, c *kube.Client, w wanted) ([]*run.Record, error) {
	of := []*kinds.Kind{kinds.SparkApplication, kinds.ApacheApplication, kinds.SparkConnect}
	if w.clusters {
		of = append(of, kinds.SparkCluster)
	}

	objects, notes, err := c.List(ctx, kube.Query{Namespace: w.namespace, Kinds: of})
	if err != nil {
		return nil, err
	}

	var found []*run.Record
	if s.store == "" {
		var left []string

		found, left = s.fromPlaces(ctx, objects, w)
		notes = append(notes, left...)

		if w.namespace == "" && len(found) > 0 {
			notes = append(notes, "records of namespaces without an application are not read; --store names a store that is read for all namespaces")
		}
	}

	all, more, err := s.with(ctx, c, w, objects, found)
	if err != nil {
		return nil, err
	}

	for _, note := range append(notes, more...) {
		fmt.Fprintln(s.Err, terminal.Wrap("note: ", note, s.Width))
	}
	return all, nil
}

// with returns the selected runs of custom resources and of records, and notes about omitted ones. The argument found
// has records that were read before.
func (s *source) with(ctx context.Context, c *kube.Client, w wanted, objects []client.Object, found []*run.Record) (all []*run.Record, notes []string, _ error) {
	namespaces := map[string]bool{w.namespace: w.namespace != ""}

	for _, object := range objects {
		if r := run.Of(object, s.now); r != nil {
			all = append(all, r)
			namespaces[r.Namespace] = true
		}
	}

	kept, notes, err := s.records(ctx, c, w, namespaces)
	if err != nil {
		return nil, nil, err
	}

	all = run.Merge(slices.Concat(all, kept, found))
	return slices.DeleteFunc(all, func(r *run.Record) bool { return !w.selects(r) }), notes, nil
}

// records returns the records that were kept.
func (s *source) records(ctx context.Context, c *kube.Client, w wanted, namespaces map[string]bool) (found []*run.Record, notes []string, _ error) {
	if s.store == "" {
		return s.fromConfigMaps(ctx, c, w)
	}

	opened, err := store.OpenBucket(ctx, s.store, stage.Hints("--store"))
	if err != nil {
		return nil, nil, exit.With(exit.Usage, err)
	}
	defer func() { _ = opened.Close() }()

	if w.namespace == "" {
		notes = s.addNamespaces(ctx, c, namespaces)
	}

	for namespace, in := range namespaces {
		if !in {
			continue
		}

		records, skipped, err := readBucket(ctx, opened, namespace, w)
		if err != nil {
			return nil, nil, err
		}

		found, notes = append(found, records...), append(notes, skipped...)
	}
	return found, notes, nil
}

// addNamespaces adds the namespaces of the cluster. Records are found by namespace, because a store without a listing
// of folders would list all logs.
func (s *source) addNamespaces(ctx context.Context, c *kube.Client, namespaces map[string]bool) (notes []string) {
	names, err := c.Namespaces(ctx)
	if err != nil {
		return []string{fmt.Sprintf("only records of namespaces with applications are read, because the namespaces cannot be listed: %v", c.Explain(err))}
	}

	for _, name := range names {
		namespaces[name] = true
	}
	return nil
}

// readBucket returns the records of a namespace.
func readBucket(ctx context.Context, b *store.Bucket, namespace string, w wanted) (found []*run.Record, notes []string, _ error) {
	prefix := namespace + "/" + store.Runs + "/"
	if w.group != "" {
		prefix += w.group + "/"
	}

	keys := map[string][]string{} // by group, in the order of the ends of the runs
	for object, err := range b.List(ctx, prefix) {
		if err != nil {
			return nil, nil, err
		}

		group := path.Base(path.Dir(object.Key))
		if ended, known := run.EndOf(object.Key); known && !ended.Before(w.since) {
			keys[group] = append(keys[group], object.Key)
		}
	}

	for group, ofGroup := range keys {
		if w.last > 0 {
			ofGroup = ofGroup[max(len(ofGroup)-w.last, 0):]
		}

		for _, key := range ofGroup {
			text, err := b.Read(ctx, key, run.MaxSize)
			if err != nil {
				return nil, nil, err
			}

			r, err := run.Decode(text, namespace, group)
			if err != nil {
				notes = append(notes, fmt.Sprintf("%s is left out: %v", key, err))
				continue
			}

			found = append(found, r)
		}
	}
	return found, notes, nil
}

// fromConfigMaps returns the records that ConfigMaps of schedules and applications have.
func (s *source) fromConfigMaps(ctx context.Context, c *kube.Client, w wanted) (found []*run.Record, notes []string, _ error) {
	at := "/api/v1/configmaps"
	if w.namespace != "" {
		at = "/api/v1/namespaces/" + w.namespace + "/configmaps"
	}

	var list corev1.ConfigMapList
	for read := 0; ; {
		text, err := c.Raw(ctx, at, "labelSelector", run.GroupLabel, "limit", strconv.Itoa(mapsOfPage), "continue", list.Continue)

		list = corev1.ConfigMapList{}
		if err == nil {
			err = utiljson.Unmarshal(text, &list)
		}

		if err != nil {
			return nil, []string{fmt.Sprintf("only applications that exist are shown, because the ConfigMaps with records cannot be read: %v", c.Explain(err))}, nil
		}

		records, left := recordsIn(&list)
		found, notes = append(found, records...), append(notes, left...)

		if read += len(text); list.Continue == "" {
			return found, notes, nil
		} else if read > maxMaps {
			return found, append(notes, fmt.Sprintf("the ConfigMaps with records have more than %d MiB, and the rest is left out", maxMaps>>20)), nil
		}
	}
}

// mapsOfPage is the number of ConfigMaps that one request reads, and maxMaps the largest size of those that are read.
const (
	mapsOfPage = 20
	maxMaps    = 64 << 20
)

// recordsIn returns the records in ConfigMaps, and a note about each that is left out.
func recordsIn(list *corev1.ConfigMapList) (found []*run.Record, notes []string) {
	for i := range list.Items {
		maps := &list.Items[i]
		for _, key := range run.Keys(maps.Data) {
			r, err := run.Decode([]byte(maps.Data[key]), maps.Namespace, "")
			if err != nil {
				notes = append(notes, fmt.Sprintf("%s of the ConfigMap %s is left out: %v", key, maps.Name, err))
				continue
			}

			found = append(found, r)
		}
	}
	return found, notes
}

// amounts returns the cells of a table for sums: core-hours, GiB-hours, GPU-hours and cost.
func amounts(u statusv1.UsageSums) []string {
	return []string{screen.Hours(u.CPUMillicoreSeconds, 1000), screen.Hours(u.MemoryMiBSeconds, 1024), screen.Hours(u.GPUSeconds, 1), screen.Cost(u.CostNanos)}
}

// write prints a text, whose characters are safe for a terminal.
func write(out io.Writer, text string) error {
	_, err := io.WriteString(out, strings.TrimRight(text, "\n")+"\n")
	return err
}
