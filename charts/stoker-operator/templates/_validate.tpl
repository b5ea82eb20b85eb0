{{/* Refuses values that can't work together. */}}
{{- define "stoker.validate" -}}
{{- if not (hasKey .Values "repair") -}}
{{- fail "the values are those of an older chart, because --reuse-values leaves out the defaults of this one: run helm upgrade with --reset-then-reuse-values instead" -}}
{{- end -}}
{{- if .Values.bootstrap.enabled -}}
{{- if .Values.watchNamespaces -}}
{{- fail "bootstrap.enabled serves all namespaces and can't be combined with watchNamespaces: remove one of them" -}}
{{- end -}}
{{- if not .Values.webhook.enabled -}}
{{- fail "bootstrap.enabled needs webhook.enabled: pods are adapted by the admission webhook" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.webhook.separate (not .Values.webhook.enabled) (not .Values.webhookReceiver.enabled) -}}
{{- fail "webhook.separate needs webhook.enabled or webhookReceiver.enabled: there is nothing to run in a Deployment of its own" -}}
{{- end -}}
{{- if and .Values.certManager.issuerRef (not .Values.certManager.issuerRef.name) -}}
{{- fail "certManager.issuerRef needs a name, such as {kind: ClusterIssuer, name: internal}" -}}
{{- end -}}
{{- end -}}
