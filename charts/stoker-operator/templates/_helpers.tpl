{{/* The chart's name, or its override. */}}
{{- define "stoker.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The prefix of every object's name. 40 characters leave room for the longest suffix. */}}
{{- define "stoker.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Labels of a pod's selector. They can't change in an upgrade. */}}
{{- define "stoker.selectorLabels" -}}
app.kubernetes.io/name: {{ include "stoker.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
control-plane: controller-manager
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
app.kubernetes.io/name: {{ include "stoker.name" . }}-release
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

{{/* The Secret with a receiver's secret ("hmac" or "token"); empty where none is set. */}}
{{- define "stoker.receiverSecretName" -}}
{{- $values := index .root.Values.webhookReceiver .kind -}}
{{- if $values.secretRef.name -}}
{{ $values.secretRef.name }}
{{- else if $values.secret -}}
{{ include "stoker.fullname" .root }}-webhook-receiver
{{- end -}}
{{- end -}}

{{/*
Whether the namespace label is required: "true" or "". With auto, an upgrade keeps what the installed
webhook has.
*/}}
{{- define "stoker.requiresLabel" -}}
{{- $wanted := toString .Values.webhook.namespaceSelector.requireLabel -}}
{{- if eq $wanted "auto" -}}
{{- $name := printf "%s-pod-injection" (include "stoker.fullname" .) -}}
{{- $installed := lookup "admissionregistration.k8s.io/v1" "MutatingWebhookConfiguration" "" $name -}}
{{- if $installed -}}
{{- range ($installed.webhooks | default list) -}}
{{- if and (eq .name "pod-inject.stoker.io") (hasKey ((.namespaceSelector | default dict).matchLabels | default dict) "stoker.io/injection") -}}true{{- end -}}
{{- end -}}
{{- else -}}true{{- end -}}
{{- else if eq $wanted "true" -}}true{{- end -}}
{{- end -}}
