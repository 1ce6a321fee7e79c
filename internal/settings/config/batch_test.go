package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBatchScheduler(t *testing.T) {
	for _, test := range []struct {
		name, file string
		want       BatchScheduler
	}{
		{"nothing", "", BatchScheduler{}},
		{"all", "batchScheduler: {enabled: true, default: tuned, kubeSchedulerNames: [tuned, coscheduler]}",
			BatchScheduler{Enabled: true, Default: "tuned", KubeSchedulerNames: []string{"tuned", "coscheduler"}}},
		{"a default that is known by name", "batchScheduler: {enabled: true, default: yunikorn}",
			BatchScheduler{Enabled: true, Default: "yunikorn"}},
		{"switched off", "batchScheduler: {default: volcano}", BatchScheduler{Default: "volcano"}},
	} {
		got, err := Parse([]byte(header + "\n" + test.file))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}

		if diff := cmp.Diff(test.want, got.BatchScheduler); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestBatchSchedulerRefusals(t *testing.T) {
	for _, test := range []struct{ file, says string }{
		{"{enabled: true, default: whoever}",
			`batchScheduler.default: Unsupported value: "whoever": supported values: "volcano", "yunikorn"`},
		{"{enabled: true, default: whoever, kubeSchedulerNames: [tuned]}",
			`supported values: "volcano", "yunikorn", "tuned"`},
		{"{enabled: true, kubeSchedulerNames: [tuned, tuned]}",
			`batchScheduler.kubeSchedulerNames[1]: Duplicate value: "tuned"`},
		{"{enabled: true, kubeSchedulerNames: [volcano]}",
			`batchScheduler.kubeSchedulerNames[0]: Duplicate value: "volcano"`},
		{"{enabled: true, kubeSchedulerNames: [Mine]}", `batchScheduler.kubeSchedulerNames[0]: Invalid value: "Mine"`},
		{"{enabled: true, kubeSchedulerNames: ['']}", `batchScheduler.kubeSchedulerNames[0]: Invalid value`},
		{"{enable: true}", "batchScheduler.enable"},
	} {
		if _, err := Parse([]byte(header + "\nbatchScheduler: " + test.file)); err == nil ||
			!strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %s", test.file, err, test.says)
		}
	}
}
