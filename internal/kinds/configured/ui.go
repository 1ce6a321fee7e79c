package configured

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/expose"
)

// uiKinds returns the kinds of objects through which drivers can be reached from outside the cluster, such as Ingress.
// It returns only kinds that the configuration switches on, because the operator has no right to list the others. A
// kind is on if the operator creates such objects for UIs, or if applications of spark.apache.org may request them.
func uiKinds(cfg config.Configuration) (kinds []schema.GroupVersionKind) {
	listed := cfg.Exposure.Enabled && cfg.ApacheApplications()
	if *cfg.UI.Ingress.Enabled || listed {
		kinds = append(kinds, networkingv1.SchemeGroupVersion.WithKind("Ingress"))
	}

	if *cfg.UI.Route.Enabled || listed {
		kinds = append(kinds, expose.RouteKind)
	}

	if listed {
		kinds = append(kinds, expose.GRPCRouteKind)
	}
	return kinds
}

func uiOptions(cfg config.Configuration) sparkoperator.UI {
	ui := sparkoperator.UI{Service: *cfg.UI.Service, Outside: cfg.Exposure.Enabled}
	if in := cfg.UI.Ingress; *in.Enabled {
		ui.Ingress = &sparkoperator.UIIngress{URLFormat: in.URLFormat, ClassName: in.ClassName, Annotations: in.Annotations, TLS: in.TLS}
	}

	if in := cfg.UI.Route; *in.Enabled {
		ui.Route = &sparkoperator.UIRoute{URLFormat: in.URLFormat}
		for _, parent := range in.ParentRefs {
			ui.Route.Parents = append(ui.Route.Parents, expose.Parent(parent))
		}
	}
	return ui
}
