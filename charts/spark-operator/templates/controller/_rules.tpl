{{/* What the controller may do in a namespace whose applications it runs. Verbs are those that it uses, no more. The finalizers
     subresource lets it set blockOwnerDeletion on clusters with the OwnerReferencesPermissionEnforcement admission plugin. Events are
     read to tell why a pod does not come up, and access reviews tell whether a driver lacks a right; pods
     are also created in dry runs, which tell why a driver gets no executors. What leads to a driver from outside
     (Services, and Ingresses and routes where they are switched on) is patched when its
     options change. Custom resources of spark.apache.org are patched to take off them the finalizers that its other operator left; what a
     standalone cluster is made of is patched when its spec changes. Secrets are made for the pods
     that run spark-submit, and for standalone clusters whose configuration has secrets, and deleted by the labels that say whose they are; none is ever
     read (docs/decisions/0005). */}}
{{- define "spark-operator.controller.rules" -}}
{{- if .Values.controller.sparkOperator.enable }}
- apiGroups: [sparkoperator.k8s.io]
  resources: [sparkapplications]
  verbs: [get, list, watch, {{ if .Values.controller.scheduledApplications.enable }}create, {{ end }}delete]
- apiGroups: [sparkoperator.k8s.io]
  resources: [sparkapplications/status]
  verbs: [patch]
- apiGroups: [sparkoperator.k8s.io]
  resources: [sparkapplications/finalizers]
  verbs: [update]
{{- if .Values.controller.scheduledApplications.enable }}
- apiGroups: [sparkoperator.k8s.io]
  resources: [scheduledsparkapplications]
  verbs: [get, list, watch]
- apiGroups: [sparkoperator.k8s.io]
  resources: [scheduledsparkapplications/status]
  verbs: [patch]
- apiGroups: [sparkoperator.k8s.io]
  resources: [scheduledsparkapplications/finalizers]
  verbs: [update]
{{- end }}
{{- if .Values.controller.connect.enable }}
- apiGroups: [sparkoperator.k8s.io]
  resources: [sparkconnects]
  verbs: [get, list, watch]
- apiGroups: [sparkoperator.k8s.io]
  resources: [sparkconnects/status]
  verbs: [patch]
- apiGroups: [sparkoperator.k8s.io]
  resources: [sparkconnects/finalizers]
  verbs: [update]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [patch]
{{- end }}
{{- end }}
{{- if .Values.controller.apache.enable }}
- apiGroups: [spark.apache.org]
  resources: [sparkapplications]
  verbs: [get, list, watch, patch, delete]
- apiGroups: [spark.apache.org]
  resources: [sparkapplications/status]
  verbs: [patch]
- apiGroups: [spark.apache.org]
  resources: [sparkapplications/finalizers]
  verbs: [update]
{{- if .Values.controller.apache.clusters.enable }}
- apiGroups: [spark.apache.org]
  resources: [sparkclusters]
  verbs: [get, list, watch, patch]
- apiGroups: [spark.apache.org]
  resources: [sparkclusters/status]
  verbs: [patch]
- apiGroups: [spark.apache.org]
  resources: [sparkclusters/finalizers]
  verbs: [update]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [patch]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [patch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [patch]
{{- end }}
{{- end }}
- apiGroups: [""]
  resources: [pods, configmaps]
  verbs: [get, list, watch, create, delete]
- apiGroups: [""]
  resources: [services]
  verbs: [get, list, watch, create, patch, delete]
{{- $listed := and .Values.controller.exposure.enable .Values.controller.apache.enable }}
{{- if or .Values.controller.uiIngress.enable $listed }}
- apiGroups: [networking.k8s.io]
  resources: [ingresses]
  verbs: [get, list, watch, create, patch, delete]
{{- end }}
{{- if or .Values.controller.uiRoute.enable $listed }}
- apiGroups: [gateway.networking.k8s.io]
  resources: [httproutes{{ if $listed }}, grpcroutes{{ end }}]
  verbs: [get, list, watch, create, patch, delete]
{{- end }}
{{- if ne .Values.controller.submission.mode "Native" }}
- apiGroups: [""]
  resources: [secrets]
  verbs: [create, deletecollection]
{{- end }}
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, watch, create, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, delete]
{{- if .Values.controller.batchScheduler.enable }}
- apiGroups: [scheduling.volcano.sh]
  resources: [podgroups]
  verbs: [get, list, watch, create, delete]
{{- if .Values.controller.batchScheduler.kubeSchedulerNames }}
- apiGroups: [scheduling.x-k8s.io]
  resources: [podgroups]
  verbs: [get, list, watch, create, delete]
{{- end }}
{{- end }}
- apiGroups: [""]
  resources: [events]
  verbs: [get, list, create, patch]
- apiGroups: [authorization.k8s.io]
  resources: [localsubjectaccessreviews]
  verbs: [create]
{{- end -}}
