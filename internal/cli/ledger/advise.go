package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/dialect/usage"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/record/run"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

const (
	// afterOOM is the factor by which the memory of pods grows that were killed for their memory.
	afterOOM = 1.5
	// headroom is the factor from the largest sampled memory to the proposed request. Samples miss short peaks.
	headroom = 1.25
	// tight and loose are the parts of the request above and below which the sampled memory leads to a proposal.
	tight, loose = 0.9, 0.6
	// minSampled is the number of runs with samples from which less is proposed.
	minSampled = 3
	// idleCPU is the part of the requested CPU below which less is proposed, and cpuHeadroom is the factor from the mean
	// of the used CPU to that request. A mean hides the stages in which a pod uses more.
	idleCPU, cpuHeadroom = 0.5, 1.5
	// busyCPU is the part of the requested CPU above which the pods count as busy.
	busyCPU = 0.9
	// cpuStep is the step of proposed requests of CPU, in thousandths of a CPU.
	cpuStep = 50
)

// finding is what the last runs show about the pods of a role.
type finding struct {
	role      string
	requested int64 // MiB of the largest pod of the last run
	peak      int64 // MiB in the samples of all runs; 0 without samples
	sampled   int   // runs with samples
	killed    int   // runs in which a pod was killed for its memory
	proposed  int64 // MiB; 0 if the request is right or unknown

	cpuRequested int64 // thousandths of a CPU of the largest pod of the last run
	cpuUsed      int64 // the mean of the used CPU of a pod, in the run in which it was largest
	cpuProposed  int64 // 0 if the request is right or unknown
}

