{{/*
What every hook needs: an account and, as far as rules are given, rights. Takes a dict: root, name, annotations
(the hook's, as text), clusterRules, rules (both text, may be empty) and namespace (of the rules; empty: the release's).
*/}}
{{- define "stoker.hookAccount" -}}
{{- $root := .root -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "stoker.hookLabels" $root | nindent 4 }}
  annotations:
    {{- .annotations | nindent 4 }}
    helm.sh/hook-weight: "-3"
{{- range $kind, $rules := dict "ClusterRole" .clusterRules "Role" .rules }}
{{- if $rules }}
{{- $namespace := ternary ($.namespace | default $root.Release.Namespace) "" (eq $kind "Role") }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ $.name }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "stoker.hookLabels" $root | nindent 4 }}
  annotations:
    {{- $.annotations | nindent 4 }}
    helm.sh/hook-weight: "-2"
rules:
  {{- $rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ $.name }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "stoker.hookLabels" $root | nindent 4 }}
  annotations:
    {{- $.annotations | nindent 4 }}
    helm.sh/hook-weight: "-1"
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ $.name }}
subjects:
  - kind: ServiceAccount
    name: {{ $.name }}
    namespace: {{ $root.Release.Namespace }}
{{- end }}
{{- end }}
{{- if $root.Values.networkPolicy.enabled }}
---
{{ include "stoker.hookNetworkPolicy" . }}
{{- end }}
{{- end -}}

{{/* A Job of a hook. Takes the same dict, and container, arguments and retries. */}}
{{- define "stoker.hookJob" -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "stoker.hookLabels" .root | nindent 4 }}
  annotations:
    {{- .annotations | nindent 4 }}
    helm.sh/hook-weight: "0"
spec:
  backoffLimit: {{ .retries }}
  activeDeadlineSeconds: 180
  template:
    metadata:
      labels:
        {{- include "stoker.hookLabels" .root | nindent 8 }}
    spec:
      {{- include "stoker.hookPodSpec" (dict "root" .root "account" .name "container" .container "arguments" .arguments) | nindent 6 }}
{{- end -}}
