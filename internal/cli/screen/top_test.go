package screen

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func pod(name, role string, phase corev1.PodPhase) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"spark-role": role},
			CreationTimestamp: metav1.NewTime(time.Now().Add(-2 * time.Hour))},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1408Mi")},
		}}}},
		Status: corev1.PodStatus{Phase: phase},
	}
}

// TestPodTable checks the table of pods, with and without values of the metrics API, and on a narrow terminal.
func TestPodTable(t *testing.T) {
	pods := []corev1.Pod{pod("pi-driver", "driver", corev1.PodRunning), pod("pi-exec-1", "executor", corev1.PodRunning),
		pod("pi-exec-2", "executor", corev1.PodSucceeded)}
	table := podTable(pods, map[string]Used{"pi-driver": {1250, 900 << 20}})

	const want = "POD         ROLE       CPU   OF    MEMORY   LIMIT   AGE\n" +
		"pi-driver   driver     1.2   2.0   900Mi    1.4Gi   120m\n" +
		"pi-exec-1   executor   -     2.0   -        1.4Gi   120m\n"
	if diff := cmp.Diff(want, table.String(0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	for line := range strings.Lines(table.String(40)) {
		if len(strings.TrimRight(line, "\n")) > 40 {
			t.Errorf("%q is too long for 40 columns", line)
		}
	}
}

// TestStageLines checks the progress bars, and that each line fits a terminal of 60 columns.
func TestStageLines(t *testing.T) {
	stages := []Stage{
		{Status: "ACTIVE", ID: 12, Name: "collect at /opt/jobs/report.py:120\nmore", Tasks: 8, Complete: 2, Active: 6,
			Failed: 1},
		{Status: "ACTIVE", ID: 3, Name: "x", Tasks: 0}, {Status: "COMPLETE", ID: 1}, {Status: "SKIPPED", ID: 2},
		{Status: "PENDING", ID: 13},
	}

	const want = "stage 3    [....................] 0/0 tasks, 0 run  x\n" +
		"stage 12   [#####...............] 2/8 tasks, 6 run, 1 failed  collect at /opt/jobs/report.py:120\n" +
		"stages: 2 active, 1 pending, 1 complete, 1 skipped, 0 failed\n"
	if diff := cmp.Diff(want, stageLines(stages, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	long := slices.Concat(stages, slices.Repeat([]Stage{{Status: "COMPLETE"}}, 1000))
	for line := range strings.Lines(stageLines(long, 60)) {
		if n := len(strings.TrimRight(line, "\n")); n > 60 {
			t.Errorf("%q has %d columns", line, n)
		}
	}

	var many []Stage
	for i := range maxStages + 5 {
		many = append(many, Stage{Status: "ACTIVE", ID: i, Tasks: 1})
	}

	if got := stageLines(many, 0); !strings.Contains(got, "... and 5 more active stages\n") {
		t.Errorf("many stages:\n%s", got)
	}
}
