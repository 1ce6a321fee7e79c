package report

import (
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// words says what figures are, by the names that are in the tables, or that begin those; what fits first counts.
var words = []struct{ name, means string }{
	{"applications a second, from the first creation to the last end", "how many there were, by that time"},
	{figure.Rate, "completed, sustained: the rate of the writes between the tenth and the ninetieth in a hundred, divided by how many an application has; of finished applications from the first creation to the last end"},
	{"applications a minute", "the same, a minute"},
	{figure.CPU, "user and system time of the operator's process, from the first creation until it has been quiet for longer than it puts anything off, by the applications"},
	{figure.Resident, "memory of the operator's process in the end; `peak`: the most since it started; `at rest`: after a forced collection of garbage; `peak of one that stays`: of an operator that is there while a namespace is filled"},
	{figure.Work, "20,000 numbers that are sorted twice a second, at the median: a hint at what the processor was worth meanwhile"},
	{figure.Taken, "by all whose CPU is listed, from the first creation to the last end; 1 is all cores, all the time"},
	{"queue depth", "the most keys that waited in all of the operator's queues whenever its metrics were read"},
	{"creation to driver pod", "from an application's creation to its first driver pod's, both when they were answered"},
	{figure.Launches, "applications with a driver pod, by the time from the first application's creation to the last driver pod's"},
	{"driver event to status", "from a driver's change, that it runs or ended, to the status that tells it, both when they were answered"},
	{"executor event to status", "the same of an executor; its news is put off on purpose"},
	{figure.NoDriver, "up to the end of what is looked at"},
	{figure.NoStatus, "changes of drivers that no status told, likewise"},
	{figure.NoExecutorStatus, "changes of executors that no status told, likewise"},
	{figure.Objects, "pods, Services and ConfigMaps that the operator made, a mean over all applications"},
	{"objects created", "`most of one life`: for the application with the most of them, of those that ended well"},
	{figure.StatusWrites, "the operator's, a mean over all applications"},
	{"status writes", "`most of one life`: as above"},
	{figure.EventWrites, "the operator's, first ones and those that are counted up, a mean over all applications"},
	{"events", "`most of one life`: as above"},
	{figure.OtherWrites, "the operator's of anything else but leases, a mean over all applications"},
	{"other writes", "`most of one life`: as above"},
	{figure.Astray, "in any namespace or none, but for leases; not by the applications"},
	{figure.Elsewhere, "for those of no load that is measured, meanwhile; not by the applications"},
	{figure.Conflicts, "the operator's that were answered 409 or another 4xx"},
	{figure.Writes, "of all actors"},
	{figure.WriteBytes, "of all actors, as JSON, whatever they were sent as"},
	{"rate in those of one replica", "applications a second, by those of `lives`"},
	{figure.SubmitWall, "of one spark-submit, from the script's start to its exit"},
	{figure.SubmitCPU, "of one spark-submit, user and system time"},
	{figure.SubmitMemory, "of one spark-submit"},
	{"submissions a second", "by as many spark-submits at a time as the column says"},
	{"until N more were live", "from the first creation until all of them run, with all executors, and their status says that"},
	{figure.SlopeLow, "how much more memory at rest an application more takes, between the first two levels"},
	{figure.SlopeHigh, "the same between the last two"},
	{"until it is ready", "from the operator's start until it says so of itself (`/readyz`)"},
	{figure.FirstDecision, "from the operator's start to the driver pod of an application that was created right before"},
	{"until it is quiet", "from the operator's start until it does nothing any more of what it found"},
	{figure.TakeOver, "from the leader's end to the driver pod of an application that was created right after"},
	{"until all were asked for", "from the first deletion until the last was answered"},
	{figure.UntilGone, "from the first deletion until nothing is left, pods, Services and ConfigMaps included"},
	{"applications that wait", "those of the crowd without a driver pod, before the single applications and after them"},
	{figure.Delay, "the longest wait of a single application beside the crowd, less the median of those without it; never less than 0"},
	{figure.UntilFirst, "so many, by the driver pods a second of the crowd"},
	{"writes a second", "of the clients of the raw limit, that were carried out"},
	{figure.ReplayFailed, "of those clients"},
	{"deletions that found nothing", "of those clients: a pod that is not bound yet goes when its deletion is asked for, and the kubelet's finds none"},
	{"applications at a time", "how many of those clients there were, each with one application"},
	{figure.ReplayBound, "by the scheduler, of the pods that those clients made"},
	{"clients' CPU an application", "of those clients, which the API server did not have"},
	{figure.Share, "the operator's applications a second, by those of the raw limit"},
}

// meaning is what a figure of a name is; empty where nothing is said of it.
func meaning(name string) string {
	for _, w := range words {
		before, after, numbered := strings.Cut(w.name, " N ")
		switch {
		case name == w.name, strings.HasPrefix(name, w.name+", "), numbered && strings.HasPrefix(name, before+" ") && strings.HasSuffix(name, " "+after):
			return w.means
		}
	}
	return ""
}

// glossary says of the run's figures what they are.
func glossary(text *strings.Builder, run *figure.Run) {
	text.WriteString("## What the figures are\n\n`p50`, `p99` and `most` are what half, 99 of 100 and all of what was measured do not pass. `CPU of` somebody is what its process took, and `ACTOR: VERB RESOURCE` is\n" +
		"how many of these writes the actor had carried out for an application; `bytes`, `conflicts` (409), `refused` (another 4xx) and `failed` are theirs.\n\n")
	markdownRow(text, []string{"figure", "what it is"})
	markdownRow(text, []string{"---", "---"})
	for _, w := range words {
		if slices.ContainsFunc(run.Figures, func(f figure.Figure) bool { return meaning(f.Name) == w.means }) {
			markdownRow(text, []string{w.name, w.means})
		}
	}
	text.WriteString("\n")
}