// judge returns what the last runs show about the driver or the executors. The last run is the first in the list.
func judge(role string, runs []*run.Record, pods func(*run.Record) (run.Pods, string)) finding {
	f := finding{role: role}
	for _, r := range runs {
		of, reason := pods(r)
		if f.requested == 0 {
			f.requested = of.Requested.MemoryMiB
		}

		f.cpuRequested = cmp.Or(f.cpuRequested, of.Requested.CPUMillicores)

		if of.Sampled.Count > 0 {
			f.sampled++
			f.peak = max(f.peak, of.Sampled.PeakMemoryMiB)
			f.cpuUsed = max(f.cpuUsed, usage.MeanCPU(of.Sampled))
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

	if f.sampled >= minSampled && float64(f.cpuUsed) < float64(f.cpuRequested)*idleCPU {
		less := (int64(float64(f.cpuUsed)*cpuHeadroom) + cpuStep) / cpuStep * cpuStep
		if less < f.cpuRequested {
			f.cpuProposed = less
		}
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

// cpu returns the finding about the CPU as a sentence; empty without samples.
func (f finding) cpu() string {
	if f.sampled == 0 || f.cpuRequested == 0 {
		return ""
	}

	text := fmt.Sprintf("%s: requested %dm of CPU, used at most %dm on average in the samples of %s", f.role, f.cpuRequested, f.cpuUsed, bounds.Count(f.sampled, "run"))

	switch {
	case f.cpuProposed > 0:
		return text + fmt.Sprintf("; request about %dm", f.cpuProposed)
	case float64(f.cpuUsed) > float64(f.cpuRequested)*busyCPU:
		return text + "; the pods are busy, so more cores may make the run faster"
	}
	return text + "; that fits"
}

// String returns the finding about the memory as a sentence.
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
		Short: "Propose other requests of memory and CPU, from what the last runs used",
		Long: "Compares the requested memory and CPU with what the last 30 runs of a schedule or of an application used, and prints a\n" +
			"patch. It changes nothing. The use is known if the operator takes samples of the metrics API (docs/usage.md).",
		Example: "  sparkctl advise nightly\n" +
			"  sparkctl advise nightly > patch.yaml && kubectl patch scheduledsparkapp nightly --type merge --patch-file patch.yaml",
	}

	return ofGroup(cmd, src, func(ctx context.Context, c *kube.Client, argument string, runs []*run.Record) error {
		all := findings(runs)
		for _, f := range all {
			fmt.Fprintln(src.Err, terminal.Wrap("", f.String(), src.Width))

			if text := f.cpu(); text != "" {
				fmt.Fprintln(src.Err, terminal.Wrap("", text, src.Width))
			}
		}

		if !slices.ContainsFunc(all, func(f finding) bool { return f.proposed+f.cpuProposed > 0 }) {
			return nil
		}

		object, err := c.Find(ctx, argument)
		if err != nil {
			return fmt.Errorf("there is no patch, because the object was not found: %w", err)
		}

		whole, notes := patch(object, all)
		for _, note := range notes {
			fmt.Fprintln(src.Err, terminal.Wrap("note: ", note, src.Width))
		}

		if len(whole) == 0 {
			return nil
		}

		text, err := screen.Encode(whole, "yaml")
		if err != nil {
			return err
		}
		return write(src.Out, string(text))
	})
}

// patch returns a merge patch with the proposed memory and CPU, and notes about proposals that the patch leaves out.
//
// The patch changes the heap by the same factor as the pod, because the memory outside the heap is usually a part of
// it. The patch changes the request of CPU and not the number of cores, because that is also the number of tasks that
// run at the same time.
func patch(object client.Object, all []finding) (whole map[string]any, notes []string) {
	whole = map[string]any{}
	for _, f := range all {
		at, known := placesOf(object, f.role)
		if !known {
			continue
		}

		if f.cpuProposed > 0 {
			set(whole, at.cpu, fmt.Sprintf("%dm", f.cpuProposed))
		}

		if f.proposed == 0 {
			continue
		}

		factor := float64(f.proposed) / float64(f.requested)

		heap, reason := at.heapOf(f.requested)
		if reason != "" {
			notes = append(notes, fmt.Sprintf("the patch leaves out the memory of the %s, because %s; set %s to about %.2f times the heap of the last run", f.role, reason, fieldText(at.memory), factor))
			continue
		}

		set(whole, at.memory, fmt.Sprintf("%dm", max(int64(float64(heap)*factor), 1)))
	}
	return whole, notes
}

// set sets a field of a patch.
func set(at map[string]any, field []string, value string) {
	for _, name := range field[:len(field)-1] {
		if at[name] == nil {
			at[name] = map[string]any{}
		}

		at = at[name].(map[string]any)
	}

	at[field[len(field)-1]] = value
}

// fieldText returns the path of a field as messages name it.
func fieldText(field []string) string {
	path, name := strings.Join(field[:len(field)-1], "."), field[len(field)-1]
	if strings.HasSuffix(path, ".sparkConf") {
		return path + "[" + name + "]"
	}
	return path + "." + name
}

// places has the fields of a custom resource from which the requests of a role's pods follow.
type places struct {
	memory []string // the field with the heap
	heap   string   // its value; empty if the custom resource does not set it
	cpu    []string // the field with the requested CPU
}

// placesOf returns the fields of a role. The typed field of the heap takes precedence over its key in sparkConf.
func placesOf(object client.Object, role string) (at places, known bool) {
	var (
		typed     *string
		sparkConf map[string]string
	)

	spec, name := []string{"spec"}, role

	switch o := object.(type) {
	case *v1beta2.SparkApplication:
		typed, sparkConf = map[string]*string{"driver": o.Spec.Driver.Memory, "executor": o.Spec.Executor.Memory}[role], o.Spec.SparkConf
		at.cpu = []string{"spec", role, "coreRequest"}
	case *v1beta2.ScheduledSparkApplication:
		spec = []string{"spec", "template"}
		typed, sparkConf = map[string]*string{"driver": o.Spec.Template.Driver.Memory, "executor": o.Spec.Template.Executor.Memory}[role], o.Spec.Template.SparkConf
		at.cpu = []string{"spec", "template", role, "coreRequest"}
	case *v1alpha1.SparkConnect:
		typed, sparkConf = o.Spec.Executor.Memory, o.Spec.SparkConf
		if role == "driver" {
			typed, name = o.Spec.Server.Memory, "server"
		}
	case *sparkv1.SparkApplication:
		sparkConf, name = o.Spec.SparkConf, ""
	default:
		return places{}, false
	}

	if at.cpu == nil {
		at.cpu = append(slices.Clone(spec), "sparkConf", "spark.kubernetes."+role+".request.cores")
	}

	key := "spark." + role + ".memory"
	at.memory, at.heap = append(slices.Clone(spec), "sparkConf", key), sparkConf[key]

	switch {
	case typed != nil && *typed != "":
		at.memory, at.heap = append(spec, name, "memory"), *typed
	case name != "" && at.heap == "":
		at.memory = append(spec, name, "memory")
	}
	return at, true
}

// defaultHeap is Spark's default of spark.driver.memory and spark.executor.memory in MiB, and defaultFactors are its
// defaults of spark.kubernetes.memoryOverheadFactor: for a JVM, and for Python and R.
const defaultHeap = 1024

var defaultFactors = []float64{0.1, 0.4}

// heapOf returns the heap in MiB of pods with the given request, or the reason why it is unknown. A custom resource
// does not have the heap that comes from the platform's defaults. A patch that is computed from Spark's default instead
// would shrink such a heap.
func (at places) heapOf(requested int64) (heap int64, reason string) {
	if at.heap == "" {
		isDefault := func(factor float64) bool {
			return requested == defaultHeap+max(int64(factor*defaultHeap), submit.LeastOverhead)
		}
		if !slices.ContainsFunc(defaultFactors, isDefault) {
			return 0, fmt.Sprintf("the custom resource does not set the heap, and %d MiB is not the request of a pod with Spark's default (1g), so the heap may come from the platform's defaults", requested)
		}
		return defaultHeap, ""
	}

	size, err := conf.ParseSize(at.heap, conf.MiB)
	heap = size / int64(conf.MiB)

	switch {
	case err != nil:
		return 0, fmt.Sprintf("the heap %q is not a plain size", at.heap)
	case heap > requested:
		return 0, fmt.Sprintf("the heap %q is larger than the whole request of the last run, so it was changed since then", at.heap)
	}
	return heap, ""
}
