{{/* What the controller may do in the namespaces that it serves. */}}
{{- define "stoker.watchedRules" -}}
- apiGroups: [stoker.io]
  resources: [gatewaysyncs, syncprofiles]
  verbs: [get, list, watch, update, patch]
- apiGroups: [stoker.io]
  resources: [gatewaysyncs/status, syncprofiles/status, gatewaysyncs/finalizers]
  verbs: [get, update, patch]
# Gateways are found by their pods.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
# Metadata for agents and their reports. The operator grants get, list, watch and patch of these to
# agents, so it must have them.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch, create, update, patch, delete]
{{ include "stoker.secretRule" . }}
{{- if .Values.rbac.autoBindAgent.enabled }}
# The rights of agents: one Role and RoleBinding per GatewaySync.
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [get, list, watch, create, update, patch, delete]
{{- end }}
{{- if or .Values.bootstrap.enabled (eq (toString .Values.repair.mode) "evict") }}
# Repair, and the housekeeping of bootstrap: evict a pod, unless its owner is being rolled out.
- apiGroups: [""]
  resources: [pods/eviction]
  verbs: [create]
- apiGroups: [apps]
  resources: [deployments, statefulsets, replicasets, daemonsets]
  verbs: [get]
{{- end }}
{{ include "stoker.eventRule" . }}
{{- end -}}

{{/* What the webhook and the receiver may do there. */}}
{{- define "stoker.webhookWatchedRules" -}}
- apiGroups: [stoker.io]
  resources: [gatewaysyncs, syncprofiles]
  verbs: [get, list, watch]
# The receiver annotates.
- apiGroups: [stoker.io]
  resources: [gatewaysyncs]
  verbs: [patch]
{{ include "stoker.secretRule" . }}
{{ include "stoker.eventRule" . }}
{{- end -}}

{{- define "stoker.secretRule" -}}
# Secrets that GatewaySyncs name: content by get, changes by a watch of metadata.
- apiGroups: [""]
  resources: [secrets]
  verbs: {{ ternary "[get]" "[get, list, watch]" (eq .Values.rbac.secretAccess "get") }}
{{- end -}}

{{- define "stoker.eventRule" -}}
- apiGroups: ["", events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}

{{/* What the controller needs for bootstrap, in all namespaces. */}}
{{- define "stoker.bootstrapRules" -}}
{{- if .Values.bootstrap.enabled }}
# Bootstrap: copies of the pull secret in every namespace.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [stoker.io]
  resources: [podbootstraps/status]
  verbs: [get, update, patch]
# A source of certificates, where the cluster has this kind.
- apiGroups: [certificates.k8s.io]
  resources: [clustertrustbundles]
  verbs: [get, list, watch]
{{- end }}
{{- end -}}

{{/* What has no namespace, for every process. */}}
{{- define "stoker.clusterRules" -}}
{{- if .Values.bootstrap.enabled -}}
# Bootstrap: the policy, and which namespaces have a copy of the certificates.
- apiGroups: [stoker.io]
  resources: [podbootstraps]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch]
{{ end -}}
# Labels of namespaces: the injection policy, and where injection is on.
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get, list, watch]
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  verbs: [get]
  resourceNames: [{{ include "stoker.definitions" . }}]
{{- if .Values.webhook.enabled }}
# The operator writes caBundle, and reads for which namespaces the webhook is called.
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingwebhookconfigurations]
  verbs: [get, list, watch{{ if not .Values.certManager.enabled }}, update, patch{{ end }}]
  resourceNames: [{{ include "stoker.fullname" . }}-pod-injection]
- apiGroups: [admissionregistration.k8s.io]
  resources: [validatingwebhookconfigurations]
  verbs: [get, list, watch{{ if not .Values.certManager.enabled }}, update, patch{{ end }}]
  resourceNames: [{{ include "stoker.fullname" . }}-validation]
{{- end }}
{{- end -}}

{{/* What the certificate needs in the release's namespace. */}}
{{- define "stoker.certificateRules" -}}
# RBAC can't limit create to a name.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, list, watch, update, patch]
  resourceNames: [{{ include "stoker.certificateSecretName" . }}]
{{- end -}}

{{/* A binding. Takes a dict: root, kind (Role or ClusterRole), role, account and namespace (empty: the cluster). */}}
{{- define "stoker.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "RoleBinding" "ClusterRoleBinding" (not (empty .namespace)) }}
metadata:
  name: {{ .role }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "stoker.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .role }}
subjects:
  - kind: ServiceAccount
    name: {{ .account }}
    namespace: {{ .root.Release.Namespace }}
{{- end -}}
