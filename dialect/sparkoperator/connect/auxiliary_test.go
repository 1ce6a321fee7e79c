package connect

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// TestServiceThatServes checks that the condition Ready and the Service's name in the status describe the Service in
// use, and that the condition ServiceReady describes the wanted Service.
func TestServiceThatServes(t *testing.T) {
	refused := lifecycle.Cause{Reason: "Invalid", Message: "no"}
	stands := lifecycle.AuxiliaryObject{Kind: "Service", Name: "sql", Current: true}
	for _, test := range []struct {
		name         string
		states       []lifecycle.AuxiliaryObject
		service      string // in the status
		wanted, done bool   // ServiceReady, Ready
		reported     int
	}{
		{"the Service is current", []lifecycle.AuxiliaryObject{stands}, "sql", true, true, 0},
		{"the Service does not exist yet", nil, "before", true, true, 0},
		{"the Service does not exist yet, the old one does", []lifecycle.AuxiliaryObject{{Kind: "Service", Name: "before", Outdated: true}}, "before", true, true, 0},
		{"the Service is rejected", []lifecycle.AuxiliaryObject{{Kind: "Service", Name: "sql", Cause: refused}}, "", false, false, 1},
		{"the update of the Service is rejected", []lifecycle.AuxiliaryObject{{Kind: "Service", Name: "sql", Cause: refused, Outdated: true}}, "sql", false, true, 1},
		{"the Service is rejected, the old one exists", []lifecycle.AuxiliaryObject{{Kind: "Service", Name: "sql", Cause: refused}, {Kind: "Service", Name: "before", Outdated: true}}, "before", false, true, 1},
		{"the Service is rejected, the web UI's exists", []lifecycle.AuxiliaryObject{{Kind: "Service", Name: "sql", Cause: refused}, {Kind: "Service", Name: "hub-server-ui-svc", Current: true}}, "", false, false, 1},
		{"the Service is rejected, an Ingress exists", []lifecycle.AuxiliaryObject{{Kind: "Service", Name: "sql", Cause: refused}, {Kind: "Ingress", Name: "ui", Current: true}}, "", false, false, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			sc := aConnect()
			rememberConnect(&sc.Status, lifecycle.Memory{Phase: lifecycle.Running, Attempt: 1})
			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			recordService(sc, "before", []lifecycle.AuxiliaryObject{{Kind: "Service", Name: "before", Current: true}}, now)
			if notices := recordService(sc, "sql", test.states, now); len(notices) != test.reported {
				t.Errorf("reported %+v", notices)
			}
			if notices := recordService(sc, "sql", test.states, now); len(notices) != 0 {
				t.Errorf("reported again: %+v", notices)
			}
			if sc.Status.Server.ServiceName != test.service {
				t.Errorf("the Service is %q, want %q", sc.Status.Server.ServiceName, test.service)
			}
			for kind, want := range map[string]bool{ConditionServiceReady: test.wanted, sparkoperator.ConditionReady: test.done} {
				if got := meta.IsStatusConditionTrue(sc.Status.Conditions, kind); got != want {
					t.Errorf("%s is %t, want %t", kind, got, want)
				}
			}
		})
	}
}
