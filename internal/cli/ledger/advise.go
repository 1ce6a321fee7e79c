package ledger

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/record/run"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

const (
	// afterOOM is the factor by which the memory of pods grows that were killed for their memory.
	afterOOM = 1.5
	// headroom is the factor from the largest sampled memory to the proposed request. Samples miss short peaks.
	headroom = 1.25
	// tight and loose are the parts of the request above and below which the sampled memory leads to a proposal.
	tight, loose = 0.9, 0.6
	// minSampled is the number of runs with samples from which less memory is proposed.
	minSampled = 3
)

// finding is what the last runs show about the pods of a role.
type finding struct {
	role      string
	requested int64 // MiB of the largest pod of the last run
	peak      int64 // MiB in the samples of all runs; 0 without samples
	sampled   int   // runs with samples
	killed    int   // runs in which a pod was killed for its memory
	proposed  int64 // MiB; 0 if the request is right or unknown
}

// judge returns what the last runs show about the driver or the executors. The last run is the first in the list.
func judge(role string, runs []*run.Record, pods func(*run.Record) (run.Pods, string)) finding {
	f := finding{role: role}
	for _, r := range runs {
		of, reason := pods(r)
		if f.requested == 0 {
			f.requested = of.Requested.MemoryMiB
		}

		if of.Sampled.Count > 0 {
			f.sampled++
			f.peak = max(f.peak, of.Sampled.PeakMemoryMiB)
		}

		if reason == lifecycle.ReasonOOMKilled && of.Requested.MemoryMiB >= f.requested {
			f.killed++
		}
	}

	request, peak := float64(f.requested), float64(f.peak)
	switch {
	case f.requested == 0:
	case f.killed > 0:
		f.proposed = int64(max(request*afterOOM, peak*headroom))
	case f.sampled > 0 && peak > request*tight, f.sampled >= minSampled && peak < request*loose:
		f.proposed = int64(peak * headroom)
	}
	return f
}

// findings returns what the last runs show about the driver and the executors.
func findings(runs []*run.Record) []finding {
	return []finding{
		judge("driver", runs, func(r *run.Record) (run.Pods, string) { return r.Driver, r.Reason }),
		judge("executor", runs, func(r *run.Record) (run.Pods, string) { return r.Executors, r.ExecutorReason }),
	}
}

// String returns the finding as a sentence.
func (f finding) String() string {
	text := fmt.Sprintf("%s: requested %d MiB of memory", f.role, f.requested)
	if f.sampled > 0 {
		text += fmt.Sprintf(", used at most %d MiB in the samples of %s", f.peak, bounds.Count(f.sampled, "run"))
	}

	if f.killed > 0 {
		text += ", killed for its memory in " + bounds.Count(f.killed, "run")
	}

	switch {
	case f.requested == 0:
		return f.role + ": no run has shown its requests"
	case f.proposed > 0:
		return text + fmt.Sprintf("; request about %d MiB", f.proposed)
	case f.sampled == 0:
		return text + "; no run has samples of the used memory, so nothing shows whether less is enough"
	}
	return text + "; that fits"
}

func adviseCommand(streams terminal.Streams) *cobra.Command {
	src := &source{Streams: streams}
	cmd := &cobra.Command{
		Use:   "advise NAME|KIND/NAME",
		Short: "Propose other requests of memory, from what the last runs used",
		Long: "Compares the requested memory with what the last 30 runs of a schedule or of an application used, and prints a patch. It\n" +
			"changes nothing. The memory that runs used is known if the operator takes samples of the metrics API (docs/usage.md).",
		Example: "  sparkctl advise nightly\n" +
			"  sparkctl advise nightly > patch.yaml && kubectl patch schedsparkapp nightly --type merge --patch-file patch.yaml",
	}

	return ofGroup(cmd, src, func(ctx context.Context, c *kube.Client, argument string, runs []*run.Record) error {
		all := findings(runs)
		for _, f := range all {
			fmt.Fprintln(src.Err, terminal.Wrap("", f.String(), src.Width))
		}

		if !slices.ContainsFunc(all, func(f finding) bool { return f.proposed > 0 }) {
			return nil
		}

		object, err := c.Find(ctx, argument)
		if err != nil {
			return fmt.Errorf("there is no patch, because the object was not found: %w", err)
		}

		text, err := screen.Encode(patch(object, all), "yaml")
		if err != nil {
			return err
		}
		return write(src.Out, string(text))
	})
}

// patch returns a merge patch with the proposed memory. It changes the heap by the same factor as the pod, because the
// memory outside the heap is usually a part of it.
func patch(object client.Object, all []finding) map[string]any {
	whole := map[string]any{}
	for _, f := range all {
		field, now := memoryField(object, f.role)

		size, err := conf.ParseSize(now, conf.MiB)
		if f.proposed == 0 || field == nil || err != nil {
			continue
		}

		at := whole
		for _, name := range field[:len(field)-1] {
			if at[name] == nil {
				at[name] = map[string]any{}
			}

			at = at[name].(map[string]any)
		}

		heap := float64(size) / float64(conf.MiB) * float64(f.proposed) / float64(f.requested)
		at[field[len(field)-1]] = fmt.Sprintf("%dm", max(int64(heap), 1))
	}
	return whole
}

// memoryField returns the field with the memory of a role's heap, and its value or Spark's default.
func memoryField(object client.Object, role string) (field []string, value string) {
	or := func(text *string) string {
		if text == nil {
			return "1g"
		}
		return *text
	}
	switch o := object.(type) {
	case *v1beta2.SparkApplication:
		return []string{"spec", role, "memory"}, or(map[string]*string{"driver": o.Spec.Driver.Memory, "executor": o.Spec.Executor.Memory}[role])
	case *v1beta2.ScheduledSparkApplication:
		return []string{"spec", "template", role, "memory"}, or(map[string]*string{"driver": o.Spec.Template.Driver.Memory, "executor": o.Spec.Template.Executor.Memory}[role])
	case *v1alpha1.SparkConnect:
		if role == "driver" {
			return []string{"spec", "server", "memory"}, or(o.Spec.Server.Memory)
		}
		return []string{"spec", role, "memory"}, or(o.Spec.Executor.Memory)
	case *sparkv1.SparkApplication:
		key := "spark." + role + ".memory"
		if text, set := o.Spec.SparkConf[key]; set {
			return []string{"spec", "sparkConf", key}, text
		}
		return []string{"spec", "sparkConf", key}, "1g"
	}
	return nil, ""
}
