{{/* The chart's name, or its override. */}}
{{- define "stoker.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The prefix of every object's name. A Service's name has 63 characters, and the longest suffix of one 17. */}}
{{- define "stoker.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 46 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 46 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 46 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The Lease that one replica holds, as the operator names it. */}}
{{- define "stoker.leaseName" -}}
a86165bb.stoker.io{{ with .Values.shard }}-{{ replace "/" "-of-" . }}{{ end }}
{{- end -}}

{{/* Labels that all pods of the operator have. */}}
{{- define "stoker.commonSelectorLabels" -}}
app.kubernetes.io/name: {{ include "stoker.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Labels of the controller's selector. They can't change in an upgrade. */}}
{{- define "stoker.selectorLabels" -}}
{{ include "stoker.commonSelectorLabels" . }}
control-plane: controller-manager
{{- end -}}

{{/*
Labels of the pods behind the Services. With a separate webhook this includes the controller's pods: they have
no port of the Service's name, so they get no requests, and pods of before the change serve until they end.
*/}}
{{- define "stoker.serviceSelectorLabels" -}}
{{- if .Values.webhook.separate -}}
{{ include "stoker.commonSelectorLabels" . }}
{{- else -}}
{{ include "stoker.selectorLabels" . }}
{{- end -}}
{{- end -}}

{{/* Labels of every object. */}}
{{- define "stoker.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/name: {{ include "stoker.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* Labels of hook objects: not those of the operator, so that no selector of ours finds them. */}}
{{- define "stoker.hookLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/name: {{ include "stoker.name" . | trunc 55 }}-hook
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "stoker.serviceAccountName" -}}
{{ include "stoker.fullname" . }}-controller-manager
{{- end -}}

{{/* An image reference from a value such as .Values.image: the digest, else the tag, else appVersion. */}}
{{- define "stoker.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ .image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* How many replicas the controller has. Without a Lease two must never run at once. */}}
{{- define "stoker.replicas" -}}
{{ ternary .Values.replicaCount 1 .Values.leaderElection.enabled }}
{{- end -}}

{{/* The Secret with a receiver's secret ("hmac" or "token"); empty where none is set. */}}
{{- define "stoker.receiverSecretName" -}}
{{- $values := index .root.Values.webhookReceiver .kind -}}
{{- if $values.secretRef.name -}}
{{ $values.secretRef.name }}
{{- else if $values.secret -}}
{{ include "stoker.fullname" .root }}-webhook-receiver
{{- end -}}
{{- end -}}

{{/* The Secret with the webhook's certificate. */}}
{{- define "stoker.certificateSecretName" -}}
{{ include "stoker.fullname" . }}-webhook-{{ ternary "cert" "tls" .Values.certManager.enabled }}
{{- end -}}

{{/* The namespaces that the webhook is called for, as a JSON list; empty means all. */}}
{{- define "stoker.webhookNamespaces" -}}
{{ .Values.webhook.namespaces | default .Values.watchNamespaces | toJson }}
{{- end -}}

{{/*
Whether the namespace label is required: "true" or "". With auto, an upgrade keeps what the installed
webhook has, as a label or as an expression; namespaces that the values name need no label.
*/}}
{{- define "stoker.requiresLabel" -}}
{{- $wanted := toString .Values.webhook.namespaceSelector.requireLabel -}}
{{- if eq $wanted "auto" -}}
{{- $name := printf "%s-pod-injection" (include "stoker.fullname" .) -}}
{{- $installed := lookup "admissionregistration.k8s.io/v1" "MutatingWebhookConfiguration" "" $name -}}
{{- if $installed -}}
{{- $found := false -}}
{{- range ($installed.webhooks | default list) -}}
{{- if eq .name "pod-inject.stoker.io" -}}
{{- $selector := .namespaceSelector | default dict -}}
{{- if hasKey ($selector.matchLabels | default dict) "stoker.io/injection" -}}{{- $found = true -}}{{- end -}}
{{- range ($selector.matchExpressions | default list) -}}
{{- if eq .key "stoker.io/injection" -}}{{- $found = true -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $found -}}true{{- end -}}
{{- else if eq (include "stoker.webhookNamespaces" .) "[]" -}}true{{- end -}}
{{- else if eq $wanted "true" -}}true{{- end -}}
{{- end -}}

{{/* Which namespaces our webhooks are called for. */}}
{{- define "stoker.namespaceExpressions" -}}
{{- $named := include "stoker.webhookNamespaces" . -}}
{{- if ne $named "[]" -}}
- key: kubernetes.io/metadata.name
  operator: In
  values: {{ $named }}
{{ end -}}
- key: kubernetes.io/metadata.name
  operator: NotIn
  values: [kube-system, kube-node-lease, kube-public, {{ .Release.Namespace }}]
{{- end -}}

{{/* The names of our custom resource definitions. */}}
{{- define "stoker.definitions" -}}
{{- $names := list -}}
{{- range $path, $_ := .Files.Glob "crds/*.yaml" -}}
{{- $names = append $names ($.Files.Get $path | fromYaml).metadata.name -}}
{{- end -}}
{{ $names | sortAlpha | join ", " }}
{{- end -}}
